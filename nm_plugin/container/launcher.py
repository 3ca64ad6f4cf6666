"""A container's script: its directories and files, the hand-over to its pod, and how it ended."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from nm_plugin.container import diagnostics
from nm_plugin.container.life import Container
from nm_plugin.host.directories import make_application_dirs, make_container_dirs, read_bounded, write_new_file
from nm_plugin.host.disks import Disks
from nm_plugin.host.users import Accounts, OsUser
from nm_plugin.launch import command
from nm_plugin.launch.parked import ParkedPods, ShellGone
from yodel.domain.ids import ContainerId
from yodel.domain.states import ContainerExitStatus
from yodel.hadoop_pb import yarn_protos_pb2 as pb

EMPTY_CREDENTIALS = b"HDTS\x00\x00\x00"  # magic, version, no tokens, no secrets (Credentials.writeTokenStorageToStream)


class Launcher:
    """``node`` is known once the ports are open; ``deadline_s``: how long a pod may take to pick up its script."""

    def __init__(
        self,
        disks: Disks,
        pods: ParkedPods,
        accounts: Accounts,
        node: Callable[[], command.NodeEnvironment],
        deadline_s: float,
    ) -> None:
        self._disks, self._pods, self._accounts = disks, pods, accounts
        self._node, self._deadline_s = node, deadline_s

    def what_hinders(self) -> str:
        """Return why nothing can be launched on this node just now; empty when it can."""
        return "" if self._disks.is_healthy else f"Most of the disks failed. {self._disks.report}"

    async def prepare(self, container: Container, user: OsUser) -> tuple[Path, Path] | None:
        """Its pod's directory, its application's and its own: work and logs, when it has none yet.  Raises OSError."""
        container_id, good = container.container_id, self._disks.good
        await self._pods.prepare(container_id, user, keep=container.retry is not None)
        threads = self._accounts.threads
        await threads.run(make_application_dirs, good, user, container_id.application_id)
        if container.local_dir:
            return None
        return await threads.run(make_container_dirs, good, user, container_id)

    async def adopt(self, container: Container) -> None:
        """Look after its pod at the agent's start.  Raises YodelError, OSError."""
        user = await self._accounts.lookup(container.user)
        await self._pods.prepare(container.container_id, user, keep=container.retry is not None)

    async def prepare_again(self, container: Container) -> None:
        """The same pod is to take another script.  Raises YodelError, OSError."""
        user = await self._accounts.lookup(container.user)
        await self._pods.prepare(container.container_id, user, keep=True)
        await self._pods.again(container.container_id, container.run)

    async def hand_over(
        self, container: Container, links: tuple[command.ResourceLink, ...], counters: command.LocalizationCounters
    ) -> int:
        """Write the script and have the pod run it; its pid, 0 when it ended at once.  Raises YodelError, OSError."""
        user = await self._accounts.lookup(container.user)
        context = pb.ContainerLaunchContextProto.FromString(container.launch_context)
        work_dir, log_dir = Path(container.local_dir), Path(container.log_dir)
        directories, application_id = self._disks.good, container.container_id.application_id
        launch = command.Launch(
            container_id=container.container_id,
            user=user.name,
            work_dir=work_dir,
            log_dir=log_dir,
            local_dirs=[directories.application_dir(d, user.name, application_id) for d in directories.local_dirs],
            local_user_dirs=[directories.user_dir(d, user.name) for d in directories.local_dirs],
            log_dirs=[directories.container_log_dir(d, container.container_id) for d in directories.log_dirs],
            environment={entry.key: entry.value for entry in context.environment},
            command=command.as_one_process(context.command)
            if container.is_master and container.shuffle
            else tuple(context.command),
            links=links,
            counters=counters,
        )
        text = command.script(self._node(), launch)
        await self._accounts.run_as(user, _write_launch_files, work_dir, text, context.tokens)
        script = work_dir / command.LAUNCH_SCRIPT
        return await self._pods.hand_over(container.container_id, script, log_dir, self._deadline_s)

    async def exit_status(self, container_id: ContainerId) -> int:
        """Wait for the end of the script that runs now."""
        try:
            return await self._pods.exit_status(container_id)
        except ShellGone:
            return ContainerExitStatus.FORCE_KILLED

    async def tails(self, container: Container) -> diagnostics.ErrorTails:
        """Return the last bytes of the container's prelaunch.err and stderr.  Raises YodelError, OSError."""
        user, log_dir = await self._accounts.lookup(container.user), Path(container.log_dir)

        def read() -> diagnostics.ErrorTails:
            tail = diagnostics.TAIL_BYTES
            return diagnostics.ErrorTails(
                prelaunch_err=read_bounded(log_dir / "prelaunch.err", tail, from_end=True),
                stderr=read_bounded(log_dir / "stderr", tail, from_end=True),
            )

        return await self._accounts.run_as(user, read)


def remove_launch_files(work_dir: Path) -> None:
    """They hold tokens: they go with the container, whatever else is kept of it for looking at."""
    for name in (command.TOKENS_FILE, command.LAUNCH_SCRIPT):
        (work_dir / name).unlink(missing_ok=True)


def _write_launch_files(work_dir: Path, text: str, tokens: bytes) -> None:
    write_new_file(work_dir / command.TOKENS_FILE, tokens or EMPTY_CREDENTIALS, 0o600)
    write_new_file(work_dir / command.LAUNCH_SCRIPT, text.encode("utf-8", errors="surrogateescape"), 0o700)
