from __future__ import annotations

from typing import Any

import pytest

from tests.support.records import a_container_id, an_attempt_id
from tests.unit.domain.test_places import the_places
from yodel.domain.allocation.decide import decide
from yodel.domain.allocation.demands import AllocationLimits, Capacity, Decision, Demand, Increase, TakeBack
from yodel.domain.ask_book import AskKey, SchedulingAsk, Wish
from yodel.domain.constraints import Single, TagTarget
from yodel.domain.container import Placement
from yodel.domain.ids import NodeId
from yodel.domain.resource import NONE, Resource
from yodel.domain.states import ExecutionType

SIZE = Resource(1024, 1)
LIMITS = AllocationLimits(minimum=SIZE)
KEY = AskKey(1, -1, ExecutionType.GUARANTEED, SIZE)


def wish(count: int, key: AskKey = KEY, **placement: Any) -> Wish:
    return Wish(key=key, number=count, placement=Placement(**placement))


def demand(application: int = 1, **changes: Any) -> Demand:
    fields: dict[str, Any] = {"attempt_id": an_attempt_id(application), "priority": 0, "submitted_ms": application}
    return Demand(**{**fields, **changes})


def room(containers: int, **changes: Any) -> Capacity:
    return Capacity(**{"total": SIZE * containers, "used": NONE, **changes})


def planned(decision: Decision) -> list[int]:
    """Applications in the order in which their containers were planned."""
    return [plan.attempt_id.application_id.sequence for plan in decision.plans]


def test_plans_are_what_is_wanted_less_what_is_under_way() -> None:
    decision = decide([demand(wishes=[wish(5)], in_flight={KEY: 2})], room(100), LIMITS)
    assert len(decision.plans) == 3
    assert decision.take_backs == ()


def test_never_more_than_the_cluster_has_free() -> None:
    assert len(decide([demand(wishes=[wish(9)])], room(4, used=SIZE), LIMITS).plans) == 3


def test_what_does_not_fit_does_not_hold_up_what_does() -> None:
    large = AskKey(1, -1, ExecutionType.GUARANTEED, Resource(8192, 4))
    decision = decide([demand(1, wishes=[wish(1, large)]), demand(2, wishes=[wish(1)])], room(2), LIMITS)
    assert planned(decision) == [2]


def test_first_come_first_served_and_higher_priority_before() -> None:
    demands = [
        demand(1, wishes=[wish(1)]),
        demand(2, wishes=[wish(1)]),
        demand(3, wishes=[wish(1)], priority=9),
    ]
    assert planned(decide(demands, room(10), LIMITS)) == [3, 1, 2]
    assert planned(decide(demands, room(2), LIMITS)) == [3, 1]


def test_size_is_rounded_up_and_the_key_is_as_asked() -> None:
    key = AskKey(1, -1, ExecutionType.GUARANTEED, Resource(1500, 1))
    (plan,) = decide([demand(wishes=[wish(1, key)])], room(10), LIMITS).plans
    assert (plan.capability, plan.key) == (Resource(2048, 1), key)


def test_one_tick_and_the_pods_under_way_have_limits() -> None:
    limits = AllocationLimits(minimum=SIZE, in_flight_max=10, per_tick_max=4)
    assert len(decide([demand(wishes=[wish(50)])], room(100), limits).plans) == 4
    assert len(decide([demand(wishes=[wish(50)])], room(100, in_flight=8), limits).plans) == 2
    assert decide([demand(wishes=[wish(50)])], room(100, in_flight=11), limits).plans == ()


def test_too_many_under_way_are_taken_back() -> None:
    decision = decide([demand(wishes=[wish(1)], in_flight={KEY: 3})], room(10), LIMITS)
    assert decision.take_backs == (TakeBack(attempt_id=an_attempt_id(), key=KEY, count=2),)
    assert decide([demand(in_flight={KEY: 1})], room(10), LIMITS).take_backs[0].count == 1


def test_blacklisted_hosts_go_with_the_plan_and_keep_the_rest_of_the_placement() -> None:
    wishes = [wish(1, hosts=("a",), racks=("/r",), is_strict=True, node_label="gpu")]
    (plan,) = decide([demand(wishes=wishes, avoid=("b",))], room(10), LIMITS).plans
    assert plan.placement == Placement(hosts=("a",), racks=("/r",), is_strict=True, avoid=("b",), node_label="gpu")


# --- ApplicationMasters --------------------------------------------------------------------------------------------


def test_am_comes_before_everything_its_attempt_wants() -> None:
    decision = decide([demand(am_capability=SIZE, wishes=[wish(5)])], room(10), LIMITS)
    assert [(plan.key, plan.capability) for plan in decision.plans] == [(None, SIZE)]


def test_ams_together_hold_at_most_their_share() -> None:
    ams = [demand(n, am_capability=SIZE) for n in range(1, 9)]
    assert planned(decide(ams, room(8), LIMITS)) == [1, 2, 3, 4]
    assert planned(decide(ams, room(8, used=SIZE * 4, am_used=SIZE * 4), LIMITS)) == []


def test_first_am_may_have_more_than_the_share() -> None:
    large = Resource(3072, 3)
    assert planned(decide([demand(am_capability=large)], room(4), LIMITS)) == [1]
    assert planned(decide([demand(am_capability=large)], room(4, am_used=SIZE, used=SIZE), LIMITS)) == []


def test_first_am_is_first_also_when_an_am_with_further_resources_was_there() -> None:
    """A sum that has come back to nothing still names the types it counted."""
    nothing_left = Resource(0, 0, (("gpu", 0),))
    assert planned(decide([demand(am_capability=Resource(3072, 3))], room(4, am_used=nothing_left), LIMITS)) == [1]


def test_share_of_ams_is_of_memory_and_cores_only() -> None:
    with_gpu = Resource(1024, 1, (("gpu", 1),))
    capacity = Capacity(total=Resource(8192, 8, (("gpu", 4),)), used=SIZE, am_used=SIZE)
    assert planned(decide([demand(am_capability=with_gpu)], capacity, LIMITS)) == [1]


def test_nothing_wanted_is_nothing_decided() -> None:
    assert decide([], room(1), LIMITS) == decide([demand()], room(1), LIMITS) == Decision(plans=(), take_backs=())


# --- places ----------------------------------------------------------------------------------------------------------

NODES = the_places().nodes
NOT_ZK = Single(maximum=0, targets=(TagTarget("zk"),))
WITH_ZK = Single(minimum=1, targets=(TagTarget("zk"),))


def request(number: int, tag: str, constraint: Single | None, count: int = 1) -> Wish:
    key = AskKey(1, number, ExecutionType.GUARANTEED, SIZE)
    ask = SchedulingAsk(key=key, count=count, tags=(tag,), constraint=constraint)
    return Wish(key=key, number=count, placement=Placement(), request=ask)


def test_what_no_node_can_take_is_not_planned_and_told() -> None:
    strict = wish(3, hosts=("nowhere",), is_strict=True)
    decision = decide([demand(wishes=[strict])], room(100, places=the_places()), LIMITS)
    assert decision.plans == ()
    (misfit,) = decision.misfits
    assert (misfit.key, misfit.count, misfit.is_constraint) == (KEY, 3, False)
    assert str(misfit) == (
        "Cannot be placed: 3 of 1 GiB, 1 vcore (priority 1): locality is strict and none of nowhere is in the cluster"
    )


def test_misfit_holds_up_nobody_else() -> None:
    strict = wish(3, hosts=("nowhere",), is_strict=True)
    decision = decide([demand(1, wishes=[strict]), demand(2, wishes=[wish(1)])], room(9, places=the_places()), LIMITS)
    assert planned(decision) == [2]


def test_master_that_fits_nowhere_is_told_too() -> None:
    large = Resource(5000, 1)
    decision = decide([demand(am_capability=large)], room(100, places=the_places()), LIMITS)
    assert decision.plans == ()
    assert str(decision.misfits[0]).startswith("Cannot be placed: 1 of 5000 MiB, 1 vcore (the ApplicationMaster)")


def test_masters_label_becomes_its_placement() -> None:
    placement = Placement(node_label="gpu")
    decision = decide([demand(am_capability=SIZE, am_placement=placement)], room(9), LIMITS)
    assert decision.plans[0].placement == placement


def test_patience_with_hosts_leaves_the_rest_for_later() -> None:
    wanted = demand(wishes=[wish(6, hosts=("a",))], waited_s={KEY: 0.25})
    decision = decide([wanted], room(100, places=the_places()), LIMITS)
    assert [plan.is_local for plan in decision.plans] == [True] * 4
    assert decision.again_in_s == 0.75


def test_request_finds_company_that_is_planned_in_the_same_tick_whatever_the_order() -> None:
    wishes = [request(1, "hbase", WITH_ZK), request(2, "zk", NOT_ZK)]
    decision = decide([demand(wishes=wishes)], room(100, places=the_places()), LIMITS)
    assert [plan.tags for plan in decision.plans] == [("zk",), ("hbase",)]
    assert decision.misfits == ()


def test_request_without_company_is_told_once_a_tick() -> None:
    decision = decide([demand(wishes=[request(1, "hbase", WITH_ZK)])], room(100, places=the_places()), LIMITS)
    assert [(misfit.is_constraint, misfit.count) for misfit in decision.misfits] == [(True, 1)]


def test_requests_of_one_each_that_stand_apart_get_a_node_each() -> None:
    wishes = [request(number, "zk", NOT_ZK) for number in range(5)]
    decision = decide([demand(wishes=wishes)], room(100, places=the_places()), LIMITS)
    assert len(decision.plans) == len(NODES)
    assert [misfit.is_constraint for misfit in decision.misfits] == [True, True]


def an_increase(number: int, extra: int) -> Increase:
    """Return an increase of ``extra`` times ``SIZE``."""
    container_id, node_id = a_container_id(container=number), NodeId("node-1", 8041)
    return Increase(container_id=container_id, node_id=node_id, target=SIZE * (extra + 1), extra=SIZE * extra)


@pytest.mark.parametrize("in_cluster", range(5))
@pytest.mark.parametrize("on_node", range(5))
@pytest.mark.parametrize("extra", [1, 2, 3])
def test_increases_are_never_more_than_cluster_and_node_have(in_cluster: int, on_node: int, extra: int) -> None:
    wanted = [an_increase(number, extra) for number in range(2, 6)]
    capacity = room(in_cluster, free_on={NodeId("node-1", 8041): SIZE * on_node})
    given = decide([demand(increases=wanted)], capacity, LIMITS).increases
    assert len(given) == min(in_cluster, on_node) // extra


def test_increases_take_from_what_is_left_for_new_containers() -> None:
    wanted = [an_increase(2, 2)]
    capacity = room(3, free_on={NodeId("node-1", 8041): SIZE * 9})
    decision = decide([demand(increases=wanted, wishes=[wish(9)])], capacity, LIMITS)
    assert (len(decision.increases), len(decision.plans)) == (1, 1)


def test_node_that_is_not_told_of_has_no_room_for_increases() -> None:
    assert decide([demand(increases=[an_increase(2, 1)])], room(9), LIMITS).increases == ()


def test_first_come_is_told_by_time_and_not_by_id() -> None:
    demands = [demand(n, submitted_ms=submitted, wishes=[wish(1)]) for n, submitted in ((1, 30), (2, 10), (3, 20))]
    assert planned(decide(demands, room(10), LIMITS)) == [2, 3, 1]


def test_chain_of_constraints_is_served_in_one_tick_in_the_wrong_order_too() -> None:
    """Each wants to be where the one after it will be: the last is planned first, then the others, one a round."""
    beside = [Single(minimum=1, targets=(TagTarget(f"t{number}"),)) for number in range(1, 4)]
    constraints = [*beside, Single(maximum=0, targets=(TagTarget("t3"),))]
    wishes = [request(number, f"t{number}", constraint) for number, constraint in enumerate(constraints)]
    decision = decide([demand(wishes=wishes)], room(100, places=the_places()), LIMITS)
    assert [plan.tags for plan in decision.plans] == [("t3",), ("t2",), ("t1",), ("t0",)]
    assert decision.misfits == ()
