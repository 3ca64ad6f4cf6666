from __future__ import annotations

import pytest

from yodel.domain.queue import Queue, QueueState, default_queues, find, refusal

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


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("root.c.y", None),
        ("y", None),
        ("nowhere", "Application app_1 submitted by user bob to unknown queue: nowhere"),
        ("x", "Application app_1 submitted by user bob to unknown queue: x"),
        ("root.a", "Application app_1 submitted by user bob to non-leaf queue: root.a"),
        ("b", "Queue root.b is STOPPED. Cannot accept submission of application: app_1"),
    ],
)
def test_refusal_is_in_the_capacity_schedulers_words(name: str, text: str | None) -> None:
    assert refusal(TREE, name, "bob", "app_1") == text
