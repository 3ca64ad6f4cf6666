from __future__ import annotations

from typing import Any

import pytest

from tests.support.records import an_attempt_id
from tests.unit.domain.test_allocation import KEY, LIMITS, SIZE, demand, room, wish
from tests.unit.domain.test_places import a_place
from yodel.domain.activities import (
    AM_LIMIT,
    APPLICATION_WITHOUT_DEMAND,
    NODES_MAX,
    REQUEST_WAITS_FOR_NEIGHBOURS,
    REQUEST_WAITS_FOR_PLACES,
    REQUEST_WAITS_FOR_PODS,
    UNDER_WAY,
    ActivityState,
    RequestActivity,
    application_activity,
    pods_activity,
    request_activity,
)
from yodel.domain.allocation.decide import decide
from yodel.domain.allocation.demands import AllocationLimits, Capacity, Demand
from yodel.domain.allocation.places import Places
from yodel.domain.ask_book import AskKey, SchedulingAsk, Wish
from yodel.domain.constraints import Single, TagTarget
from yodel.domain.container import Placement
from yodel.domain.ids import ContainerId
from yodel.domain.resource import NONE, Resource
from yodel.domain.states import ExecutionType

ANTI_AFFINE = Single(maximum=0, targets=(TagTarget("hbase"),))
FREE = Resource(4096, 4)


def places(*nodes: Any, free: Resource = FREE, **options: Any) -> Places:
    return Places(nodes or (a_place("a"), a_place("b")), lambda _: free, **options)


def told(
    asked: Demand, capacity: Capacity | None = None, limits: AllocationLimits = LIMITS, where: Places | None = None
) -> RequestActivity:
    where = where or places()
    given = capacity or Capacity(total=SIZE * 100, used=NONE, places=where)
    (outcome,) = decide([asked], given, limits, {asked.attempt_id}).outcomes
    return request_activity(outcome, where)


def test_nothing_is_told_of_who_is_not_watched() -> None:
    assert decide([demand(wishes=[wish(1)])], room(9), LIMITS, {an_attempt_id(2)}).outcomes == ()


def test_what_is_planned_is_allocated_without_a_word() -> None:
    found = told(demand(wishes=[wish(2)]))
    assert (found.state, found.diagnostic, found.nodes) == (ActivityState.ALLOCATED, "", ())
    assert found.name == "request_1_-1"


def test_full_cluster_says_what_is_lacking_and_every_node_what_it_has() -> None:
    where = places(free=Resource(512, 4))
    found = told(demand(wishes=[wish(1)]), Capacity(total=SIZE, used=SIZE, places=where), where=where)
    assert found.state is ActivityState.SKIPPED
    assert found.diagnostic == (
        "Initial check: insufficient resource in partition, insufficient resources=[memory-mb, vcores]\n"
        "required=<memory:1024, vCores:1>, available=<memory:0, vCores:0>"
    )
    assert [node.diagnostic for node in found.nodes] == [
        "Node does not have sufficient resource for request, insufficient resources=[memory-mb]\n"
        "required=<memory:1024, vCores:1>, available=<memory:512, vCores:4>"
    ] * 2


def test_share_of_masters_is_named_with_what_is_held_of_it() -> None:
    capacity = Capacity(total=SIZE * 4, used=SIZE * 2, am_used=SIZE * 2, places=places())
    found = told(demand(am_capability=SIZE), capacity)
    assert found.diagnostic == (
        AM_LIMIT + "Details : AM Resource Request = <memory:1024, vCores:1>; "
        "Queue Resource Limit for AM = <memory:2048, vCores:2>; Queue AM Resource Usage = <memory:2048, vCores:2>"
    )
    assert found.name == "request_0_-1"


def test_limit_of_pods_under_way_is_a_reason_of_its_own() -> None:
    full = AllocationLimits(minimum=SIZE, in_flight_max=3)
    capacity = Capacity(total=SIZE * 9, used=NONE, in_flight=3, places=places())
    assert told(demand(wishes=[wish(1)]), capacity, full).diagnostic == REQUEST_WAITS_FOR_PODS
    assert told(demand(am_capability=SIZE), capacity, full).diagnostic == REQUEST_WAITS_FOR_PODS


@pytest.mark.parametrize(
    ("placement", "avoid", "request_says", "nodes_say"),
    [
        (
            {"node_label": "gpu"},
            (),
            "no node has the label 'gpu'",
            "Node does not match partition or placement constraints, unsatisfied node partition=, "
            "required-partition=gpu",
        ),
        (
            {"hosts": ("z",), "is_strict": True},
            (),
            "locality is strict and none of z is in the cluster",
            "Node skipped because relax locality is not allowed",
        ),
        ({}, ("a", "b"), "every eligible node is on the blacklist", "Node is blacklisted"),
    ],
)
def test_request_that_no_node_may_take_says_why_of_each(
    placement: dict[str, Any], avoid: tuple[str, ...], request_says: str, nodes_say: str
) -> None:
    found = told(demand(wishes=[wish(1, **placement)], avoid=avoid))
    assert found.diagnostic == request_says
    assert {node.diagnostic for node in found.nodes} == {nodes_say}
    assert len(found.nodes) == 2


def test_request_larger_than_any_node() -> None:
    key = AskKey(1, -1, ExecutionType.GUARANTEED, Resource(8192, 1))
    where = places(a_place("a", capability=Resource(4096, 8)))
    found = told(demand(wishes=[wish(1, key)]), where=where)
    assert "larger than every eligible node" in found.diagnostic
    assert found.nodes[0].diagnostic.startswith(
        "Node's total resource is insufficient for request, insufficient resources=[memory-mb]\n"
    )


def test_patience_with_its_places_is_told_of_the_others() -> None:
    asked = demand(wishes=[wish(9, hosts=("a",))], waited_s={KEY: 0.0})
    found = told(asked)
    assert (found.state, found.diagnostic) == (ActivityState.ALLOCATED, REQUEST_WAITS_FOR_PLACES)
    assert [node.diagnostic for node in found.nodes if node.node_id.host == "b"] == [
        "Node skipped because of off-switch delay"
    ]


def constrained(count: int) -> Wish:
    ask = SchedulingAsk(key=KEY, count=count, tags=("hbase",), constraint=ANTI_AFFINE)
    return Wish(key=KEY, number=count, placement=Placement(), request=ask)


def test_constraint_that_holds_nowhere_is_quoted() -> None:
    where = places(a_place("a"))
    where.guess(where.nodes[0], an_attempt_id().application_id, ["hbase"])
    found = told(demand(wishes=[constrained(1)], may_have_rules=True), where=where)
    assert found.diagnostic.startswith("no node satisfies the placement constraint")
    assert found.nodes[0].diagnostic == (
        "Node does not match partition or placement constraints, "
        f'unsatisfied PC expression="{ANTI_AFFINE}", target-type=null'
    )


def test_neighbours_that_have_no_node_yet_are_waited_for() -> None:
    where = places()
    where.send(an_attempt_id().application_id, ["hbase"])
    found = told(demand(wishes=[constrained(1)]), where=where)
    assert found.diagnostic == REQUEST_WAITS_FOR_NEIGHBOURS


def test_pods_under_way_say_what_kubernetes_says() -> None:
    assert pods_activity(KEY, ["", "0/3 nodes are available", "0/3 nodes are available"]).diagnostic == (
        "0/3 nodes are available"
    )
    assert pods_activity(None, [""]).diagnostic == UNDER_WAY


def test_large_cluster_is_told_in_part() -> None:
    where = places(*(a_place(f"n{number}") for number in range(NODES_MAX + 5)), free=NONE)
    capacity = Capacity(total=NONE, used=NONE, places=where)
    assert len(told(demand(wishes=[wish(1)]), capacity, where=where).nodes) == NODES_MAX


def test_application_is_what_its_requests_come_to() -> None:
    application_id = an_attempt_id().application_id
    empty = application_activity(application_id, "root.a", 3, [])
    assert (empty.state, empty.diagnostic, empty.size) == (ActivityState.SKIPPED, APPLICATION_WITHOUT_DEMAND, 1)
    skipped = pods_activity(KEY, [""])
    allocated = RequestActivity(
        priority=1,
        allocation_request_id=-1,
        state=ActivityState.ALLOCATED,
        container_ids=(ContainerId.of(an_attempt_id(), 2),),
    )
    made = application_activity(application_id, "root.a", 3, [skipped, allocated])
    assert (made.state, made.size) == (ActivityState.ALLOCATED, 4)
