"""Decides which containers go where a node lends less than is held there.  Pure.

Amounts are by type, ``cpu_milli`` and ``memory_mib``.  Who goes is the shortest run of the order that covers what is
short, less any that the rest makes unnecessary; no ApplicationMaster goes while others stay.  Cores are taken back a
few containers at a time: until then quota and weight hold batch down, which memory has nothing like.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from yodel.domain.colocation.report import MEMORY_MIB, RESOURCES
from yodel.domain.ids import ContainerId
from yodel.domain.preemption.order import order_of

CPU_VICTIMS_MAX: Final = 3
CPU_VICTIMS_WITHIN_S: Final = 60.0
"""The time in which CPU_VICTIMS_MAX containers of one node may go for cores alone."""
Amounts = Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class LentContainer:
    """A container on lent capacity.

    ``over_milli`` is what its queue holds above its guarantee in that pool, in thousandths of the pool, negative where
    that is less; ``priority`` and ``submitted_ms`` are its application's, ``request_priority`` is its own.
    """

    id: ContainerId
    amounts: Amounts
    over_milli: int = 0
    priority: int = 0
    submitted_ms: int = 0
    request_priority: int = 0
    is_master: bool = False

    @property
    def rank(self) -> tuple[int | bool, ...]:
        """Least goes first."""
        return (
            self.is_master,
            -self.over_milli,
            *order_of(
                self.id,
                priority=self.priority,
                submitted_ms=self.submitted_ms,
                request_priority=self.request_priority,
            ),
        )

    @property
    def standing(self) -> str:
        """Return why it is where it is in the order, in words."""
        side = "above" if self.over_milli >= 0 else "below"
        words = [
            f"its queue uses {abs(self.over_milli) / 10:.1f} % of the pool {side} its guarantee",
            f"its application's priority is {self.priority}",
            f"its request's priority is {self.request_priority}",
        ]
        return ", ".join([*words, "it is an ApplicationMaster: last of all"] if self.is_master else words)


def in_order(holdings: Iterable[LentContainer]) -> list[LentContainer]:
    """First to go first."""
    return sorted(holdings, key=lambda one: one.rank)


def deficit(held: Amounts, lent: Amounts, going: Iterable[LentContainer] = ()) -> dict[str, int]:
    """Return by type what is held beyond what is lent once these are gone; only types that are short."""
    left = {kind: held.get(kind, 0) - lent.get(kind, 0) for kind in RESOURCES}
    for one in going:
        for kind in RESOURCES:
            left[kind] -= one.amounts.get(kind, 0)
    return {kind: amount for kind, amount in left.items() if amount > 0}


def shortest_run(ordered: Sequence[LentContainer], short: Amounts) -> list[LentContainer]:
    """The first of them that cover what is short, less any that the rest makes unnecessary; where all do not cover it,
    all that help."""
    run: list[LentContainer] = []
    sums = dict.fromkeys(short, 0)
    for one in ordered:
        if all(sums[kind] >= amount for kind, amount in short.items()):
            break
        run.append(one)
        sums = {kind: amount + one.amounts.get(kind, 0) for kind, amount in sums.items()}
    kept: list[LentContainer] = []
    for one in reversed(run):
        left = {kind: amount - one.amounts.get(kind, 0) for kind, amount in sums.items()}
        is_needed = any(min(left[kind], most) < min(sums[kind], most) for kind, most in short.items())
        if is_needed or (not one.is_master and any(other.is_master for other in kept)):
            kept.append(one)
        else:
            sums = left
    return kept[::-1]


def victims(ordered: Sequence[LentContainer], short: Amounts, cpu_left: int) -> list[LentContainer]:
    """Return the containers to preempt; at most ``cpu_left`` of them for cores alone."""
    found = shortest_run(ordered, short)
    for_cpu = [one.id for one in for_cores_alone(found, short)]
    late = set(for_cpu[max(0, cpu_left) :])
    return [one for one in found if one.id not in late]


def for_cores_alone(chosen: Sequence[LentContainer], short: Amounts) -> list[LentContainer]:
    """Return the chosen containers that are preempted only for cores."""
    memory = {MEMORY_MIB: short[MEMORY_MIB]} if MEMORY_MIB in short else {}
    needed = {one.id for one in shortest_run(chosen, memory)}
    return [one for one in chosen if one.id not in needed]
