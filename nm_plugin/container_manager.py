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
from collections.abc import Callable, Coroutine, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import structlog

from nm_plugin import containers, diagnostics
from nm_plugin.aux_services import AuxServices
from nm_plugin.containers import Container, Effect, State
from nm_plugin.directories import (
    Directories,
    make_application_dirs,
    make_container_dirs,
    read_bounded,
    remove_tree,
    write_new_file,
)
from nm_plugin.launch import command
from nm_plugin.launch.parked import ParkedPods, ShellGone
from nm_plugin.launch.users import FileThreads, OsUser, UserDatabase
from nm_plugin.localization.cache import Claim, Localized, ResourceCache
from nm_plugin.localization.plan import Wanted, scope_of, wanted
from nm_plugin.node_store import Application, NodeStore
from nm_plugin.task_owner import TaskOwner
from yodel.domain.ids import ApplicationId, ContainerId
from yodel.domain.resource import Resource
from yodel.domain.states import ContainerExitStatus
from yodel.errors import InvalidValue, Refused, YodelError
from yodel.hadoop_pb import yarn_protos_pb2 as pb

RECENTLY_STOPPED_S = 600.0  # yarn.nodemanager.duration-to-track-stopped-containers
RECENTLY_STOPPED_MAX = 100_000
WILDCARD_LINKS_MAX = 20_000
WORKER_END_WAIT_S = 5.0
KILL_REPEAT_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagerSettings:
    """Times and limits; see ``Settings`` for their meaning."""

    launch_deadline_s: float
    sigkill_delay_ms: int
    kill_wait_s: float
    deletion_delay_s: float
    containers_max: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagerParts:
    """What the manager works with."""

    directories: Directories
    users: UserDatabase
    threads: FileThreads
    cache: ResourceCache
    pods: ParkedPods
    store: NodeStore
    aux: AuxServices
    tasks: TaskOwner


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
        self._node, self._report, self._now_ms = node, report, now_ms
        self._containers: dict[ContainerId, Container] = {}
        self._applications: dict[ApplicationId, Application] = {}
        self._locks: dict[ContainerId, asyncio.Lock] = {}
        self._workers: dict[ContainerId, asyncio.Task[None]] = {}
        self._links: dict[ContainerId, tuple[tuple[command.Link, ...], command.Counters]] = {}
        self._recent: dict[ContainerId, float] = {}
        self._acknowledged: set[ContainerId] = set()
        self._cleaning: set[ContainerId] = set()
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

    async def start(self, container: Container) -> None:
        """Take a new container; localization and launch go on behind.

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
            application = Application(application_id=application_id, user=container.user)
            self._applications[application_id] = application
            await self._parts.threads.run(self._parts.store.save_application, application)
        await self._apply(container_id, containers.Started())

    async def kill(self, container_id: ContainerId, exit_status: int, text: str) -> None:
        """Have it killed; ``exit_status`` is what will be reported.  Unknown ids are ignored."""
        event = containers.KillRequested(exit_status=exit_status, diagnostics=diagnostics.killed(self._now_ms(), text))
        await self._apply(container_id, event)

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
        noted = containers.with_diagnostics(container, diagnostics.stamped(self._now_ms(), text))
        await self._replace(container_id, diagnostics=noted.diagnostics)
        return delivered

    async def update(self, container_id: ContainerId, resource: Resource, version: int) -> None:
        """A new size; raises Refused unless it lives and the version is newer."""
        container = self._containers.get(container_id)
        if container is None or container.state.is_complete or container.state is State.KILLING:
            raise Refused(f"Container {container_id} is not handled by this NodeManager")
        if version <= container.version:
            raise Refused(f"Container {container_id} has update version {version}, not newer than {container.version}")
        await self._replace(container_id, resource=resource, version=version)

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
        self._applications[application_id] = application
        await self._parts.threads.run(self._parts.store.save_application, application)
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
        """Called now and then: forget what was remembered long enough, make room in the cache."""
        limit = time.monotonic() - RECENTLY_STOPPED_S
        for container_id in [c for c, at in self._recent.items() if at < limit]:
            del self._recent[container_id]
        await self._parts.cache.evict(self._parts.users)

    # Transitions.

    async def _apply(self, container_id: ContainerId, event: containers.Event) -> None:
        """One event: new record, saved, then the effects."""
        if container_id not in self._containers:
            return
        async with self._locks.setdefault(container_id, asyncio.Lock()):
            before = self._containers.get(container_id)
            if before is None:
                return
            after, effects = containers.step(before, event)
            if after != before:
                self._containers[container_id] = after
                await self._save(after)
                if after.state is not before.state:
                    self._log.info(
                        "container", container=str(container_id), state=after.state.value, exit_status=after.exit_status
                    )
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

    async def _replace(self, container_id: ContainerId, **changes: Any) -> None:
        async with self._locks.setdefault(container_id, asyncio.Lock()):
            container = replace(self._containers[container_id], **changes)
            self._containers[container_id] = container
            await self._save(container)

    def _perform(self, effect: Effect, container_id: ContainerId) -> None:
        if effect is Effect.REPORT:
            self._report()
        elif effect is Effect.LOCALIZE:
            self._work(container_id, self._localize(container_id))
        elif effect is Effect.LAUNCH:
            self._work(container_id, self._launch(container_id))
        elif effect is Effect.TERMINATE:
            self._spawn(self._terminate(container_id), f"terminate-{container_id}")
        else:
            self._cleaning.add(container_id)
            self._spawn(self._clean_up(container_id), f"clean-up-{container_id}")

    def _work(self, container_id: ContainerId, work: Coroutine[Any, Any, None]) -> None:
        """The one task that moves a container forward; a kill cancels it."""
        task = self._spawn(work, f"container-{container_id}")
        self._workers[container_id] = task
        task.add_done_callback(lambda done: self._worker_done(container_id, done))

    def _worker_done(self, container_id: ContainerId, task: asyncio.Task[None]) -> None:
        if self._workers.get(container_id) is task:
            del self._workers[container_id]

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        return self._parts.tasks.create_task(self._guarded(work, name), name=name)

    async def _guarded(self, work: Coroutine[Any, Any, None], name: str) -> None:
        try:
            await work
        except Exception as error:
            # The boundary of one container's work: a disk that refuses during clean-up, or a bug, must cost at most
            # this container; in the agent's task group it would end every other one's supervision.
            self._log.error("work_failed", work=name, reason=f"{type(error).__name__}: {error}")

    # Effects.

    async def _localize(self, container_id: ContainerId) -> None:
        container = self._containers[container_id]
        try:
            self._links[container_id] = await self._bring_resources(container)
        except (YodelError, OSError) as error:
            text = diagnostics.failed_localization(self._now_ms(), str(error))
            await self._apply(container_id, containers.LocalizationFailed(diagnostics=text))
        else:
            await self._apply(container_id, containers.Localized())

    async def _bring_resources(self, container: Container) -> tuple[tuple[command.Link, ...], command.Counters]:
        parts, container_id = self._parts, container.container_id
        context = pb.ContainerLaunchContextProto.FromString(container.launch_context)
        resources = wanted(context.localResources)
        user = await parts.threads.run(parts.users.lookup, container.user)
        await parts.pods.prepare(container_id, user)
        await parts.threads.run(make_application_dirs, parts.directories, user, container_id.application_id)
        work_dir, log_dir = await parts.threads.run(make_container_dirs, parts.directories, user, container_id)
        await self._replace(container_id, local_dir=str(work_dir), log_dir=str(log_dir))
        claim = Claim(container_id=container_id, user=user, credentials=context.tokens)
        application = str(container_id.application_id)
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(
                    _first_error(parts.cache.localize(w, scope_of(w.visibility, user.name, application), claim))
                )
                for w in resources
            ]
        localized: list[Localized] = []
        for task in tasks:
            outcome = task.result()
            if isinstance(outcome, YodelError):
                raise outcome
            localized.append(outcome)
        links = await parts.threads.run_as(user, _links, resources, localized)
        return links, _counters(localized)

    async def _launch(self, container_id: ContainerId) -> None:
        container = self._containers[container_id]
        try:
            if container_id not in self._links:  # after an agent restart
                self._links[container_id] = await self._bring_resources(container)
                container = self._containers[container_id]
            pid = await self._hand_over(container)
        except (YodelError, OSError) as error:
            text = diagnostics.failed_launch(self._now_ms(), container_id, str(error))
            await self._apply(container_id, containers.LaunchFailed(diagnostics=text))
            return
        self._spawn(self._await_exit(container_id), f"exit-{container_id}")
        if pid:
            await self._apply(container_id, containers.Launched(pid=pid))

    async def _hand_over(self, container: Container) -> int:
        parts = self._parts
        user = await parts.threads.run(parts.users.lookup, container.user)
        links, counters = self._links[container.container_id]
        context = pb.ContainerLaunchContextProto.FromString(container.launch_context)
        work_dir, log_dir = Path(container.local_dir), Path(container.log_dir)
        directories, application_id = parts.directories, container.container_id.application_id
        launch = command.Launch(
            container_id=container.container_id,
            user=user.name,
            work_dir=work_dir,
            log_dir=log_dir,
            local_dirs=[directories.application_dir(d, user.name, application_id) for d in directories.local_dirs],
            local_user_dirs=[directories.user_dir(d, user.name) for d in directories.local_dirs],
            log_dirs=[directories.container_log_dir(d, container.container_id) for d in directories.log_dirs],
            environment={entry.key: entry.value for entry in context.environment},
            command=tuple(context.command),
            links=links,
            counters=counters,
        )
        text = command.script(self._node(), launch)
        await parts.threads.run_as(user, _write_launch_files, work_dir, text, context.tokens)
        return await parts.pods.hand_over(
            container.container_id, work_dir / command.LAUNCH_SCRIPT, log_dir, self._settings.launch_deadline_s
        )

    async def _await_exit(self, container_id: ContainerId) -> None:
        container = self._containers[container_id]
        try:
            exit_status = await self._parts.pods.exit_status(container_id)
        except ShellGone:
            exit_status = ContainerExitStatus.FORCE_KILLED
        text = ""
        state = self._containers[container_id].state if container_id in self._containers else State.DONE
        if state is State.KILLING:
            text = diagnostics.killed_exit(self._now_ms(), exit_status)
        elif exit_status != 0:
            tails = await self._tails(container)
            text = diagnostics.failed_exit(self._now_ms(), container_id, exit_status, tails)
        await self._apply(container_id, containers.Exited(exit_status=exit_status, diagnostics=text))

    async def _tails(self, container: Container) -> diagnostics.ErrorTails:
        user = await self._parts.threads.run(self._parts.users.lookup, container.user)
        log_dir = Path(self._containers[container.container_id].log_dir)

        def read() -> diagnostics.ErrorTails:
            tail = diagnostics.TAIL_BYTES
            return diagnostics.ErrorTails(
                prelaunch_err=read_bounded(log_dir / "prelaunch.err", tail, from_end=True),
                stderr=read_bounded(log_dir / "stderr", tail, from_end=True),
            )

        return await self._parts.threads.run_as(user, read)

    async def _terminate(self, container_id: ContainerId) -> None:
        worker = self._workers.pop(container_id, None)
        if worker is not None:
            worker.cancel()
            await asyncio.wait({worker}, timeout=WORKER_END_WAIT_S)
        pods = self._parts.pods
        if pods.knows(container_id) and not await pods.withdraw(container_id):
            await self._kill_script(container_id)
        await self._apply(container_id, containers.Exited(exit_status=ContainerExitStatus.FORCE_KILLED))

    async def _kill_script(self, container_id: ContainerId) -> None:
        """TERM, then KILL; returns when it ended or will not be waited for any longer."""
        pods = self._parts.pods
        await pods.started(container_id, self._settings.kill_wait_s)
        end = self._spawn(self._await_exit(container_id), f"exit-{container_id}")
        await pods.signal(container_id, "TERM")
        done, _ = await asyncio.wait({end}, timeout=self._settings.sigkill_delay_ms / 1000)
        deadline = time.monotonic() + self._settings.kill_wait_s
        while not done and time.monotonic() < deadline:
            # Repeated: a script that has only just begun is not yet a process group of its own.
            await pods.signal(container_id, "KILL")
            done, _ = await asyncio.wait({end}, timeout=KILL_REPEAT_S)
        if not done:
            self._log.warning("container_not_killable", container=str(container_id))
            end.cancel()

    async def _clean_up(self, container_id: ContainerId) -> None:
        try:
            await self._remove_traces(container_id)
        finally:
            # Whatever was left, the container is over: its application's directories go next.
            self._cleaning.discard(container_id)
            await self._apply(container_id, containers.CleanedUp())
            self._clean_application_if_idle(container_id.application_id)

    async def _remove_traces(self, container_id: ContainerId) -> None:
        container = self._containers.get(container_id)
        if container is None:
            return
        self._links.pop(container_id, None)
        self._parts.cache.release(container_id)
        await self._parts.pods.forget(container_id)
        if container.local_dir:
            user = await self._parts.threads.run(self._parts.users.lookup, container.user)
            work_dir = Path(container.local_dir)
            await self._parts.threads.run_as(user, _remove_launch_files, work_dir)
            self._delete(user, (work_dir,), f"delete-{container_id}")

    def _delete(self, user: OsUser, paths: tuple[Path, ...], name: str) -> None:
        """Remove a user's trees after the debug delay."""
        self._spawn(self._delete_later(user, paths), name)

    async def _delete_later(self, user: OsUser, paths: tuple[Path, ...]) -> None:
        if self._settings.deletion_delay_s > 0:
            await asyncio.sleep(self._settings.deletion_delay_s)
        for path in paths:
            await self._parts.threads.run_as(user, remove_tree, path)

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
        self._spawn(self._clean_application(application), f"clean-up-{application_id}")

    async def _clean_application(self, application: Application) -> None:
        parts, application_id = self._parts, application.application_id
        await parts.aux.application_finished(application_id)
        await parts.cache.forget_application(str(application_id))
        user = await parts.threads.run(parts.users.lookup, application.user)
        paths = tuple(
            parts.directories.application_dir(d, user.name, application_id) for d in parts.directories.local_dirs
        )
        await self._delete_later(user, paths)
        prefix = f"application-{application_id.cluster_timestamp_ms}-{application_id.sequence:04d}-"
        await parts.pods.sweep_away(prefix)
        await parts.threads.run(parts.store.remove_application, application_id)

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
        if state in (State.RUNNING, State.KILLING, State.SCHEDULED):
            try:
                user = await self._parts.threads.run(self._parts.users.lookup, container.user)
                await self._parts.pods.prepare(container_id, user)
            except (YodelError, OSError) as error:
                self._log.error("container_not_adopted", container=str(container_id), reason=str(error))
        effects = _RESUME[state]
        if state is State.RUNNING:
            self._spawn(self._await_exit(container_id), f"exit-{container_id}")
        elif state is State.NEW:
            await self._apply(container_id, containers.Started())
        for effect in effects:
            self._perform(effect, container_id)

    async def _forget(self, container_id: ContainerId) -> None:
        del self._containers[container_id]
        self._acknowledged.discard(container_id)
        self._locks.pop(container_id, None)
        if len(self._recent) >= RECENTLY_STOPPED_MAX:
            del self._recent[next(iter(self._recent))]
        self._recent[container_id] = time.monotonic()
        await self._parts.threads.run(self._parts.store.remove_container, container_id)


# What a restarted agent has to do again for a container in this state (all effects may be repeated).
_RESUME: dict[State, tuple[Effect, ...]] = {
    State.NEW: (),
    State.LOCALIZING: (Effect.LOCALIZE,),
    State.LOCALIZATION_FAILED: (Effect.CLEAN_UP,),
    State.SCHEDULED: (Effect.LAUNCH,),
    State.RUNNING: (),
    State.EXITED_WITH_SUCCESS: (Effect.CLEAN_UP,),
    State.EXITED_WITH_FAILURE: (Effect.CLEAN_UP,),
    State.KILLING: (Effect.TERMINATE,),
    State.DONE: (),
}


async def _first_error(work: Coroutine[Any, Any, Localized]) -> Localized | YodelError:
    """As a value, so that all resources are looked at and the first in the client's order is reported."""
    try:
        return await work
    except YodelError as error:
        return error


def _counters(localized: Iterable[Localized]) -> command.Counters:
    listed = tuple(localized)
    return command.Counters(
        missed_bytes=sum(one.size_bytes for one in listed if not one.was_cached),
        cached_bytes=sum(one.size_bytes for one in listed if one.was_cached),
        missed_files=sum(not one.was_cached for one in listed),
        cached_files=sum(one.was_cached for one in listed),
    )


def _links(resources: tuple[Wanted, ...], localized: list[Localized]) -> tuple[command.Link, ...]:
    """A link named ``*`` stands for every file of the localized directory (ContainerLaunch.getLocalizedResources)."""
    links: list[command.Link] = []
    for resource, place in zip(resources, localized, strict=True):
        prefix, _, last = resource.link.rpartition("/")
        if last != "*":
            links.append(command.Link(link=resource.link, target=place.path))
            continue
        names = sorted(path.name for path in place.path.iterdir())
        if len(links) + len(names) > WILDCARD_LINKS_MAX:
            raise InvalidValue("local resource link", resource.link, f"at most {WILDCARD_LINKS_MAX} files")
        links += [
            command.Link(link=f"{prefix}/{name}" if prefix else name, target=place.path / name)
            for name in names
            if "\n" not in name
        ]
    return tuple(links)


def _write_launch_files(work_dir: Path, text: str, tokens: bytes) -> None:
    write_new_file(work_dir / command.TOKENS_FILE, tokens or EMPTY_CREDENTIALS, 0o600)
    write_new_file(work_dir / command.LAUNCH_SCRIPT, text.encode("utf-8", errors="surrogateescape"), 0o700)


def _remove_launch_files(work_dir: Path) -> None:
    for name in (command.TOKENS_FILE, command.LAUNCH_SCRIPT):
        (work_dir / name).unlink(missing_ok=True)


_COMMANDS = {"QUIT": "OUTPUT_THREAD_DUMP", "TERM": "GRACEFUL_SHUTDOWN", "KILL": "FORCEFUL_SHUTDOWN"}
EMPTY_CREDENTIALS = b"HDTS\x00\x00\x00"  # magic, version, no tokens, no secrets (Credentials.writeTokenStorageToStream)
