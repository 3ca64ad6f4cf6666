"""Which containers are to go soon, by the node that they are on: what each agent is told with every answer.

As long as a notice stands it is said again, so nothing is kept of what an agent heard: an answer that was lost, or an
agent that registers anew, makes no difference.  ApplicationMasters are not in it: whoever leaves in order leaves the
application to its ApplicationMaster.
"""

from __future__ import annotations

from collections.abc import Iterable

from yodel.domain.container import Container
from yodel.domain.ids import ContainerId, NodeId


class NoticeBook:
    """Replaced whole by each round of preemption; everybody else reads."""

    def __init__(self) -> None:
        self._on: dict[NodeId, tuple[ContainerId, ...]] = {}

    def on(self, node_id: NodeId) -> tuple[ContainerId, ...]:
        """Containers of the node that are on notice."""
        return self._on.get(node_id, ())

    def take(self, containers: Iterable[Container]) -> None:
        """All that are on notice now."""
        on: dict[NodeId, list[ContainerId]] = {}
        for container in containers:
            if container.node_id is not None and container.is_live and not container.is_am:
                on.setdefault(container.node_id, []).append(container.id)
        self._on = {node_id: tuple(container_ids) for node_id, container_ids in on.items()}
