"""Arithmetic of the placement figures: medians of rounds, ratios to the ceiling, processor time a pod, table rows."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

MILLI = 1000


@dataclass(frozen=True, slots=True)
class Cpu:
    """Processor seconds, by the name of the process."""

    seconds: Mapping[str, float] = field(default_factory=dict)

    def __sub__(self, before: Cpu) -> Cpu:
        """Used since; a process that was not there before has used all of its time."""
        return Cpu({name: used_s - before.seconds.get(name, 0.0) for name, used_s in self.seconds.items()})

    def __or__(self, other: Cpu) -> Cpu:
        return Cpu({**self.seconds, **other.seconds})


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One round: how many pods, seconds until the last was there, by what was waited for, and what that cost."""

    pods: int
    until_s: Mapping[str, float]
    cpu: Cpu

    def rate(self, what: str) -> float:
        """Pods a second."""
        return self.pods / self.until_s[what]


def median_rate(rounds: Sequence[Round], what: str) -> float:
    return statistics.median(one.rate(what) for one in rounds)


def spread(rounds: Sequence[Round], what: str) -> str:
    """Slowest to fastest."""
    rates = [one.rate(what) for one in rounds]
    return f"{min(rates):.0f} to {max(rates):.0f}"


def cpu_row(rounds: Sequence[Round], names: Sequence[str]) -> list[str]:
    """Milliseconds of processor time a pod, medians; a dash for what did not run."""
    return [_cpu_cell(rounds, name) for name in names]


def table_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds:
    """All rounds of one mode: the plain loop alone, the plain loop beside an idle ResourceManager, and Yodel's own."""

    alone: Sequence[Round]
    beside: Sequence[Round]
    ours: Sequence[Round]

    def row(self, title: str, ceiling: str, what: str) -> str:
        """``ceiling`` is what the plain loop was measured until.  Rates, and ours by each of the two ceilings."""
        reached = median_rate(self.ours, what)
        ceilings = (self.alone, self.beside)
        cells = [f"{median_rate(rounds, ceiling):.0f} ({spread(rounds, ceiling)})" for rounds in ceilings]
        ratios = [f"{reached / median_rate(rounds, ceiling):.2f}" for rounds in ceilings]
        return table_row([title, *cells, f"{reached:.0f} ({spread(self.ours, what)})", *ratios])


def _cpu_cell(rounds: Sequence[Round], name: str) -> str:
    used = [one.cpu.seconds[name] * MILLI / one.pods for one in rounds if name in one.cpu.seconds]
    return f"{statistics.median(used):.1f}" if used else "–"
