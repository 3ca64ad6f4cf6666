from __future__ import annotations

from yodel.domain.queues.access import (
    administer_acl,
    is_named_administrator,
    may_administer,
    may_submit,
    submit_acl,
)
from yodel.domain.queues.queue import Queue


def queues(**acls: str | None) -> dict[str, Queue]:
    """root and root.a.b; ``root_submit`` and so on."""
    found = {}
    for name, path in (("root", "root"), ("a", "root.a"), ("b", "root.a.b")):
        submit, administer = acls.get(f"{name}_submit"), acls.get(f"{name}_administer")
        found[path] = Queue(path=path, submit_acl=submit, administer_acl=administer)
    return found


def test_root_is_everybodys_unless_it_says_otherwise() -> None:
    assert (submit_acl(Queue(path="root")), submit_acl(Queue(path="root.a"))) == ("*", " ")
    assert administer_acl(Queue(path="root", administer_acl="")) == ""
    assert may_submit(queues(), "root.a.b", "anybody", ())
    assert not may_submit(queues(root_submit=" ", root_administer=" "), "root.a.b", "anybody", ())


def test_rights_pass_down_the_tree_and_not_up() -> None:
    tree = queues(root_submit=" ", root_administer=" ", a_submit="alice etl")
    assert may_submit(tree, "root.a.b", "alice", ())
    assert may_submit(tree, "root.a", "bob", ("etl",))
    assert not may_submit(tree, "root.a", "bob", ())
    assert not may_submit(tree, "root", "alice", ())


def test_administrator_of_a_queue_may_submit_to_it() -> None:
    tree = queues(root_submit=" ", root_administer=" ", b_administer="carol")
    assert may_administer(tree, "root.a.b", "carol", ())
    assert may_submit(tree, "root.a.b", "carol", ())
    assert not may_administer(tree, "root.a", "carol", ())


def test_default_of_the_root_names_nobody() -> None:
    assert may_administer(queues(), "root.a", "anybody", ())
    assert not is_named_administrator(queues(), "root.a", "anybody", ())
    assert is_named_administrator(queues(root_administer="carol"), "root.a.b", "carol", ())


def test_queue_that_is_not_there_is_nobodys() -> None:
    assert not may_submit(queues(), "root.z", "anybody", ())
