"""The table ``[preemption]``: how queues give back, by the CapacityScheduler's properties."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

PREFIX = "yarn.resourcemanager.monitor.capacity.preemption."
_OF = PREFIX + "{}"


class PreemptionSettings(BaseModel):
    """Between queues, and within one by priority."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    enabled: bool = Field(default=False, description="yarn.resourcemanager.scheduler.monitor.enable")
    observe_only: bool = Field(
        default=False, description=_OF.format("observe_only") + ": what would go is logged, nothing goes"
    )
    monitoring_interval_s: float = Field(
        default=3.0, ge=0.1, le=3600, description=_OF.format("monitoring_interval") + ", between two rounds"
    )
    max_wait_before_kill_s: float = Field(
        default=15.0, ge=0, le=3600, description=_OF.format("max_wait_before_kill") + ", from the notice to the end"
    )
    total_preemption_per_round: float = Field(
        default=0.1,
        gt=0,
        le=1,
        description=_OF.format("total_preemption_per_round") + ": of what there is, on notice at a time; the first "
        "container that room is made for may cost more",
    )
    max_ignored_over_capacity: float = Field(
        default=0.1,
        ge=0,
        le=10,
        description=_OF.format("max_ignored_over_capacity")
        + ": a queue with at most 1 + so much of its guarantee gives nothing",
    )
    natural_termination_factor: float = Field(
        default=0.2,
        gt=0,
        le=1,
        description=_OF.format("natural_termination_factor") + ": of what a queue holds too much, asked for at a time",
    )
    intra_queue_enabled: bool = Field(
        default=False,
        description=_OF.format("intra-queue-preemption.enabled")
        + ": within a queue, by priority (preemption-order-policy `priority_first`)",
    )
    intra_queue_minimum_threshold: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description=_OF.format("intra-queue-preemption.minimum-threshold") + ": of its guarantee, that the queue holds",
    )
    intra_queue_max_allowable_limit: float = Field(
        default=0.2,
        gt=0,
        le=1,
        description=_OF.format("intra-queue-preemption.max-allowable-limit")
        + ": of its guarantee, on notice at a time for that",
    )
