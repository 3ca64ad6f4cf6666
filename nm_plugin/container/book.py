"""Every container that this node knows, and its record on disk.

One container's events are applied one after the other, by the table; a record is saved before the effects are handed
out, so that an agent that dies between two steps finds out at its next start what it was about to do.  A kill waits for
no other's save, and for its own only for so long: whom it is to protect cannot wait for a disk.

Refuses: to take a container twice, and more than ``containers_max`` that have not ended.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import structlog

from nm_plugin.container.counts import ContainerCounts
from nm_plugin.container.life import CONTAINER_LIFE, Container, Event, KillRequested, LifeState, with_diagnostics
from nm_plugin.container.records import Records
from nm_plugin.host.users import FileThreads
from yodel.domain.ids import ApplicationId, ContainerId
from yodel.domain.machine import Step
from yodel.errors import Refused

RECENTLY_STOPPED_S = 600.0  # yarn.nodemanager.duration-to-track-stopped-containers
RECENTLY_STOPPED_MAX = 100_000
KILL_RECORD_WAIT_S = 0.5


class ContainerBook:
    """Methods are for the event loop's thread."""

    def __init__(self, records: Records, threads: FileThreads, containers_max: int) -> None:
        """``threads`` do nothing but save."""
        self._records, self._threads, self._containers_max = records, threads, containers_max
        self._containers: dict[ContainerId, Container] = {}
        self._decided: dict[ContainerId, Container] = {}
        """Containers as they have become, as long as that is being saved and nobody is to read of it."""
        self._late: set[asyncio.Task[None]] = set()
        self._locks: dict[ContainerId, asyncio.Lock] = {}
        self._recent: dict[ContainerId, float] = {}
        self._acknowledged: set[ContainerId] = set()
        self.counts = ContainerCounts()
        self._log = structlog.get_logger(__name__)

    def get(self, container_id: ContainerId) -> Container | None:
        return self._containers.get(container_id)

    def all(self) -> tuple[Container, ...]:
        return tuple(self._containers.values())

    def of(self, application_id: ApplicationId) -> Iterator[Container]:
        return (c for c in self.all() if c.container_id.application_id == application_id)

    def was_stopped_recently(self, container_id: ContainerId) -> bool:
        """Known until RECENTLY_STOPPED_S after the RM acknowledged its end."""
        return container_id in self._recent

    async def recover(self, uid_of: Callable[[str], Awaitable[int | None]]) -> None:
        """Read at start what the last agent knew; an older one left out who users are."""
        for container in await self._threads.run(self._records.containers):
            self._containers[container.container_id] = container
        for container in self.all():
            if container.user_uid is None and not container.state.is_complete:
                await self.change(container.container_id, user_uid=await uid_of(container.user))

    def take(self, container: Container) -> None:
        """A new one; its first event saves it.  Raises Refused: known already, or the node is full."""
        container_id = container.container_id
        if container_id in self._containers or container_id in self._recent:
            raise Refused(f"Container {container_id} already is running on this node!!")
        if len(self._containers) >= self._containers_max:
            count = sum(not known.state.is_complete for known in self._containers.values())
            if count >= self._containers_max:
                raise Refused(f"This node knows {count} containers already")
        self._containers[container_id] = container

    async def apply(self, container_id: ContainerId, event: Event) -> tuple[Container, Step[Container]] | None:
        """One event: new record, saved.  What the container was, and the step; None when it is not known (any more).

        A step that was overtaken by a kill has no effects any more.
        """
        if isinstance(event, KillRequested):
            return await self._kill(container_id, event)
        async with self._alone_with(container_id) as before:
            if before is None:
                return None
            step = CONTAINER_LIFE.apply(before, event)
            await self._put(before, step.entity)
            return before, self._unless_overtaken(step)

    async def _kill(self, container_id: ContainerId, event: Event) -> tuple[Container, Step[Container]] | None:
        before = self._newest(container_id)
        if before is None:
            return None
        step = CONTAINER_LIFE.apply(before, event)
        if step.entity != before:
            self._decided[container_id] = step.entity
            saving = asyncio.create_task(self._save_in_turn(container_id), name=f"save-{container_id}")
            self._late.add(saving)
            saving.add_done_callback(self._late.discard)
            try:
                await asyncio.wait({saving}, timeout=KILL_RECORD_WAIT_S)
            finally:
                self._tell(before, step.entity)
        return before, self._unless_overtaken(step)

    def _unless_overtaken(self, step: Step[Container]) -> Step[Container]:
        newest = self._newest(step.entity.container_id)
        return step if newest is None or newest.state is step.entity.state else Step(step.entity)

    async def change(self, container_id: ContainerId, **changes: Any) -> None:
        """Fields that are no matter of the life cycle."""
        async with self._alone_with(container_id) as container:
            if container is not None:
                await self._put(container, replace(container, **changes))

    async def note(self, container_id: ContainerId, text: str) -> None:
        """Add to its diagnostics, whatever they have become."""
        async with self._alone_with(container_id) as container:
            if container is not None:
                await self._put(container, with_diagnostics(container, text))

    async def acknowledge(self, container_id: ContainerId) -> None:
        """The RM has seen its end: forget it, as soon as it is cleaned up."""
        container = self._containers.get(container_id)
        if container is None:
            return
        if container.state is LifeState.DONE:
            await self._forget(container_id)
        elif container.state.is_complete:
            self._acknowledged.add(container_id)

    async def forget_acknowledged(self, container_id: ContainerId) -> None:
        """It is cleaned up: forget it, if the RM has seen its end."""
        if container_id in self._acknowledged:
            await self._forget(container_id)

    def forget_stopped(self) -> None:
        """Called now and then: what was remembered for long enough."""
        limit = time.monotonic() - RECENTLY_STOPPED_S
        for container_id in [c for c, at in self._recent.items() if at < limit]:
            del self._recent[container_id]

    async def _forget(self, container_id: ContainerId) -> None:
        """Not while its record is still being saved: that would come back after its removal."""
        async with self._alone_with(container_id) as container:
            if container is None:
                return
            del self._containers[container_id]
            self._decided.pop(container_id, None)
            self._acknowledged.discard(container_id)
            self._locks.pop(container_id, None)
            if len(self._recent) >= RECENTLY_STOPPED_MAX:
                del self._recent[next(iter(self._recent))]
            self._recent[container_id] = time.monotonic()
            await self._threads.run(self._records.remove_container, container_id)

    async def _put(self, before: Container, after: Container) -> None:
        """Save a container's new row, while alone with it, before heartbeats tell it: it must outlive the agent."""
        if after == before:
            return
        self._decided[after.container_id] = after
        try:
            await self._save(after)
        finally:
            self._tell(before, after)

    def _tell(self, before: Container, after: Container) -> None:
        """Show ``after`` to readers from now on, or the newer state if one has been decided."""
        container_id = after.container_id
        if self._decided.get(container_id) is after:
            self._containers[container_id] = self._decided.pop(container_id)
        self.counts.note(before, after)
        if after.state is not before.state:
            self._log.info(
                "container", container=str(container_id), state=after.state.value, exit_status=after.exit_status
            )

    async def _save_in_turn(self, container_id: ContainerId) -> None:
        async with self._alone_with(container_id) as container:
            if container is not None:
                await self._save(container)

    async def _save(self, container: Container) -> None:
        try:
            await self._threads.run(self._records.save_container, container)
        except OSError as error:
            # A full state disk must not stop containers from being killed or reported.
            self._log.error("state_not_saved", container=str(container.container_id), reason=str(error))

    @asynccontextmanager
    async def _alone_with(self, container_id: ContainerId) -> AsyncIterator[Container | None]:
        """The container while nobody else changes, saves or forgets it; None when it is not known (any more)."""
        if container_id not in self._containers:
            yield None
            return
        async with self._locks.setdefault(container_id, asyncio.Lock()):
            yield self._newest(container_id)

    def _newest(self, container_id: ContainerId) -> Container | None:
        return self._decided.get(container_id) or self._containers.get(container_id)
