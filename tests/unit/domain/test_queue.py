from __future__ import annotations

import pytest

from yodel.domain.queues.queue import (
    LIFETIME_S_MAX,
    Queue,
    QueueState,
    default_queues,
    differing,
    find,
    leaves_under_root,
    lifetime_s,
    refusal,
    shown_state,
)

TREE = (
    Queue(path="root", is_leaf=False),
    Queue(path="root.a", is_leaf=False),
    Queue(path="root.a.x"),
    Queue(path="root.b", state=QueueState.STOPPED),
    Queue(path="root.c", is_leaf=False),
    Queue(path="root.c.x"),
    Queue(path="root.c.y"),
)


def test_new_store_has_one_leaf_called_default() -> None:
    assert [(queue.path, queue.is_leaf) for queue in default_queues()] == [("root", False), ("root.default", True)]


def test_queue_knows_its_name_and_its_parent() -> None:
    assert (Queue(path="root.a.x").name, Queue(path="root.a.x").parent_path) == ("x", "root.a")
    assert (Queue(path="root").name, Queue(path="root").parent_path) == ("root", None)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("root.a.x", "root.a.x"),
        ("y", "root.c.y"),
        ("root", "root"),
        ("x", None),
        ("a.x", None),
        ("z", None),
        ("", None),
    ],
)
def test_queue_is_found_by_path_or_by_unique_name(name: str, path: str | None) -> None:
    found = find(TREE, name)

    assert (None if found is None else found.path) == path


WHOSE = "Application app_1 submitted by user bob"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("root.c.y", None),
        ("y", None),
        ("nowhere", f"{WHOSE}{WHOSE} to unknown queue: nowhere"),
        ("x", f"{WHOSE} to ambiguous queue: x please use full queue path instead."),
        ("root.a", "Application app_1 submitted by user : bob to non-leaf queue : root.a"),
        ("b", "Queue root.b is STOPPED. Cannot accept submission of application: app_1"),
    ],
)
def test_refusal_is_in_the_capacity_schedulers_words(name: str, text: str | None) -> None:
    assert refusal(TREE, name, "bob", "app_1") == text


@pytest.mark.parametrize(
    ("maximum_s", "default_s", "asked_s", "got_s"),
    [
        *[(-1, -1, -1, -1), (-1, 60, -1, 60), (-1, 60, 99, 99), (50, 40, 99, 50), (50, 40, 30, 30), (50, 40, 0, 40)],
        (-1, -1, 2**63 - 1, LIFETIME_S_MAX),
    ],
)
def test_lifetime_is_the_queues_affair(maximum_s: int, default_s: int, asked_s: int, got_s: int) -> None:
    queue = Queue(path="root.a", maximum_lifetime_s=maximum_s, default_lifetime_s=default_s)
    assert lifetime_s(queue, asked_s) == got_s


def test_leaves_share_the_root() -> None:
    root, *leaves = leaves_under_root(("a", "b"), maximum_lifetime_s=9, default_lifetime_s=3)
    assert (root.path, root.is_leaf) == ("root", False)
    assert [(leaf.path, leaf.capacity_percent, leaf.maximum_capacity_percent) for leaf in leaves] == [
        ("root.a", 50.0, 100.0),
        ("root.b", 50.0, 100.0),
    ]
    assert {(leaf.maximum_lifetime_s, leaf.default_lifetime_s) for leaf in leaves} == {(9, 3)}


def test_stopped_queue_in_use_drains() -> None:
    stopped, running = Queue(path="root.a", state=QueueState.STOPPED), Queue(path="root.a")
    assert shown_state(stopped, is_used=True) is QueueState.DRAINING
    assert shown_state(stopped, is_used=False) is QueueState.STOPPED
    assert shown_state(running, is_used=True) is QueueState.RUNNING


def test_default_is_one_leaf() -> None:
    assert leaves_under_root(("default",), maximum_lifetime_s=-1, default_lifetime_s=-1) == default_queues()


def test_queue_that_is_not_wanted_any_more_is_stopped_and_comes_back() -> None:
    both = leaves_under_root(("a", "b"), maximum_lifetime_s=-1, default_lifetime_s=-1)
    one = leaves_under_root(("a",), maximum_lifetime_s=-1, default_lifetime_s=-1)
    written = {queue.path: queue for queue in differing(both, one)}
    assert written.keys() == {"root.a", "root.b"}
    assert (written["root.b"].state, written["root.b"].capacity_percent) == (QueueState.STOPPED, 0.0)
    stored = [{queue.path: queue for queue in both} | written][0].values()
    assert differing(stored, one) == []
    assert {queue.path: queue.state for queue in differing(stored, both)}["root.b"] is QueueState.RUNNING
