from __future__ import annotations

from typing import Any

import pytest

from tests.unit.domain.test_places import APP, SIZE, A, B, C, a_place, tagged, the_places
from yodel.domain.allocation.constrained import spots_within
from yodel.domain.allocation.locality import Spots
from yodel.domain.allocation.places import Places
from yodel.domain.ask_book import AskKey, SchedulingAsk
from yodel.domain.constraints import AnyOf, Constraint, Scope, Single, TagTarget
from yodel.domain.container import Placement
from yodel.domain.resource import Resource
from yodel.domain.states import ExecutionType

NOT_ZK = Single(maximum=0, targets=(TagTarget("zk"),))
WITH_ZK = Single(minimum=1, targets=(TagTarget("zk"),))
ALONE_OR_WITH_HBASE = AnyOf((NOT_ZK, Single(minimum=1, targets=(TagTarget("hbase"),))))


def within(
    constraint: Constraint | None,
    count: int = 9,
    places: Places | None = None,
    *tags: str,
    capability: Resource = SIZE,
    **options: Any,
) -> Spots:
    key = AskKey(1, 7, ExecutionType.GUARANTEED, capability)
    ask = SchedulingAsk(key=key, count=count, tags=tags or ("zk",), constraint=constraint)
    return spots_within(ask, Placement(), capability, places or the_places(), APP, count, **options)


def test_one_for_each_node_where_all_stand_apart() -> None:
    spots = within(NOT_ZK)
    assert len(spots.placements) == 3
    (rule,) = spots.placements[0].rules
    assert (rule.is_apart, rule.scope, rule.tag, rule.applications) == (True, Scope.NODE, "zk", (str(APP),))
    assert spots.placements[0].nodes == ()


def test_at_most_so_many_on_each_node_have_slots_of_their_own() -> None:
    spots = within(Single(maximum=1, targets=(TagTarget("zk"),)))
    assert sorted(placement.rules[0].slot for placement in spots.placements) == [0, 0, 0, 1, 1, 1]


def test_company_that_is_not_there_is_a_reason() -> None:
    spots = within(WITH_ZK)
    assert spots.is_constraint
    assert spots.why_none == "no node satisfies the placement constraint in,node,zk"
    assert len(within(WITH_ZK, 9, the_places(tagged=[tagged(A, "zk")])).placements) == 4  # as many as it has room for


def test_company_that_is_on_its_way_is_waited_for() -> None:
    assert within(WITH_ZK, 9, the_places(tagged=[tagged(None, "zk")])) == Spots()


def test_without_rules_one_at_a_time_for_the_nodes_that_satisfy() -> None:
    places = the_places(tagged=[tagged(A, "zk")])
    spots = within(ALONE_OR_WITH_HBASE, 9, places)
    assert [placement.nodes for placement in spots.placements] == [("b", "c")]
    assert spots.placements[0].rules == ()
    assert within(ALONE_OR_WITH_HBASE, 9, places) == Spots()  # where the first goes is not known yet


def test_queue_whose_nodes_the_rm_chooses_has_no_rules() -> None:
    spots = within(NOT_ZK, 9, None, may_have_rules=False)
    assert [(placement.nodes, placement.rules) for placement in spots.placements] == [(("a", "b", "c"), ())]


def test_full_nodes_are_waited_for_without_a_word() -> None:
    full = Places((A, B, C), lambda _: Resource(0, 0))
    assert within(NOT_ZK, 9, full) == within(ALONE_OR_WITH_HBASE, 9, full) == Spots()


def test_size_that_no_node_has_is_no_matter_of_constraints() -> None:
    spots = within(NOT_ZK, 1, capability=Resource(99_999, 1))
    assert "larger than every eligible node" in spots.why_none
    assert not spots.is_constraint


def test_request_without_a_constraint_goes_anywhere_and_is_counted() -> None:
    places = the_places()
    assert len(within(None, 5, places).placements) == 5
    assert within(WITH_ZK, 1, places, "hbase") == Spots()  # company is on its way


def test_rack_scope_by_the_resource_manager_where_a_node_has_no_rack() -> None:
    by_rack = Single(scope=Scope.RACK, maximum=0, targets=(TagTarget("zk"),))
    assert within(by_rack).placements[0].rules
    bare = the_places(a_place("a", "/default-rack"), C)
    assert within(by_rack, 9, bare).placements[0].nodes == ("a", "c")


@pytest.mark.parametrize("count", [0, 1, 2, 5, 9])
def test_never_more_than_were_asked_for(count: int) -> None:
    at_most_three = Single(maximum=2, targets=(TagTarget("zk"),))
    assert len(within(at_most_three, count).placements) == min(count, 9)
