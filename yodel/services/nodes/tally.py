"""How many nodes lend, are closed, wait, and what all of them lend together: kept as each is judged, not counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from yodel.domain.colocation.report import CPU_MILLI, MEMORY_MIB
from yodel.services.nodes.published_node import CapacityState
from yodel.translator.publishing import Lent

UNREMARKABLE = (CapacityState.OFF, CapacityState.LENDING)


class Tally:
    """Told by ``Publishing`` alone."""

    def __init__(self) -> None:
        self.counts: Counter[CapacityState] = Counter()
        self.lent: Counter[str] = Counter()
        self.published: Counter[str] = Counter()
        self.remarkable: dict[str, None] = {}
        """Nodes about which there is something to say."""
        self._of: dict[str, tuple[CapacityState, Mapping[str, int], Mapping[str, int]]] = {}

    def put(self, name: str, state: CapacityState, lent: Lent | None, published: Mapping[str, int | None]) -> None:
        amounts = {CPU_MILLI: lent.cpu_milli, MEMORY_MIB: lent.memory_mib} if lent is not None else {}
        there = {one: amount for one, amount in published.items() if amount is not None}
        if self._of.get(name) == (state, amounts, there):
            return
        self.drop(name)
        self._of[name] = state, amounts, there
        self.counts[state] += 1
        self.lent.update(amounts)
        self.published.update(there)
        if state not in UNREMARKABLE:
            self.remarkable[name] = None

    def drop(self, name: str) -> None:
        found = self._of.pop(name, None)
        if found is None:
            return
        state, amounts, there = found
        self.counts[state] -= 1
        self.lent.subtract(amounts)
        self.published.subtract(there)
        self.remarkable.pop(name, None)

    @property
    def is_empty(self) -> bool:
        """Nothing is lent, and nothing is left of a loan."""
        return not any(self.published.values()) and self.counts.total() == self.counts[CapacityState.OFF]
