"""Batch pods are bounded in groups of the kernel, made as the kubelet makes them: cgroup v1 and root."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from nm_plugin.__main__ import EXIT_STALE_MOUNT
from nm_plugin.capacity.bounds import STALE, UNSEEN_LOOKS, Bounds, StaleMount
from nm_plugin.capacity.clock import MonotonicClock
from nm_plugin.capacity.kills import LOOKS
from nm_plugin.capacity.running import Batch
from nm_plugin.capacity.values import FILE_NAME
from nm_plugin.cgroups.layout import BEST_EFFORT
from nm_plugin.container.at_limit import NOTHING
from nm_plugin.host.users import FileThreads
from tests.support.agent_process import agent_process
from tests.support.loans import POLICY
from tests.support.node_agent import container_id, context_of, eventually
from tests.support.opened_files import opened_files, written
from yodel.domain.colocation.measured import InstantUse
from yodel.domain.colocation.policy import Formula
from yodel.domain.colocation.report import CPU_MILLI, ENDED_AT_LIMITS, OTHERS_PODS, Bound
from yodel.domain.colocation.shaping import numbers_of
from yodel.domain.colocation.suppression import CpuHeadroom
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId
from yodel.domain.states import ContainerExitStatus
from yodel.translator.undo_lines import undo_lines

WAIT_S = 60.0
MOUNT = Path("/sys/fs/cgroup")
CONTROLLERS = ("cpu", "cpuacct", "memory")
CONTAINER = ContainerId(ApplicationAttemptId(ApplicationId(1, 1), 1), 2)
UID, OTHER = (f"{os.getpid():x}-{number}" for number in (1, 2))  # who runs this beside it kills by uid too
FILES = ("cpu.shares", "memory.limit_in_bytes")
NUMBERS = numbers_of(replace(POLICY, cpu=Formula()), CPU_MILLI)
MIB = 1 << 20
LEAK = """
import sys, time
while int(open(sys.argv[1]).read()) >> 62:
    time.sleep(0.05)
held = []
while True:
    held.append(b"x" * (1 << 20))
"""
WAIT = """
import os, subprocess, sys
for path in sys.argv[1:]:
    open(path, "w").write(str(os.getpid()))
print("there", flush=True)
for line in sys.stdin:
    leak = "held = []\\nwhile True: held.append(b'x' * (1 << 20))"
    print(subprocess.run([sys.executable, "-c", leak]).returncode, flush=True)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """The groups of one node, a process of the container's in its pod, and what is kept between lives of the agent."""

    root: str
    state: Path
    process: subprocess.Popen[bytes]
    best_effort: list[Path]
    threads: FileThreads

    def pod(self, uid: str, file: str) -> Path:
        return MOUNT / file.partition(".")[0] / Path(self.root, *BEST_EFFORT, f"pod{uid}", file)

    def values(self) -> dict[str, str]:
        return {f"{uid}/{file}": self.pod(uid, file).read_text() for uid in (UID, OTHER) for file in FILES}

    @property
    def quota(self) -> Path:
        return MOUNT / "cpu" / Path(self.root, *BEST_EFFORT, "cpu.cfs_quota_us")

    def quota_us(self) -> int:
        return int(self.quota.read_text())

    def make_anew(self) -> None:
        """Make the groups anew, as a kubelet does when they have been lost."""
        self.process.kill()
        self.process.wait()
        for path in reversed(self.best_effort):
            path.rmdir()
        for path in self.best_effort:
            path.mkdir()

    def agent(self) -> Bounds:
        return Bounds(MOUNT, MOUNT, f"/{self.root}", self.state, MonotonicClock(), self.threads, _nobody)

    def batch(self, pod_uid: str = UID, **changes: bool) -> list[Batch]:
        return [Batch(container_id=CONTAINER, pod_uid=pod_uid, memory_mib=100, vcores=3, **changes)]


def room(online: int, *, is_watched: bool = True) -> CpuHeadroom:
    """Return the headroom of two cores, all of which may be lent."""
    recent = [InstantUse(node=online, pods=online, best_effort=0)]
    return CpuHeadroom(numbers=NUMBERS, capacity=2000, recent=recent, agent_most=None, is_watched=is_watched)


def _nobody() -> list[Batch]:
    return []


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    name = f"yodel-limits-{os.getpid()}"
    groups = [()] + [BEST_EFFORT[:depth] for depth in (1, 2)]
    groups += [(*BEST_EFFORT, f"pod{uid}", *below) for uid in (UID, OTHER) for below in ((), ("container",))]
    paths = [MOUNT / controller / Path(name, *names) for controller in CONTROLLERS for names in groups]
    for path in paths:
        path.mkdir()
    for uid in (UID, OTHER):
        (MOUNT / "cpu" / Path(name, *BEST_EFFORT, f"pod{uid}", "cpu.shares")).write_text("2")
    group = Path(name, *BEST_EFFORT, f"pod{UID}", "container", "cgroup.procs")
    threads = FileThreads(1)
    try:
        with subprocess.Popen(
            [sys.executable, "-c", WAIT, *(str(MOUNT / controller / group) for controller in CONTROLLERS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={},  # what runs there proves nothing
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"there\n"
            below = [path for path in paths if BEST_EFFORT[-1] in path.parts]
            yield Node(root=name, state=tmp_path, process=process, best_effort=below, threads=threads)
            process.kill()
    finally:
        threads.close()
        for path in reversed(paths):
            with contextlib.suppress(FileNotFoundError):
                path.rmdir()


def test_an_own_pod_is_bounded_and_undone_without_a_trace(node: Node) -> None:
    before, agent = node.values(), node.agent()
    agent.look(node.batch())
    assert node.values() == before, "nobody has said that there are limits"
    agent.obey(limits=True)
    agent.look(node.batch())
    changed = {**before, f"{UID}/cpu.shares": "6\n", f"{UID}/memory.limit_in_bytes": f"{164 * MIB}\n"}
    assert node.values() == changed
    assert [(one.file, one.decided, one.written, one.read, one.put_back, one.why) for one in agent.shown()] == [
        ("cpu.shares", 6, 6, 6, 0, ""),
        ("memory.limit_in_bytes", 164 * MIB, 164 * MIB, 164 * MIB, 0, ""),
    ]
    agent.obey()
    agent.look(node.batch())
    assert (node.values(), agent.shown(), [*node.state.iterdir()]) == (before, (), [])


def test_a_pod_that_is_named_while_its_container_runs_is_bounded_from_then_on(node: Node) -> None:
    agent = node.agent()
    agent.obey(limits=True)
    agent.look(node.batch(""))
    assert agent.shown() == ()
    agent.look(node.batch())
    assert len(agent.shown()) == 2
    agent.look([])
    assert agent.shown() == (), "it has ended"


def test_what_somebody_changed_is_put_back_at_the_next_look(node: Node) -> None:
    agent = node.agent()
    agent.obey(limits=True)
    agent.look(node.batch())
    decided = node.values()
    node.pod(UID, "cpu.shares").write_text("1000")
    node.pod(UID, "memory.limit_in_bytes").write_text("-1")
    agent.look(node.batch())
    assert node.values() == decided
    assert [one.put_back for one in agent.shown()] == [1, 1]
    agent.look(node.batch())
    assert [one.put_back for one in agent.shown()] == [1, 1]


@pytest.fixture
def full(node: Node) -> Iterator[Path]:
    """The agent's state on a disk without room; what is left on it is a file that can be taken away."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "yodel-full", str(node.state)], check=True)
    try:
        (node.state / "room").write_bytes(b"x" * 4096)
        yield node.state / "room"
    finally:
        subprocess.run(["umount", str(node.state)], check=True)


def test_a_full_state_disk_is_told_and_not_obeyed(node: Node, full: Path) -> None:
    agent = node.agent()
    agent.obey(limits=True, quota=True)
    agent.look(node.batch(), room(1000))
    before = node.quota_us()
    assert node.values()[f"{UID}/memory.limit_in_bytes"] == f"{164 * MIB}\n"
    assert "No space left on device" in agent.problem()
    agent.look(node.batch(), room(1900))
    assert node.quota_us() < before, "it follows what is measured"
    full.unlink()
    agent.look(node.batch(), room(1900))
    assert agent.problem() == ""
    assert (node.state / FILE_NAME).exists()


def test_a_new_life_takes_limits_up_or_undoes_them(node: Node) -> None:
    before, killed = node.values(), node.agent()
    killed.obey(limits=True)
    killed.look(node.batch())
    decided = node.values()
    assert (node.state / FILE_NAME).exists()
    second = node.agent()
    second.look(node.batch())
    assert node.values() == decided, "nothing changes before the ResourceManager has answered"
    node.pod(UID, "cpu.shares").write_text("1000")
    second.obey(limits=True)
    second.look(node.batch())
    assert node.values() == decided
    third = node.agent()
    third.obey()
    third.look([])
    assert node.values() == before


def test_nothing_left_is_said_only_after_the_word_that_holds_was_acted_upon(node: Node) -> None:
    agent = node.agent()
    assert agent.written_groups() is None
    agent.obey(limits=True)
    agent.look([])
    assert agent.written_groups() == 0
    agent.obey()
    assert agent.written_groups() is None, "a look of before may still be writing"
    agent.look([])
    assert agent.written_groups() == 0
    agent.obey(limits=True)
    agent.look(node.batch())
    assert (agent.written_groups(), agent.best_effort()) == (1, f"{node.root}/kubepods/besteffort")


def test_lines_for_a_node_whose_agent_is_gone_leave_no_trace(node: Node) -> None:
    before, agent = node.values(), node.agent()
    quota = node.pod(UID, "cpu.shares").parents[1] / "cpu.cfs_quota_us"
    agent.obey(limits=True)
    agent.look(node.batch())
    quota.write_text("50000")
    assert node.values() != before
    done = subprocess.run(["sh", "-eux"], input="\n".join(undo_lines(agent.best_effort())), text=True, check=False)
    assert (done.returncode, node.values(), quota.read_text()) == (0, before, "-1\n")


def test_a_limit_that_cannot_be_undone_is_told_and_tried_again(node: Node) -> None:
    agent = node.agent()
    agent.obey(limits=True)
    agent.look(node.batch())
    without = Bounds(None, MOUNT, f"/{node.root}", node.state, MonotonicClock(), node.threads, _nobody)
    without.obey()
    without.look([])
    assert "no best-effort cgroup any more in which to remove them" in without.problem()
    assert ((node.state / FILE_NAME).exists(), without.written_groups()) == (True, 1)
    later = node.agent()
    later.obey()
    later.look([])
    assert (later.problem(), (node.state / FILE_NAME).exists()) == ("", False)


def test_a_quota_follows_what_was_measured_and_is_undone_without_a_trace(node: Node) -> None:
    before, agent = node.values(), node.agent()
    agent.obey(quota=True)
    agent.look([])
    assert (node.quota_us(), agent.shown(), agent.quota_milli()) == (-1, (), None), "nothing is measured"
    found = []
    for online in (500, 1500, 500, 500):
        agent.look([], room(online))
        found.append(node.quota_us())
    assert found == [150_000, 50_000, 70_000, 90_000], "down at once, and up by a tenth of the node"
    assert agent.shown() == (Bound(container="", file="cpu.cfs_quota_us", decided=90_000, written=90_000, read=90_000),)
    assert agent.quota_milli() == 900
    agent.look([])
    assert node.quota_us() == 90_000, "without a reading it stays"
    agent.obey()
    agent.look([])
    assert (node.quota_us(), agent.shown(), [*node.state.iterdir()]) == (-1, (), [])
    assert node.values() == before, "pods were not touched"


def test_a_quota_that_somebody_changed_is_put_back_without_growing_to_it_again(node: Node) -> None:
    agent = node.agent()
    agent.obey(quota=True)
    agent.look([], room(0))
    for changed in ("-1", "1000"):
        node.quota.write_text(changed)
        agent.look([], room(0))
        assert node.quota_us() == 200_000
    node.quota.write_text("-1")
    agent.look([], room(1000))
    assert node.quota_us() == 100_000
    assert [one.put_back for one in agent.shown()] == [3]


def test_a_quota_is_of_the_group_s_own_period(node: Node) -> None:
    node.quota.with_name("cpu.cfs_period_us").write_text("20000")
    agent = node.agent()
    agent.obey(quota=True)
    agent.look([], room(1500))
    assert (node.quota_us(), agent.quota_milli()) == (10_000, 500)


def test_masters_among_own_pods_keep_their_share_of_a_full_node(node: Node) -> None:
    full = replace(room(5000), capacity=1000)
    for is_master, quota_us in ((False, 5_000), (True, 10_000)):
        agent = node.agent()
        agent.obey(quota=True)
        agent.look(node.batch(is_master=is_master), full)
        assert node.quota_us() == quota_us
        assert [one.file for one in agent.shown()] == ["cpu.cfs_quota_us"], "limits are off"


def test_a_new_life_takes_a_quota_up_before_it_has_measured_or_undoes_it(node: Node) -> None:
    killed = node.agent()
    killed.obey(quota=True)
    killed.look([], room(1500))
    second = node.agent()
    node.quota.write_text("-1")
    second.look([], room(0))
    assert node.quota_us() == -1, "nothing changes before the ResourceManager has answered"
    second.obey(quota=True)
    second.look([])
    assert node.quota_us() == 50_000
    second.look([], room(0, is_watched=False))
    assert node.quota_us() == 50_000
    second.look([], room(0))
    assert node.quota_us() == 70_000
    third = node.agent()
    third.obey(limits=True)
    third.look([])
    assert (node.quota_us(), [*node.state.iterdir()]) == (-1, [])


def test_a_quota_that_cannot_be_undone_is_told(node: Node) -> None:
    agent = node.agent()
    agent.obey(quota=True)
    agent.look([], room(1500))
    without = Bounds(None, MOUNT, f"/{node.root}", node.state, MonotonicClock(), node.threads, _nobody)
    without.obey(quota=True)
    without.look([])
    assert without.problem() == "a quota is on, but the agent has no best-effort cgroup to write it to"
    without.obey()
    without.look([])
    assert "quotas were written before the agent restarted" in without.problem()


def test_a_whole_life_opens_no_other_file_for_writing(node: Node) -> None:
    """The agent opens every file below the best-effort group by a single name, from a descriptor of the group."""
    agent = node.agent()
    with opened_files() as opened:
        agent.obey(limits=True, quota=True)
        for _ in range(2):
            agent.look(node.batch(), room(1500))
        leak(node)
        agent.look(node.batch(), room(500))
        agent.obey()
        agent.look([])
    record = str(node.state / FILE_NAME)
    assert set(written(opened)) == {*FILES, "cpu.cfs_quota_us", f"{record}.tmp"}
    below = {name for name, _ in opened if not name.startswith("/")}
    assert {"memory.oom_control", f"pod{UID}", "container"} <= below
    assert not [name for name in below if "/" in name or name in (".", "..")]


@pytest.fixture
def mounted(node: Node, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The best-effort group at a path of its own, as the agent's container has it."""
    writable = tmp_path_factory.mktemp("writable")
    mount_in(node, writable)
    yield writable
    umount_in(node, writable)


def points_in(node: Node, writable: Path) -> list[Path]:
    return [writable / controller / Path(node.root, *BEST_EFFORT) for controller in ("cpu", "memory")]


def mount_in(node: Node, writable: Path) -> None:
    for point in points_in(node, writable):
        point.mkdir(parents=True, exist_ok=True)
        subprocess.run(["mount", "--bind", MOUNT / point.relative_to(writable), point], check=True)


def umount_in(node: Node, writable: Path) -> None:
    for point in points_in(node, writable):
        subprocess.run(["umount", "--lazy", point], check=True)  # a failed test holds files in it


def test_a_mount_whose_group_was_made_anew_is_told_and_ends_the_agent(node: Node, mounted: Path) -> None:
    agent = Bounds(mounted, MOUNT, f"/{node.root}", node.state, MonotonicClock(), node.threads, _nobody)
    agent.obey(limits=True, quota=True)
    agent.look(node.batch(), room(1500))
    assert (node.quota_us(), len(agent.shown()), agent.problem()) == (50_000, 3, "")
    node.make_anew()
    agent.look([], room(1500))
    assert agent.problem() == STALE
    agent.look([], room(1500))
    with pytest.raises(StaleMount):
        agent.look([], room(1500))
    assert node.quota_us() == -1, "nothing was written"
    other = Bounds(mounted, MOUNT, f"/{node.root}", node.state, MonotonicClock(), node.threads, _nobody)
    other.obey(quota=True)
    for _ in range(5):
        other.look([], room(1500))
    assert other.problem() == STALE, "a start would not help what has never been right"
    here = node.agent()
    here.obey(quota=True)
    here.look([])
    assert node.quota_us() == 50_000, "what was decided is taken up in the group that is there"


def test_pods_of_others_are_neither_those_that_start_nor_those_that_end(node: Node) -> None:
    agent = node.agent()

    def look(running: list[Batch]) -> int:
        agent.look(running, room(0))
        return ended(agent)[OTHERS_PODS]

    agent.obey(quota=True)
    assert look(node.batch("")) == 2, "nothing is named"
    assert look(node.batch(is_running=False)) == 1, "its container does not run yet"
    assert look(node.batch()) == 1
    assert look([]) == 1, "nobody knows of its container any more, and its group is there"


@pytest.mark.parametrize("uid", ["", "0a-3", "../kubepods"])
def test_a_container_without_a_group_of_a_named_pod_is_told_and_no_group_is_touched(node: Node, uid: str) -> None:
    before, agent = node.values(), node.agent()
    agent.obey(limits=True)
    for _ in range(UNSEEN_LOOKS - 1):
        agent.look(node.batch(uid))
        assert agent.problem() == "", "it may have just begun"
    agent.look(node.batch(uid))
    assert agent.problem().startswith(f"limits: {CONTAINER} run without limits")
    assert (node.values(), agent.shown(), [*node.state.iterdir()]) == (before, (), [])
    agent.look(node.batch())
    assert (agent.problem(), len(agent.shown())) == ("", 2)


def test_a_pod_of_another_class_is_no_problem(node: Node) -> None:
    pods = [MOUNT / controller / node.root / "kubepods" / "pod0c-3" for controller in CONTROLLERS]
    for path in pods:
        path.mkdir()
    try:
        agent = node.agent()
        agent.obey(limits=True)
        for _ in range(UNSEEN_LOOKS + 1):
            agent.look(node.batch("0c-3"))
        assert (agent.problem(), agent.shown()) == ("", ())
    finally:
        for path in pods:
            path.rmdir()


def leak(node: Node) -> None:
    """A process of the container's grows until the kernel ends it; the container goes on."""
    assert node.process.stdin is not None
    assert node.process.stdout is not None
    node.process.stdin.write(b"leak\n")
    node.process.stdin.flush()
    assert node.process.stdout.readline() == b"-9\n"


def ended(agent: Bounds) -> dict[str, int]:
    return {one.name: one.amount for one in agent.counts()}


async def test_a_leak_ends_at_the_pod_s_own_limit(node: Node) -> None:
    agent = node.agent()
    agent.obey(limits=True)
    agent.look(node.batch())
    assert await agent.at_limit(CONTAINER) == NOTHING
    leak(node)
    found = await agent.at_limit(CONTAINER)
    assert "running beyond the 'PHYSICAL' memory limit. 100 MB were granted" in found.ended
    assert "the limit of 164 MB" in found.ended
    assert await agent.at_limit(container_id(9)) == NOTHING


async def test_a_container_that_goes_on_after_a_kill_is_told_of_it_and_does_not_end_by_it(node: Node) -> None:
    agent = node.agent()
    agent.obey(limits=True)
    agent.look(node.batch())
    assert ended(agent) == {OTHERS_PODS: 1, ENDED_AT_LIMITS: 0}
    for count in (1, 2):
        leak(node)
        agent.look(node.batch())
        assert (await agent.at_limit(CONTAINER)).ended != "", "it may be about to end"
        for _ in range(LOOKS):
            agent.look(node.batch())
        found = await agent.at_limit(CONTAINER)
        told = f"has ended {count} of the container's processes at the memory limit of 164 MB; 100 MB were granted"
        assert (found.ended, told in found.told) == ("", True)
        assert ended(agent) == {OTHERS_PODS: 1, ENDED_AT_LIMITS: count}
    agent.obey()
    agent.look([])
    assert agent.counts() == ()


async def test_a_killed_agent_finds_what_was_changed_and_off_leaves_no_trace(node: Node) -> None:
    """The ResourceManager's word reaches the kernel's files, and comes back in the report."""
    before = node.values()
    changes = {"cgroup_mount": str(MOUNT), "cgroup_writable": str(MOUNT), "cgroup_root": f"/{node.root}"}
    container = container_id(2)
    group = [node.pod(UID, file).parent / "container" / "cgroup.procs" for file in FILES]
    async with agent_process(**changes) as agent:
        agent.tracker.policy = replace(POLICY, limits=True, quota=True)
        agent.tracker.pods = {container: UID}
        await agent.start()
        await agent.pod(container)
        joins = "".join(f"echo $$ > {path}; " for path in group)
        await agent.launch(container, context_of(f"{joins}exec sleep 600"))
        held = {**before, f"{UID}/memory.limit_in_bytes": f"{(512 + 64) * MIB}\n"}
        await eventually(lambda: node.values() == held and node.quota_us() > 0, WAIT_S)
        await agent.kill()
        assert node.values() == held
        quota_us = node.quota_us()
        node.quota.write_text("-1")
        node.pod(UID, "cpu.shares").write_text("1000")
        node.pod(UID, "memory.limit_in_bytes").write_text("-1")
        await agent.start()
        await eventually(lambda: node.values() == held and 0 < node.quota_us() <= quota_us, WAIT_S)
        await agent.tracker.until(lambda: any(beat.capacity.bounds for beat in agent.tracker.heartbeats))
        await agent.kill()
        agent.tracker.policy = None
        await agent.start()
        await eventually(lambda: node.values() == before and node.quota_us() == -1, WAIT_S)
        await agent.tracker.until(lambda: agent.tracker.heartbeats[-1].capacity.HasField("written_groups"))
        said = agent.tracker.heartbeats[-1].capacity
        assert (said.policy_version, said.written_groups, len(said.bounds)) == ("", 0, 0)


async def test_an_agent_whose_mount_is_stale_ends_to_be_started_again_and_its_containers_go_on(
    node: Node, mounted: Path
) -> None:
    changes = {"cgroup_mount": str(MOUNT), "cgroup_writable": str(mounted), "cgroup_root": f"/{node.root}"}
    container = container_id(2)
    async with agent_process(**changes) as agent:
        agent.tracker.policy = replace(POLICY, quota=True)
        await agent.start()
        await agent.pod(container)
        await agent.launch(container, context_of("exec sleep 600"))
        await agent.tracker.until(lambda: any(beat.capacity.bounds for beat in agent.tracker.heartbeats), WAIT_S)
        node.make_anew()
        assert agent.process is not None
        assert await asyncio.wait_for(agent.process.wait(), WAIT_S) == EXIT_STALE_MOUNT
        assert STALE in [problem for beat in agent.tracker.heartbeats for problem in beat.capacity.problems]
        assert node.quota_us() == -1
        umount_in(node, mounted)
        mount_in(node, mounted)
        await agent.start()
        await eventually(lambda: node.quota_us() > 0, WAIT_S)
        assert agent.state(container) == "RUNNING"


async def test_a_container_that_leaks_is_told_that_it_was_beyond_its_memory(node: Node) -> None:
    """The agent's own check is off, so that the kernel's limit is what ends it."""
    changes = {"cgroup_mount": str(MOUNT), "cgroup_writable": str(MOUNT), "cgroup_root": f"/{node.root}"}
    container = container_id(2)
    group = [node.pod(UID, file).parent / "container" / "cgroup.procs" for file in FILES]
    async with agent_process(pmem_check_enabled=False, vmem_check_enabled=False, **changes) as agent:
        agent.tracker.policy, agent.tracker.pods = replace(POLICY, limits=True), {container: UID}
        await agent.start()
        await agent.pod(container)
        program = agent.root / "leak.py"
        program.write_text(LEAK)
        joins = "".join(f"echo $$ > {path}; " for path in group)
        limit = node.pod(UID, "memory.limit_in_bytes")
        await agent.launch(container, context_of(f"{joins}exec {sys.executable} {program} {limit}"))
        status = await agent.tracker.until_complete(container)
    assert status.exit_status == ContainerExitStatus.KILLED_EXCEEDED_PMEM, status.diagnostics
    assert "512 MB were granted, and the kernel has ended a process at the limit of 576 MB" in status.diagnostics
