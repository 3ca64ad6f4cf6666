"""Lists the containers of this node, as their pods are bounded."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from nm_plugin.container.life import Container, LifeState
from yodel.domain.ids import ContainerId


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A container as its pod is bounded, if it runs; ``pod_uid`` empty: its pod has no name yet."""

    container_id: ContainerId
    pod_uid: str
    memory_mib: int
    vcores: int
    is_master: bool = False
    is_running: bool = True


class Batches:
    """Lists all containers.  One that has not changed is not described again."""

    def __init__(self, containers: Callable[[], Iterable[Container]]) -> None:
        self._containers = containers
        self._known: dict[ContainerId, tuple[Container, Batch]] = {}

    def __call__(self) -> list[Batch]:
        before, self._known = self._known, {}
        for container in self._containers():
            known = before.get(container.container_id)
            if known is None or known[0] is not container:
                known = container, _batch(container)
            self._known[container.container_id] = known
        return [batch for _, batch in self._known.values()]


def _batch(container: Container) -> Batch:
    return Batch(
        container_id=container.container_id,
        pod_uid=container.pod_uid,
        memory_mib=container.resource.memory_mib,
        vcores=container.resource.vcores,
        is_master=container.is_master,
        is_running=container.state is LifeState.RUNNING,
    )
