"""The loop of measuring on a clock that tests move, and what it says with which heartbeat."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
import pytest_asyncio

from nm_plugin.capacity.bounds import Bounds
from nm_plugin.capacity.lender import Due, Lender
from nm_plugin.capacity.running import Batch
from nm_plugin.capacity.samples import Reading
from nm_plugin.capacity.ticks import AgentMaximum
from nm_plugin.cgroups.counters import ResourceCounters
from nm_plugin.cgroups.files import LostReading
from nm_plugin.host.users import FileThreads
from tests.support.node_agent import eventually
from yodel.domain.colocation.measured import InstantUse
from yodel.domain.colocation.policy import Formula, Policy, Shaping
from yodel.domain.colocation.report import Figure, LoanReport, Pressure, WrittenReport

PLAIN = Formula(counts_system=False)


def _policy(version: str) -> Policy:
    return Policy(version=version, preset="baidu", cpu=PLAIN, memory=PLAIN, shaping=Shaping(window_s=2))


@dataclass
class HandClock:
    """A sleep ends when ``wake`` says so."""

    now: int = 0
    asked_ms: int = 0
    asleep: asyncio.Event = field(default_factory=asyncio.Event)
    woken: asyncio.Event = field(default_factory=asyncio.Event)

    def now_ms(self) -> int:
        return self.now

    async def sleep(self, duration_ms: int) -> None:
        self.asked_ms = duration_ms
        self.asleep.set()
        await self.woken.wait()
        self.woken.clear()

    async def fell_asleep(self) -> int:
        """Wait until the loop sleeps, and say for how long it wants to."""
        async with asyncio.timeout(60):
            await self.asleep.wait()
        return self.asked_ms

    def wake(self, late_ms: int = 0) -> None:
        self.now += self.asked_ms + late_ms
        self.asleep.clear()
        self.woken.set()


@dataclass
class HandSource:
    """Ten cores; ``cores`` of them used by online pods."""

    clock: HandClock
    cores: float = 2
    source: str = "cgroup v1"
    problem: str = ""
    reads: int = 0
    used_us: int = 0
    read_ms: int = 0

    def read(self) -> ResourceCounters:
        self.reads += 1
        if self.problem:
            raise LostReading(self.problem)
        self.used_us += int(self.cores * (self.clock.now - self.read_ms) * 1000)
        used, self.read_ms = self.used_us, self.clock.now
        return ResourceCounters(
            machine_milli=10_000,
            cpu_milli_size=10_000,
            memory_mib_size=10_240,
            cpu_us=InstantUse(node=used, pods=used, best_effort=0),
            memory_mib=InstantUse(node=0, pods=0, best_effort=0),
        )


@dataclass
class World:
    clock: HandClock
    source: HandSource
    wakes: list[int]
    lender: Lender

    async def seconds(self, count: int) -> None:
        for _ in range(count):
            await self.clock.fell_asleep()
            self.clock.wake()
        await self.clock.fell_asleep()

    def beat(self) -> LoanReport | None:
        return self.told().loan

    def told(self) -> Due:
        due = self.lender.due()
        self.lender.told(due)
        return due


@pytest_asyncio.fixture
async def world() -> AsyncIterator[World]:
    clock, wakes, threads = HandClock(), list[int](), FileThreads(1)
    source = HandSource(clock)
    lender = Lender(source, AgentMaximum(), clock, threads, lambda: wakes.append(clock.now))
    task = asyncio.create_task(lender.run())
    yield World(clock, source, wakes, lender)
    task.cancel()
    threads.close()


def _left(due: Due) -> WrittenReport | None:
    """Return the report that is due without its problems: whether a file could be read just then does not matter."""
    return replace(due.written, problems=()) if due.written is not None else None


def _cpu(report: LoanReport | None) -> int | None:
    return report.loans[0].amount if report is not None and report.loans else None


async def test_nothing_is_read_and_nothing_said_without_a_policy(world: World) -> None:
    for _ in range(20):
        await asyncio.sleep(0)
    assert (world.source.reads, world.beat(), world.lender.policy_version) == (0, None, "")


async def test_a_report_is_told_once_and_again_after_ten_seconds(world: World) -> None:
    world.lender.obey(_policy("1"))
    await world.seconds(2)
    assert (_cpu(world.beat()), world.beat()) == (8000, None)
    await world.seconds(9)
    assert world.beat() is None
    await world.seconds(1)
    assert _cpu(world.beat()) == 8000


async def test_a_new_amount_asks_for_a_heartbeat_and_an_old_one_does_not(world: World) -> None:
    world.lender.obey(_policy("1"))
    await world.seconds(5)
    assert world.wakes == [2000]
    world.source.cores = 3
    await world.seconds(1)
    assert world.wakes[1:] == [6000]
    assert _cpu(world.beat()) is not None


async def test_what_was_not_answered_is_said_again_with_its_age(world: World) -> None:
    world.lender.obey(_policy("1"))
    await world.seconds(2)
    assert world.lender.due().loan is not None
    world.clock.now += 250
    report = world.lender.due().loan
    assert report is not None
    assert report.age_ms == 250


async def test_a_new_resource_manager_is_told_what_the_last_one_knew(world: World) -> None:
    world.lender.obey(_policy("1"))
    await world.seconds(2)
    world.beat()
    assert world.beat() is None
    world.lender.registered(is_apart=False)
    assert _cpu(world.beat()) == 8000


async def test_a_new_version_of_the_policy_is_reported_though_the_amount_is_the_same(world: World) -> None:
    world.lender.obey(_policy("1"))
    await world.seconds(2)
    world.beat()
    world.lender.obey(_policy("2"))
    await world.seconds(1)
    report = world.beat()
    assert report is not None
    assert report.policy_version == world.lender.policy_version == "2"


async def test_without_the_policy_measuring_ends_and_begins_anew_with_the_next(world: World) -> None:
    world.lender.obey(_policy("1"))
    await world.seconds(2)
    world.lender.obey(None)
    assert world.lender.due() == Due()
    reads = world.source.reads
    world.clock.wake()
    for _ in range(20):
        await asyncio.sleep(0)
    assert world.source.reads == reads
    world.lender.obey(_policy("2"))
    await world.seconds(1)
    assert world.lender.due() == Due()
    await world.seconds(1)
    assert _cpu(world.beat()) == 8000


async def test_lost_readings_are_reported_as_a_problem_and_then_as_no_loan(world: World) -> None:
    world.lender.obey(_policy("1"))
    await world.seconds(2)
    world.beat()
    world.source.problem = "memory.stat: torn"
    await world.seconds(1)
    report = world.beat()
    assert report is not None
    assert (_cpu(report), report.problems) == (8000, ("a reading was lost: memory.stat: torn",))
    await world.seconds(1)
    report = world.beat()
    assert report is not None
    assert report.loans == ()


@pytest.mark.parametrize("is_apart", [False, True])
async def test_a_quota_follows_each_reading_and_what_is_left_of_it_is_said_once(tmp_path: Path, is_apart: bool) -> None:
    """The quota is written in a made tree of cgroup v1."""
    group, state = tmp_path / "cpu" / "kubepods" / "besteffort", tmp_path / "state"
    for made in (group, tmp_path / "memory" / "kubepods" / "besteffort", tmp_path / "cpuacct" / "kubepods", state):
        made.mkdir(parents=True)
    for path in (tmp_path / "cpuacct" / "cpuacct.usage", tmp_path / "cpuacct" / "kubepods" / "cpuacct.usage"):
        path.write_text("0")
    (group / "cpu.cfs_period_us").write_text("100000")
    quota = group / "cpu.cfs_quota_us"
    quota.write_text("-1")
    clock, threads = HandClock(), FileThreads(1)
    bounds = Bounds(tmp_path, tmp_path, "/", state, clock, threads, _nobody)
    source = HandSource(clock)
    lender = Lender(source, AgentMaximum(), clock, threads, lambda: None, bounds)
    lender.registered(is_apart=is_apart)
    task, world = asyncio.create_task(lender.run()), World(clock, source, [], lender)
    try:
        lender.obey(replace(_policy("1"), quota=True))
        lender.answered()
        await world.seconds(3)
        await eventually(lambda: [one.read for one in bounds.shown()] == [800_000])
        report = world.beat()
        assert report is not None
        assert report.problems == ()
        assert report.loans[0].measured[-1] == Figure(name="quota", amount=8000)
        source.cores = 2.5
        await world.seconds(2)
        await eventually(lambda: quota.read_text() == "750000")
        assert world.told() == Due(), "the loan is as it was"
        with quota.open("r+") as file:  # in one piece, as the kernel takes it
            file.write("-1    ")
        await world.seconds(1)
        await eventually(lambda: bounds.shown()[0].put_back == 1)
        due = world.told()
        assert due.written is not None
        assert (quota.read_text(), due.written.groups, due.loan is not None) == ("750000", 1, not is_apart)
        lender.obey(None)
        lender.answered()
        assert world.told() == Due(), "it is not known yet what is left"
        bounds.look([])
        said = world.told()
        assert (said.loan, said.written is not None) == (None, True)
        assert _left(said) == WrittenReport(groups=0, best_effort="kubepods/besteffort")
        clock.now += 60_000
        assert world.told() == Due(), "once"
        lender.registered(is_apart=not is_apart)
        assert _left(world.told()) == _left(said)
    finally:
        task.cancel()
        threads.close()


@dataclass
class Stuck:
    """An emergency or bounds, whose work on the first that they take lasts until ``may_go_on``."""

    may_go_on: asyncio.Event = field(default_factory=asyncio.Event)
    taken: list[object] = field(default_factory=list)

    async def take(self, value: object) -> None:
        self.taken.append(value)
        await self.may_go_on.wait()

    hold = take

    def stop(self) -> None:
        self.taken.clear()


async def test_of_loan_quota_and_emergency_none_waits_for_another() -> None:
    clock, threads, wakes = HandClock(), FileThreads(1), list[int]()
    emergency, bounds, source = Stuck(), Stuck(), HandSource(clock)
    lender = Lender(source, AgentMaximum(), clock, threads, lambda: wakes.append(clock.now), bounds, emergency)  # type: ignore[arg-type]
    task, world = asyncio.create_task(lender.run()), World(clock, source, wakes, lender)
    try:
        lender.obey(_policy("1"))
        await world.seconds(2)
        assert wakes == [2000], "the loan is there"
        assert (len(emergency.taken), len(bounds.taken)) == (1, 1)
        bounds.may_go_on.set()
        await world.seconds(3)
        await eventually(lambda: len(bounds.taken) >= 3)
        assert len(emergency.taken) == 1
        emergency.may_go_on.set()
        await eventually(lambda: len(emergency.taken) == 2)
        newest = emergency.taken[1]
        assert isinstance(newest, Reading)
        assert newest.at_ms == clock.now, "what is past is passed over"
    finally:
        task.cancel()
        threads.close()


async def test_what_is_not_taken_yet_when_lending_ends_never_is() -> None:
    clock, threads = HandClock(), FileThreads(1)
    emergency, source = Stuck(), HandSource(clock)
    lender = Lender(source, AgentMaximum(), clock, threads, lambda: None, None, emergency)  # type: ignore[arg-type]
    task, world = asyncio.create_task(lender.run()), World(clock, source, [], lender)
    try:
        lender.obey(_policy("1"))
        await world.seconds(2)
        lender.obey(None)
        emergency.may_go_on.set()
        for _ in range(20):
            await asyncio.sleep(0)
        assert emergency.taken == []
    finally:
        task.cancel()
        threads.close()


async def test_pressure_of_online_pods_is_read_each_five_seconds_and_is_no_news() -> None:
    clock, threads, found = HandClock(), FileThreads(1), list[int]()

    def read() -> Pressure:
        found.append(clock.now)
        return Pressure(source="kubepods/burstable", some_basis_points=len(found))

    lender = Lender(HandSource(clock), AgentMaximum(), clock, threads, lambda: None, None, pressure=read)
    task, world = asyncio.create_task(lender.run()), World(clock, HandSource(clock), [], lender)
    try:
        lender.obey(_policy("1"))
        await world.seconds(2)
        report = world.beat()
        assert report is not None
        assert (report.pressure, found) == (Pressure(source="kubepods/burstable", some_basis_points=1), [0])
        await world.seconds(9)
        assert (world.beat(), found) == (None, [0, 5000, 10_000])
        await world.seconds(1)
        report = world.beat()
        assert report is not None
        assert report.pressure == Pressure(source="kubepods/burstable", some_basis_points=3)
    finally:
        task.cancel()
        threads.close()


def _nobody() -> list[Batch]:
    return []


@pytest.mark.parametrize("late_ms", [0, 400, 2500])
async def test_a_second_that_came_late_does_not_delay_those_after_it(world: World, late_ms: int) -> None:
    world.lender.obey(_policy("1"))
    assert await world.clock.fell_asleep() == 1000
    world.clock.wake(late_ms)
    assert await world.clock.fell_asleep() == max(0, 1000 - late_ms)
