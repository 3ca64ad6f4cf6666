"""An agent that measures and a ResourceManager that publishes, second by second: how soon a loan follows use."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from nm_plugin.capacity.samples import Reading
from nm_plugin.capacity.ticks import Measured, Most, report_of, tick
from nm_plugin.cgroups.counters import Counters
from tests.support.fakes import NODE
from tests.support.lending import CPU, lending_world
from tests.support.loans import POLICY
from tests.support.playbook import World
from yodel.domain.colocation.measured import Use
from yodel.domain.colocation.report import CapacityReport
from yodel.pb_convert.colocation import capacity_report, capacity_report_pb

CORES = 16
DOWN_S, UP_S = 2, 15


class MeasuredNode:
    """Its agent ticks each second, and says in its beat what it lends; ``cores`` are used by online pods."""

    def __init__(self, world: World) -> None:
        self.world, self.cores = world, 2.0
        self._cpu_us = 0
        self._state = Measured(started_ms=world.clock.elapsed_ms)

    async def second(self) -> None:
        self._cpu_us += int(self.cores * 1_000_000)
        now_ms = self.world.clock.elapsed_ms
        counters = Counters(
            machine_milli=CORES * 1000,
            cpu_milli_size=CORES * 1000,
            memory_mib_size=CORES * 1024,
            cpu_us=Use(node=self._cpu_us, pods=self._cpu_us, best_effort=0),
            memory_mib=Use(node=2048, pods=2048, best_effort=0),
        )
        read = Reading(at_ms=now_ms, counters=counters)
        self._state, loans = tick(self._state, read, now_ms, POLICY, Most())
        said = None if loans is None else over_the_wire(report_of(self._state, loans, "cgroup v2", POLICY))
        await self.world.beat(proved_name=NODE.host, policy_version=POLICY.version, capacity=said)
        await self.world.settle()
        await self.world.pass_time(1.0)

    async def seconds_until(self, milli: int) -> int:
        """How many pass until so much is published."""
        for passed in range(60):
            if self.published() == milli:
                return passed
            await self.second()
        raise AssertionError(f"{self.published()} is published, and not {milli}")

    def published(self) -> int | None:
        status = self.world.statuses.nodes[NODE.host]
        assert status.capacity.get(CPU) == status.allocatable.get(CPU)
        return int(status.capacity[CPU]) if CPU in status.capacity else None


def over_the_wire(report: CapacityReport) -> CapacityReport:
    return capacity_report(capacity_report_pb(report))


@pytest.fixture
async def node() -> AsyncIterator[MeasuredNode]:
    async with lending_world() as world:
        yield MeasuredNode(world)


async def test_a_change_of_thirty_percent_is_published_in_two_seconds_down_and_fifteen_up(node: MeasuredNode) -> None:
    """Of sixteen cores six tenths are shared out: 9.6 less what is used."""
    assert await node.seconds_until(7600) <= 12
    node.cores = 2 + 0.3 * CORES
    assert await node.seconds_until(2800) <= DOWN_S
    node.cores = 2.0
    assert await node.seconds_until(7600) <= UP_S


async def test_use_that_swings_each_second_does_not_move_what_is_published(node: MeasuredNode) -> None:
    await node.seconds_until(7600)
    node.cores = 6.0
    await node.seconds_until(3600)
    for second in range(60):
        node.cores = 2.0 if second % 2 else 6.0
        await node.second()
        assert node.published() == 3600
