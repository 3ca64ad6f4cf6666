"""A parked pod without Kubernetes: the real parked shell, as a process of this machine with a user's uid."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from yodel.domain.ids import ContainerId, dns_name
from yodel.translator.parked_script import SCRIPT


@dataclass(slots=True)
class ParkedPod:
    """One running shell."""

    process: asyncio.subprocess.Process
    directory: Path

    async def wait(self) -> int:
        """The shell's own exit status."""
        async with asyncio.timeout(60):
            return await self.process.wait()

    async def destroy(self) -> None:
        """Kill the shell's process group and the script's, as the end of a pod would."""
        self.kill_script()
        self.kill_shell()
        await self.process.wait()

    def kill_shell(self) -> None:
        """The shell and its helpers, but not the script."""
        _kill_group(self.process.pid)

    def kill_script(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            _kill_group(int((self.directory / "pid").read_text()))


def _kill_group(leader: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


async def start_parked_pod(
    handover_dir: Path, container_id: ContainerId, uid: int, gid: int, groups: Sequence[Path] = ()
) -> ParkedPod:
    """Start the shell; what the kubelet would have made (the directory) is the agent's to make here.

    With ``groups`` it joins these, and is the first in a pid namespace, as on a node.
    """
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "YODEL_HANDOVER_DIR": str(handover_dir / dns_name(container_id)),
        "YODEL_CONTAINER_ID": str(container_id),
    }
    identity = {"user": uid, "group": gid, "extra_groups": [gid]} if os.geteuid() == 0 else {}
    process = await asyncio.create_subprocess_exec(
        *(["unshare", "--pid", "--fork", "--kill-child"] if groups else []),
        "/bin/sh",
        "-c",
        "".join(f"echo 0 > {group}/cgroup.procs; " for group in groups) + SCRIPT,
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
        cwd="/",
        **identity,  # type: ignore[arg-type]
    )
    return ParkedPod(process, handover_dir / dns_name(container_id))
