"""Performs the effects of a container's transitions: localization, hand-over, waiting for the end, killing, cleanup."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol

from nm_plugin.container import diagnostics, life
from nm_plugin.container.at_limit import AtLimit
from nm_plugin.container.ending import Ending
from nm_plugin.container.launcher import Launcher
from nm_plugin.container.life import Container, LifeState
from nm_plugin.container.resources import Localization, Resources
from nm_plugin.container.shuffle_hook import NotStarted, ShuffleHook, UnfitForQueue
from nm_plugin.host.users import Accounts
from nm_plugin.launch import command
from nm_plugin.localization.plan import LocalResource, wanted_in_turns
from yodel.domain.ids import ContainerId
from yodel.domain.states import ContainerExitStatus
from yodel.errors import YodelError
from yodel.hadoop_pb import yarn_protos_pb2 as pb

WORKER_END_WAIT_S = 5.0


class WorkOwner(Protocol):
    """The manager, as the work sees it."""

    def get(self, container_id: ContainerId) -> Container | None: ...

    async def apply(self, container_id: ContainerId, event: life.Event) -> None: ...

    async def change(self, container_id: ContainerId, **changes: Any) -> None:
        """Fields that are no matter of the life cycle."""

    async def note(self, container_id: ContainerId, text: str) -> None:
        """Add to its diagnostics; one that is not known any more is no error."""

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]: ...


class ContainerWork:
    """One for all containers; keeps nothing but the links of containers that are about to be launched."""

    def __init__(
        self,
        ledger: WorkOwner,
        *,
        accounts: Accounts,
        resources: Resources,
        shuffle: ShuffleHook,
        launcher: Launcher,
        ending: Ending,
        at_limit: Callable[[ContainerId], Awaitable[AtLimit]],
        now_ms: Callable[[], int],
    ) -> None:
        """``at_limit`` says what the kernel has done to a container at its memory limit."""
        self._ledger, self._accounts, self._now_ms = ledger, accounts, now_ms
        self._at_limit = at_limit
        self._resources, self._shuffle, self._launcher, self._ending = resources, shuffle, launcher, ending
        self._links: dict[ContainerId, tuple[tuple[command.ResourceLink, ...], command.LocalizationCounters]] = {}

    async def localize(self, container_id: ContainerId) -> None:
        container = self._container(container_id)
        try:
            links, counters = await self._bring_resources(container)
            if container.shuffle_report is None:  # else an agent that ended here has prepared it
                links = (*links, *await self._prepare(container))
            self._links[container_id] = links, counters
        except NotStarted as error:
            await self._ledger.change(container_id, shuffle_report=error.report)
            await self._ledger.apply(container_id, self._not_started(error))
        except (YodelError, OSError) as error:
            text = diagnostics.failed_localization(self._now_ms(), str(error))
            await self._ledger.apply(container_id, life.LocalizationFailed(diagnostics=text))
        else:
            await self._ledger.apply(container_id, life.Localized())

    async def _prepare(self, container: Container) -> tuple[command.ResourceLink, ...]:
        """Store the launch context that the queue requires, and return further links to make."""
        prepared = await self._shuffle.prepared(container, container.launch_context)
        await self._ledger.change(
            container.container_id, launch_context=prepared.context, shuffle_report=prepared.report
        )
        if prepared.note:
            await self._note(container.container_id, prepared.note)
        is_same = prepared.context == container.launch_context
        return () if is_same else await self._shuffle.jar_link(container, prepared.context)

    async def launch(self, container_id: ContainerId) -> None:
        """Hand the script over; also for a container that stood here when the agent ended."""
        reason = self._launcher.what_hinders()
        if reason:
            await self._launch_failed(container_id, reason, ContainerExitStatus.DISKS_FAILED)
            return
        try:
            if container_id not in self._links:
                self._links[container_id] = await self._bring_resources(self._container(container_id))
            pid = await self._launcher.hand_over(self._container(container_id), *self._links[container_id])
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
        """Restart it at once, and with what the launch context says now."""
        self._links.pop(container_id, None)
        await self._launch_again(self._container(container_id))

    async def _launch_again(self, container: Container) -> None:
        await self._ending.kill_survivors(container)
        try:
            await self._launcher.prepare_again(container)
        except (YodelError, OSError) as error:
            await self._launch_failed(container.container_id, str(error), ContainerExitStatus.INVALID)
            return
        await self.launch(container.container_id)

    async def prepare_upgrade(self, container_id: ContainerId) -> None:
        """Download what the next launch context names while the script runs on."""
        container = self._container(container_id)
        context = pb.ContainerLaunchContextProto.FromString(container.upgrade)
        try:
            user = await self._accounts.lookup(container.user)
            resources = await wanted_in_turns(context.localResources)
            await self._resources.download(container_id, resources, user, context.tokens)
            prepared = await self._shuffle.prepared(container, container.upgrade)
            if prepared.context != container.upgrade:
                await self._ledger.change(container_id, upgrade=prepared.context)
            if prepared.note:
                await self._note(container_id, prepared.note)
        except NotStarted as error:
            await self._ledger.apply(container_id, self._not_started(error))
        except (YodelError, OSError) as error:
            text = diagnostics.failed_localization(self._now_ms(), str(error))
            await self._ledger.apply(container_id, life.LocalizationFailed(diagnostics=text))
        else:
            await self._ledger.apply(container_id, life.Localized())

    async def stop_run(self, container_id: ContainerId) -> None:
        """End the script, not the container: its pod waits for the next."""
        await self._ending.stop_run(self._container(container_id), lambda: self.watch(container_id))

    async def localize_more(self, container_id: ContainerId, resources: tuple[LocalResource, ...]) -> None:
        """Into a running container's work directory; a failure is one of these resources, not of the container."""
        await self._resources.bring_more(self._container(container_id), resources)

    def expect_more(self, container_id: ContainerId, resources: tuple[LocalResource, ...]) -> None:
        """They are asked for.  Raises Refused: too many."""
        self._resources.expect_more(container_id, resources)

    def localization_of(self, container: Container) -> list[tuple[str, Localization, str]]:
        """Every resource's link, state and reason of failure."""
        return self._resources.localization_of(container)

    async def signal(self, container_id: ContainerId, name: str) -> bool:
        """Send a signal by its name; return False when it was not delivered."""
        return await self._ending.signal(container_id, name)

    async def terminate(self, container_id: ContainerId, worker: asyncio.Task[None] | None) -> None:
        """Stop what moves the container forward, then its script."""
        if worker is not None:
            worker.cancel()
            await asyncio.wait({worker}, timeout=WORKER_END_WAIT_S)
        await self._ending.terminate(self._container(container_id), lambda: self.watch(container_id))
        await self._ledger.apply(container_id, life.Exited(exit_status=ContainerExitStatus.FORCE_KILLED))

    async def remove_traces(self, container_id: ContainerId) -> None:
        """After the end: processes that were left, the pod's directory, the work directory."""
        container = self._ledger.get(container_id)
        if container is None:
            return
        self._links.pop(container_id, None)
        await self._remove_blocks(container)
        self._resources.release(container_id)
        await self._ending.forget_pod(container_id)  # a shell that waits for another script ends with its directory
        if container.pid is not None or container.state is LifeState.EXITED_WITH_FAILURE:
            await self._ending.kill_all(container)
        if container.local_dir:
            user, work_dir = await self._ending.remove_launch_files(container)
            self._ledger.spawn(self._ending.delete_later(user, work_dir), f"delete-{container_id}")

    async def _remove_blocks(self, container: Container) -> None:
        """Remove blocks that the driver of an ended ApplicationMaster stored elsewhere, without waiting for the file
        system."""
        try:
            path = await self._shuffle.left_over(container)
        except (YodelError, OSError):
            return  # an application without settings to read had no driver
        if path:
            self._ledger.spawn(self._shuffle.remove(container, path), f"remove-blocks-{container.container_id}")

    def watch(self, container_id: ContainerId) -> asyncio.Task[None]:
        """Report the end of the script that runs now."""
        return self._ledger.spawn(self._await_exit(container_id), f"exit-{container_id}")

    def adopt_resources(self, container: Container) -> None:
        """Take up what it uses at the agent's start, before anything is removed from the cache."""
        self._resources.adopt(container)
        self._shuffle.adopt(container)

    async def adopt_pod(self, container: Container) -> None:
        """Take up its pod at the agent's start.  Raises YodelError, OSError."""
        await self._launcher.adopt(container)

    async def _note(self, container_id: ContainerId, text: str) -> None:
        await self._ledger.note(container_id, diagnostics.stamped(self._now_ms(), text))

    def _not_started(self, error: NotStarted) -> life.LocalizationFailed:
        if not isinstance(error, UnfitForQueue):
            return life.LocalizationFailed(diagnostics=diagnostics.failed_localization(self._now_ms(), str(error)))
        text = diagnostics.stamped(self._now_ms(), str(error))
        return life.LocalizationFailed(diagnostics=text, exit_status=ContainerExitStatus.UNFIT_FOR_QUEUE)

    def _container(self, container_id: ContainerId) -> Container:
        container = self._ledger.get(container_id)
        assert container is not None, "a container lives longer than its work"
        return container

    async def _bring_resources(
        self, container: Container
    ) -> tuple[tuple[command.ResourceLink, ...], command.LocalizationCounters]:
        container_id = container.container_id
        context = pb.ContainerLaunchContextProto.FromString(container.launch_context)
        resources = await wanted_in_turns(context.localResources)
        user = await self._accounts.lookup(container.user)
        made = await self._launcher.prepare(container, user)
        if made is not None:
            work_dir, log_dir = made
            await self._ledger.change(container_id, local_dir=str(work_dir), log_dir=str(log_dir))
        links, counters = await self._resources.bring(container_id, resources, user, context.tokens)
        return (*links, *await self._shuffle.jar_link(container, container.launch_context)), counters

    async def _launch_failed(self, container_id: ContainerId, reason: str, exit_status: int) -> None:
        text = diagnostics.failed_launch(self._now_ms(), container_id, reason, exit_status)
        event = life.LaunchFailed(diagnostics=text, exit_status=exit_status)
        await self._ledger.apply(container_id, event)

    async def _await_exit(self, container_id: ContainerId) -> None:
        container = self._container(container_id)
        exit_status = await self._launcher.exit_status(container_id)
        text, last_words, now_ms, at_limit = "", "", self._now_ms(), await self._at_limit(container_id)
        current = self._ledger.get(container_id)
        state = current.state if current is not None else LifeState.DONE
        if current is not None and state is LifeState.KILLING:
            await self._ending.kill_all(current)  # that the script has ended is what the user's shell says
            text = diagnostics.killed_exit(now_ms, exit_status)
        elif exit_status == ContainerExitStatus.FORCE_KILLED and at_limit.ended:
            text = diagnostics.stamped(now_ms, at_limit.ended) + diagnostics.killed_exit(now_ms, exit_status)
            exit_status = ContainerExitStatus.KILLED_EXCEEDED_PMEM
        elif exit_status != 0 and state is not LifeState.REINITIALIZING:
            tails = await self._launcher.tails(self._container(container_id))
            text, last_words = diagnostics.failed_exit(
                now_ms, container_id, exit_status, tails, is_retried=container.retry is not None
            )
        if at_limit.told and exit_status != ContainerExitStatus.KILLED_EXCEEDED_PMEM:
            text = diagnostics.stamped(now_ms, at_limit.told) + text
        ended = life.Exited(
            exit_status=exit_status, diagnostics=text, last_words=last_words, at_ms=now_ms, run=container.run
        )
        await self._ledger.apply(container_id, ended)
