from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from yodel.domain.queues.history import ChangesKept, TreeChange, change_between, outdated, undone
from yodel.domain.scheduler_conf import SchedulerProperty

configurations = st.dictionaries(st.sampled_from("abcd"), st.text(max_size=2), max_size=4)


def between(before: dict[str, str], after: dict[str, str], version: int = 2) -> TreeChange:
    return change_between(before, after, version=version, author="admin", time_ms=1, reason="why")


def test_change_says_what_was_and_what_became() -> None:
    change = between({"a": "1", "b": "2", "c": "3"}, {"a": "1", "b": "4", "d": "5"})
    assert change.before == (SchedulerProperty("b", "2"), SchedulerProperty("c", "3"))
    assert change.after == (SchedulerProperty("b", "4"), SchedulerProperty("d", "5"))
    assert change.names == ["b", "c", "d"]
    assert change.size == len("admin" + "why" + "b2c3b4d5")


@given(st.lists(configurations, min_size=2, max_size=6))
def test_all_changes_undone_lead_back_to_each_version(versions: list[dict[str, str]]) -> None:
    pairs = itertools.pairwise(versions)
    changes = [between(before, after, number) for number, (before, after) in enumerate(pairs, 2)]
    for place, wanted in enumerate(versions):
        assert undone(versions[-1], reversed(changes[place:])) == wanted


def test_oldest_changes_go_when_they_are_too_many_or_too_large_and_the_newest_never() -> None:
    changes = [between({}, {"a": "x" * 90}, version) for version in (5, 3, 4)]
    assert outdated(changes, ChangesKept(count=2)) == [3]
    assert outdated(changes, ChangesKept(size=250)) == [3]
    assert outdated(changes, ChangesKept(size=1)) == [4, 3]
    assert outdated(changes, ChangesKept()) == []
