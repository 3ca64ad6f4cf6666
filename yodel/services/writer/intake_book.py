"""Records which Kubernetes nodes take no new containers of a pool.  ``services.nodes.publisher`` writes it; placement
reads it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from yodel.domain.colocation.node import Intake
from yodel.domain.queues.pools import PoolName


class IntakeBook:
    """Keeps the intake by Kubernetes' name of the node."""

    def __init__(self) -> None:
        self._lent: frozenset[PoolName] = frozenset()
        self._judged: set[str] = set()
        self._not_open: dict[PoolName, dict[str, Intake]] = {}

    def closed(self, pool: PoolName) -> Collection[str]:
        """Nodes that are known, where nothing new of a pool may start: each new pod is kept from them."""
        return self._not_open.get(pool, {}).keys()

    def of(self, pool: PoolName, name: str) -> Intake:
        """A node that was not judged yet is awaited, if the pool is lent."""
        found = self._not_open.get(pool, {}).get(name)
        if found is not None:
            return found
        return Intake.AWAITED if pool in self._lent and name not in self._judged else Intake.OPEN

    def lend(self, pools: frozenset[PoolName]) -> None:
        """Set which pools are lent from now on: all nodes are to be judged again."""
        self._lent, self._judged = pools, set()

    def judge(self, name: str, intakes: Mapping[PoolName, Intake]) -> None:
        """Take over what was judged of a node."""
        self._judged.add(name)
        for pool, intake in intakes.items():
            nodes = self._not_open.setdefault(pool, {})
            if intake is Intake.OPEN:
                nodes.pop(name, None)
            else:
                nodes[name] = intake

    def drop(self, name: str) -> None:
        """Forget a node that Kubernetes does not know any more."""
        self._judged.discard(name)
        for nodes in self._not_open.values():
            nodes.pop(name, None)
