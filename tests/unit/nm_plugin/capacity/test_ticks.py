"""A node played second by second."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from nm_plugin.capacity.samples import Reading
from nm_plugin.capacity.ticks import AgentMaximum, Measurements, headroom_of, report_of, tick
from nm_plugin.cgroups.counters import ResourceCounters
from nm_plugin.cgroups.files import LostReading
from yodel.domain.colocation.measured import InstantUse
from yodel.domain.colocation.policy import Formula, Policy, Shaping
from yodel.domain.colocation.report import CPU_MILLI, MEMORY_MIB, Loan

PLAIN = Formula(counts_system=False)
POLICY = Policy(version="1", preset="baidu", cpu=PLAIN, memory=PLAIN, shaping=Shaping())


@dataclass
class Node:
    """Ten cores and 10 GiB; ``second`` lets one pass in which online pods use so much."""

    policy: Policy = POLICY
    most: AgentMaximum = field(default_factory=AgentMaximum)
    now_ms: int = 0
    cpu_us: int = 0
    pods_mib: int | None = None
    allocatable: dict[str, int] = field(default_factory=dict)
    state: Measurements = field(default_factory=lambda: Measurements(started_ms=0))

    def second(self, cores: float, memory_mib: int = 0) -> tuple[Loan, ...] | None:
        self.now_ms += 1000
        self.cpu_us += int(cores * 1_000_000)
        counters = ResourceCounters(
            machine_milli=10_000,
            cpu_milli_size=10_000,
            memory_mib_size=10_240,
            cpu_us=InstantUse(node=self.cpu_us, pods=self.cpu_us, best_effort=0),
            memory_mib=InstantUse(node=memory_mib, pods=memory_mib, best_effort=0),
            memory_mib_pods=self.pods_mib,
        )
        return self.step(Reading(at_ms=self.now_ms, counters=counters, allocatable=self.allocatable))

    def lost(self) -> tuple[Loan, ...] | None:
        """One in which nothing could be read; online pods used two cores."""
        self.now_ms += 1000
        self.cpu_us += 2_000_000
        return self.step(LostReading("memory.stat: torn"))

    def step(self, read: Reading | LostReading) -> tuple[Loan, ...] | None:
        self.state, loans = tick(self.state, read, self.now_ms, self.policy, self.most)
        return loans

    def seconds(self, count: int, cores: float) -> list[int]:
        """Return what is lent of CPU after each second."""
        return [_cpu(self.second(cores)) for _ in range(count)]


def _cpu(loans: tuple[Loan, ...] | None) -> int:
    """-1 where there is none."""
    return next((loan.amount for loan in loans or () if loan.resource == CPU_MILLI), -1)


def test_nothing_is_lent_before_ten_seconds_were_watched() -> None:
    node = Node()
    assert node.seconds(9, 2) == [-1] * 9
    assert node.seconds(1, 2) == [8000]


def test_a_shorter_window_is_watched_for_as_long_as_it_is() -> None:
    node = Node(policy=Policy(version="1", preset="x", cpu=PLAIN, memory=PLAIN, shaping=Shaping(window_s=2)))
    assert node.seconds(2, 2) == [-1, 8000]


def test_a_burst_takes_its_room_in_the_second_it_is_seen_and_gives_it_back_step_by_step() -> None:
    node = Node()
    node.seconds(10, 2)
    assert node.seconds(1, 4.5) == [5500]
    assert node.seconds(9, 2) == [5500] * 9
    assert node.seconds(4, 2) == [6500, 7500, 8000, 8000], "the last step is less than the dead band"


def test_both_resources_are_lent_and_add_up() -> None:
    node = Node(most=AgentMaximum(memory_mib=4000))
    node.seconds(9, 2)
    loans = node.second(2, memory_mib=240)
    assert loans is not None
    assert {loan.resource: loan.amount for loan in loans} == {CPU_MILLI: 8000, MEMORY_MIB: 3968}


def test_a_lost_reading_costs_itself_and_is_told_for_ten_seconds() -> None:
    node = Node()
    node.seconds(10, 2)
    assert _cpu(node.lost()) == 8000
    report = report_of(node.state, (), "cgroup v1", POLICY)
    assert report.problems == ("a reading was lost: memory.stat: torn",)
    assert node.seconds(10, 2) == [8000] * 10
    assert report_of(node.state, (), "cgroup v1", POLICY).problems == ()


def test_a_quota_is_decided_by_the_last_ten_seconds_from_the_first_reading_on() -> None:
    node = Node(most=AgentMaximum(cpu_milli=3000), policy=replace(POLICY, shaping=Shaping(window_s=60)))
    assert headroom_of(node.state, 0, node.policy, node.most) is None
    node.seconds(3, 2)
    room = headroom_of(node.state, 3000, node.policy, node.most)
    assert room is not None
    assert (room.capacity, room.agent_most, room.is_watched) == (10_000, 3000, False)
    node.seconds(17, 4)
    room = headroom_of(node.state, 20_000, node.policy, node.most)
    assert room is not None
    assert ([use.online for use in room.recent], room.is_watched) == ([4000] * 10, True)
    assert headroom_of(node.state, 31_000, node.policy, node.most) is None


def test_when_all_of_the_last_seconds_were_lost_there_is_no_loan_and_no_zero() -> None:
    node = Node()
    node.seconds(12, 2)
    lost = [node.lost() for _ in range(10)]
    assert [_cpu(loans) for loans in lost] == [8000] * 9 + [-1]
    assert lost[-1] == ()
    assert node.seconds(1, 2) == [8000]


def test_a_counter_that_starts_anew_loses_one_reading() -> None:
    node = Node()
    node.seconds(10, 2)
    node.cpu_us = 0
    assert node.seconds(2, 0) == [8000, 8000]
    assert "went from 20000000 to 0 us" in node.state.lost


def test_a_policy_that_changes_goes_on_from_what_is_lent() -> None:
    node = Node()
    node.seconds(10, 8)
    node.policy = Policy(version="2", preset="static", cpu=Formula(static_amount=9000), memory=PLAIN, shaping=Shaping())
    assert node.seconds(3, 8) == [3000, 4000, 5000]


def test_only_the_window_is_remembered() -> None:
    node = Node()
    node.seconds(40, 2)
    assert len(node.state.samples) == 10


def test_every_second_of_an_hour_adds_up() -> None:
    """A loan that does not cannot be built; here each is added up again by what it says itself."""
    policy = Policy(
        version="1", preset="x", cpu=Formula(share_percent=83, online_percent=117), memory=PLAIN, shaping=Shaping()
    )
    node, seen = Node(policy=policy), 0
    for second in range(3600):
        node.pods_mib = (None, 10_240, 6000)[second // 600 % 3]
        node.allocatable = ({}, {CPU_MILLI: 9000, MEMORY_MIB: 9000})[second // 900 % 2]
        loans = node.second(2 + (second * 7919 % 1000) / 250, memory_mib=second % 3000) or ()
        for loan in loans:
            steps = sum(step.after - step.before for step in loan.steps)
            assert sum(term.amount for term in loan.terms) + steps == loan.amount
            reserved = {one.name: one.amount for one in loan.measured}.get("kubelet-reserved")
            assert reserved == _reserved(node, loan.resource)
            assert -loan.terms[2].amount == (reserved or 0), "nothing runs outside of pods"
            seen += 1
    assert seen == 2 * 3591


def _reserved(node: Node, resource: str) -> int | None:
    """Return what is reserved by the limit of all pods, or else by what is allocatable."""
    if resource == MEMORY_MIB and node.pods_mib is not None:
        return 10_240 - node.pods_mib
    size = {CPU_MILLI: 10_000, MEMORY_MIB: 10_240}[resource]
    return size - node.allocatable[resource] if node.allocatable else None
