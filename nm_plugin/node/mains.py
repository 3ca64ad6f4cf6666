"""The main processes of running containers, as this node numbers them.

Asked each second, so what was found once is remembered; a container's claim is looked up as ``node.memory`` does.
Blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from nm_plugin.container.life import Container, State
from nm_plugin.node.memory import ProcessTable
from yodel.domain.ids import ContainerId


class Mains:
    """``containers`` lists what this agent knows of; it is asked from the reading thread."""

    def __init__(self, table: ProcessTable, containers: Callable[[], Iterable[Container]]) -> None:
        self._table, self._containers = table, containers
        self._known: dict[tuple[ContainerId, int], int] = {}

    def __call__(self) -> list[int]:
        running = {
            (container.container_id, container.pid)
            for container in self._containers()
            if container.state is State.RUNNING and container.pid is not None
        }
        self._known = {claim: pid for claim, pid in self._known.items() if claim in running}
        for container_id, claimed_pid in running - self._known.keys():
            pid = self._table.host_pid(claimed_pid, container_id, None)
            if pid is not None:
                self._known[container_id, claimed_pid] = pid
        return list(self._known.values())
