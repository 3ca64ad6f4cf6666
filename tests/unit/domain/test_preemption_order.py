"""Applications give containers back in one order: one rule for preemption and for loans."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yodel.domain.colocation.taking_back import LentContainer
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId
from yodel.domain.preemption.victims import Candidate
from yodel.domain.resource import Resource

BEFORE = -6
"""The end of the part of a rank that counts before its application."""
Given = LentContainer | Candidate
few = st.integers(0, 2)
ids = st.builds(ContainerId, st.builds(ApplicationAttemptId, st.builds(ApplicationId, st.just(1), few), few), few)


def holding(of: ContainerId, over: int, request_priority: int, *, is_master: bool) -> LentContainer:
    priority, submitted_ms = _of_application(of)
    return LentContainer(
        id=of,
        amounts={},
        over_milli=over,
        priority=priority,
        submitted_ms=submitted_ms,
        request_priority=request_priority,
        is_master=is_master,
    )


def candidate(of: ContainerId, over: int, request_priority: int, *, is_master: bool) -> Candidate:
    priority, submitted_ms = _of_application(of)
    return Candidate(
        id=of,
        queue="root.a",
        size=Resource(1, 1),
        node_id=NodeId("n", 1) if over else None,
        priority=priority,
        submitted_ms=submitted_ms,
        request_priority=request_priority,
        is_am=is_master,
    )


def _of_application(of: ContainerId) -> tuple[int, int]:
    """Its priority and when it was submitted: the same for all its containers, as for many other applications."""
    return of.application_id.sequence // 2, 5


some = st.lists(st.tuples(ids, few, few, st.booleans()), max_size=7, unique_by=lambda each: each[0])


@pytest.mark.parametrize("make", [holding, candidate])
@given(rows=some)
def test_it_is_a_strict_total_order(make: Callable[..., Given], rows: list[tuple[ContainerId, int, int, bool]]) -> None:
    made = [make(of, over, own, is_master=is_master) for of, over, own, is_master in rows]
    assert len({each.rank for each in made}) == len(made), "no two are equal"
    places = {each.id: place for place, each in enumerate(sorted(made, key=lambda each: each.rank))}
    for one, other in permutations(made, 2):
        assert (places[one.id] < places[other.id]) is (one.rank < other.rank)


@pytest.mark.parametrize("make", [holding, candidate])
@given(rows=some, others=st.lists(few, min_size=7, max_size=7))
def test_own_priority_counts_within_an_application_only(
    make: Callable[..., Given], rows: list[tuple[ContainerId, int, int, bool]], others: list[int]
) -> None:
    made = [make(of, over, own, is_master=is_master) for of, over, own, is_master in rows]
    changed = [replace(each, request_priority=own) for each, own in zip(made, others, strict=False)]
    for (one, before), (other, after) in permutations(zip(made, changed, strict=True), 2):
        if one.id.application_id != other.id.application_id:
            assert (one.rank < other.rank) is (before.rank < after.rank), "whatever either says of itself"
        elif one.rank[:BEFORE] == other.rank[:BEFORE] and one.request_priority != other.request_priority:
            assert (one.rank < other.rank) is (one.request_priority > other.request_priority)
