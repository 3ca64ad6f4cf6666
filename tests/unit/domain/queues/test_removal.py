"""A tree that replaces another one keeps the queues that are in use, without a share."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from yodel.domain.queues.pools import PoolName, Pools
from yodel.domain.queues.properties import described
from yodel.domain.queues.queue import Queue, QueueState
from yodel.domain.queues.removal import MARK, RemovalMark, empty, in_use, mark_of, require_not_made, with_used
from yodel.domain.scheduler_conf import PREFIX
from yodel.errors import Refused

BY_ALICE = RemovalMark(version=7, author="alice of ops")


def tree(**words: str) -> dict[str, str]:
    """``root__a="30"`` is a capacity, ``root__queues="a,b"`` anything else."""
    found = {}
    for name, text in words.items():
        path = name.replace("__", ".")
        found[PREFIX + (path if path.endswith((".queues", ".state", "policy")) else f"{path}.capacity")] = text
    return found


def rows(properties: Mapping[str, str], pools: Pools | None = None) -> dict[str, Queue]:
    found = described(properties, pools) if pools is not None else described(properties)
    return {queue.path: queue for queue in found.queues}


TWO = tree(root__queues="a,b", root__a="30", root__b="70")
ONE = tree(root__queues="b", root__b="100")


def test_used_queue_stays_stopped_without_a_share_and_names_the_version() -> None:
    before = {**TWO, f"{PREFIX}root.a.maximum-capacity": "50", f"{PREFIX}root.a.state": "RUNNING"}
    found = rows(with_used(before, ONE, in_use(["root.a"]), BY_ALICE))
    left = found["root.a"]
    assert (left.state, left.capacity_percent, left.maximum_capacity_percent) == (QueueState.STOPPED, 0.0, 50.0)
    assert mark_of(left) == BY_ALICE
    assert mark_of(found["root.b"]) is None


def test_nothing_is_kept_that_is_not_in_use() -> None:
    assert with_used(TWO, ONE, in_use(["root.b"]), BY_ALICE) == ONE


@pytest.mark.parametrize(
    ("before", "wanted"),
    [
        (tree(root__queues="a,b", root__a="1w", root__b="2w"), tree(root__queues="b", root__b="1w")),
        (
            tree(root__queues="a,b", root__a="[memory=1024]", root__b="[memory=2048]"),
            tree(root__queues="b", root__b="[memory=2048,vcores=1]"),
        ),
        (TWO, tree(root__queues="b", root__b="1w")),
        (tree(root__queues="a,b", root__a="1w", root__b="2w"), ONE),
    ],
    ids=["weights", "amounts", "percents become weights", "weights become percents"],
)
def test_no_share_is_said_as_the_siblings_say_theirs(before: dict[str, str], wanted: dict[str, str]) -> None:
    left = rows(with_used(before, wanted, in_use(["root.a"]), BY_ALICE))["root.a"]
    assert (left.capacity_percent, left.weight or 0.0, mark_of(left)) == (0.0, 0.0, BY_ALICE)


@pytest.mark.parametrize("share", ["50", "1w", "[memory=1024]"])
def test_parent_stays_with_what_is_used_below_it(share: str) -> None:
    below = "[memory=512]" if share.startswith("[") else "50"
    before = {
        **tree(root__queues="a,b", root__a=share, root__b=share),
        **tree(root__a__queues="x,y", root__a__x=below, root__a__y=below),
        f"{PREFIX}root.a.ordering-policy": "priority-utilization",
    }
    wanted = tree(root__queues="b", root__b="100" if share == "50" else share)
    found = rows(with_used(before, wanted, in_use(["root.a.x"]), BY_ALICE))
    assert set(found) == {"root", "root.b", "root.a", "root.a.x"}
    assert (mark_of(found["root.a"]), mark_of(found["root.a.x"])) == (BY_ALICE, BY_ALICE)
    assert found["root.a"].is_by_priority
    ((mark, gone),) = empty(found, in_use(["root.b"]))
    assert (mark, gone) == (BY_ALICE, ["root.a"])
    assert list(empty(found, in_use(["root.a.x"]))) == []


def test_queue_does_not_become_a_leaf_while_one_below_it_is_used() -> None:
    before = {**TWO, **tree(root__a__queues="x", root__a__x="100")}
    with pytest.raises(Refused, match=r"^root\.a cannot be a leaf queue yet: root\.a\.x has running applications$"):
        with_used(before, TWO, in_use(["root.a.x"]), BY_ALICE)


def test_same_tree_once_more_keeps_the_first_mark_and_changes_nothing() -> None:
    used = in_use(["root.a"])
    first = with_used(TWO, ONE, used, BY_ALICE)
    later = RemovalMark(version=8, author="bob")
    assert with_used(first, ONE, used, later) == first
    assert with_used(first, first, used, later) == first
    assert with_used(first, first, set(), later) == ONE
    assert with_used(first, TWO, used, later) == TWO


def test_what_is_left_alone_in_its_pool_is_no_wrong_sum() -> None:
    pools = Pools(by_child={f"root.{name}": PoolName(name) for name in "abc"})
    before = tree(root__queues="a,b,c", root__a="100", root__b="100", root__c="100")
    wanted = tree(root__queues="b,c", root__b="100", root__c="100")
    found = rows(with_used(before, wanted, in_use(["root.a"]), BY_ALICE), pools)
    assert found["root.a"].capacity_percent == 0.0


MARKED = with_used(TWO, ONE, in_use(["root.a"]), BY_ALICE)


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        (
            {f"{PREFIX}root.a.state": "RUNNING"},
            "root.a is marked for removal by version 7 of alice of ops: it cann",
        ),
        ({f"{PREFIX}root.a.capacity": "40", f"{PREFIX}root.b.capacity": "60"}, "its capacity must be 0"),
        (tree(root__a__queues="x", root__a__x="0"), "root.a.x below it would be removed too"),
        ({f"{PREFIX}root.a.{MARK}": "seven"}, "expected a version and its author"),
        ({f"{PREFIX}root.{MARK}": "7 alice"}, "root is marked for removal"),
        ({f"{PREFIX}root.z.{MARK}": "7 alice"}, "is not supported"),
        ({f"{PREFIX}queue-mappings": "u:bob:root.a"}, "root.a"),
    ],
)
def test_marked_queue_is_stopped_has_no_share_and_nothing_new_below(changed: dict[str, str], text: str) -> None:
    with pytest.raises(Refused, match=text):
        described({**MARKED, **changed})


def test_nobody_sets_a_mark_but_anybody_takes_it_away() -> None:
    name = f"{PREFIX}root.a.{MARK}"
    with pytest.raises(Refused, match=f"Property {name} cannot be set"):
        require_not_made(TWO, {**TWO, name: "7 alice"})
    with pytest.raises(Refused, match="cannot be set"):
        require_not_made(MARKED, {**MARKED, name: "8 alice of ops"})
    require_not_made(MARKED, MARKED)
    require_not_made(MARKED, {key: text for key, text in MARKED.items() if key != name})


def test_marks_of_several_versions_go_one_after_the_other() -> None:
    three = tree(root__queues="a,b,c", root__a="30", root__b="40", root__c="30")
    first = with_used(three, tree(root__queues="b,c", root__b="50", root__c="50"), in_use(["root.a"]), BY_ALICE)
    bob = RemovalMark(version=12, author="bob")
    found = rows(with_used(first, ONE, in_use(["root.a", "root.c"]), bob))
    assert list(empty(found, set())) == [(BY_ALICE, ["root.a"]), (bob, ["root.c"])]
