"""Keeps all preemption notices, whoever gives them.

Each teller replaces only its own notices; of a container with several the earliest deadline counts.  As long as a
notice exists it is sent with every answer to the node's agent, so nothing is kept of what an agent received: a lost
answer, or an agent that registers again, makes no difference.  Agents get no notices for ApplicationMasters: they are
left to end in order.  Nor for nodes that drain, whose state ApplicationMasters see.  The book is in memory: after a
restart everybody gets the whole time again, and nothing is ended by an earlier process's notice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TypeVar

from yodel.domain.ids import ApplicationId, ContainerId, NodeId
from yodel.domain.notices import NoticeReason, PreemptionNotice, Teller

_NONE: Mapping[ContainerId, PreemptionNotice] = MappingProxyType({})


class NoticeBook:
    """Told by who gives notice, and by ``ClusterState`` of containers that ended."""

    def __init__(self) -> None:
        self._of: dict[Teller, dict[ContainerId, PreemptionNotice]] = {}
        self._on: dict[NodeId, dict[ContainerId, None]] = {}
        self._noted_of: dict[ApplicationId, dict[ContainerId, None]] = {}

    # --- what is asked ---------------------------------------------------------------------------------------------

    def of_teller(self, teller: Teller) -> Mapping[ContainerId, PreemptionNotice]:
        return self._of.get(teller, _NONE)

    def all_of(self, container_id: ContainerId) -> Iterable[PreemptionNotice]:
        """Its notices that stand, whoever gave them."""
        found = (notices.get(container_id) for notices in self._of.values())
        return (notice for notice in found if notice is not None and not notice.is_resting)

    def of(self, container_id: ContainerId) -> PreemptionNotice | None:
        """The one that counts."""
        return min(self.all_of(container_id), key=lambda notice: notice.deadline_s, default=None)

    def noted_of(self, application_id: ApplicationId) -> Iterable[ContainerId]:
        """Containers of the application that are in the book."""
        return self._noted_of.get(application_id, ())

    def on(self, node_id: NodeId) -> tuple[ContainerId, ...]:
        """Return the containers whose notices the node's agent gets."""
        return tuple(one for one in self._on.get(node_id, ()) if self._is_told(one))

    def is_noted(self, container_id: ContainerId) -> bool:
        """Also where its notice rests."""
        return any(container_id in notices for notices in self._of.values())

    def count(self, reason: NoticeReason) -> int:
        return sum(notice.reason is reason for notices in self._of.values() for notice in notices.values())

    # --- what is told ----------------------------------------------------------------------------------------------

    def tell(self, teller: Teller, notices: Mapping[ContainerId, PreemptionNotice]) -> None:
        """All that it gives now."""
        before = self._of.pop(teller, {})
        if notices:
            self._of[teller] = dict(notices)
        for container_id, notice in before.items():
            self._leave(container_id, notice)
        for container_id, notice in notices.items():
            self._on.setdefault(notice.node_id, {})[container_id] = None
            self._noted_of.setdefault(container_id.application_id, {})[container_id] = None

    def ended(self, container_id: ContainerId) -> None:
        """It has gone."""
        for teller, notices in list(self._of.items()):
            notice = notices.pop(container_id, None)
            if notice is not None:
                self._leave(container_id, notice)
            if not notices:
                del self._of[teller]

    def _is_told(self, container_id: ContainerId) -> bool:
        return any(
            not notice.is_master and notice.reason is not NoticeReason.DRAIN for notice in self.all_of(container_id)
        )

    def _leave(self, container_id: ContainerId, notice: PreemptionNotice) -> None:
        """Unless another teller has noted it on that node."""
        others = [other for notices in self._of.values() if (other := notices.get(container_id)) is not None]
        if all(other.node_id != notice.node_id for other in others):
            _take_out(self._on, notice.node_id, container_id)
        if not others:
            _take_out(self._noted_of, container_id.application_id, container_id)


KeyT = TypeVar("KeyT")


def _take_out(index: dict[KeyT, dict[ContainerId, None]], key: KeyT, container_id: ContainerId) -> None:
    found = index.get(key, {})
    found.pop(container_id, None)
    if not found:
        index.pop(key, None)
