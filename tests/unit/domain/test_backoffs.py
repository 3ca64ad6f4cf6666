"""Wishes whose pods found no node are tried again after a wait."""

from __future__ import annotations

from dataclasses import replace

from tests.support.records import an_attempt_id
from yodel.domain.allocation.backoffs import BACKOFFS_MAX, Backoffs, Tried
from yodel.domain.container import Placement
from yodel.domain.resource import Resource

SIZE = Resource(1024, 1)
WISH = Tried.of(an_attempt_id(1).application_id, SIZE, Placement())


def waits_s(backoffs: Backoffs, now_s: float) -> float:
    found = backoffs.waits(WISH, now_s)
    return found.until_s - now_s if found is not None else 0.0


def test_each_failure_in_a_row_doubles_the_wait_up_to_five_minutes() -> None:
    backoffs, now_s, waited = Backoffs(), 0.0, []
    for _ in range(9):
        backoffs.failed(WISH, now_s)
        waited.append(waits_s(backoffs, now_s))
        now_s += waited[-1]
        assert waits_s(backoffs, now_s) == 0.0
    assert waited == [5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 300.0, 300.0, 300.0]


def test_many_pods_of_one_look_are_one_failure() -> None:
    backoffs = Backoffs()
    for _ in range(10):
        backoffs.failed(WISH, 1.0)
    assert waits_s(backoffs, 1.0) == 5.0


def test_a_pod_that_found_a_node_or_anything_that_changes_ends_the_wait() -> None:
    backoffs = Backoffs()
    backoffs.look("as it is")
    backoffs.failed(WISH, 0.0)
    backoffs.look("as it is")
    assert waits_s(backoffs, 0.0) == 5.0
    backoffs.placed(WISH)
    assert waits_s(backoffs, 0.0) == 0.0
    backoffs.failed(WISH, 0.0)
    backoffs.look("a node came")
    assert waits_s(backoffs, 0.0) == 0.0


def test_nodes_that_were_named_for_it_make_no_other_wish() -> None:
    named = Placement(nodes=("n1",))
    assert Tried.of(WISH.application_id, SIZE, named) == WISH
    assert Tried.of(WISH.application_id, SIZE, replace(named, node_label="gpu")) != WISH


def test_no_more_are_remembered_than_may_be() -> None:
    backoffs = Backoffs()
    backoffs.failed(WISH, 0.0)
    for number in range(2, BACKOFFS_MAX + 2):
        backoffs.failed(replace(WISH, application_id=an_attempt_id(number).application_id), 0.0)
    assert waits_s(backoffs, 0.0) == 0.0
