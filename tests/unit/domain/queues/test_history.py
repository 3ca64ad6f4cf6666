from __future__ import annotations

import itertools
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from yodel.domain.queues.history import (
    ChangesKept,
    TreeChange,
    change_between,
    folded,
    outdated,
    surplus,
    together,
    undone,
)
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


def a_change(version: int, *, is_delegated: bool = False) -> TreeChange:
    change = between({}, {"a": "x" * 92}, version)
    return replace(change, since=version - 1) if is_delegated else change


def test_changes_of_the_clusters_administrators_outlive_all_others() -> None:
    own, others = [a_change(2), a_change(3)], [a_change(version, is_delegated=True) for version in range(4, 30)]
    assert outdated([*own, *others], ChangesKept(count=10)) == list(range(19, 3, -1))
    assert outdated([*own, *others], ChangesKept(size=1010)) == list(range(19, 3, -1))
    assert outdated([*own, *others], ChangesKept(count=10, of_administrators=1)) == [*range(19, 3, -1), 2]
    assert outdated(others, ChangesKept(count=10)) == list(range(19, 3, -1))


def test_at_most_so_many_of_the_clusters_administrators_are_kept_beside_others() -> None:
    own, others = [a_change(n) for n in range(2, 302)], [a_change(n, is_delegated=True) for n in range(302, 1500)]
    gone = outdated([*own, *others], ChangesKept())
    assert [change.version for change in own if change.version not in gone] == list(range(102, 302))


@given(st.lists(st.tuples(configurations, st.booleans()), min_size=2, max_size=12), st.integers(1, 6))
def test_the_way_back_to_changes_that_are_kept_does_not_end(
    versions: list[tuple[dict[str, str], bool]], count: int
) -> None:
    """Whatever is put together, and however often: each change that is kept leads on to what was before it."""
    kept: dict[int, TreeChange] = {}
    for number, ((before, _), (after, is_delegated)) in enumerate(itertools.pairwise(versions), 2):
        change = between(before, after, number)
        kept[number] = replace(change, since=number - 1) if is_delegated else change
        gone = surplus(kept.values(), ChangesKept(count=count, of_administrators=2))
        kept |= {change.version: change for change in folded(kept, gone)}
        for version, _ in gone:
            del kept[version]
    own = [number for number, (_, is_delegated) in enumerate(versions[1:], 2) if not is_delegated]
    assert {*own[-min(2, count) :]} <= {*kept}
    assert len(kept) <= count + 2 * min(2, count) + 1
    reached, found = len(versions), versions[-1][0]
    for change in sorted(kept.values(), key=lambda change: -change.version):
        assert change.version == reached
        found, reached = undone(found, [change]), change.version_before
        assert found == versions[reached - 1][0]


def test_what_came_and_went_in_between_is_not_in_changes_that_were_put_together() -> None:
    first = replace(between({"a": "1"}, {"a": "2", "b": "1"}, 2), author="alice", since=1)
    second = replace(between({"a": "2", "b": "1"}, {"a": "1", "c": "1"}, 3), author="bob", since=2)
    found = together(first, second)
    assert (found.version, found.since, found.author, found.names) == (3, 1, "bob, alice", ["c"])
