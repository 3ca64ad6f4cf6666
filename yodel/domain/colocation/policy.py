"""Defines how much of a node is lent: the numbers of one policy, which the ResourceManager sends to node agents.

Per resource the numbers of the formula (``yodel.domain.colocation.estimate``), whose sum is cut to [0, most x
capacity].  Percents are whole numbers, so that equal words give equal figures everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

AMOUNT_MAX: Final = 1 << 40
"""The most of milli of a core or MiB: above any node, and far from where a product of it would overflow on the wire."""
FORMULA_RANGES: Final[Mapping[str, tuple[int, int]]] = {
    "part_percent": (1, 100),
    "share_percent": (0, 100),
    "reserved": (0, AMOUNT_MAX),
    "online_percent": (100, 1000),
    "kept": (0, AMOUNT_MAX),
    "most_percent": (0, 100),
    "static_amount": (0, AMOUNT_MAX),
}
"""Least and largest value of each number of a Formula; an online percent below 100 would lend what is in use."""
SHAPING_RANGES: Final[Mapping[str, tuple[int, int]]] = {
    "window_s": (1, 900),
    "step_up_percent": (1, 100),
    "dead_band_percent": (0, 100),
    "dead_band_cpu_milli": (0, AMOUNT_MAX),
    "dead_band_memory_mib": (0, AMOUNT_MAX),
    "round_cpu_milli": (1, AMOUNT_MAX),
    "round_memory_mib": (1, AMOUNT_MAX),
}
"""Least and largest value of each number of a Shaping."""


def out_of_range(ranges: Mapping[str, tuple[int, int]], numbers: Mapping[str, int | None]) -> str | None:
    """Return an error for the first number outside its range, or None; an absent number is not checked."""
    for name, (least, most) in ranges.items():
        number = numbers[name]
        if number is not None and not least <= number <= most:
            return f"{name}: {number}, where {least} to {most} is expected"
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Formula:
    """The numbers of one resource; amounts in the resource's unit (milli of a core, MiB).

    ``online_percent`` is the factor on what pods other than best-effort ones use; ``counts_system`` whether what runs
    outside of pods is taken off where it is more than ``reserved``; ``kept`` what is never lent whatever is free.
    A ``static_amount`` replaces all of it: so much is lent, whatever is measured.

    Raises ValueError where a number is outside FORMULA_RANGES.
    """

    part_percent: int = 100
    share_percent: int = 100
    counts_system: bool = True
    reserved: int = 0
    online_percent: int = 100
    kept: int = 0
    most_percent: int = 100
    static_amount: int | None = None

    def __post_init__(self) -> None:
        problem = out_of_range(FORMULA_RANGES, {name: getattr(self, name) for name in FORMULA_RANGES})
        if problem is not None:
            raise ValueError(problem)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shaping:
    """Configures how fast and how finely lent capacity follows the measurements; percents are of the node's capacity.

    Growth goes by the mean of the window and by at most ``step_up_percent`` a second; a shrink goes by the maximum of
    the window's last seconds and at once.  A change below the dead band, the larger of its percent and its amount, is
    not made; what is left is rounded down.

    Raises ValueError where a number is outside SHAPING_RANGES.
    """

    window_s: int = 10
    step_up_percent: int = 10
    dead_band_percent: int = 10
    dead_band_cpu_milli: int = 100
    dead_band_memory_mib: int = 256
    round_cpu_milli: int = 100
    round_memory_mib: int = 64

    def __post_init__(self) -> None:
        problem = out_of_range(SHAPING_RANGES, {name: getattr(self, name) for name in SHAPING_RANGES})
        if problem is not None:
            raise ValueError(problem)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """One policy: ``version`` changes whenever a number of it does.

    ``limits``: each batch pod is bounded.  ``quota``: all best-effort pods together are, in processor time.
    """

    version: str
    preset: str
    cpu: Formula
    memory: Formula
    shaping: Shaping
    limits: bool = False
    quota: bool = False

    @property
    def bounds(self) -> bool:
        """Return True if agents write to control groups at all."""
        return self.limits or self.quota
