"""Memory runs short in groups of the kernel, made as the kubelet makes them: cgroup v1 and root."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from nm_plugin.cgroups.detect import find_layout
from nm_plugin.cgroups.files import Files
from nm_plugin.cgroups.layout import BEST_EFFORT
from nm_plugin.cgroups.memory_pressure import full_percent
from nm_plugin.cgroups.pressure import UNIFIED
from tests.support.agent_process import USER, AgentProcess, agent_process
from tests.support.loans import POLICY
from tests.support.node_agent import container_id, context_of, eventually
from yodel.domain.ids import ContainerId
from yodel.domain.resource import Resource
from yodel.domain.states import ContainerExitStatus, ContainerType
from yodel.hadoop_pb import yarn_server_common_service_protos_pb2 as server_pb
from yodel.pb_convert import ids

MOUNT = Path("/sys/fs/cgroup")
CONTROLLERS = ("cpu", "cpuacct", "memory")
NATIVE = ("kubepods", "burstable")
SERVICE = (*NATIVE, "podservice")
MIB = 1 << 20
SIZE_MIB = 512
HOLD = """
import sys, time
held = b"x" * (int(sys.argv[1]) << 20)
time.sleep(600)
"""
SERVE = """
import os, sys
for path in sys.argv[1:]:
    open(path, "w").write(str(os.getpid()))
held = []
for line in sys.stdin:
    held += [b"x" * (1 << 20) for _ in range(int(line))]
    print("has it", flush=True)
"""


def pod(number: int) -> str:
    """The name of its group: uids are unique on a machine."""
    return f"pod{os.getpid():x}-{number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node of half a GiB, its agent and a service on it."""

    root: str
    agent: AgentProcess
    service: asyncio.subprocess.Process

    def file(self, *names: str) -> Path:
        return MOUNT / "memory" / Path(self.root, *names)

    async def hold(
        self, number: int, mib: int, command: str = "", parent: tuple[str, ...] = BEST_EFFORT, **changes: object
    ) -> ContainerId:
        """A container in a pod of its own, that holds so much."""
        container = container_id(number)
        await self.agent.pod(container)
        group = Path(self.root, *parent, pod(number), "container", "cgroup.procs")
        joins = "".join(f"echo $$ > {MOUNT / controller / group}; " for controller in CONTROLLERS)
        program = self.agent.root / "hold.py"
        program.write_text(HOLD)
        words = command or f"exec {sys.executable} {program} {mib}"
        await self.agent.launch(
            container, context_of(joins + words), **{"pod_uid": pod(number).removeprefix("pod"), **changes}
        )
        await self.agent.tracker.until_running(container)
        used = self.file(*group.parts[1:-1], "memory.usage_in_bytes")
        await eventually(lambda: int(used.read_text()) >= mib * MIB, 60)
        return container

    async def serve(self, mib: int) -> None:
        """The service needs so much more, and has it."""
        assert self.service.stdin is not None
        assert self.service.stdout is not None
        self.service.stdin.write(f"{mib}\n".encode())
        await self.service.stdin.drain()
        async with asyncio.timeout(60):
            assert await self.service.stdout.readline() == b"has it\n"

    async def ended(self, container: ContainerId) -> str:
        """Its diagnostics; and that it was told with the emergency."""
        status = await self.agent.tracker.until_complete(container)
        assert status.exit_status == ContainerExitStatus.PREEMPTED, status.diagnostics
        beats = self.agent.tracker.heartbeats
        told = next(beat for beat in beats if ids.container_id_pb(container) in beat.emergency.containers)
        assert told.emergency.reason.startswith("node memory 0.")
        return str(status.diagnostics)

    async def released(self) -> server_pb.NodeHeartbeatRequestProto:
        """A beat in the cool-down."""
        tracker = self.agent.tracker
        await tracker.until(lambda: 0 < tracker.heartbeats[-1].emergency.cool_down_s < 58)
        return tracker.heartbeats[-1]

    def running(self) -> set[ContainerId]:
        statuses = self.agent.tracker.heartbeats[-1].node_status.containersStatuses
        return {ids.container_id(one.container_id) for one in statuses}


@pytest.fixture
def groups() -> Iterator[str]:
    name = f"yodel-emergency-{os.getpid()}"
    pods = [(*BEST_EFFORT, pod(number)) for number in (1, 2, 3, 4)] + [(*NATIVE, pod(5))]
    pods += [(*pod, "container") for pod in pods]
    below = [(), BEST_EFFORT[:1], BEST_EFFORT, NATIVE, *pods, SERVICE]
    paths = [MOUNT / controller / Path(name, *names) for controller in CONTROLLERS for names in below]
    for path in paths:
        path.mkdir()
    (MOUNT / "memory" / name / "memory.limit_in_bytes").write_text(str(SIZE_MIB * MIB))
    try:
        yield name
    finally:
        for path in reversed(paths):
            with contextlib.suppress(FileNotFoundError):
                path.rmdir()


@pytest.fixture
async def node(groups: str) -> AsyncIterator[Node]:
    files = [str(MOUNT / controller / Path(groups, *SERVICE, "cgroup.procs")) for controller in CONTROLLERS]
    service = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SERVE, *files, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    try:
        seen = {"cgroup_mount": str(MOUNT), "cgroup_root": f"/{groups}"}
        async with agent_process(pmem_check_enabled=False, **seen) as agent:
            agent.tracker.policy = POLICY
            await agent.start()
            made = Node(root=groups, agent=agent, service=service)
            yield made
            assert service.returncode is None
            assert "oom_kill 0" in made.file(*SERVICE, "memory.oom_control").read_text()
    finally:
        service.kill()
        await service.wait()
        below = MOUNT / "memory" / groups
        await eventually(lambda: not any(procs.read_text() for procs in below.rglob("cgroup.procs")))


async def test_a_service_has_what_it_needs_and_batch_goes_in_the_order_of_ranks(node: Node) -> None:
    master = await node.hold(1, 60, container_type=ContainerType.APPLICATION_MASTER)
    second, first, third = await node.hold(2, 100), await node.hold(3, 100), await node.hold(4, 100)
    node.agent.tracker.ranks = [master, first, second, third]
    await node.serve(110)
    assert "node memory 0.5 GiB of 0.5 GiB (9" in (diagnostics := await node.ended(first))
    assert "it is number 2 of 4 in the order of preemption" in diagnostics
    beat = await node.released()
    assert node.running() == {master, second, third}, "one was enough"
    assert [ids.container_id(one) for one in beat.emergency.containers] == [first]
    await node.serve(100)
    await node.ended(second)
    await node.serve(100)
    await node.ended(third)
    await node.serve(70)
    await node.ended(master)


async def test_who_uses_more_than_it_was_granted_goes_first_whatever_the_ranks(node: Node) -> None:
    """Files in memory count for who wrote them, and not for those who stay within what they were granted."""
    first, second = await node.hold(1, 60), await node.hold(2, 60)
    node.agent.tracker.ranks = [first, second]
    hidden = f"/dev/shm/{node.root}"
    fill = f"dd if=/dev/zero of={hidden} bs=1M count=360; exec sleep 600"
    try:
        greedy = await node.hold(3, 300, fill, resource=Resource(64, 1))
        node.agent.tracker.ranks = [first, second, greedy]
        assert "MiB more than its limit" in await node.ended(greedy)
        os.unlink(hidden)
        await node.released()
        assert node.running() == {first, second}
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(hidden)


async def test_a_foreign_pod_that_names_a_container_has_it_ended_neither_first_nor_at_all(node: Node) -> None:
    """The container is a native one; the foreign pod is a best-effort one, and uses more than the container may."""
    native = await node.hold(5, 60, parent=NATIVE, resource=Resource(64, 1))
    batch = await node.hold(1, 60)
    group = node.file(*BEST_EFFORT, pod(2), "container", "cgroup.procs")
    local = node.agent.root / "local" / "usercache" / USER / "appcache" / str(native.application_id)
    marks = {"CONTAINER_ID": str(native), "YODEL_CONTAINER_ID": str(native), "LOCAL_DIRS": str(local)}
    words = f"echo $$ > {group}; exec {sys.executable} {node.agent.root}/hold.py 200"
    foreign = await asyncio.create_subprocess_exec("/bin/sh", "-c", words, env=marks)
    try:
        await node.serve(150)
        await node.ended(batch)
        await node.agent.tracker.until(lambda: len(node.running()) == 1)
        await node.released()
        assert node.running() == {native}
        assert foreign.returncode is None
    finally:
        foreign.kill()
        await foreign.wait()


async def test_containers_of_before_an_upgrade_go_by_their_marks(node: Node) -> None:
    first, second = await node.hold(1, 60, pod_uid=""), await node.hold(2, 300, pod_uid="", resource=Resource(64, 1))
    await node.serve(110)
    assert "MiB more than its limit" in await node.ended(second)
    await node.released()
    assert node.running() == {first}


def test_the_kernel_tells_how_long_all_waited_for_memory(groups: str) -> None:
    layout = find_layout(MOUNT, f"/{groups}")
    assert full_percent(layout, Files()) is None, "its group is in no hierarchy of version 2"
    unified = MOUNT / UNIFIED / groups
    unified.mkdir()
    try:
        percent = full_percent(layout, Files())
    finally:
        unified.rmdir()
    assert percent is not None
    assert 0 <= percent <= 100
