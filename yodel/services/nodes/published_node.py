"""What is remembered of one Kubernetes node between two publications: what was written, and who else writes there.

Another engine is used, not fought.  Names that are there before the first write and are not ours are left alone.  A
value that somebody put in the place of ours is put back at most ``PUT_BACKS_MAX`` times in ``PUT_BACKS_WITHIN_S``; then
the node is the other's, until what is to be published is said anew.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from yodel.ports.kube_nodes import NodeObservation
from yodel.translator.ledger import is_older
from yodel.translator.names import PUBLISHED, PUBLISHER
from yodel.translator.publishing import Lending, Lent, Publication, Silence, publisher_of, size_of, whole

PUT_BACKS_MAX = 5
PUT_BACKS_WITHIN_S = 600.0
NAMES_MAX = 16
"""Read of our annotation, which others may write."""


class CapacityState(StrEnum):
    """What is done about a node."""

    OFF = "OFF"
    LENDING = "LENDING"
    FULL = "FULL"
    CLOSED = "CLOSED"
    STALE = "STALE"
    GOING = "GOING"
    WAITING = "WAITING"
    OTHER = "OTHER"
    YIELDED = "YIELDED"
    FAILED = "FAILED"


@dataclass(slots=True, kw_only=True)
class PublishedNode:
    """Changed by its own methods, and by ``Publishing``."""

    observed: NodeObservation
    machine: Lent | None = None
    """Its size; None: the API server does not say it."""
    allocatable: Lent | None = None
    """What the kubelet leaves of that to pods; None: the API server does not say it."""
    lent: Lent | None = None
    """What counted last."""
    lending: Lending | None = None
    """How that came of the last report; None: no report counts."""
    publication: Publication | None = None
    """What is to be published; None: nothing is decided, or the node is another's."""
    counted: Mapping[str, int] = field(default_factory=dict)
    """What queues may count on of each name; names that are not in it are as published."""
    written: dict[str, int | None] = field(default_factory=dict)
    written_version: str = ""
    is_writing: bool = False
    is_awaited: bool = False
    """Its agent has not reported since the start, or what its pods ask for is not known."""
    was_heard: bool = False
    """Its agent has reported in this life."""
    ordered: Lent | None = None
    """The most that an administrator leaves it, until what is held there fits."""
    is_short: bool = False
    """Its memory runs short, or did so lately."""
    silence: Silence = Silence.NONE
    put_back_s: list[float] = field(default_factory=list)
    other: str = ""
    """Who publishes there instead of us."""
    has_yielded: bool = False
    problem: str = ""
    """Why the last write failed."""
    not_before_s: float = 0.0
    """When a write that failed is tried again."""

    @property
    def said(self) -> frozenset[str]:
        """Names that our annotation says are ours."""
        names = self.observed.annotations.get(PUBLISHED, "").split(",")
        return frozenset([name.strip() for name in names if name.strip()][:NAMES_MAX])

    @property
    def is_marked(self) -> bool:
        """Our annotation is there: it stays when somebody else takes away, or takes over, the names that it has."""
        is_written = is_older(self.observed.resource_version, self.written_version)
        return PUBLISHED in self.observed.annotations and not is_written

    @property
    def ours(self) -> frozenset[str]:
        """Names that are there and were published by this ResourceManager, in this life or an earlier one."""
        if self.has_yielded:
            return frozenset()
        known = self.said.union(name for name, amount in self.written.items() if amount is not None)
        return frozenset(name for name in known if self._is_ours(name, known))

    def present(self, name: str) -> int | None:
        """What is published of a name, as far as is known: what was written counts until the watch has shown it."""
        if name in self.written and is_older(self.observed.resource_version, self.written_version):
            return self.written[name]
        quantity = self.observed.capacity.get(name)
        return whole(quantity) if quantity is not None else None

    def see(self, node: NodeObservation, names: Collection[str], now_s: float) -> None:
        """The node as it is now.  ``names`` are those that are to be published."""
        if node.uid != self.observed.uid:  # made anew: nothing that was written is there any more
            self.written, self.written_version, self.put_back_s = {}, "", []
        self.observed = node
        self.machine, self.allocatable = size_of(node.capacity), size_of(node.allocatable)
        if self.has_yielded or self.is_writing:
            return
        if self.written and not is_older(node.resource_version, self.written_version):
            self.written = {name: amount for name, amount in self.written.items() if self._is_owned(name, amount)}
            self._look_for_changes(now_s)
        if not self.has_yielded:
            self.other = self._other(names)

    def state(self, *, is_on: bool) -> CapacityState:
        """``is_on``: something is to be published, on nodes that are not others'."""
        found = self.publication
        if self.has_yielded:
            return CapacityState.YIELDED
        if self.problem:
            return CapacityState.FAILED
        if is_on and self.other:
            return CapacityState.OTHER
        if self.is_awaited:
            return CapacityState.WAITING
        if found is None:
            return CapacityState.OFF
        if self.lent is None:
            is_there = any(amount is not None for amount in found.amounts.values()) or self.ours
            return CapacityState.GOING if is_there else CapacityState.OFF
        if found.is_closed or self.is_short:
            return CapacityState.CLOSED
        if self.silence is Silence.STALE:
            return CapacityState.STALE
        return CapacityState.LENDING if all(self.lent.by_type.values()) else CapacityState.FULL

    def note_written(self, amounts: Mapping[str, int | None], version: str) -> None:
        self.written |= amounts
        self.written_version, self.problem, self.not_before_s = version, "", 0.0

    def begin_anew(self, names: Collection[str]) -> None:
        """Something else is to be published: whoever writes there is looked at again."""
        self.has_yielded, self.put_back_s = False, []
        self.other = self._other(names)

    def _is_owned(self, name: str, amount: int | None) -> bool:
        """A name that was taken away, and is gone, is anybody's."""
        return amount is not None or name in self.observed.capacity

    def _is_ours(self, name: str, known: Collection[str]) -> bool:
        if self.present(name) is None:
            return False
        quantity = self.observed.capacity.get(name)
        if quantity is None or self.written.get(name) is not None:
            return True
        return publisher_of(name, self.observed.capacity_managers, quantity, known, PUBLISHER) == ""

    def _other(self, names: Collection[str]) -> str:
        """Who publishes one of these that was never written in this life; empty: nobody else."""
        said, node = self.said, self.observed
        for name in sorted(set(names) - self.written.keys()):
            quantity = node.capacity.get(name, node.allocatable.get(name))
            if quantity is not None:
                found = publisher_of(name, node.capacity_managers, quantity, said, PUBLISHER)
                if found:
                    return found
        return ""

    def _look_for_changes(self, now_s: float) -> None:
        changed = [name for name, amount in self.written.items() if self.present(name) != amount]
        if not changed:
            return
        for name in changed:  # what is there now is known: the same value is not counted again
            self.written[name] = self.present(name)
        who = self.observed.capacity_managers.get(changed[0], "somebody")
        if who == PUBLISHER:  # a write of ours whose answer was lost, or of the leader before
            return
        self.put_back_s = [at_s for at_s in self.put_back_s if now_s - at_s < PUT_BACKS_WITHIN_S]
        if len(self.put_back_s) >= PUT_BACKS_MAX:
            self.other, self.has_yielded = who, True
        else:
            self.put_back_s.append(now_s)
