"""Applications are served in order where queues limit, and those that are not served are told why."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from tests.support.records import an_attempt_id
from tests.unit.domain.queues.test_ledger import SIZE, leaf, ledger
from tests.unit.domain.test_allocation import demand, planned, room, wish
from yodel.domain.allocation.decide import decide
from yodel.domain.allocation.demands import AllocationLimits, Decision
from yodel.domain.allocation.outcomes import Hurdle
from yodel.domain.allocation.turns import QueueOrder
from yodel.domain.ask_book import AskKey
from yodel.domain.queues.ledger import UsageLedger
from yodel.domain.queues.queue import Ordering, Queue
from yodel.domain.states import ExecutionType

LIMITS = AllocationLimits(minimum=SIZE)


def chains(decision: Decision) -> list[tuple[int, list[Hurdle]]]:
    """Return, for each application, what is in the way of each of its wishes."""
    return [
        (attempt_id.application_id.sequence, [one.hurdle for one in told.chain])
        for attempt_id, waiting in decision.waiting.items()
        for told in decision.figures[waiting.pool].told(waiting)
    ]


def test_fair_queue_serves_who_holds_least_counting_what_it_has_just_given() -> None:
    found = ledger(leaf("root.a", ordering=Ordering.FAIR))
    demands = [
        demand(number, queue="root.a", user="u", held_mib=held * 1024, wishes=[wish(10)])
        for number, held in ((1, 3), (2, 0), (3, 1))
    ]
    given = Counter(planned(decide(demands, room(8), LIMITS, ledger=found)))
    assert given == {1: 1, 2: 4, 3: 3}


def test_application_that_got_a_part_waits_for_the_rest_alone_after_an_equal_one_failed() -> None:
    found = ledger(leaf("root.a", ordering=Ordering.FAIR))
    demands = [demand(number, queue="root.a", user="u", wishes=[wish(5)]) for number in (1, 2)]
    decision = decide(demands, room(1), LIMITS, ledger=found)
    assert planned(decision) == [1]
    waiting = {own.application_id.sequence: [one.number for one in w.unserved] for own, w in decision.waiting.items()}
    assert waiting == {1: [4], 2: [5]}


def test_user_gets_all_that_his_limit_lets_in_one_decision() -> None:
    """It grows with what his queue holds: he has another turn while it does."""
    found = ledger(leaf("root.a", 40.0, user_limit_factor=2.0), held={("root.a", "u"): 40})
    decision = decide([demand(queue="root.a", user="u", wishes=[wish(100)])], room(60), LIMITS, ledger=found)
    assert len(decision.plans) == 40
    assert chains(decision) == [(1, [Hurdle.USER_LIMIT])]


def test_limits_are_told_when_the_cluster_is_full_too() -> None:
    full = leaf("root.b", 50.0, maximum_capacity_percent=50.0)
    found = ledger(leaf("root.a", 50.0), full, held={("root.b", "v"): 50})
    demands = [
        demand(1, queue="root.a", user="u", wishes=[wish(50)]),
        demand(2, queue="root.b", user="v", wishes=[wish(1), wish(1, AskKey(2, -1, ExecutionType.GUARANTEED, SIZE))]),
        demand(3, queue="root.b", user="v", am_capability=SIZE),
    ]
    decision = decide(demands, room(50), LIMITS, ledger=found, watched={an_attempt_id(2), an_attempt_id(3)})
    assert planned(decision) == [1] * 50
    full_too = [Hurdle.QUEUE_LIMIT, Hurdle.ROOM]
    assert chains(decision) == [(2, full_too), (2, full_too), (3, full_too)]
    assert len(decision.outcomes) == 3


def ranked(rank: int, path: str, capacity: float, **changes: object) -> Queue:
    return leaf(path, capacity, priority=rank, **changes)


def held_after(found: UsageLedger, count: int, *paths: str) -> list[int]:
    demands = [
        demand(number, queue=path, user="u", wishes=[wish(100)]) for number, path in enumerate(reversed(paths), 1)
    ]
    decide(demands, room(count), LIMITS, ledger=found)
    return [found.used(path).vcores for path in paths]


@pytest.mark.parametrize(
    ("is_by_priority", "count", "held"),
    [
        (True, 10, [10, 0, 0]),  # the highest first, whatever its guarantee
        (True, 30, [20, 10, 0]),  # until it has its guarantee
        (True, 80, [20, 50, 10]),
        (True, 100, [20, 50, 30]),
        (False, 10, [2, 5, 3]),
    ],
)
def test_queue_of_a_higher_priority_is_served_first_until_it_has_its_guarantee(
    is_by_priority: bool, count: int, held: list[int]
) -> None:
    queues = ranked(9, "root.a", 20.0), ranked(5, "root.b", 50.0), ranked(-1, "root.c", 30.0)
    found = ledger(*queues, root={"is_by_priority": is_by_priority})
    assert held_after(found, count, "root.a", "root.b", "root.c") == held


def test_what_is_left_above_guarantees_goes_to_the_highest_priority() -> None:
    queues = ranked(1, "root.a", 20.0), ranked(0, "root.b", 30.0), leaf("root.c", 50.0)
    found = ledger(*queues, root={"is_by_priority": True})
    assert held_after(found, 100, "root.a", "root.b") == [70, 30]


def test_queue_without_a_guarantee_comes_last_whatever_its_priority() -> None:
    found = ledger(ranked(9, "root.a", 0.0), leaf("root.b", 100.0), root={"is_by_priority": True})
    assert held_after(found, 40, "root.a", "root.b") == [0, 40]


def test_room_of_a_named_pool_is_told_before_limits_which_dip_with_it() -> None:
    """Others decide on it; of ordinary capacity the limit that an administrator set comes first."""
    full = leaf("root.b", 50.0, maximum_capacity_percent=50.0)
    for pool, expected in (("", [Hurdle.QUEUE_LIMIT, Hurdle.ROOM]), ("koordinator", [Hurdle.ROOM, Hurdle.QUEUE_LIMIT])):
        found = ledger(leaf("root.a", 50.0), full, held={("root.b", "v"): 50})
        wanted = [demand(queue="root.b", user="v", wishes=[wish(1)])]
        decision = decide(wanted, replace(room(50, used=SIZE * 50), pool=pool), LIMITS, ledger=found)
        assert chains(decision) == [(1, expected)]


def test_queue_that_is_a_leaf_and_a_parent_is_served_with_what_is_below_it() -> None:
    """A queue may get queues below it while its own applications still wait."""
    found = ledger(leaf("root.a", 50.0), leaf("root.a.b", 50.0), leaf("root.c", 50.0))
    demands = [
        demand(number, queue=path, user="u", wishes=[wish(5)])
        for number, path in ((1, "root.a"), (2, "root.a.b"), (3, "root.c"))
    ]
    assert Counter(planned(decide(demands, room(100), LIMITS, ledger=found))) == {1: 5, 2: 5, 3: 5}


def test_only_queues_with_another_usage_are_ranked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    ranked: list[str] = []
    own = UsageLedger.serving_rank
    monkeypatch.setattr(UsageLedger, "serving_rank", lambda self, path: (ranked.append(path), own(self, path))[1])
    order, paths = QueueOrder(), ("root.a", "root.b", "root.c")
    queues = [leaf(path, 30.0) for path in paths]
    order.bring_up_to_date(ledger(*queues), dict.fromkeys(paths))
    assert sorted(ranked) == sorted(paths)
    ranked.clear()
    order.changed("root.b")
    order.bring_up_to_date(ledger(*queues, held={("root.b", "u"): 5}), dict.fromkeys(paths[1:]))
    heaps = order.heaps(dict.fromkeys(paths[1:]))
    assert ranked == ["root.b"]
    assert {above: [path for _, path in heap] for above, heap in heaps.items()} == {"root": ["root.c", "root.b"]}
