"""The containers of this node at work: feeds events into the life-cycle table and performs its effects.

One container's events are applied one after the other; a record is saved before its effects are performed, so that an
agent that dies between two steps finds out at its next start what it was about to do.  Every long piece of work
(localizing, handing over, waiting for the end, killing, cleaning) is a task of the agent's task group with the
container's name; a failure in it becomes an event, never a crash of the agent.

Refuses: to start a container twice, and more than ``containers_max`` containers.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import structlog

from nm_plugin.container import diagnostics, life
from nm_plugin.container.counts import ContainerCounts
from nm_plugin.container.life import CONTAINER_LIFE, Container, Effect, State
from nm_plugin.container.records import Application
from nm_plugin.container.work import ContainerWork, Localization, ManagerParts, ManagerSettings
from nm_plugin.launch import command
from nm_plugin.localization.plan import Wanted, scope_of, wanted
from nm_plugin.logs.uploading.journal import LogContext
from yodel.domain.ids import ApplicationId, ContainerId
from yodel.domain.resource import Resource
from yodel.domain.states import ContainerExitStatus
from yodel.errors import InvalidValue, Refused, YodelError
from yodel.hadoop_pb import yarn_protos_pb2 as pb

RECENTLY_STOPPED_S = 600.0  # yarn.nodemanager.duration-to-track-stopped-containers
RECENTLY_STOPPED_MAX = 100_000


class ContainerManager:
    """All containers and applications that this node knows.  Methods are for the event loop's thread."""

    def __init__(
        self,
        settings: ManagerSettings,
        parts: ManagerParts,
        node: Callable[[], command.Node],
        report: Callable[[], None],
        now_ms: Callable[[], int],
    ) -> None:
        self._settings, self._parts = settings, parts
        self._report, self._now_ms = report, now_ms
        self._containers: dict[ContainerId, Container] = {}
        self._applications: dict[ApplicationId, Application] = {}
        self._locks: dict[ContainerId, asyncio.Lock] = {}
        self._workers: dict[ContainerId, asyncio.Task[None]] = {}
        self._recent: dict[ContainerId, float] = {}
        self._acknowledged: set[ContainerId] = set()
        self._cleaning: set[ContainerId] = set()
        self.counts = ContainerCounts()
        self._does = ContainerWork(settings, parts, self, node, now_ms)
        self._log = structlog.get_logger(__name__)

    # What others look at.

    def get(self, container_id: ContainerId) -> Container | None:
        return self._containers.get(container_id)

    def all(self) -> tuple[Container, ...]:
        return tuple(self._containers.values())

    def applications(self) -> tuple[Application, ...]:
        return tuple(self._applications.values())

    def was_stopped_recently(self, container_id: ContainerId) -> bool:
        """Known until RECENTLY_STOPPED_S after the RM acknowledged its end."""
        return container_id in self._recent

    # What others ask for.

    def localization_of(self, container_id: ContainerId) -> list[tuple[str, Localization, str]]:
        """Of a known container: its resources' links, states and reasons of failure."""
        return self._does.localization_of(self._containers[container_id])

    async def start(self, container: Container, acls: Mapping[str, str]) -> None:
        """Take a new container; localization and launch go on behind.  The first one's ACLs are its application's.

        Raises:
            Refused: known already, or the node is full.
        """
        container_id = container.container_id
        if container_id in self._containers or container_id in self._recent:
            raise Refused(f"Container {container_id} already is running on this node!!")
        if len(self._containers) >= self._settings.containers_max:
            raise Refused(f"This node knows {len(self._containers)} containers already")
        self._containers[container_id] = container
        application_id = container_id.application_id
        if application_id not in self._applications:
            application = Application(application_id=application_id, user=container.user, acls=dict(acls))
            self._applications[application_id] = application
            await self._parts.threads.run(self._parts.store.save_application, application)
        await self._expect_logs(container)
        await self.apply(container_id, life.Started())

    async def kill(self, container_id: ContainerId, exit_status: int, text: str) -> None:
        """Have it killed; ``exit_status`` is what will be reported.  Unknown ids are ignored."""
        event = life.KillRequested(exit_status=exit_status, diagnostics=diagnostics.killed(self._now_ms(), text))
        await self.apply(container_id, event)

    async def signal(self, container_id: ContainerId, name: str) -> bool:
        """Send a signal by name to a running container; False when it was not delivered."""
        container = self._containers.get(container_id)
        if container is None or container.state is not State.RUNNING:
            return False
        delivered = await self._parts.pods.signal(container_id, name)
        text = (
            f"Sent signal {_COMMANDS.get(name, '')} (SIG{name}) to pid {container.pid} as user {container.user} "
            f"for container {container_id}, result={'success' if delivered else 'failed'}"
        )
        container = self._containers.get(container_id)
        if container is not None:  # it may have ended of the signal, and have been forgotten
            noted = life.with_diagnostics(container, diagnostics.stamped(self._now_ms(), text))
            await self.change(container_id, diagnostics=noted.diagnostics)
        return delivered

    async def restart(self, container_id: ContainerId) -> None:
        """Have a running container's script ended and started again; nothing when it does not run."""
        text = diagnostics.stamped(self._now_ms(), "Container will be Restarted.")
        await self.apply(container_id, life.RestartRequested(diagnostics=text))

    async def upgrade(self, container_id: ContainerId, context: bytes, auto_commit: bool) -> None:
        """As ``restart``, with another launch context; its resources are there before the script is ended."""
        text = diagnostics.stamped(self._now_ms(), "Container will be Re-initialized.")
        request = life.RestartRequested(context=context, keeps_previous=not auto_commit, diagnostics=text)
        await self.apply(container_id, request)

    async def roll_back(self, container_id: ContainerId) -> None:
        """Undo the last upgrade.  Raises Refused when there is none, or it was committed."""
        container = self._containers.get(container_id)
        if container is None or not container.rollback:
            raise Refused("Nothing to rollback to !!")
        text = diagnostics.stamped(self._now_ms(), "Container upgrade will be Rolled-back.")
        await self.apply(container_id, life.RestartRequested(context=container.rollback, diagnostics=text))

    async def commit(self, container_id: ContainerId) -> None:
        """The last upgrade stays.  Raises Refused when there is none, or it was committed."""
        container = self._containers.get(container_id)
        if container is None or not container.rollback:
            raise Refused("Nothing to Commit !!")
        await self.change(container_id, rollback=b"")

    def localize(self, container_id: ContainerId, resources: tuple[Wanted, ...]) -> None:
        """Bring more resources into a running container, behind.  Raises Refused when it does not run."""
        container = self._containers.get(container_id)
        if container is None or container.state is not State.RUNNING:
            raise Refused(f"{_state_text(container, container_id)}; only what runs can be given more resources")
        self._does.expect_more(container_id, resources)
        self.spawn(self._does.localize_more(container_id, resources), f"localize-more-{container_id}")

    async def update(self, container_id: ContainerId, resource: Resource, version: int) -> None:
        """A new size; raises Refused unless it lives and the version is newer (updateContainerInternal's words)."""
        container = self._containers.get(container_id)
        if container is None and self.was_stopped_recently(container_id):
            raise Refused(f"Container {container_id} was recently stopped on node manager.")
        if container is None or container.state.is_complete or container.state is State.KILLING:
            raise Refused(f"Container {container_id} is not handled by this NodeManager")
        if version <= container.version:
            text = f"has update version [{container.version}] >= requested version [{version}]"
            raise Refused(f"Container {container_id} {text}")
        await self.change(container_id, resource=resource, version=version)

    async def acknowledge(self, container_ids: Iterable[ContainerId]) -> None:
        """The RM has seen their ends: forget them, as soon as they are cleaned up."""
        for container_id in container_ids:
            container = self._containers.get(container_id)
            if container is None:
                continue
            if container.state is State.DONE:
                await self._forget(container_id)
            elif container.state.is_complete:
                self._acknowledged.add(container_id)

    async def finish_application(self, application_id: ApplicationId) -> None:
        """The application is over: kill what is left of it and then remove what it had on disk."""
        application = self._applications.get(application_id)
        if application is None or application.finished:
            return
        application = replace(application, finished=True)
        await self._parts.threads.run(self._parts.store.save_application, application)
        self._applications[application_id] = application  # not before: a clean-up may remove what is being saved
        for container in self._of(application_id):
            await self.kill(
                container.container_id,
                ContainerExitStatus.KILLED_AFTER_APP_COMPLETION,
                diagnostics.KILLED_AFTER_APP_COMPLETION,
            )
        self._clean_application_if_idle(application_id)

    async def recover(self) -> None:
        """At start: take over what the last agent knew and carry on with each container where it stood."""
        for application in await self._parts.threads.run(self._parts.store.applications):
            self._applications[application.application_id] = application
        for container in await self._parts.threads.run(self._parts.store.containers):
            self._containers[container.container_id] = container
            self._adopt_resources(container)
        for container in self.all():
            await self._carry_on(container)
        for application in self.applications():
            if application.finished:
                self._clean_application_if_idle(application.application_id)

    async def housekeeping(self) -> None:
        """Called now and then: forget what was remembered long enough, make room, sweep."""
        limit = time.monotonic() - RECENTLY_STOPPED_S
        for container_id in [c for c, at in self._recent.items() if at < limit]:
            del self._recent[container_id]
        await self._parts.cache.evict(self._parts.users)
        await self._parts.pods.sweep_empty()

    # Transitions.

    async def apply(self, container_id: ContainerId, event: life.Event) -> None:
        """One event: new record, saved, then the effects."""
        async with self._alone_with(container_id) as before:
            if before is None:
                return
            step = CONTAINER_LIFE.apply(before, event)
            after, effects = step.entity, step.effects
            if after != before:
                self._containers[container_id] = after
                self.counts.note(before, after)
                await self._save(after)
                if after.state is not before.state:
                    self._log.info(
                        "container", container=str(container_id), state=after.state.value, exit_status=after.exit_status
                    )
        if after.state.is_complete and not before.state.is_complete:
            await self._parts.logs.container_finished(container_id, after.exit_status)
        for effect in effects:
            self._perform(effect, container_id)
        if after.state is State.DONE:
            self._clean_application_if_idle(container_id.application_id)
            if container_id in self._acknowledged:
                await self._forget(container_id)

    async def _save(self, container: Container) -> None:
        try:
            await self._parts.threads.run(self._parts.store.save_container, container)
        except OSError as error:
            # A full state disk must not stop containers from being killed or reported.
            self._log.error("state_not_saved", container=str(container.container_id), reason=str(error))

    async def change(self, container_id: ContainerId, **changes: Any) -> None:
        async with self._alone_with(container_id) as container:
            if container is not None:
                self._containers[container_id] = container = replace(container, **changes)
                await self._save(container)

    @asynccontextmanager
    async def _alone_with(self, container_id: ContainerId) -> AsyncIterator[Container | None]:
        """The container while nobody else changes, saves or forgets it; None when it is not known (any more)."""
        if container_id not in self._containers:
            yield None
            return
        async with self._locks.setdefault(container_id, asyncio.Lock()):
            yield self._containers.get(container_id)

    def _perform(self, effect: Effect, container_id: ContainerId) -> None:
        if effect is Effect.REPORT:
            self._report()
        elif effect is Effect.LOCALIZE:
            self._work(container_id, self._does.localize(container_id))
        elif effect is Effect.LAUNCH:
            self._work(container_id, self._does.launch(container_id))
        elif effect is Effect.RELAUNCH:
            self._work(container_id, self._does.relaunch(container_id))
        elif effect is Effect.RESTART:
            self._work(container_id, self._does.restart(container_id))
        elif effect is Effect.PREPARE_UPGRADE:
            self._work(container_id, self._does.prepare_upgrade(container_id))
        elif effect is Effect.STOP_RUN:
            self.spawn(self._does.stop_run(container_id), f"stop-run-{container_id}")
        elif effect is Effect.TERMINATE:
            worker = self._workers.pop(container_id, None)
            self.spawn(self._does.terminate(container_id, worker), f"terminate-{container_id}")
        else:
            self._cleaning.add(container_id)
            self.spawn(self._clean_up(container_id), f"clean-up-{container_id}")

    def _work(self, container_id: ContainerId, work: Coroutine[Any, Any, None]) -> None:
        """The one task that moves a container forward; a kill cancels it."""
        task = self.spawn(work, f"container-{container_id}")
        self._workers[container_id] = task
        task.add_done_callback(lambda done: self._worker_done(container_id, done))

    def _worker_done(self, container_id: ContainerId, task: asyncio.Task[None]) -> None:
        if self._workers.get(container_id) is task:
            del self._workers[container_id]

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        return self._parts.tasks.create_task(self._guarded(work, name), name=name)

    async def _guarded(self, work: Coroutine[Any, Any, None], name: str) -> None:
        try:
            await work
        except Exception as error:
            # The boundary of one container's work: a disk that refuses during clean-up, or a bug, must cost at most
            # this container; in the agent's task group it would end every other one's supervision.
            self._log.error("work_failed", work=name, reason=f"{type(error).__name__}: {error}")

    async def _clean_up(self, container_id: ContainerId) -> None:
        try:
            await self._does.remove_traces(container_id)
        finally:
            # Whatever was left, the container is over: its application's directories go next.
            self._cleaning.discard(container_id)
            await self.apply(container_id, life.CleanedUp())
            self._clean_application_if_idle(container_id.application_id)

    # Applications.

    def _of(self, application_id: ApplicationId) -> Iterator[Container]:
        return (c for c in self.all() if c.container_id.application_id == application_id)

    def _clean_application_if_idle(self, application_id: ApplicationId) -> None:
        application = self._applications.get(application_id)
        if application is None or not application.finished:
            return
        if any(c.state is not State.DONE for c in self._of(application_id)):
            return
        if any(container_id.application_id == application_id for container_id in self._cleaning):
            return
        del self._applications[application_id]
        self.spawn(self._clean_application(application), f"clean-up-{application_id}")

    async def _clean_application(self, application: Application) -> None:
        parts, application_id = self._parts, application.application_id
        await parts.logs.application_finished(application_id)
        await parts.aux.application_finished(application_id)
        await parts.cache.forget_application(str(application_id))
        user = await parts.threads.run(parts.users.lookup, application.user)
        paths = tuple(
            parts.directories.application_dir(d, user.name, application_id) for d in parts.directories.local_dirs
        )
        await self._does.delete_later(user, paths)
        prefix = f"application-{application_id.cluster_timestamp_ms}-{application_id.sequence:04d}-"
        await parts.pods.sweep_away(prefix)
        await parts.threads.run(parts.store.remove_application, application_id)

    async def _expect_logs(self, container: Container) -> None:
        application = self._applications[container.container_id.application_id]
        origin = LogContext(
            user=application.user,
            context=container.log_aggregation,
            acls=application.acls,
            credentials=pb.ContainerLaunchContextProto.FromString(container.launch_context).tokens,
        )
        await self._parts.logs.started(container.container_id, container.is_master, origin)

    # Recovery.

    def _adopt_resources(self, container: Container) -> None:
        if container.state.is_complete or not container.launch_context:
            return
        context = pb.ContainerLaunchContextProto.FromString(container.launch_context)
        application = str(container.container_id.application_id)
        try:
            resources = wanted(context.localResources)
        except InvalidValue:
            return  # it would have failed localization
        for resource in resources:
            scope = scope_of(resource.visibility, container.user, application)
            self._parts.cache.adopt(container.container_id, resource, scope)

    async def _carry_on(self, container: Container) -> None:
        container_id, state = container.container_id, container.state
        if state in _IN_PODS:
            try:
                user = await self._parts.threads.run(self._parts.users.lookup, container.user)
                await self._parts.pods.prepare(container_id, user, keep=container.retry is not None)
            except (YodelError, OSError) as error:
                self._log.error("container_not_adopted", container=str(container_id), reason=str(error))
        effects = _RESUME[state]
        if state is State.RUNNING:
            self._does.watch(container_id)
        elif state is State.NEW:
            await self.apply(container_id, life.Started())
        for effect in effects:
            self._perform(effect, container_id)

    async def _forget(self, container_id: ContainerId) -> None:
        """Not while its record is still being saved: that would come back after its removal."""
        async with self._alone_with(container_id) as container:
            if container is None:
                return
            del self._containers[container_id]
            self._acknowledged.discard(container_id)
            self._locks.pop(container_id, None)
            if len(self._recent) >= RECENTLY_STOPPED_MAX:
                del self._recent[next(iter(self._recent))]
            self._recent[container_id] = time.monotonic()
            await self._parts.threads.run(self._parts.store.remove_container, container_id)


_IN_PODS = (State.SCHEDULED, State.RUNNING, State.REINITIALIZING, State.RELAUNCHING, State.KILLING)

# What a restarted agent has to do again for a container in this state (all effects may be repeated).
_RESUME: dict[State, tuple[Effect, ...]] = {
    State.NEW: (),
    State.LOCALIZING: (Effect.LOCALIZE,),
    State.LOCALIZATION_FAILED: (Effect.CLEAN_UP,),
    State.SCHEDULED: (Effect.LAUNCH,),
    State.RUNNING: (),
    State.REINITIALIZING: (Effect.STOP_RUN,),
    State.RELAUNCHING: (Effect.RELAUNCH,),
    State.EXITED_WITH_SUCCESS: (Effect.CLEAN_UP,),
    State.EXITED_WITH_FAILURE: (Effect.CLEAN_UP,),
    State.KILLING: (Effect.TERMINATE,),
    State.DONE: (),
}


_COMMANDS = {"QUIT": "OUTPUT_THREAD_DUMP", "TERM": "GRACEFUL_SHUTDOWN", "KILL": "FORCEFUL_SHUTDOWN"}


def _state_text(container: Container | None, container_id: ContainerId) -> str:
    if container is None:
        return f"Container {container_id} is not handled by this NodeManager"
    return f"Container {container_id} is in state {container.state.value}"
