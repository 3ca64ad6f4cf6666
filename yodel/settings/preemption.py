"""The table ``[preemption]``: how queues give back, by the CapacityScheduler's properties."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

PREFIX = "yarn.resourcemanager.monitor.capacity.preemption."


class PreemptionSettings(BaseModel):
    """Between queues, and within one by priority."""

    model_config = ConfigDict(use_attribute_docstrings=True, extra="forbid", frozen=True)

    enabled: bool = False
    """Preempt what queues use above their guarantee (yarn.resourcemanager.scheduler.monitor.enable)."""
    observe_only: bool = False
    """Only log what would be preempted (yarn.resourcemanager.monitor.capacity.preemption.observe_only)."""
    monitoring_interval_s: float = Field(default=3.0, ge=0.1, le=3600)
    """Time between two rounds (yarn.resourcemanager.monitor.capacity.preemption.monitoring_interval)."""
    max_wait_before_kill_s: float = Field(default=15.0, ge=0, le=3600)
    """Time from notice to kill (yarn.resourcemanager.monitor.capacity.preemption.max_wait_before_kill)."""
    total_preemption_per_round: float = Field(default=0.1, gt=0, le=1)
    """Part of the cluster that may have a preemption notice at any time, 0 to 1
    (yarn.resourcemanager.monitor.capacity.preemption.total_preemption_per_round). The first container that is needed
    may exceed it."""
    max_ignored_over_capacity: float = Field(default=0.1, ge=0, le=10)
    """A queue that exceeds its guarantee by no more than this part of it is not preempted
    (yarn.resourcemanager.monitor.capacity.preemption.max_ignored_over_capacity)."""
    natural_termination_factor: float = Field(default=0.2, gt=0, le=1)
    """Part of a queue's excess that is preempted at a time, 0 to 1
    (yarn.resourcemanager.monitor.capacity.preemption.natural_termination_factor)."""
    intra_queue_enabled: bool = False
    """Preempt within a queue too, by priority
    (yarn.resourcemanager.monitor.capacity.preemption.intra-queue-preemption.enabled; the order is always
    `priority_first`)."""
    intra_queue_minimum_threshold: float = Field(default=0.5, ge=0, le=1)
    """Part of its guarantee that a queue must use before that happens
    (yarn.resourcemanager.monitor.capacity.preemption.intra-queue-preemption.minimum-threshold)."""
    intra_queue_max_allowable_limit: float = Field(default=0.2, gt=0, le=1)
    """Part of its guarantee that may have a preemption notice for it at any time
    (yarn.resourcemanager.monitor.capacity.preemption.intra-queue-preemption.max-allowable-limit)."""
