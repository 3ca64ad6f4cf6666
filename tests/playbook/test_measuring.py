"""An agent that measures and a ResourceManager that publishes, second by second: how soon a loan follows use."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from nm_plugin.capacity.samples import Reading
from nm_plugin.capacity.ticks import AgentMaximum, Measurements, report_of, tick
from nm_plugin.cgroups.counters import ResourceCounters
from tests.support.fakes import NODE
from tests.support.lending import CPU, GIB, MEMORY, lending_world
from tests.support.loans import POLICY
from tests.support.playbook import World
from yodel.domain.colocation.measured import InstantUse
from yodel.domain.colocation.report import CPU_MILLI, MEMORY_MIB, LoanReport
from yodel.pb_convert.colocation import allocatable, allocatable_pb, loan_report, loan_report_pb

CORES = 16
DOWN_S, UP_S = 2, 15


class MeasuredNode:
    """Its agent ticks each second, and says in its beat what it lends; ``cores`` are used by online pods."""

    def __init__(self, world: World) -> None:
        self.world, self.cores = world, 2.0
        self.pods_mib: int | None = None
        self.allocatable: dict[str, int] = {}
        self.told = 0
        self._cpu_us = 0
        self._state = Measurements(started_ms=world.clock.elapsed_ms)

    async def second(self) -> None:
        self._cpu_us += int(self.cores * 1_000_000)
        now_ms = self.world.clock.elapsed_ms
        counters = ResourceCounters(
            machine_milli=CORES * 1000,
            cpu_milli_size=CORES * 1000,
            memory_mib_size=CORES * 1024,
            cpu_us=InstantUse(node=self._cpu_us, pods=self._cpu_us, best_effort=0),
            memory_mib=InstantUse(node=2048, pods=2048, best_effort=0),
            memory_mib_pods=self.pods_mib,
        )
        read = Reading(at_ms=now_ms, counters=counters, allocatable=self.allocatable)
        self._state, loans = tick(self._state, read, now_ms, POLICY, AgentMaximum())
        said = None if loans is None else over_the_wire(report_of(self._state, loans, "cgroup v2", POLICY))
        answer = await self.world.beat(proved_name=NODE.host, policy_version=POLICY.version, capacity=said)
        if answer.allocatable is not None:
            self.allocatable, self.told = allocatable(allocatable_pb(answer.allocatable.by_type)), self.told + 1
        await self.world.settle()
        await self.world.pass_time(1.0)

    async def seconds_until(self, milli: int) -> int:
        """Return how many seconds pass until so much is published."""
        for passed in range(60):
            if self.published() == milli:
                return passed
            await self.second()
        raise AssertionError(f"{self.published()} is published, and not {milli}")

    def published(self, name: str = CPU) -> int | None:
        status = self.world.statuses.nodes[NODE.host]
        assert status.capacity.get(name) == status.allocatable.get(name)
        return int(status.capacity[name]) if name in status.capacity else None

    def explained(self) -> dict[str, list[str]]:
        """Return by resource why each term and step is what it is; they add up to what is published."""
        found = self.world.rm.capacities.of(NODE.host)
        assert found is not None
        whys: dict[str, list[str]] = {}
        for one in found.resources:
            assert one.loan is not None
            left = sum(term.amount for term in one.loan.terms)
            for step in (*one.loan.steps, *one.steps, *one.last_steps):
                assert step.before == left
                left = step.after
            assert left == one.wanted == one.published
            whys[one.resource] = [line.why for line in (*one.loan.terms, *one.loan.steps, *one.steps)]
        return whys


def over_the_wire(report: LoanReport) -> LoanReport:
    return loan_report(loan_report_pb(report))


@pytest.fixture
async def node() -> AsyncIterator[MeasuredNode]:
    async with lending_world() as world:
        yield MeasuredNode(world)


async def test_a_change_of_thirty_percent_is_published_in_two_seconds_down_and_fifteen_up(node: MeasuredNode) -> None:
    """Six tenths of sixteen cores are shared out: 9.6 less what is used."""
    assert await node.seconds_until(7600) <= 12
    node.cores = 2 + 0.3 * CORES
    assert await node.seconds_until(2800) <= DOWN_S
    node.cores = 2.0
    assert await node.seconds_until(7600) <= UP_S


async def test_what_the_kubelet_keeps_is_not_lent_as_the_agent_sees_it_or_is_told(node: MeasuredNode) -> None:
    """The kubelet keeps 3 of 16 cores and 4 of 16 GiB, memory by the limit of all pods, cores by the allocatable."""
    statuses, share_mib = node.world.statuses, 16_384 * 65 // 100
    await node.seconds_until(7600)
    assert (node.allocatable, node.told) == ({CPU_MILLI: 16_000, MEMORY_MIB: 16_384}, 1)
    statuses.change(NODE.host, allocatable={**statuses.nodes[NODE.host].allocatable, "cpu": "13", "memory": "9Gi"})
    node.pods_mib = 12 * 1024
    await node.second()
    node.explained()
    assert node.published(MEMORY) == (share_mib - 4096 - 2048) // 64 * 64 << 20, "at once: it is measured"
    assert await node.seconds_until(4600) <= DOWN_S, "9.6 less 3 and 2"
    assert (node.allocatable, node.told) == ({CPU_MILLI: 13_000, MEMORY_MIB: 9 * 1024}, 2)
    whys = node.explained()
    assert any(why.endswith(" and 3000 (reserved by the kubelet)") for why in whys[CPU_MILLI])
    assert any(why.endswith(" and 4096 (reserved by the kubelet)") for why in whys[MEMORY_MIB])
    node.pods_mib = None
    for _ in range(UP_S):
        await node.second()
        node.explained()
    assert node.published(MEMORY) == (share_mib - 7168 - 2048) // 64 * 64 << 20, "by what is allocatable"


async def test_published_is_never_above_what_is_allocatable_now(node: MeasuredNode) -> None:
    """Whatever its agent says: one of before the kubelet's start, or of an older release."""
    statuses = node.world.statuses
    await node.seconds_until(7600)
    statuses.change(NODE.host, allocatable={**statuses.nodes[NODE.host].allocatable, "cpu": "1500m", "memory": "2Gi"})
    await node.world.settle()
    await node.world.pass_time(1.0)
    assert (node.published(), node.published(MEMORY)) == (1500, 2 * GIB)
    whys = node.explained()
    assert "the node has 16000, of which 1500 is allocatable" in whys[CPU_MILLI]


async def test_use_that_swings_each_second_does_not_move_what_is_published(node: MeasuredNode) -> None:
    await node.seconds_until(7600)
    node.cores = 6.0
    await node.seconds_until(3600)
    for second in range(60):
        node.cores = 2.0 if second % 2 else 6.0
        await node.second()
        assert node.published() == 3600
