"""A disk that fills up: nothing new is put on it, the node says so, and the agent lives on."""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.support.agent_process import AgentProcess, agent_process
from tests.support.node_agent import add_resource, container_id, context_of
from yodel.domain.states import ContainerExitStatus
from yodel.hadoop_rpc.faults import IO_EXCEPTION

DISK_MIB = 4


@pytest.fixture
def disk() -> Iterator[Path]:
    """A small disk of its own (needs root)."""
    path = Path(tempfile.mkdtemp(prefix="yodel-disk-"))
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_MIB}m,mode=755", "tmpfs", path], check=True, timeout=60)
    yield path
    subprocess.run(["umount", "-l", path], check=True, timeout=60)
    path.rmdir()


@pytest.fixture
async def agent(disk: Path) -> AsyncIterator[AgentProcess]:
    async with agent_process(local_dirs=(disk / "local",), disk_check_interval_s=0.2) as agent:
        yield agent


def fill(disk: Path, mib: float) -> None:
    """Fill the disk as far as there is room."""
    with contextlib.suppress(OSError):
        (disk / "ballast").write_bytes(bytes(int(mib * (1 << 20))))


async def until_health(agent: AgentProcess, is_healthy: bool) -> str:
    """The report of the first heartbeat that says so."""
    beats = agent.tracker.heartbeats
    await agent.tracker.until(
        lambda: bool(beats) and beats[-1].node_status.nodeHealthStatus.is_node_healthy == is_healthy
    )
    return beats[-1].node_status.nodeHealthStatus.health_report


async def test_full_disk_makes_the_node_unhealthy_until_there_is_room_again(agent: AgentProcess, disk: Path) -> None:
    await agent.start()
    assert await until_health(agent, True) == ""
    fill(disk, DISK_MIB * 0.95)
    assert await until_health(agent, False) == (
        "1/1 local-dirs usable space is below configured utilization percentage/no more usable space "
        f"[ {disk}/local : used space above threshold of 90.0% ] ;"
    )
    refused = container_id(2)
    await agent.pod(refused)
    await agent.launch(refused, context_of("exit 0"))
    status = await agent.tracker.until_complete(refused)
    assert status.exit_status == ContainerExitStatus.DISKS_FAILED
    assert "Most of the disks failed. 1/1 local-dirs usable space is below" in status.diagnostics
    fill(disk, 0)
    assert await until_health(agent, True) == ""
    accepted = container_id(3)
    await agent.pod(accepted)
    await agent.launch(accepted, context_of("exit 0"))
    assert (await agent.tracker.until_complete(accepted)).exit_status == 0


async def test_one_full_disk_of_two_is_left_out(agent: AgentProcess, disk: Path) -> None:
    agent.changes = {**agent.changes, "local_dirs": (disk / "local", agent.root / "other")}
    fill(disk, DISK_MIB * 0.95)
    await agent.start()
    assert "1/2 local-dirs usable space" in await until_health(agent, True)
    for sequence in (2, 3):
        container = container_id(sequence)
        await agent.pod(container)
        await agent.launch(container, context_of("echo $LOCAL_DIRS $PWD ><LOG_DIR>/stdout"))
        assert (await agent.tracker.until_complete(container)).exit_status == 0
        logs = agent.root / "logs" / str(container.application_id) / str(container)
        assert str(disk) not in (logs / "stdout").read_text()


async def test_disk_that_fills_up_during_localization_costs_one_container(agent: AgentProcess, disk: Path) -> None:
    agent.changes = {**agent.changes, "disk_max_utilization_percent": 100.0}
    await agent.start()
    big = agent.root / "big"
    big.write_bytes(bytes(DISK_MIB << 21))
    container, context = container_id(2), context_of("exit 0")
    add_resource(context, "big", big)
    await agent.pod(container)
    await agent.launch(container, context)
    status = await agent.tracker.until_complete(container)
    assert status.exit_status == ContainerExitStatus.INVALID
    assert "No space left on device" in status.diagnostics
    following = container_id(3)
    await agent.pod(following)
    await agent.launch(following, context_of("exit 0"))
    assert (await agent.tracker.until_complete(following)).exit_status == 0


async def test_a_state_that_cannot_be_kept_is_told_by_its_reason(agent: AgentProcess, disk: Path) -> None:
    """Each container is answered by itself."""
    agent.changes = {**agent.changes, "local_dirs": (agent.root / "local",), "state_dir": disk / "state"}
    await agent.start()
    fill(disk, DISK_MIB)
    refused = await agent.launch(container_id(2), context_of("exit 0"))
    assert [(one.exception.class_name, one.exception.message) for one in refused.failed_requests] == [
        (IO_EXCEPTION, "No space left on device")
    ]
    fill(disk, 0)
    following = container_id(3)
    await agent.pod(following)
    assert not (await agent.launch(following, context_of("exit 0"))).failed_requests
    assert (await agent.tracker.until_complete(following)).exit_status == 0
