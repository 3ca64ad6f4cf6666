"""How a script is ended, and how nothing is left: of a container, and of an application."""

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
from nm_plugin.host.users import Accounts, FileThreads, OsUser
from nm_plugin.launch.parked import ParkedPods
from nm_plugin.launch.survivors import Marks, kill_survivors
from yodel.domain.ids import ContainerId

KILL_REPEAT_S = 0.5
KILL_ROUNDS_MAX = 40  # a program that forks quicker than it is killed is left to the end of its pod
KILL_ROUND_INTERVAL_S = 0.02
SHUFFLING_MASTER_GRACE_S = 5.0
"""What an ApplicationMaster has for giving up what it holds elsewhere, where its queue says how shuffle is done.  It is
what its pod has by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndingSettings:
    """Times; see ``Settings`` for their meaning."""

    sigkill_delay_ms: int
    kill_wait_s: float
    deletion_delay_s: float


class Ending:
    """``seen`` names the processes (pid, start) of a container's tree at the last measurement.

    ``survivors`` are threads that do nothing but end what is left.
    """

    def __init__(
        self,
        settings: EndingSettings,
        pods: ParkedPods,
        accounts: Accounts,
        directories: Directories,
        seen: Callable[[ContainerId], frozenset[tuple[int, int]]],
        survivors: FileThreads,
    ) -> None:
        self._settings, self._pods, self._accounts = settings, pods, accounts
        self._directories, self._seen, self._survivors = directories, seen, survivors
        self._log = structlog.get_logger(__name__)

    async def signal(self, container_id: ContainerId, name: str) -> bool:
        """False when it was not delivered."""
        return await self._pods.signal(container_id, name)

    async def stop_run(self, container_id: ContainerId, watch: Callable[[], asyncio.Task[None]]) -> None:
        """End the script, not the container: its pod waits for the next."""
        await self._pods.keep(container_id)
        await self._kill_script(container_id, watch)

    async def terminate(self, container: Container, watch: Callable[[], asyncio.Task[None]]) -> None:
        """The script is not started, or ended."""
        container_id = container.container_id
        if self._pods.knows(container_id) and not await self._pods.withdraw(container_id):
            is_shuffling = container.is_master and bool(container.shuffle)
            await self._kill_script(container_id, watch, SHUFFLING_MASTER_GRACE_S if is_shuffling else 0.0)

    async def _kill_script(
        self, container_id: ContainerId, watch: Callable[[], asyncio.Task[None]], least_grace_s: float = 0.0
    ) -> None:
        """TERM, then KILL; returns when it ended or will not be waited for any longer."""
        pods = self._pods
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
            self._log.warning("container_not_killable", container=str(container_id))
            end.cancel()

    async def kill_survivors(self, container: Container) -> None:
        """Processes that a script left behind."""
        container_id = container.container_id
        if container.user_uid is None:
            return  # nothing of it was started
        seen = self._seen(container_id)
        marks = Marks(container_id, Path(container.local_dir).parent)
        for _ in range(KILL_ROUNDS_MAX):
            killed = await self._survivors.run(kill_survivors, marks, container.user_uid, seen)
            if not killed:
                break
            self._log.info("survivors_killed", container=str(container_id), processes=killed)
            await asyncio.sleep(KILL_ROUND_INTERVAL_S)

    async def forget_pod(self, container_id: ContainerId) -> None:
        await self._pods.forget(container_id)

    async def remove_launch_files(self, container: Container) -> tuple[OsUser, Path]:
        """Whose work directory is left to be deleted."""
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
                self._log.warning("directory_left", directory=str(path), reason=str(error))

    async def end_application(self, application: Application) -> None:
        """Its directories, and those of its pods."""
        user, directories = await self._accounts.lookup(application.user), self._directories
        application_id = application.application_id
        await self.delete_later(
            user, *(directories.application_dir(d, user.name, application_id) for d in directories.local_dirs)
        )
        prefix = f"application-{application_id.cluster_timestamp_ms}-{application_id.sequence:04d}-"
        await self._pods.sweep_away(prefix)
