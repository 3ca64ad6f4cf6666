"""What node agents said last of the capacity that their nodes lend, and which nodes take nothing new because of it.

One module tells it (``services.nodes.publishing``); who places containers reads.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import Enum, auto

from yodel.domain.colocation.emergency import Emergency
from yodel.domain.colocation.report import CapacityReport
from yodel.domain.ids import NodeId
from yodel.domain.queues.pools import PoolName


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A report that counts, who made it, and when its figures were read (monotonic seconds)."""

    node_id: NodeId
    report: CapacityReport
    read_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """An emergency that counts, who told of it, and when its cool-down ends unless he tells of it again (monotonic)."""

    node_id: NodeId
    emergency: Emergency
    until_s: float


class Taking(Enum):
    """Whether a node takes something new of a pool."""

    OPEN = auto()
    CLOSED = auto()
    """It lends less than is held there, or nothing new, or its memory runs short."""
    AWAITED = auto()
    """Not known: since the start its agent has not reported, or its pods were not listed."""


class LoanBook:
    """By Kubernetes' name of the node."""

    def __init__(self) -> None:
        self.said: dict[str, Said] = {}
        self.emergencies: dict[str, Declared] = {}
        self._lent: frozenset[PoolName] = frozenset()
        self._taking: dict[PoolName, dict[str, Taking]] = {}
        """Of nodes that are not OPEN; those that are, where the pool is lent."""
        self._closed: dict[PoolName, dict[str, None]] = {}
        """Those that are not: each pod that is made is kept from them."""

    def of(self, kubernetes_name: str) -> Said | None:
        return self.said.get(kubernetes_name)

    def emergency(self, kubernetes_name: str) -> Emergency | None:
        """Whose memory runs short, or ran short so lately that nothing new is to start; None: not this node's."""
        declared = self.emergencies.get(kubernetes_name)
        return declared.emergency if declared is not None else None

    def closed(self, pool: PoolName) -> Collection[str]:
        """Nodes that are known, where nothing new of a pool may start."""
        return self._closed.get(pool, {}).keys()

    def taking(self, pool: PoolName, kubernetes_name: str) -> Taking:
        """A node that nobody has seen yet is awaited, where the pool is lent."""
        unknown = Taking.AWAITED if pool in self._lent else Taking.OPEN
        return self._taking.get(pool, {}).get(kubernetes_name, unknown)

    # --- what is told ----------------------------------------------------------------------------------------------

    def hear(self, kubernetes_name: str, said: Said) -> None:
        self.said[kubernetes_name] = said

    def forget(self, kubernetes_name: str) -> None:
        """Its agent has left, or is given up."""
        self.said.pop(kubernetes_name, None)
        self.emergencies.pop(kubernetes_name, None)

    def declare(self, kubernetes_name: str, declared: Declared | None) -> None:
        """Its memory runs short; None: no more."""
        if declared is not None:
            self.emergencies[kubernetes_name] = declared
        else:
            self.emergencies.pop(kubernetes_name, None)

    def lend(self, pools: frozenset[PoolName]) -> None:
        """Which pools are lent from now on."""
        self._lent = pools

    def judge(self, kubernetes_name: str, takings: Mapping[PoolName, Taking]) -> None:
        """What the node takes of each of these pools from now on."""
        for pool, taking in takings.items():
            if taking is Taking.OPEN and pool not in self._lent:
                self._taking.get(pool, {}).pop(kubernetes_name, None)
            else:
                self._taking.setdefault(pool, {})[kubernetes_name] = taking
            if taking is Taking.OPEN:
                self._closed.get(pool, {}).pop(kubernetes_name, None)
            else:
                self._closed.setdefault(pool, {})[kubernetes_name] = None

    def drop(self, kubernetes_name: str) -> None:
        """The Kubernetes node is gone."""
        self.forget(kubernetes_name)
        for taking in self._taking.values():
            taking.pop(kubernetes_name, None)
        for closed in self._closed.values():
            closed.pop(kubernetes_name, None)
