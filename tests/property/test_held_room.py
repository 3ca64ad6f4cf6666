"""No starvation: who waits for nothing but room, and is within the guarantee of its queue, starts within a bound,
however many small ones there are; and rounds that sleep while room is held find what a look at everything finds."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property.test_allocation_by_queue import wish
from tests.property.test_rounds import HOLD_AFTER_S, SIZE, Cluster
from tests.support.records import an_attempt_id
from yodel.domain.allocation.demands import Demand, Plan
from yodel.domain.queues.queue import Ordering, Queue
from yodel.domain.resource import Resource

STEP_S, LIFE_MAX_S = 1.0, 12
Held: TypeAlias = tuple[str, str, Resource, bool]
FIRST = 0
"""The application that is the first of its leaf."""


@dataclass
class Busy:
    """A full cluster of leaves with even guarantees, where containers live for so many seconds at most, and each leaf
    always wants more small ones."""

    cluster: Cluster
    leaves: list[str]
    lives: Random
    """Draws how long containers live: one and then another ends, not all at once."""
    ends: list[tuple[float, Held]] = field(default_factory=list)

    def want(self, path: str, number: int, size: int, count: int) -> None:
        own = an_attempt_id(number)
        demand = Demand(
            attempt_id=own,
            priority=0,
            submitted_ms=number,
            queue=path,
            user=f"u{number}",
            wishes=[wish(count, SIZE * size)],
        )
        self.cluster.want(demand, own)

    def want_small(self) -> None:
        for number, path in enumerate(self.leaves, 1):
            self.want(path, number, 1 + number % 2, 50)

    def start(self, plans: tuple[Plan, ...]) -> None:
        cluster = self.cluster
        cluster.act(plans)
        for one in cluster.live[len(cluster.live) - len(plans) :]:
            self.ends.append((cluster.now_s + self.lives.randint(1, LIFE_MAX_S), one))

    def step(self) -> None:
        """A second later; what is over has ended."""
        self.cluster.now_s += STEP_S
        for entry in [entry for entry in self.ends if entry[0] <= self.cluster.now_s]:
            self.ends.remove(entry)
            self.cluster.hold(entry[1], -1)

    def settle(self) -> None:
        """Rounds until nothing is left to do; then a look at everything finds nothing either."""
        for _ in range(100):
            found = self.cluster.round(float("inf"))
            self.start(found.plans)
            if not found.plans and not found.is_cut:
                break
        else:
            raise AssertionError("rounds do not come to rest")
        whole = self.cluster.look_at_all()
        assert whole.plans == ()
        assert self.cluster.waiting == whole.waiting


@st.composite
def busy(draw: st.DrawFn) -> Busy:
    count = draw(st.integers(1, 4))
    leaves = [f"root.q{number}" for number in range(count)]
    ordering = draw(st.sampled_from(list(Ordering)))
    queues = [
        Queue(path=path, capacity_percent=100.0 / count, user_limit_factor=-1.0, ordering=ordering) for path in leaves
    ]
    total = SIZE * (count * draw(st.integers(4, 8)))
    return Busy(
        Cluster((Queue(path="root", is_leaf=False), *queues), total), leaves, Random(draw(st.integers(0, 10**6)))
    )


@given(busy(), st.data())
@settings(max_examples=40)
def test_large_container_is_not_starved_by_small_ones(world: Busy, data: st.DataObject) -> None:
    world.want_small()
    world.settle()
    own = world.cluster.total.memory_mib // SIZE.memory_mib // len(world.leaves)
    path = data.draw(st.sampled_from(world.leaves))
    asked_s = world.cluster.now_s
    world.want(path, FIRST, data.draw(st.integers(3, own)), 1)
    while world.cluster.demands[an_attempt_id(FIRST)].wishes:
        assert world.cluster.now_s <= asked_s + HOLD_AFTER_S + LIFE_MAX_S + 2 * STEP_S, "it starves"
        world.settle()
        world.want_small()
        world.settle()
        world.step()


@given(busy(), st.data())
@settings(max_examples=40)
def test_rounds_that_hold_room_find_what_a_look_at_all_does(world: Busy, data: st.DataObject) -> None:
    for number in range(30):
        for _ in range(data.draw(st.integers(0, 3))):
            path = data.draw(st.sampled_from(world.leaves))
            size, count = data.draw(st.sampled_from((1, 2, 3, 5, 7))), data.draw(st.integers(0, 9))
            own = data.draw(st.integers(1, 8))
            if count:
                world.want(path, own, size, count)
            else:
                world.cluster.want(None, an_attempt_id(own))
        if number % 10 == 9:
            world.cluster.resize(SIZE * data.draw(st.integers(8, 24)))
        world.settle()
        world.step()
