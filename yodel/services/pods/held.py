"""Nodes that a container's pod keeps off, as they are held for other containers."""

from __future__ import annotations

from yodel.domain.container import Container
from yodel.services.writer.state import ClusterState


def held_for_others(state: ClusterState, container: Container) -> frozenset[str]:
    """Kubernetes' names of the nodes."""
    pool = state.pools.pools.of(container.queue)
    names = (
        state.nodes[node_id].kubernetes_node_name
        for node_id in state.holds.kept_from(pool, container)
        if node_id in state.nodes
    )
    return frozenset(name for name in names if name)
