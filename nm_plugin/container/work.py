"""The effects of a container's transitions: localizing, handing over, waiting for the end, killing, cleaning.

Each is one coroutine that the manager runs as a task; what it finds out goes back as an event through ``Ledger``.  All
may be repeated: an agent that was killed in the middle of one begins it anew.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Protocol

import structlog

from nm_plugin.aux.services import AuxServices
from nm_plugin.container import diagnostics, life
from nm_plugin.container.life import Container, State
from nm_plugin.container.links import counters_of, links_of, outcome_of
from nm_plugin.container.records import NodeStore
from nm_plugin.host.directories import (
    Directories,
    make_application_dirs,
    make_container_dirs,
    read_bounded,
    remove_tree,
    write_new_file,
)
from nm_plugin.host.disks import Disks
from nm_plugin.host.tasks import TaskOwner
from nm_plugin.host.users import FileThreads, OsUser, UserDatabase
from nm_plugin.launch import command
from nm_plugin.launch.parked import ParkedPods, ShellGone
from nm_plugin.launch.survivors import Marks, kill_survivors
from nm_plugin.localization.cache import Claim, Localized, ResourceCache
from nm_plugin.localization.plan import RESOURCES_MAX, Wanted, scope_of, wanted_in_turns
from nm_plugin.logs.uploading.aggregation import LogAggregator
from yodel.domain.ids import ContainerId
from yodel.domain.states import ContainerExitStatus
from yodel.errors import Refused, YodelError
from yodel.hadoop_pb import yarn_protos_pb2 as pb

WORKER_END_WAIT_S = 5.0
KILL_REPEAT_S = 0.5
KILL_ROUNDS_MAX = 40  # a program that forks quicker than it is killed is left to the end of its pod
KILL_ROUND_INTERVAL_S = 0.02
EMPTY_CREDENTIALS = b"HDTS\x00\x00\x00"  # magic, version, no tokens, no secrets (Credentials.writeTokenStorageToStream)


class Localization(Enum):
    """LocalizationState of one resource."""

    PENDING = "PENDING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"


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
    """What the manager works with.  ``seen`` names the processes of a container's tree at the last measurement."""

    directories: Directories
    disks: Disks
    users: UserDatabase
    threads: FileThreads
    cache: ResourceCache
    pods: ParkedPods
    store: NodeStore
    aux: AuxServices
    tasks: TaskOwner
    seen: Callable[[ContainerId], frozenset[tuple[int, int]]]
    logs: LogAggregator


class Ledger(Protocol):
    """The manager, as the work sees it."""

    def get(self, container_id: ContainerId) -> Container | None: ...

    async def apply(self, container_id: ContainerId, event: life.Event) -> None: ...

    async def change(self, container_id: ContainerId, **changes: Any) -> None:
        """Fields that are no matter of the life cycle."""

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]: ...


class ContainerWork:
    """One for all containers; keeps nothing but the links of containers that are about to be launched."""

    def __init__(
        self,
        settings: ManagerSettings,
        parts: ManagerParts,
        ledger: Ledger,
        node: Callable[[], command.Node],
        now_ms: Callable[[], int],
    ) -> None:
        self._settings, self._parts, self._ledger = settings, parts, ledger
        self._node, self._now_ms = node, now_ms
        self._links: dict[ContainerId, tuple[tuple[command.Link, ...], command.Counters]] = {}
        self._more: dict[ContainerId, dict[str, tuple[Localization, str]]] = {}
        self._log = structlog.get_logger(__name__)

    async def localize(self, container_id: ContainerId) -> None:
        try:
            self._links[container_id] = await self._bring_resources(self._container(container_id))
        except (YodelError, OSError) as error:
            text = diagnostics.failed_localization(self._now_ms(), str(error))
            await self._ledger.apply(container_id, life.LocalizationFailed(diagnostics=text))
        else:
            await self._ledger.apply(container_id, life.Localized())

    async def launch(self, container_id: ContainerId) -> None:
        """Hand the script over; also for a container that stood here when the agent ended."""
        disks = self._parts.disks
        if not disks.is_healthy:
            reason = f"Most of the disks failed. {disks.report}"
            await self._launch_failed(container_id, reason, ContainerExitStatus.DISKS_FAILED)
            return
        try:
            if container_id not in self._links:
                self._links[container_id] = await self._bring_resources(self._container(container_id))
            pid = await self._hand_over(self._container(container_id))
        except (YodelError, OSError) as error:
            await self._launch_failed(container_id, str(error), ContainerExitStatus.INVALID)
            return
        if pid:
            await self._ledger.apply(container_id, life.Launched(pid=pid))
        self.watch(container_id)

    async def relaunch(self, container_id: ContainerId) -> None:
        """The same script in the same directory and pod, after the interval the launch context names."""
        container = self._container(container_id)
        if container.retry is not None:
            await asyncio.sleep(container.retry.interval_ms / 1000)
        await self._launch_again(container)

    async def restart(self, container_id: ContainerId) -> None:
        """At once, and with what the launch context says now."""
        self._links.pop(container_id, None)
        await self._launch_again(self._container(container_id))

    async def _launch_again(self, container: Container) -> None:
        container_id = container.container_id
        await self._kill_survivors(container)
        try:
            user = await self._user(container)
            await self._parts.pods.prepare(container_id, user, keep=True)
            await self._parts.pods.again(container_id, container.run)
        except (YodelError, OSError) as error:
            await self._launch_failed(container_id, str(error), ContainerExitStatus.INVALID)
            return
        await self.launch(container_id)

    async def prepare_upgrade(self, container_id: ContainerId) -> None:
        """Download what the next launch context names while the script runs on."""
        container = self._container(container_id)
        context = pb.ContainerLaunchContextProto.FromString(container.upgrade)
        try:
            user = await self._user(container)
            await self._localized(container_id, await wanted_in_turns(context.localResources), user, context.tokens)
        except (YodelError, OSError) as error:
            text = diagnostics.failed_localization(self._now_ms(), str(error))
            await self._ledger.apply(container_id, life.LocalizationFailed(diagnostics=text))
        else:
            await self._ledger.apply(container_id, life.Localized())

    async def stop_run(self, container_id: ContainerId) -> None:
        """End the script, not the container: its pod waits for the next."""
        await self._parts.pods.keep(container_id)
        await self._kill_script(container_id)

    async def localize_more(self, container_id: ContainerId, resources: tuple[Wanted, ...]) -> None:
        """Into a running container's work directory; a failure is one of these resources, not of the container."""
        container = self._container(container_id)
        context = pb.ContainerLaunchContextProto.FromString(container.launch_context)
        statuses = self._more.setdefault(container_id, {})
        try:
            user = await self._user(container)
            localized = await self._localized(container_id, resources, user, context.tokens)
            links = await self._parts.threads.run_as(user, links_of, resources, localized)
            await self._parts.threads.run_as(user, _make_links, Path(container.local_dir), links)
        except (YodelError, OSError) as error:
            statuses.update({w.link: (Localization.FAILED, str(error)) for w in resources})
        else:
            statuses.update({w.link: (Localization.COMPLETED, "") for w in resources})

    def expect_more(self, container_id: ContainerId, resources: tuple[Wanted, ...]) -> None:
        """They are asked for: pending until ``localize_more`` is through.  Raises Refused: too many."""
        statuses = self._more.setdefault(container_id, {})
        if len(statuses) + len(resources) > RESOURCES_MAX:
            raise Refused(f"{container_id} has {len(statuses)} more resources already")
        statuses.update({w.link: (Localization.PENDING, "") for w in resources})

    def localization_of(self, container: Container) -> list[tuple[str, Localization, str]]:
        """Every resource's link, state and reason of failure."""
        context = pb.ContainerLaunchContextProto.FromString(container.launch_context)
        state = Localization.COMPLETED
        if container.state in (State.NEW, State.LOCALIZING):
            state = Localization.PENDING
        elif container.state is State.LOCALIZATION_FAILED:
            state = Localization.FAILED
        text = container.diagnostics if state is Localization.FAILED else ""
        first = [(entry.key, state, text) for entry in context.localResources]
        return first + [(link, *outcome) for link, outcome in self._more.get(container.container_id, {}).items()]

    async def terminate(self, container_id: ContainerId, worker: asyncio.Task[None] | None) -> None:
        """Stop what moves the container forward, then its script."""
        if worker is not None:
            worker.cancel()
            await asyncio.wait({worker}, timeout=WORKER_END_WAIT_S)
        pods = self._parts.pods
        if pods.knows(container_id) and not await pods.withdraw(container_id):
            await self._kill_script(container_id)
        await self._ledger.apply(container_id, life.Exited(exit_status=ContainerExitStatus.FORCE_KILLED))

    async def remove_traces(self, container_id: ContainerId) -> None:
        """After the end: processes that were left, the pod's directory, the work directory."""
        container = self._ledger.get(container_id)
        if container is None:
            return
        self._links.pop(container_id, None)
        self._more.pop(container_id, None)
        if container.local_dir:
            await self._kill_survivors(container)
        self._parts.cache.release(container_id)
        await self._parts.pods.forget(container_id)
        if container.local_dir:
            user = await self._user(container)
            work_dir = Path(container.local_dir)
            await self._parts.threads.run_as(user, _remove_launch_files, work_dir)
            self._ledger.spawn(self.delete_later(user, (work_dir,)), f"delete-{container_id}")

    async def delete_later(self, user: OsUser, paths: tuple[Path, ...]) -> None:
        """Remove a user's trees after the debug delay."""
        if self._settings.deletion_delay_s > 0:
            await asyncio.sleep(self._settings.deletion_delay_s)
        for path in paths:
            try:
                await self._parts.threads.run_as(user, remove_tree, path)
            except OSError as error:
                self._log.warning("directory_left", directory=str(path), reason=str(error))

    def watch(self, container_id: ContainerId) -> asyncio.Task[None]:
        """Report the end of the script that runs now."""
        return self._ledger.spawn(self._await_exit(container_id), f"exit-{container_id}")

    def _container(self, container_id: ContainerId) -> Container:
        container = self._ledger.get(container_id)
        assert container is not None, "a container lives longer than its work"
        return container

    async def _user(self, container: Container) -> OsUser:
        return await self._parts.threads.run(self._parts.users.lookup, container.user)

    async def _bring_resources(self, container: Container) -> tuple[tuple[command.Link, ...], command.Counters]:
        parts, container_id = self._parts, container.container_id
        context = pb.ContainerLaunchContextProto.FromString(container.launch_context)
        resources = await wanted_in_turns(context.localResources)
        user = await self._user(container)
        await parts.pods.prepare(container_id, user, keep=container.retry is not None)
        good = parts.disks.good
        await parts.threads.run(make_application_dirs, good, user, container_id.application_id)
        if not container.local_dir:
            work_dir, log_dir = await parts.threads.run(make_container_dirs, good, user, container_id)
            await self._ledger.change(container_id, local_dir=str(work_dir), log_dir=str(log_dir))
        localized = await self._localized(container_id, resources, user, context.tokens)
        links = await parts.threads.run_as(user, links_of, resources, localized)
        return links, counters_of(localized)

    async def _localized(
        self, container_id: ContainerId, resources: tuple[Wanted, ...], user: OsUser, credentials: bytes
    ) -> list[Localized]:
        cache, application = self._parts.cache, str(container_id.application_id)
        claim = Claim(container_id=container_id, user=user, credentials=credentials)
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(outcome_of(cache.localize(w, scope_of(w.visibility, user.name, application), claim)))
                for w in resources
            ]
        localized: list[Localized] = []
        for task in tasks:
            outcome = task.result()
            if isinstance(outcome, YodelError):
                raise outcome
            localized.append(outcome)
        return localized

    async def _launch_failed(self, container_id: ContainerId, reason: str, exit_status: int) -> None:
        text = diagnostics.failed_launch(self._now_ms(), container_id, reason, exit_status)
        event = life.LaunchFailed(diagnostics=text, exit_status=exit_status)
        await self._ledger.apply(container_id, event)

    async def _hand_over(self, container: Container) -> int:
        parts = self._parts
        user = await self._user(container)
        links, counters = self._links[container.container_id]
        context = pb.ContainerLaunchContextProto.FromString(container.launch_context)
        work_dir, log_dir = Path(container.local_dir), Path(container.log_dir)
        directories, application_id = parts.disks.good, container.container_id.application_id
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
        container = self._container(container_id)
        try:
            exit_status = await self._parts.pods.exit_status(container_id)
        except ShellGone:
            exit_status = ContainerExitStatus.FORCE_KILLED
        text, last_words, now_ms = "", "", self._now_ms()
        current = self._ledger.get(container_id)
        state = current.state if current is not None else State.DONE
        if state is State.KILLING:
            text = diagnostics.killed_exit(now_ms, exit_status)
        elif exit_status != 0 and state is not State.REINITIALIZING:
            text, last_words = diagnostics.failed_exit(
                now_ms, container_id, exit_status, await self._tails(container), is_retried=container.retry is not None
            )
        ended = life.Exited(
            exit_status=exit_status, diagnostics=text, last_words=last_words, at_ms=now_ms, run=container.run
        )
        await self._ledger.apply(container_id, ended)

    async def _tails(self, container: Container) -> diagnostics.ErrorTails:
        user, log_dir = await self._user(container), Path(self._container(container.container_id).log_dir)

        def read() -> diagnostics.ErrorTails:
            tail = diagnostics.TAIL_BYTES
            return diagnostics.ErrorTails(
                prelaunch_err=read_bounded(log_dir / "prelaunch.err", tail, from_end=True),
                stderr=read_bounded(log_dir / "stderr", tail, from_end=True),
            )

        return await self._parts.threads.run_as(user, read)

    async def _kill_script(self, container_id: ContainerId) -> None:
        """TERM, then KILL; returns when it ended or will not be waited for any longer."""
        pods = self._parts.pods
        await pods.started(container_id, self._settings.kill_wait_s)
        end = self.watch(container_id)
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

    async def _kill_survivors(self, container: Container) -> None:
        container_id = container.container_id
        user = await self._user(container)
        seen = self._parts.seen(container_id)
        marks = Marks(container_id, Path(container.local_dir).parent)
        for _ in range(KILL_ROUNDS_MAX):
            killed = await self._parts.threads.run(kill_survivors, marks, user.uid, seen)
            if not killed:
                break
            self._log.info("survivors_killed", container=str(container_id), processes=killed)
            await asyncio.sleep(KILL_ROUND_INTERVAL_S)


def _write_launch_files(work_dir: Path, text: str, tokens: bytes) -> None:
    write_new_file(work_dir / command.TOKENS_FILE, tokens or EMPTY_CREDENTIALS, 0o600)
    write_new_file(work_dir / command.LAUNCH_SCRIPT, text.encode("utf-8", errors="surrogateescape"), 0o700)


def _remove_launch_files(work_dir: Path) -> None:
    for name in (command.TOKENS_FILE, command.LAUNCH_SCRIPT):
        (work_dir / name).unlink(missing_ok=True)


def _make_links(work_dir: Path, links: tuple[command.Link, ...]) -> None:
    """As the launch script would have, replacing what has the name (but never a directory)."""
    for link in links:
        path = work_dir / link.link
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.symlink_to(link.target)
