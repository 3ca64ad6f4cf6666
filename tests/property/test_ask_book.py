"""The ask book against a plain model of an ApplicationMaster and its containers, in whatever order things happen."""

from __future__ import annotations

from collections import Counter

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from yodel.domain.allocation.decide import decide
from yodel.domain.allocation.demands import AllocationLimits, Capacity, Demand
from yodel.domain.ask_book import ANY, Ask, AskBook, AskKey
from yodel.domain.ids import ApplicationAttemptId, ApplicationId
from yodel.domain.resource import NONE, Resource
from yodel.domain.states import ExecutionType

SIZE = Resource(1024, 1)
ATTEMPT = ApplicationAttemptId(ApplicationId(1, 1), 1)
KEYS = [AskKey(priority, -1, ExecutionType.GUARANTEED, SIZE) for priority in (1, 2)]
HOSTS = ["host-a", "host-b"]
LIMITS = AllocationLimits(minimum=SIZE, per_tick_max=5, in_flight_max=12)
ROOM = 20
keys = st.sampled_from(KEYS)
hosts = st.sampled_from(HOSTS)


class AskBookMachine(RuleBasedStateMachine):
    """``wanted`` is the AM's own table: what it asked for last, less what it was handed."""

    def __init__(self) -> None:
        super().__init__()
        self.book = AskBook()
        self.wanted: Counter[AskKey] = Counter()
        self.planned: Counter[AskKey] = Counter()
        self.bound: Counter[AskKey] = Counter()
        self.running = 0

    @rule(key=keys, count=st.integers(0, 8))
    def ask(self, key: AskKey, count: int) -> None:
        self.book.take([Ask(key=key, resource_name=ANY, count=count)], ROOM)
        self.wanted[key] = count

    @rule(key=keys, host=hosts, count=st.integers(0, 8))
    def ask_for_a_host(self, key: AskKey, host: str, count: int) -> None:
        self.book.take([Ask(key=key, resource_name=host, count=count)], ROOM)

    @rule()
    def tick(self) -> None:
        under_way = self.planned + self.bound
        decision = decide(
            [Demand(attempt_id=ATTEMPT, priority=0, submitted_ms=0, wishes=self.book.wishes(), in_flight=under_way)],
            Capacity(total=SIZE * ROOM, used=SIZE * (under_way.total() + self.running), in_flight=self.planned.total()),
            LIMITS,
        )
        assert len(decision.plans) <= LIMITS.per_tick_max
        for plan in decision.plans:
            assert plan.key is not None
            self.planned[plan.key] += 1
        for back in decision.take_backs:
            for _ in range(back.count):
                (self.planned if self.planned[back.key] else self.bound)[back.key] -= 1
        for key in KEYS:
            assert (self.planned + self.bound)[key] <= self.wanted[key], "more under way than is wanted"

    @rule(key=keys)
    def bind(self, key: AskKey) -> None:
        if self.planned[key]:
            self.planned[key] -= 1
            self.bound[key] += 1

    @rule(key=keys)
    def pod_is_lost(self, key: AskKey) -> None:
        for table in (self.planned, self.bound):
            if table[key]:
                table[key] -= 1
                return

    @rule(key=keys, host=hosts)
    def hand_over(self, key: AskKey, host: str) -> None:
        """Hand over a container as a beat does: the AM lowers its own table by what it gets."""
        if self.bound[key]:
            self.bound[key] -= 1
            self.running += 1
            self.book.handed_over(key, host, "/default-rack")
            self.wanted[key] = max(0, self.wanted[key] - 1)

    @rule()
    def container_ends(self) -> None:
        self.running = max(0, self.running - 1)

    @invariant()
    def book_is_the_ams_own_table(self) -> None:
        for key in KEYS:
            assert self.book.count(key) == self.wanted[key]
        total = self.wanted.total()
        assert self.book.pending() == (total, SIZE * total if total else NONE)
        assert sum(wish.number for wish in self.book.wishes()) == total

    @invariant()
    def cluster_is_never_given_away_twice(self) -> None:
        assert self.planned.total() + self.bound.total() + self.running <= ROOM
        assert self.planned.total() <= LIMITS.in_flight_max

    @invariant()
    def no_empty_lines_are_kept(self) -> None:
        by_key: dict[AskKey, list[int]] = {}
        for line in self.book.lines():
            by_key.setdefault(line.key, []).append(line.count)
            assert line.resource_name == ANY or line.count > 0
        assert all(any(counts) for counts in by_key.values())


TestAskBook = AskBookMachine.TestCase
TestAskBook.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
