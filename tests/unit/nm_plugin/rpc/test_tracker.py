"""An agent reports its capacity in heartbeats, over the real RPC port: by policy only, and anew to a new RM."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nm_plugin.cgroups.layout import BEST_EFFORT, PODS, V2
from nm_plugin.rpc import tracker as tracker_module
from tests.support.cgroup_tree import CgroupTree
from tests.support.fake_tracker import FakeTracker
from tests.support.node_agent import FakeUsers, Rig, container_id, context_of, eventually, running_rig
from yodel.domain.colocation.policy import Formula, Policy, Shaping
from yodel.domain.colocation.report import APART, CPU_MILLI, MEMORY_MIB
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_pb import yarn_server_common_protos_pb2 as common_pb
from yodel.hadoop_pb import yarn_server_common_service_protos_pb2 as server_pb
from yodel.pb_convert import colocation, ids
from yodel.pb_convert.shuffle_reports import shuffle_words

POLICY = Policy(
    version="a", preset="koordinator", cpu=Formula(), memory=Formula(share_percent=50), shaping=Shaping(window_s=1)
)


def _tree(root: Path) -> CgroupTree:
    tree = CgroupTree(mount=root / "cgroup", proc=root / "proc", version=V2, driver="systemd", cgroup_root="/n1").make()
    tree.write("", tree.group(), "memory.max", str(1 << 30))
    tree.use((), cpu_us=0, memory_mib=400)
    tree.use(PODS, cpu_us=0, memory_mib=300)
    tree.use(BEST_EFFORT, cpu_us=0, memory_mib=200)
    return tree


def _reports(tracker: FakeTracker) -> list[server_pb.NodeHeartbeatRequestProto]:
    return [beat for beat in tracker.heartbeats if beat.HasField("capacity")]


def _kubelet_reserved(tracker: FakeTracker) -> list[int]:
    """Return how much memory is reserved for the kubelet by the last report."""
    loan = colocation.loan_report(_reports(tracker)[-1].capacity).loan_of(MEMORY_MIB)
    return [] if loan is None else [one.amount for one in loan.measured if one.name == "kubelet-reserved"]


async def test_a_policy_is_obeyed_and_what_is_lent_is_told_until_there_is_none(
    open_path: Path, users: FakeUsers, tracker: FakeTracker
) -> None:
    tree = _tree(open_path)
    changes: dict[str, Any] = {"cgroup_mount": str(tree.mount), "cgroup_root": "/n1", "colocation_most_milli": 700}
    async with running_rig(open_path, users, tracker, **changes):
        assert list(tracker.registrations[0].can) == [CPU_MILLI, MEMORY_MIB, *shuffle_words()]
        tracker.policy = POLICY
        await tracker.until(lambda: bool(_reports(tracker)))
        beat = _reports(tracker)[0]
        report = colocation.loan_report(beat.capacity)
        assert (beat.colocation_policy_version, report.policy_version, report.source) == ("a", "a", "cgroup v2")
        assert report.problems == ()
        cpu, memory = report.loan_of(CPU_MILLI), report.loan_of(MEMORY_MIB)
        assert cpu is not None
        assert memory is not None
        assert (cpu.amount, memory.amount) == (700, 512 - 100 - 100 - 312 % 64)

        for said, reserved in (({MEMORY_MIB: 600}, 424), ({"disks": 7}, 424), ({MEMORY_MIB: 700}, 324)):
            tracker.allocatable = said
            await tracker.until(lambda reserved=reserved: _kubelet_reserved(tracker) == [reserved])
        tracker.allocatable = {}

        tracker.policy = None
        await tracker.until(lambda: not tracker.heartbeats[-1].colocation_policy_version)
        await tracker.until(lambda: not tracker.heartbeats[-1].HasField("capacity"))


async def test_reports_go_apart_to_who_reads_them_so_and_in_one_to_an_earlier_release(
    open_path: Path, users: FakeUsers, tracker: FakeTracker
) -> None:
    tree = _tree(open_path)
    tracker.policy = replace(POLICY, limits=True)
    async with running_rig(open_path, users, tracker, cgroup_mount=str(tree.mount), cgroup_root="/n1"):
        await tracker.until(lambda: bool(_reports(tracker)))
        for can in ([APART], [], [APART]):
            tracker.can, tracker.next_action = can, common_pb.NODE_ACTION_RESYNC
            known = len(tracker.registrations)
            await tracker.until(lambda known=known: len(tracker.registrations) > known)
            before = len(tracker.heartbeats)
            names = ("loan", "written") if can else ("capacity",)
            others = {"loan", "written", "capacity"}.difference(names)
            for name in names:
                await tracker.until(
                    lambda name=name, before=before: any(b.HasField(name) for b in tracker.heartbeats[before:])
                )
            told = [b for b in tracker.heartbeats[before:] if any(b.HasField(name) for name in names)]
            assert not any(beat.HasField(name) for beat in told for name in others)


async def test_limits_that_cannot_be_written_are_a_problem_of_the_report(
    open_path: Path, users: FakeUsers, tracker: FakeTracker
) -> None:
    tree = _tree(open_path)
    tracker.policy = replace(POLICY, limits=True)
    async with running_rig(open_path, users, tracker, cgroup_mount=str(tree.mount), cgroup_root="/n1"):
        await tracker.until(lambda: any(beat.capacity.problems for beat in _reports(tracker)))
        told = next(beat.capacity.problems for beat in _reports(tracker) if beat.capacity.problems)
        assert list(told) == ["limits are on, but the agent has no best-effort cgroup to write them to"]


async def test_end_is_told_once_and_anew_to_whom_the_agent_registers_with(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And of more than so many, those that were told first are forgotten."""
    monkeypatch.setattr(tracker_module, "ENDED_MAX", 2)
    rig.tracker.acknowledges = False
    first, second, third = map(container_id, (2, 3, 4))
    for container in (first, second):
        await rig.start(container, context_of("exit 0"))
        await rig.stop(container)
        await rig.tracker.until_complete(container)
    told = [ids.container_id(s.container_id) for s in _ends(rig.tracker)]
    assert sorted(told) == [first, second]

    rig.tracker.next_action = common_pb.NODE_ACTION_RESYNC
    await rig.tracker.until(lambda: len(rig.tracker.registrations) == 2)
    known = rig.tracker.registrations[1].container_statuses
    assert sorted(ids.container_id(s.container_id) for s in known) == [first, second]
    beats = len(rig.tracker.heartbeats)
    await rig.tracker.until(lambda: len(rig.tracker.heartbeats) > beats + 1)
    assert len(_ends(rig.tracker)) == 2

    await rig.start(third, context_of("exit 0"))
    await rig.stop(third)
    await rig.tracker.until_complete(third)
    await eventually(lambda: rig.running.manager.get(first) is None)
    assert None not in map(rig.running.manager.get, (second, third))


def _ends(tracker: FakeTracker) -> list[pb.ContainerStatusProto]:
    statuses = (status for beat in tracker.heartbeats for status in beat.node_status.containersStatuses)
    return [status for status in statuses if status.state == pb.C_COMPLETE]


async def test_an_emergency_goes_with_each_beat_and_nothing_does_without_one(
    open_path: Path, users: FakeUsers, tracker: FakeTracker
) -> None:
    tree = _tree(open_path)
    tracker.policy = POLICY
    async with running_rig(open_path, users, tracker, cgroup_mount=str(tree.mount), cgroup_root="/n1"):
        await tracker.until(lambda: bool(_reports(tracker)))
        assert not any(beat.HasField("emergency") for beat in tracker.heartbeats)
        tree.use((), cpu_us=0, memory_mib=1000)
        await tracker.until(lambda: tracker.heartbeats[-1].HasField("emergency"))
        seen = len(tracker.heartbeats)
        await tracker.until(lambda: len(tracker.heartbeats) > seen + 1)
        assert all(beat.emergency.cool_down_s in (59, 60) for beat in tracker.heartbeats[seen:])
        tracker.policy = None
        await tracker.until(lambda: not tracker.heartbeats[-1].HasField("emergency"))


async def test_a_resource_manager_that_was_away_hears_it_again(
    open_path: Path, users: FakeUsers, tracker: FakeTracker
) -> None:
    tree = _tree(open_path)
    tracker.policy = POLICY
    async with running_rig(open_path, users, tracker, cgroup_mount=str(tree.mount), cgroup_root="/n1"):
        await tracker.until(lambda: bool(_reports(tracker)))
        seen = len(_reports(tracker))
        tracker.next_action = common_pb.NODE_ACTION_RESYNC
        await tracker.until(lambda: len(tracker.registrations) == 2)
        first = len(tracker.heartbeats)
        await tracker.until(lambda: len(tracker.heartbeats) > first)
        assert tracker.heartbeats[first].HasField("capacity")
        assert seen >= 1


async def test_without_a_policy_a_beat_says_nothing_of_capacity(
    open_path: Path, users: FakeUsers, tracker: FakeTracker
) -> None:
    async with running_rig(open_path, users, tracker):
        await tracker.until(lambda: len(tracker.heartbeats) >= 2)
    for beat in tracker.heartbeats:
        fields = {field.number for field, _ in beat.ListFields()}
        assert fields <= {1, 2, 3, 4, 6}
