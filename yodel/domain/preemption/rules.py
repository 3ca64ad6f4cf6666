"""Holds the CapacityScheduler's preemption properties, under their names, with its defaults.  Pure data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PreemptionRules:
    """``yarn.resourcemanager.monitor.capacity.preemption.*``; parts are 0 to 1 unless said otherwise."""

    is_enabled: bool = False
    """yarn.resourcemanager.scheduler.monitor.enable"""
    observe_only: bool = False
    """True if everything is only logged and counted, and nothing is told or ended."""
    monitoring_interval_s: float = 3.0
    max_wait_before_kill_s: float = 15.0
    """From the notice to the end."""
    total_per_round: float = 0.1
    """The part of all there is that may be on notice at a time (total_preemption_per_round)."""
    max_ignored_over_capacity: float = 0.1
    """A queue that holds no more than 1 + so much of its guarantee is left alone."""
    natural_termination_factor: float = 0.2
    """The part of what a queue holds too much that is asked back in a round."""
    is_intra_queue_enabled: bool = False
    """Within a queue: applications of a lower priority give to those of a higher one."""
    intra_queue_minimum_threshold: float = 0.5
    """The part of its guarantee that a queue must hold before anything is given back within it."""
    intra_queue_max_allowable: float = 0.2
    """The part of its guarantee that may be on notice for that at a time (max-allowable-limit)."""
