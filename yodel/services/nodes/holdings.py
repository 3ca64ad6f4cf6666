"""Lists what is held of lent capacity on each node, in the order in which it goes.  Reads only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from yodel.domain.colocation.report import CPU_MILLI, MEMORY_MIB, RESOURCES
from yodel.domain.colocation.taking_back import LentContainer, in_order
from yodel.domain.container import Container
from yodel.domain.ids import ContainerId, NodeId
from yodel.domain.queues.ledger import UsageLedger
from yodel.domain.queues.pools import PoolName
from yodel.ports.clock import Clock
from yodel.services.nodes.facts import Facts
from yodel.services.writer.quotas import Quotas
from yodel.services.writer.state import ClusterState
from yodel.translator.publishing import amounts_of

RANKED_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ranked:
    """Containers of a node, and those on lent capacity in their order."""

    there: tuple[ContainerId, ...]
    at_s: float
    ranks: tuple[ContainerId, ...]


class Holdings:
    """``others_on`` tells what pods of others ask for on a node, thousandths by resource name.  What queues hold above
    their guarantees is as of the last ``begin_anew``."""

    def __init__(
        self,
        state: ClusterState,
        clock: Clock,
        facts: Facts,
        quotas: Quotas,
        others_on: Callable[[str], Mapping[str, int]],
    ) -> None:
        self._state, self._clock, self._facts = state, clock, facts
        self._quotas, self._others_on = quotas, others_on
        self._ledger: UsageLedger | None = None
        self._over: dict[str, int] = {}
        self._ranked: dict[NodeId, _Ranked] = {}

    @property
    def pool(self) -> PoolName | None:
        """The pool that nodes lend to."""
        return next(iter(self._facts.terms.pools), None)

    def on(self, node_id: NodeId) -> list[LentContainer]:
        """The first to go first."""
        state, pool = self._state, self.pool
        if pool is None:
            return []
        containers = (state.containers[one] for one in state.container_index.on_node(node_id))
        return in_order(self._holding(one) for one in containers if state.pools.pools.of(one.queue) == pool)

    def held(self, kubernetes_name: str, holdings: Iterable[LentContainer]) -> dict[str, int]:
        """Return by type what these and pods of others on a node ask for.  What is terminating is not in it."""
        measures, held = self._facts.terms.measures, dict.fromkeys(RESOURCES, 0)
        if measures is not None:
            held |= amounts_of(self._others_on(kubernetes_name), measures).by_type
        for one in holdings:
            for kind in RESOURCES:
                held[kind] += one.amounts[kind]
        return held

    def ranks(self, node_id: NodeId) -> tuple[ContainerId, ...]:
        """The order alone, for who asks often: where containers are the same, as of up to ``RANKED_S`` ago."""
        there, now_s = tuple(self._state.container_index.on_node(node_id)), self._clock.monotonic_s()
        known = self._ranked.get(node_id)
        if not there:
            self._ranked.pop(node_id, None)
            return ()
        if known is None or known.there != there or now_s - known.at_s >= RANKED_S:
            ranks = tuple(one.id for one in self.on(node_id))
            known = self._ranked[node_id] = _Ranked(there=there, at_s=now_s, ranks=ranks)
        return known.ranks

    def begin_anew(self) -> None:
        self._over, self._ledger = {}, None
        for node_id in self._ranked.keys() - self._state.nodes.keys():
            del self._ranked[node_id]

    def _holding(self, container: Container) -> LentContainer:
        application, size = self._state.applications[container.id.application_id], container.reserved
        cpu_milli = size.vcores * self._facts.terms.rules.milli_per_vcore
        return LentContainer(
            id=container.id,
            amounts={CPU_MILLI: cpu_milli, MEMORY_MIB: size.memory_mib},
            over_milli=self._over_of(application.submission.queue),
            priority=application.submission.priority,
            submitted_ms=application.submitted_ms,
            request_priority=container.priority,
            is_master=container.is_am,
        )

    def _over_of(self, queue: str) -> int:
        """Return a queue's usage above its guarantee, in thousandths of its pool."""
        if not self._quotas.is_enforced:
            return 0
        found = self._over.get(queue)
        if found is None:
            ledger = self._ledger = self._ledger or self._quotas.ledger()
            share, used = ledger.share(queue), ledger.used(queue)
            found = self._over[queue] = max(
                1000 * (used.memory_mib - share.guaranteed.memory_mib) // max(1, share.whole.memory_mib),
                1000 * (used.vcores - share.guaranteed.vcores) // max(1, share.whole.vcores),
            )
        return found
