"""Since when wishes wait for room, which of them wait too long, and how much is set aside for them."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.support.playbook import key
from tests.support.records import an_attempt_id
from yodel.domain.allocation.demands import AllocationLimits, Blocked, Capacity, Demand, Looked
from yodel.domain.allocation.held import Held
from yodel.domain.allocation.holds import Hold, Moment, Wait, Waits
from yodel.domain.allocation.purse import Holding, Purse
from yodel.domain.ask_book import Wish
from yodel.domain.container import Placement
from yodel.domain.ids import ApplicationAttemptId
from yodel.domain.queues.ledger import Ledger
from yodel.domain.queues.pools import NATIVE, PoolName
from yodel.domain.queues.queue import Queue
from yodel.domain.queues.shares import Tree
from yodel.domain.resource import Resource

SIZE = Resource(1024, 1)
LEAF = "root.a"


def a_wait(number: int) -> Wait:
    return an_attempt_id(number), key(capability=SIZE * 4)


def due(waits: Waits, now_s: float, after_s: float = 30.0) -> list[Wait]:
    moment = Moment(now_s, after_s, SIZE)
    return [wait for path in waits.due(moment) for wait, _ in waits.due_of(path, moment)]


def short(*numbers: int) -> dict[Wait, Resource]:
    return {a_wait(number): SIZE * 4 for number in numbers}


def test_wish_is_due_when_its_bound_has_passed() -> None:
    waits = Waits()
    waits.looked(LEAF, short(1), (), 100.0)
    waits.looked(LEAF, short(2, 1), (), 110.0)
    assert (due(waits, 129.9), waits.next_s) == ([], 130.0)
    assert (due(waits, 130.0), waits.next_s) == ([a_wait(1)], float("inf"))
    assert due(waits, 140.0) == [a_wait(2), a_wait(1)]


def test_what_waits_no_more_is_forgotten() -> None:
    waits = Waits()
    waits.looked(LEAF, short(1), (), 0.0)
    waits.looked(LEAF, {}, (), 10.0)
    assert (due(waits, 1000.0), waits.next_s) == ([], float("inf"))
    waits.looked(LEAF, short(1), (), 20.0)
    assert due(waits, 49.0) == []
    waits.forget(LEAF)
    assert due(waits, 50.0) == []


def test_patience_begins_anew_with_each_container() -> None:
    waits = Waits()
    waits.looked(LEAF, short(1, 2), (), 0.0)
    assert due(waits, 30.0) == [a_wait(1), a_wait(2)]
    waits.looked(LEAF, short(1, 2), [a_wait(1)], 31.0)
    assert due(waits, 60.0) == [a_wait(2)]
    waits.served(LEAF, [a_wait(2)])
    assert due(waits, 60.0) == []
    assert due(waits, 61.0) == [a_wait(1)]


def test_another_bound_counts_at_once() -> None:
    waits = Waits()
    waits.looked(LEAF, short(1), (), 0.0)
    assert due(waits, 30.0) == [a_wait(1)]
    assert due(waits, 30.0, after_s=60.0) == []
    assert due(waits, 30.0, after_s=float("inf")) == []
    assert due(waits, 30.0, after_s=10.0) == [a_wait(1)]


def a_purse(total: Resource = SIZE * 16, used: Resource = SIZE * 15) -> Purse:
    return Purse(Capacity(total=total, used=used), AllocationLimits(minimum=SIZE))


def test_what_is_set_aside_is_free_and_not_left() -> None:
    purse = a_purse()
    assert purse.set_aside(SIZE * 4)
    assert (purse.free, purse.left) == (SIZE, Resource(-3072, -3))


def test_second_one_is_held_room_for_within_a_part_of_the_pool_only() -> None:
    purse = a_purse()
    assert purse.set_aside(SIZE * 3)
    assert not purse.set_aside(SIZE * 2)
    assert purse.set_aside(SIZE)


def test_no_room_is_held_for_what_the_pool_never_has() -> None:
    purse = a_purse()
    assert not purse.set_aside(SIZE * 17)
    assert purse.left == SIZE


@dataclass
class OneLeaf:
    demands: dict[ApplicationAttemptId, Demand]
    pool: PoolName = NATIVE


def test_round_that_holds_no_room_says_that_others_slept_for_nothing() -> None:
    tree = Tree((Queue(path="root", is_leaf=False), Queue(path=LEAF, user_limit_factor=-1.0)), SIZE * 16)
    ledger = Ledger(tree, {}, {}, minimum=SIZE, am_share=1.0)
    attempt_id, wanted = a_wait(1)
    assert wanted is not None
    demand = Demand(
        attempt_id=attempt_id, priority=0, submitted_ms=0, wishes=[Wish(key=wanted, count=1, placement=Placement())]
    )
    held, moment = Held(), Moment(0.0, 30.0, SIZE)
    held.choose(moment, {}, ledger, ledger.standing)
    held.looked(LEAF, Looked(short={a_wait(1): Blocked("alice", SIZE * 4, False)}), (), ledger)
    held.choose(moment._replace(now_s=30.0), {LEAF: OneLeaf({attempt_id: demand})}, ledger, ledger.standing)
    kept = held.kept(NATIVE)
    assert [(hold.wait, hold.size) for hold in kept] == [(a_wait(1), SIZE * 4)]
    assert held.came_to_be(NATIVE, kept, kept)
    assert not held.came_to_be(NATIVE, [], kept)
    assert held.kept(NATIVE) == []
    held.choose(moment._replace(now_s=31.0), {LEAF: OneLeaf({})}, ledger, ledger.standing)
    assert held.holds == {}


@pytest.mark.parametrize(("maximum", "is_held"), [(100.0, True), (50.0, True), (12.5, False)])
def test_room_is_held_for_what_limits_let(maximum: float, is_held: bool) -> None:
    """A maximum of all there is does not limit: that there is no more is seen of the pool."""
    leaf = Queue(path=LEAF, capacity_percent=100.0, maximum_capacity_percent=maximum, user_limit_factor=-1.0)
    tree = Tree((Queue(path="root", is_leaf=False), leaf), SIZE * 16)
    ledger = Ledger(tree, {}, {}, minimum=SIZE, am_share=1.0)
    hold = Hold(*a_wait(1), LEAF, "alice", SIZE * 4)
    purse = a_purse()
    holding = Holding({hold.wait: hold}, purse, ledger)
    holding.take_turn(hold.wait, is_needed=True)
    assert (holding.held, purse.left != purse.free) == ((hold,) if is_held else (), is_held)
