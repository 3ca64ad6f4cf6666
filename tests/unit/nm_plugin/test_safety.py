"""A node stays protected while everything that users can keep busy is busy: an agent on a made tree of groups."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import threading
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import anyio.to_thread
import pytest

from nm_plugin.app import NodeAgent
from nm_plugin.cgroups.layout import BEST_EFFORT, PODS, V1
from nm_plugin.container import ending
from nm_plugin.host.users import FileThreads
from nm_plugin.launch import parked
from nm_plugin.localization import fetch
from nm_plugin.logs.worker_pool import WorkerPool
from tests.support.cgroup_tree import CgroupTree
from tests.support.fake_tracker import FakeTracker
from tests.support.loans import POLICY
from tests.support.node_agent import FakeUsers, Rig, add_resource, container_id, context_of, eventually, running_rig
from yodel.domain.colocation.policy import Shaping
from yodel.domain.colocation.report import MEMORY_MIB
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId
from yodel.domain.resource import Resource
from yodel.domain.states import ContainerExitStatus
from yodel.hadoop_pb import yarn_server_common_service_protos_pb2 as server_pb

SIZE_MIB = 2048
FULL_MIB = 1950
HOG = (
    "until [ -s {} ]; do sleep 0.05; done; "
    "held=\\$(head -c 200000000 /dev/zero | tr '\\0' x); while :; do sleep 1; done"
)
LEAVES = "setsid sleep 600 & echo \\$! > {}; exec sleep 600"
COPIES = 16
OTHER = ApplicationAttemptId(ApplicationId(1700000000000, 8), 1)
QUOTA = "cpu.cfs_quota_us"


@pytest.fixture
def tree(open_path: Path) -> CgroupTree:
    made = CgroupTree(
        mount=open_path / "cgroup", proc=open_path / "proc", version=V1, driver="cgroupfs", cgroup_root="/n1"
    ).make()
    made.write("memory", made.group(), "memory.limit_in_bytes", str(SIZE_MIB << 20))
    made.write("cpu", made.group(BEST_EFFORT), "cpu.cfs_period_us", "100000")
    made.write("cpu", made.group(BEST_EFFORT), QUOTA, "-1")
    return made


@contextlib.asynccontextmanager
async def all_busy(end: threading.Event) -> AsyncIterator[None]:
    """Every pool of threads that is there but those of safety has more to do than it will come to before ``end``, the
    loop's own and the web's too, and no process for logs is free."""
    waits = list[asyncio.Future[object]]()
    loop = asyncio.get_running_loop()
    mine = {id(pool) for agent in _all(NodeAgent) for pool in vars_of(agent._safety)}
    shared = [pool._pool for pool in _all(FileThreads) if id(pool) not in mine and not pool._pool._shutdown]
    assert shared
    for pool in shared:
        waits += [loop.run_in_executor(pool, end.wait) for _ in range(2 * pool._max_workers)]
    waits += [loop.run_in_executor(None, end.wait) for _ in range(64)]
    limiter = anyio.to_thread.current_default_thread_limiter()
    waits += [asyncio.ensure_future(anyio.to_thread.run_sync(end.wait)) for _ in range(int(limiter.total_tokens))]
    for workers in _all(WorkerPool):
        while not workers.slots.locked():
            await workers.slots.acquire()
    try:
        yield
    finally:
        end.set()
        await asyncio.wait(waits)


def _all(kind: type) -> list:  # type: ignore[type-arg]
    return [one for one in gc.get_objects() if isinstance(one, kind)]


def vars_of(safety: object) -> list[object]:
    return [getattr(safety, name) for name in safety.__dataclass_fields__]  # type: ignore[attr-defined]


async def _running(rig: Rig, container: ContainerId, command: str = "exec sleep 600", mib: int = 512) -> ContainerId:
    await rig.pod(container)
    response = await rig.start(container, context_of(command), resource=Resource(mib, 1))
    assert not response.failed_requests
    await rig.tracker.until_running(container)
    return container


def _is_alive(pid_file: Path) -> bool:
    pid = pid_file.read_text().strip()
    return pid.isdigit() and Path("/proc", pid).exists()


def _memory_loan(beat: server_pb.NodeHeartbeatRequestProto) -> int | None:
    return next((loan.amount for loan in beat.capacity.loans if loan.resource == MEMORY_MIB), None)


async def test_loan_quota_emergency_memory_check_and_kill_wait_for_nothing_of_users(
    open_path: Path, users: FakeUsers, tracker: FakeTracker, tree: CgroupTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = threading.Event()
    monkeypatch.setattr(fetch, "_copy_local", lambda request, stop: end.wait())
    tracker.policy = replace(POLICY, quota=True, shaping=Shaping(window_s=2))
    changes = {
        "cgroup_mount": str(tree.mount),
        "cgroup_root": "/n1",
        "cgroup_writable": str(tree.mount),
        "log_aggregation_enable": True,
        "remote_app_log_dir": f"file://{open_path}/remote",
    }
    quota = tree.mount / "cpu" / tree.group(BEST_EFFORT) / QUOTA
    go, source, left = open_path / "go", open_path / "source", open_path / "left"
    go.write_text("")
    source.write_text("data")
    left.touch()
    left.chmod(0o666)
    async with running_rig(open_path, users, tracker, **changes) as rig:
        try:
            tracker.ranks = [first := await _running(rig, container_id(2))]
            other = await _running(rig, container_id(3, OTHER), LEAVES.format(left))
            await eventually(lambda: _is_alive(left))
            hog = await _running(rig, container_id(4), HOG.format(go), mib=64)
            context = context_of("exit 0")
            for number in range(COPIES):
                add_resource(context, f"link{number}", source, timestamp=number)
            localizing = container_id(5)
            assert not (await rig.start(localizing, context)).failed_requests
            await tracker.until(lambda: any(beat.capacity.bounds for beat in tracker.heartbeats))
            before = next(loan for beat in reversed(tracker.heartbeats) if (loan := _memory_loan(beat)) is not None)
            quota.write_text("-1")
            async with all_busy(end):
                await eventually(lambda: quota.read_text() != "-1")
                tree.use((), cpu_us=0, memory_mib=500)
                tree.use(PODS, cpu_us=0, memory_mib=400)
                await tracker.until(lambda: _memory_loan(tracker.heartbeats[-1]) not in (None, before))
                tracker.kill(localizing)
                status = await tracker.until_complete(localizing)
                assert status.exit_status == ContainerExitStatus.KILLED_BY_RESOURCEMANAGER
                assert _is_alive(left)
                tracker.finish(OTHER.application_id)
                status = await tracker.until_complete(other)
                assert status.exit_status == ContainerExitStatus.KILLED_AFTER_APP_COMPLETION
                await eventually(lambda: not _is_alive(left))
                go.write_text("now")
                status = await tracker.until_complete(hog)
                assert status.exit_status == ContainerExitStatus.KILLED_EXCEEDED_PMEM
                tree.use((), cpu_us=0, memory_mib=FULL_MIB)
                status = await tracker.until_complete(first)
                assert status.exit_status == ContainerExitStatus.PREEMPTED
                await tracker.until(lambda: bool(tracker.heartbeats[-1].emergency.containers))
        finally:
            end.set()


async def test_slow_files_of_one_user_delay_no_other_s_start(
    open_path: Path, users: FakeUsers, tracker: FakeTracker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor do they outlive the container that wants them."""
    copy, end, begun, stopped = fetch._copy_local, threading.Event(), list[str](), list[str]()

    def copy_slowly(request: fetch.DownloadRequest, stop: threading.Event) -> int:
        if request.reader.name == "bob":
            return copy(request, stop)
        begun.append(request.url.path)
        while not stop.wait(0.05):
            assert not end.is_set()
        stopped.append(request.url.path)
        raise fetch.FetchFailed("stopped")

    monkeypatch.setattr(fetch, "_copy_local", copy_slowly)
    context = context_of("exit 0")
    for number in range(COPIES):
        source = open_path / str(number)
        source.write_text("data")
        source.chmod(0o644)
        add_resource(context, f"link{number}", source)
    async with running_rig(open_path, users, tracker) as rig:
        try:
            slow, quick = container_id(2), container_id(3, OTHER)
            assert not (await rig.start(slow, context)).failed_requests
            await eventually(lambda: bool(begun))
            pod = await rig.pod(quick, "bob")
            assert not (await rig.start(quick, context, "bob")).failed_requests
            assert await pod.wait() == 0
            assert stopped == []
            await rig.stop(slow)
            await tracker.until_complete(slow)
            await eventually(lambda: sorted(stopped) == sorted(begun))
        finally:
            end.set()


async def test_trees_that_take_long_to_remove_delay_no_start(
    open_path: Path, users: FakeUsers, tracker: FakeTracker, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = threading.Event()
    monkeypatch.setattr(ending, "remove_tree", lambda path: end.wait())
    monkeypatch.setattr(parked, "remove_tree", lambda path: end.wait())
    async with running_rig(open_path, users, tracker) as rig:
        try:
            for number in range(2, 12):
                pod = await rig.pod(container_id(number))
                assert not (await rig.start(container_id(number), context_of("exit 0"))).failed_requests
                assert await pod.wait() == 0
                await tracker.until_complete(container_id(number))
        finally:
            end.set()
