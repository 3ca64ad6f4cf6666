"""No process survives its container: whatever it forked, however it hid and whatever it ignores."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from tests.support import hiding
from tests.support.agent_process import AgentProcess, agent_process
from tests.support.node_agent import container_id, context_of, eventually
from tests.support.processes import has_ended
from yodel.local.container_launch import ContainerLaunch, ProcessIdentity
from yodel.local.processes import ContainerFiles, is_nothing_left, start
from yodel.local.starter import Starter

CONTAINER = container_id(2)


@pytest.fixture
async def agent() -> AsyncIterator[AgentProcess]:
    async with agent_process() as agent:
        await agent.start()
        yield agent


@pytest.fixture
def daemon(tmp_path: Path) -> Path:
    program = tmp_path / "daemon.py"
    program.write_text(hiding.PROGRAM)
    return program


async def daemons(directory: Path) -> list[psutil.Process]:
    """The two that hid, as far as they have not been ended yet."""
    paths, found = [directory / "one", directory / "two"], list[psutil.Process]()
    await eventually(lambda: all(p.exists() and p.read_text() for p in paths))
    for path in paths:
        with contextlib.suppress(psutil.NoSuchProcess):
            found.append(psutil.Process(int(path.read_text())))
    return found


@pytest.mark.parametrize("ends", ["stays", "goes"])
async def test_daemons_end_with_their_container(agent: AgentProcess, daemon: Path, tmp_path: Path, ends: str) -> None:
    """Killed, or ended by itself while its daemons went on."""
    pod = await agent.pod(CONTAINER)
    await agent.launch(CONTAINER, context_of(f"exec {sys.executable} {daemon} {tmp_path} {ends} one=keeps two=keeps"))
    hidden = await daemons(tmp_path)
    if ends == "stays":
        await agent.tracker.until_running(CONTAINER)
        await agent.stop(CONTAINER)
    status = await agent.tracker.until_complete(CONTAINER)
    assert status.exit_status == (-105 if ends == "stays" else 0)
    await eventually(lambda: all(has_ended(process) for process in hidden))
    assert await pod.wait() == (137 if ends == "stays" else 0)


async def test_daemon_without_an_environment_ends_with_its_pod(daemon: Path, tmp_path: Path) -> None:
    """The embedded pod's shim adopts what nobody can find, and kills it when the container has ended."""
    files = ContainerFiles(directory=tmp_path / "files")
    launch = ContainerLaunch(
        container="c",
        argv=(sys.executable, str(daemon), str(tmp_path), "goes", "one=clears", "two=clears"),
        environment={"PATH": os.environ["PATH"]},
        directory="/",
        identity=ProcessIdentity(),
    )
    with contextlib.closing(Starter()) as starter:
        _, pidfd, reader = await asyncio.to_thread(start, launch, files, starter)
        hidden = await daemons(tmp_path)
        await eventually(lambda: all(has_ended(process) for process in hidden))
        await eventually(lambda: is_nothing_left(files))
    os.close(pidfd)
    os.close(reader)
    assert files.status.read_text().splitlines()[1] == "0"
