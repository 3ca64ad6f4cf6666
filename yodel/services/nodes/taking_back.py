"""``off --now``: what still runs on lent capacity after it was switched off is ended, so that the published names go.

It refuses to end anything while capacity is lent: what ends would start again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import structlog

from yodel.domain.container import Container
from yodel.domain.events import StopRequested
from yodel.domain.ids import ContainerId
from yodel.domain.queues.pools import NATIVE
from yodel.domain.states import ContainerExitStatus
from yodel.errors import AccessDenied, Refused
from yodel.services.access.rights import Rights
from yodel.services.nodes.publishing import Publishing
from yodel.services.writer.engine import Engine
from yodel.services.writer.transaction import Transaction

SLICE = 500
"""Containers looked at in one turn of the loop, and ended in one transaction."""
TEXT = "Container preempted by scheduler: what its node lends was switched off"
log = structlog.get_logger("yodel.colocation")


class TakingBack:
    def __init__(self, engine: Engine, publishing: Publishing, rights: Rights) -> None:
        self._engine, self._publishing, self._rights = engine, publishing, rights

    async def end_containers(self, user: str) -> int:
        """End what runs on names that are left of a loan; how many that were.

        Raises:
            AccessDenied: the user is no administrator.
            Refused: colocation is on.
            Unavailable: some may have been ended.
        """
        if not self._rights.is_admin(user):
            raise AccessDenied(f"User {user} is no administrator: containers on lent capacity are not ended")
        if self._publishing.colocation.is_on:
            raise Refused("Colocation is on: switch it off first, or what ends would start again")
        wanted: list[ContainerId] = []
        for number, container in enumerate(list(self._engine.state.live_containers())):
            if number % SLICE == SLICE - 1:
                await asyncio.sleep(0)
            if self._is_on_loan(container):
                wanted.append(container.id)
        for first in range(0, len(wanted), SLICE):
            some = wanted[first : first + SLICE]
            await self._engine.do(lambda tx, some=some: _end(tx, some))  # type: ignore[misc]
        log.info("containers on lent capacity ended", user=user, containers=len(wanted))
        return len(wanted)

    def _is_on_loan(self, container: Container) -> bool:
        state = self._engine.state
        node = state.nodes.get(container.node_id) if container.node_id is not None else None
        published = self._publishing.nodes.get(node.kubernetes_node_name) if node is not None else None
        pool = state.pools.pools.of(container.queue)
        return (
            published is not None and pool != NATIVE and bool(published.ours.intersection(state.pools.resources(pool)))
        )


def _end(tx: Transaction, containers: Sequence[ContainerId]) -> None:
    for container_id in containers:
        if tx.has(container_id) and tx.container(container_id).is_live:
            tx.tell(container_id, StopRequested(ContainerExitStatus.PREEMPTED, TEXT, tx.now_ms))
