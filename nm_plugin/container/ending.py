"""Ends scripts, and removes what containers and applications leave behind."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import structlog

from nm_plugin.container.launcher import remove_launch_files
from nm_plugin.container.life import Container
from nm_plugin.container.records import Application
from nm_plugin.host.directories import Directories, remove_tree
from nm_plugin.host.users import Accounts, OsUser
from nm_plugin.launch.members import ProcessWatch, Seen
from nm_plugin.launch.parked import ParkedPods
from yodel.domain.ids import ContainerId

KILL_REPEAT_S = 0.5
KILL_ROUND_INTERVAL_S = 0.02
LOOK_INTERVAL_S = 0.1
POD_LEAVES_S = 2.0
"""A pod's shell ends when it has copied the last of the container's output, and with it the kernel ends all others."""
UNKILLABLE_S = 30.0
SHUFFLING_MASTER_GRACE_S = 5.0
"""The time that an ApplicationMaster has for giving up what it holds elsewhere, where its queue says how shuffle is
done.  It is what its pod has by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndingSettings:
    """Times; see ``Settings`` for their meaning."""

    sigkill_delay_ms: int
    kill_wait_s: float
    deletion_delay_s: float


class Ending:
    """``seen`` names the processes of a container at the last measurement, ``looks`` tells which there are now."""

    def __init__(
        self,
        settings: EndingSettings,
        pods: ParkedPods,
        accounts: Accounts,
        directories: Directories,
        seen: Callable[[ContainerId], Seen],
        looks: ProcessWatch,
    ) -> None:
        self._settings, self._pods, self._accounts = settings, pods, accounts
        self._directories, self._seen, self._looks = directories, seen, looks
        self._log = structlog.get_logger(__name__)

    async def signal(self, container_id: ContainerId, name: str) -> bool:
        """False when it was not delivered."""
        return await self._pods.signal(container_id, name)

    async def stop_run(self, container: Container, watch: Callable[[], asyncio.Task[None]]) -> None:
        """End the script, not the container: its pod waits for the next, unless it hears nothing any more."""
        await self._pods.keep(container.container_id)
        await self._kill_script(container, watch)

    async def terminate(self, container: Container, watch: Callable[[], asyncio.Task[None]]) -> None:
        """The script is not started, or ended, and nothing is left of it."""
        container_id = container.container_id
        if self._pods.knows(container_id) and not await self._pods.withdraw(container_id):
            await self._pods.keep_no_more(container_id)
            is_shuffling = container.is_master and bool(container.shuffle)
            end = await self._kill_script(container, watch, SHUFFLING_MASTER_GRACE_S if is_shuffling else 0.0)
            end.cancel()

    async def _kill_script(
        self, container: Container, watch: Callable[[], asyncio.Task[None]], least_grace_s: float = 0.0
    ) -> asyncio.Task[None]:
        """TERM, then KILL, and what hears neither with all of its pod; returns what waits for the end of the script."""
        pods, container_id = self._pods, container.container_id
        await pods.started(container_id, self._settings.kill_wait_s)
        end = watch()
        await pods.signal(container_id, "TERM")
        grace_s = max(self._settings.sigkill_delay_ms / 1000, least_grace_s)
        done, _ = await asyncio.wait({end}, timeout=grace_s)
        deadline = time.monotonic() + self._settings.kill_wait_s
        while not done and time.monotonic() < deadline:
            # Repeated: a script that has only just begun is not yet a process group of its own.
            await pods.signal(container_id, "KILL")
            done, _ = await asyncio.wait({end}, timeout=KILL_REPEAT_S)
        if not done:
            self._log.warning("container_not_signalled", container=str(container_id))
            await self.kill_all(container, leaves_s=0.0)
        return end

    async def kill_survivors(self, container: Container) -> None:
        """Kill what a script left behind in a pod that will be used again.  The shell of a pod with process ids of its
        own has done that itself, and is not killed with them."""
        owner = container.owner
        if owner is not None and not (await self._looks.of(owner, self._seen(owner.container_id))).is_proved:
            await self.kill_all(container)

    async def kill_all(self, container: Container, leaves_s: float = POD_LEAVES_S) -> None:
        """Return when nothing of a container runs any more.

        Its pod, which ends with its shell, has ``leaves_s`` for that.  What the kernel does not end in UNKILLABLE_S, as
        it waits for a disk, is left to it.
        """
        owner = container.owner
        if owner is None:
            return  # nothing of it was started
        seen, began_s = self._seen(container.container_id), time.monotonic()
        while True:
            members = await self._looks.of(owner, seen)
            if not members.processes and members.is_whole:
                return
            # On its way out a process is in no group of version 1 any more, and still has its memory.
            seen |= {(one.pid, one.start_ticks) for one in members.processes}
            waited_s = time.monotonic() - began_s
            if waited_s >= UNKILLABLE_S:
                self._log.error("container_not_killable", container=str(container.container_id))
                return
            if members.is_proved and waited_s < leaves_s:
                await asyncio.sleep(LOOK_INTERVAL_S)
                continue
            killed = await self._looks.kill(members.processes)
            self._log.info("survivors_killed", container=str(container.container_id), processes=killed)
            await asyncio.sleep(KILL_ROUND_INTERVAL_S)

    async def forget_pod(self, container_id: ContainerId) -> None:
        await self._pods.forget(container_id)

    async def remove_launch_files(self, container: Container) -> tuple[OsUser, Path]:
        """Remove the launch files; return the user and the work directory that is still to be deleted."""
        user, work_dir = await self._accounts.lookup(container.user), Path(container.local_dir)
        await self._accounts.run_as(user, remove_launch_files, work_dir)
        return user, work_dir

    async def delete_later(self, user: OsUser, *paths: Path) -> None:
        """Remove a user's trees after the debug delay."""
        if self._settings.deletion_delay_s > 0:
            await asyncio.sleep(self._settings.deletion_delay_s)
        for path in paths:
            try:
                await self._accounts.run_as(user, remove_tree, path)
            except OSError as error:
                self._log.warning("directory_not_removed", directory=str(path), reason=str(error))

    async def end_application(self, application: Application) -> None:
        """Its directories, and those of its pods."""
        user, directories = await self._accounts.lookup(application.user), self._directories
        application_id = application.application_id
        await self.delete_later(
            user, *(directories.application_dir(d, user.name, application_id) for d in directories.local_dirs)
        )
        prefix = f"application-{application_id.cluster_timestamp_ms}-{application_id.sequence:04d}-"
        await self._pods.sweep_away(prefix)
