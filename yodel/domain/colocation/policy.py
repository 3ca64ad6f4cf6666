"""How much of a node is lent: the numbers of one policy, which the ResourceManager hands to node agents.

Per resource, ``lent = part x (share x capacity - max(system if counted, reserved) - factor x online - kept)``, cut to
[0, most x capacity].  Percents are whole numbers, so that equal words give equal figures everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Formula:
    """The numbers of one resource; amounts in the resource's unit (milli of a core, MiB).

    ``online_percent`` is the factor on what pods other than best-effort ones use; ``counts_system`` whether what runs
    outside of pods is taken off where it is more than ``reserved``; ``kept`` what is never lent whatever is free.
    A ``static_amount`` replaces all of it: so much is lent, whatever is measured.
    """

    part_percent: int = 100
    share_percent: int = 100
    counts_system: bool = True
    reserved: int = 0
    online_percent: int = 100
    kept: int = 0
    most_percent: int = 100
    static_amount: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shaping:
    """How fast and how finely a loan follows what was measured; percents are of the node's capacity.

    Growth goes by the mean of the window and by at most ``step_up_percent`` a report; a shrink goes by the window's
    maximum and at once.  A change below the dead band is not made; what is left is rounded down.
    """

    window_s: int = 10
    step_up_percent: int = 10
    dead_band_percent: int = 10
    dead_band_cpu_milli: int = 100
    dead_band_memory_mib: int = 256
    round_cpu_milli: int = 100
    round_memory_mib: int = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """One policy: ``version`` changes whenever a number of it does."""

    version: str
    preset: str
    cpu: Formula
    memory: Formula
    shaping: Shaping
