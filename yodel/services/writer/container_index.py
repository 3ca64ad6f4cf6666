"""Which containers live, which have ended and are not forgotten, and which are looked for in other ways than by id."""

from __future__ import annotations

from yodel.domain.container import Container
from yodel.domain.ids import ContainerId
from yodel.domain.resource import NONE
from yodel.domain.states import ContainerState


class ContainerIndex:
    """Only ``ClusterState`` changes it."""

    def __init__(self) -> None:
        self.live: dict[ContainerId, None] = {}
        self.ended: dict[ContainerId, None] = {}
        """Those that are over and not forgotten; ApplicationMasters' own stay as long as their attempts."""
        self.unconfirmed: dict[ContainerId, None] = {}
        """Live ones with an increase that their node agent has not reported."""
        self.tagged: dict[ContainerId, None] = {}
        """Live ones with allocation tags."""
        self.planned_count = 0
        self._by_pod: dict[str, ContainerId] = {}

    def put(self, new: Container, old: Container | None) -> None:
        """A row that is new, or takes the place of an older one."""
        self.planned_count += new.state is ContainerState.PLANNED
        if old is not None:
            self.planned_count -= old.state is ContainerState.PLANNED
        if new.is_live:
            self.live[new.id] = None
            self._by_pod[new.pod] = new.id
        else:
            self.live.pop(new.id, None)
            self._by_pod.setdefault(new.pod, new.id)
            if not new.is_am:
                self.ended[new.id] = None
        _note(self.tagged, new, is_in=bool(new.allocation_tags))
        _note(self.unconfirmed, new, is_in=new.confirmed != NONE)

    def remove(self, row: Container) -> None:
        self.planned_count -= row.state is ContainerState.PLANNED
        for ids in (self.live, self.ended, self.unconfirmed, self.tagged):
            ids.pop(row.id, None)
        if self._by_pod.get(row.pod) == row.id:
            del self._by_pod[row.pod]

    def of_pod(self, name: str) -> ContainerId | None:
        """The container that has the pod of this name; of several the one that is live, or else the first."""
        return self._by_pod.get(name)


def _note(ids: dict[ContainerId, None], row: Container, *, is_in: bool) -> None:
    if row.is_live and is_in:
        ids[row.id] = None
    else:
        ids.pop(row.id, None)
