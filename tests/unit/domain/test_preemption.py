"""Preemption takes the right containers and no more of them: single cases that random clusters seldom show."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.support.records import a_container_id, an_attempt_id
from yodel.domain.allocation.by_pool import PoolPart
from yodel.domain.allocation.demands import AllocationLimits, Capacity, Demand
from yodel.domain.allocation.holds import Short
from yodel.domain.allocation.places import NodePlace, Places
from yodel.domain.ask_book import AskKey, Wish
from yodel.domain.container import Placement
from yodel.domain.ids import NodeId
from yodel.domain.preemption.round import Held, victims_of
from yodel.domain.preemption.rules import PreemptionRules
from yodel.domain.preemption.victims import Candidate, Need, ReclaimableCapacity, VictimSelection
from yodel.domain.queues.ledger import UsageLedger
from yodel.domain.queues.queue import Queue
from yodel.domain.queues.shares import QueueShares
from yodel.domain.resource import NONE, Resource
from yodel.domain.states import ExecutionType

SIZE = Resource(1024, 1)
N1, N2 = NodeId("n1", 1), NodeId("n2", 1)
RULES = PreemptionRules(
    is_enabled=True,
    is_intra_queue_enabled=True,
    intra_queue_max_allowable=1.0,
    natural_termination_factor=1.0,
    total_per_round=1.0,
)


def held(number: int, size: int = 1, node: NodeId | None = N1, **changes: Any) -> Candidate:
    return Candidate(id=a_container_id(container=number), queue="root.a", size=SIZE * size, node_id=node, **changes)


def room(**changes: Any) -> ReclaimableCapacity:
    plenty = {"root.a": SIZE * 100}
    fields: dict[str, Any] = {
        "free": NONE,
        "on_node": {N1: NONE, N2: NONE},
        "excess": dict(plenty),
        "quota": dict(plenty),
        "round": SIZE * 100,
    }
    return ReclaimableCapacity(**fields | changes)


def need(size: int = 1, count: int = 1, nodes: tuple[NodeId, ...] = (N1, N2), *, may_hold: bool = True) -> Need:
    short = Short(
        attempt_id=an_attempt_id(9), key=None, queue="root.b", user="u", size=SIZE * size, placement=Placement()
    )
    return Need(short=short, count=count, nodes=nodes, may_hold=may_hold)


def gone(selection: VictimSelection) -> list[int]:
    return [container_id.number for container_id in selection.victims]


def test_of_what_stands_in_the_way_only_what_is_needed_goes() -> None:
    selection = VictimSelection(room(), [held(2, 4), held(3, 1), held(4, 1)])
    assert selection.serve(need(4)) == 1
    assert gone(selection) == [2], "the large one alone makes room, so the small and newer ones stay"


def test_fewest_go_and_those_on_notice_before_all_others() -> None:
    selection = VictimSelection(room(), [held(2, 2), held(3, 1, N2), held(4, 1, N2)])
    assert selection.serve(need(2)) == 1
    assert gone(selection) == [2]
    selection = VictimSelection(room(), [held(2, 2), held(3, 1, N2, is_marked=True), held(4, 1, N2, is_marked=True)])
    assert selection.serve(need(2)) == 1
    assert sorted(gone(selection)) == [3, 4]


def test_nothing_goes_where_no_node_could_be_freed() -> None:
    selection = VictimSelection(room(), [held(2), held(3, node=N2)])
    assert selection.serve(need(2)) == 0
    assert gone(selection) == []


def test_free_room_costs_nobody_anything() -> None:
    selection = VictimSelection(room(free=SIZE * 2, on_node={N1: SIZE, N2: SIZE}), [held(2)])
    assert selection.serve(need(count=3)) == 3
    assert gone(selection) == [2], "two have room"


def test_nothing_goes_where_a_node_lends_less_than_is_held_there() -> None:
    selection = VictimSelection(room(on_node={N1: SIZE * -2}), [held(2), held(3), held(4)])
    assert selection.serve(need()) == 1
    assert sorted(gone(selection)) == [2, 3, 4], "three, because two only make up for what the node lacks"
    selection = VictimSelection(room(on_node={N1: SIZE * -3}), [held(2), held(3), held(4)])
    assert selection.serve(need()) == 0
    assert gone(selection) == []
    selection = VictimSelection(room(on_node={N1: SIZE * -1, N2: SIZE}), [held(2), held(3, node=NodeId("n3", 1))])
    assert selection.serve(need()) == 0, "the whole gains nothing there"


def test_pods_without_a_node_make_room_in_the_whole() -> None:
    selection = VictimSelection(room(on_node={N1: SIZE, N2: NONE}), [held(2), held(3, node=None)])
    assert selection.serve(need()) == 1
    assert gone(selection) == [3]


def test_master_goes_only_when_nothing_else_is_left_and_masters_hold_too_much() -> None:
    candidates = [held(1, is_am=True), held(2)]
    selection = VictimSelection(room(masters={"root.a": SIZE}), candidates)
    assert selection.serve(need(count=2)) == 2
    assert gone(selection) == [2, 1]
    selection = VictimSelection(room(masters={"root.a": NONE}), candidates)
    assert selection.serve(need(count=2)) == 1
    selection = VictimSelection(room(masters={"root.a": SIZE}, excess={"root.a": SIZE}), candidates)
    assert selection.serve(need(count=2)) == 1
    assert gone(selection) == [2]


def test_master_stays_while_its_queue_has_others_on_whatever_node() -> None:
    selection = VictimSelection(room(masters={"root.a": SIZE}), [held(1, is_am=True), held(2, node=N2)])
    assert selection.serve(need(nodes=(N1,))) == 0
    assert gone(selection) == []


def test_a_round_takes_its_part_but_for_the_first_container() -> None:
    candidates = [held(number, 2) for number in (2, 3, 4, 5)]
    selection = VictimSelection(room(round=SIZE), candidates)
    assert selection.serve(need(4, count=2)) == 1
    assert len(gone(selection)) == 2
    selection = VictimSelection(room(quota={"root.a": SIZE}), candidates)
    assert selection.serve(need(2, count=3)) == 1
    selection = VictimSelection(room(round=SIZE * 4), candidates)
    assert selection.serve(need(2, count=4)) == 2


def test_higher_priority_gets_from_lower_and_from_no_equal() -> None:
    queue = Queue(path="root.a", user_limit_factor=-1.0)
    tree = QueueShares((Queue(path="root", is_leaf=False), queue), SIZE * 4)
    ledger = UsageLedger(tree, {}, {}, minimum=SIZE, am_share=1.0, active={"root.a": {"u"}})
    ledger.take("root.a", "u", SIZE * 4)
    place = NodePlace(id=N1, rack="/r", label="", capability=SIZE * 4, names=frozenset(("n1",)))
    wish = Wish(key=AskKey(1, -1, ExecutionType.GUARANTEED, SIZE), number=2, placement=Placement())
    demand = Demand(attempt_id=an_attempt_id(9), priority=2, submitted_ms=9, queue="root.a", user="u", wishes=[wish])
    candidates = [held(2, priority=1), held(3, priority=2), held(4, priority=0, is_am=True), held(5, priority=3)]

    def victims(rules: PreemptionRules) -> list[int]:
        capacity = Capacity(total=SIZE * 4, used=SIZE * 4, places=Places([place], lambda _: NONE))
        part = PoolPart(demands=[demand], capacity=capacity)
        found = Held(used=frozenset({"root", "root.a"}), candidates=candidates, free_on={N1: NONE})
        limits = AllocationLimits(minimum=SIZE)
        return [one.candidate.id.number for one in victims_of(part, "root", ledger, found, limits, rules).all]

    assert victims(RULES) == [2]
    assert victims(replace(RULES, is_intra_queue_enabled=False)) == []
    assert victims(replace(RULES, intra_queue_max_allowable=0.1)) == []


def victims_between(held_by_a: int, held_by_b: int, **percents: float) -> int:
    """Return how many of ``a``'s go for ``b``, which wants all there is of twenty."""
    rows = [Queue(path=f"root.{name}", capacity_percent=of, user_limit_factor=-1.0) for name, of in percents.items()]
    tree = QueueShares((Queue(path="root", is_leaf=False), *rows), SIZE * 20)
    ledger = UsageLedger(tree, {}, {}, minimum=SIZE, am_share=1.0, active={"root.b": {"u"}})
    ledger.take("root.a", "u", SIZE * held_by_a)
    ledger.take("root.b", "u", SIZE * held_by_b)
    free = SIZE * (20 - held_by_a - held_by_b)
    place = NodePlace(id=N1, rack="/r", label="", capability=SIZE * 20, names=frozenset(("n1",)))
    wish = Wish(key=AskKey(1, -1, ExecutionType.GUARANTEED, SIZE), number=20, placement=Placement())
    demand = Demand(attempt_id=an_attempt_id(9), priority=0, submitted_ms=9, queue="root.b", user="u", wishes=[wish])
    capacity = Capacity(total=SIZE * 20, used=SIZE * 20 - free, places=Places([place], lambda _: free))
    found = Held(
        used=frozenset({"root", "root.a", "root.b"}),
        candidates=[held(number) for number in range(2, 2 + held_by_a)],
        free_on={N1: free},
    )
    part = PoolPart(demands=[demand], capacity=capacity)
    rules = replace(RULES, is_intra_queue_enabled=False)
    return len(victims_of(part, "root", ledger, found, AllocationLimits(minimum=SIZE), rules).all)


def test_a_queue_a_tenth_above_its_guarantee_is_left_alone() -> None:
    assert victims_between(11, 9, a=50.0, b=50.0) == 0
    assert victims_between(12, 8, a=50.0, b=50.0) == 2


def test_nobody_gives_for_what_another_wants_above_its_guarantee() -> None:
    assert victims_between(15, 5, a=25.0, b=25.0, c=50.0) == 0
    assert victims_between(16, 4, a=25.0, b=25.0, c=50.0) == 1
