"""The main processes of running containers, as this node numbers them.

Asked each second, so what was found once is remembered.  Blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from nm_plugin.container.life import Container, State
from nm_plugin.host.processes import ProcessTable
from nm_plugin.launch.members import Listing, Owner


class Mains:
    """``containers`` lists what this agent knows of; it is asked from the reading thread."""

    def __init__(self, table: ProcessTable, containers: Callable[[], Iterable[Container]]) -> None:
        self._table, self._containers = table, containers
        self._known: dict[Owner, int] = {}

    def __call__(self) -> list[int]:
        running = {
            owner
            for container in self._containers()
            if container.state is State.RUNNING and container.pid is not None and (owner := container.owner)
        }
        self._known = {owner: pid for owner, pid in self._known.items() if owner in running}
        fresh = running - self._known.keys()
        if fresh:
            processes = Listing(self._table, fresh)
            for owner in fresh:
                members = processes.of(owner).processes
                if members:
                    self._known[owner] = members[0].pid
        return list(self._known.values())
