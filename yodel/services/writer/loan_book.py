"""What node agents said last of the capacity that their nodes lend, and which nodes take nothing new because of it.

One module tells it (``services.nodes.publishing``); who places containers reads.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from yodel.domain.colocation.report import CapacityReport
from yodel.domain.ids import NodeId
from yodel.domain.queues.pools import PoolName


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A report that counts, who made it, and when its figures were read (monotonic seconds)."""

    node_id: NodeId
    report: CapacityReport
    read_s: float


class LoanBook:
    """By Kubernetes' name of the node."""

    def __init__(self) -> None:
        self.said: dict[str, Said] = {}
        self._closed: dict[PoolName, dict[str, None]] = {}

    def of(self, kubernetes_name: str) -> Said | None:
        return self.said.get(kubernetes_name)

    def closed(self, pool: PoolName) -> Collection[str]:
        """Nodes where nothing new of a pool may start: less is lent than is held there, or nothing."""
        return self._closed.get(pool, {}).keys()

    # --- what is told ----------------------------------------------------------------------------------------------

    def hear(self, kubernetes_name: str, said: Said) -> None:
        self.said[kubernetes_name] = said

    def forget(self, kubernetes_name: str) -> None:
        """Its agent has left, or is given up."""
        self.said.pop(kubernetes_name, None)

    def close(self, kubernetes_name: str, pools: Mapping[PoolName, bool]) -> None:
        """For which of these pools the node is closed from now on."""
        for pool, is_closed in pools.items():
            if is_closed:
                self._closed.setdefault(pool, {})[kubernetes_name] = None
            else:
                self._closed.get(pool, {}).pop(kubernetes_name, None)

    def drop(self, kubernetes_name: str) -> None:
        """The Kubernetes node is gone."""
        self.said.pop(kubernetes_name, None)
        for closed in self._closed.values():
            closed.pop(kubernetes_name, None)
