"""Lists the containers that run on this node, as they are bounded."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from nm_plugin.capacity.own_pods import Owner
from nm_plugin.container.life import Container, State
from nm_plugin.launch.survivors import Marks
from yodel.domain.ids import ContainerId


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A running container as it is bounded."""

    container_id: ContainerId
    owner: Owner
    memory_mib: int
    vcores: int
    is_master: bool = False


class RunningBatch:
    """Lists the containers that run, each with its user; one whose user is not known is left out.

    A container that has not changed is not described again.
    """

    def __init__(self, containers: Callable[[], Iterable[Container]]) -> None:
        self._containers = containers
        self._known: dict[ContainerId, tuple[Container, Batch]] = {}

    def __call__(self) -> list[Batch]:
        before, self._known = self._known, {}
        for container in self._containers():
            if container.state is State.RUNNING and container.local_dir and container.user_uid is not None:
                known = before.get(container.container_id)
                if known is None or known[0] is not container:
                    known = container, _batch(container, container.user_uid)
                self._known[container.container_id] = known
        return [batch for _, batch in self._known.values()]


def _batch(container: Container, uid: int) -> Batch:
    marks = Marks(container.container_id, Path(container.local_dir).parent)
    return Batch(
        container_id=container.container_id,
        owner=Owner(marks=marks, user_uid=uid),
        memory_mib=container.resource.memory_mib,
        vcores=container.resource.vcores,
        is_master=container.is_master,
    )
