from __future__ import annotations

import pytest

from yodel.domain.queues.delegation import first_not_delegated, reading, told
from yodel.domain.queues.history import change_between
from yodel.domain.scheduler_conf import PREFIX

PATHS = {"root", "root.a", "root.a.b", "root.a.b.c", "root.z"}


def refused(*names: str) -> str | None:
    """Return the first name that somebody who administers root.a and what is below may not change."""
    after = {PREFIX + name: "1" for name in names}
    change = change_between({}, after, version=2, author="alice", time_ms=1, reason="")
    return first_not_delegated(change.names, PATHS, lambda path: path.startswith("root.a"))


@pytest.mark.parametrize("path", ["root.a.b", "root.a.b.c"])
@pytest.mark.parametrize(
    "name",
    ["capacity", "maximum-capacity", "state", "acl_administer_queue", "user-settings.x.weight", "user-limit-factor"],
)
def test_shares_limits_acls_and_state_below_the_queue_are_its_administrators(path: str, name: str) -> None:
    assert refused(f"{path}.{name}") is None


@pytest.mark.parametrize(
    "name",
    [
        *("root.a.capacity", "root.a.state", "root.a.acl_administer_queue", "root.a.user-settings.x.weight"),
        *("root.z.capacity", "root.capacity", "root.a.queues", "root.a.b.queues", "root.a.b.ordering-policy"),
        *("root.a.b.disable_preemption", "maximum-am-resource-percent", "root.a.b.accessible-node-labels"),
    ],
)
def test_the_queue_itself_others_and_what_queues_there_are_take_the_clusters_administrator(name: str) -> None:
    assert refused("root.a.b.capacity", name) == PREFIX + name


def reads(name: str) -> bool:
    """Somebody who administers root.a and what is below."""
    return reading(PATHS, lambda path: f"{path}.".startswith("root.a."))(PREFIX + name)


@pytest.mark.parametrize(
    ("name", "is_read"),
    [
        *((f"root.a.b.{own}", True) for own in ("capacity", "queues", "window.w.cron", "disable_preemption")),
        *((f"root.a.b.c.{own}", True) for own in ("capacity", "user-settings.x.weight")),
        *((f"root.a.{own}", False) for own in ("capacity", "queues", "window.w.cron", "user-settings.x.weight")),
        ("root.a.intra-queue-preemption.disable_preemption", False),
        ("root.a.auto-create-child-queue.enabled", False),
        *((f"root.a.yodel.remote-shuffle.{own}", False) for own in ("service", "option.x.y", "unheard-of")),
        ("root.a.b.yodel.remote-shuffle.service", True),
        # Of queues that are there no more.
        ("root.a.gone.capacity", True),
        ("root.a.gone.b.user-settings.x.weight", True),
        *((name, False) for name in ("root.z.capacity", "root.gone.capacity", "root.capacity", "queue-mappings")),
    ],
)
def test_what_is_said_below_the_queue_is_read_by_its_administrators(name: str, is_read: bool) -> None:
    assert reads(name) is is_read


def test_reason_is_told_with_the_whole_of_a_change_only() -> None:
    def change(*names: str, reason: str = "why") -> object:
        after = {PREFIX + name: "1" for name in names}
        made = change_between({}, after, version=2, author="admin", time_ms=1, reason=reason)
        found = told(made, lambda name: ".a.b." in name)
        return None if found is None else (found.names, found.reason)

    assert change("root.a.b.capacity") == ([f"{PREFIX}root.a.b.capacity"], "why")
    assert change("root.a.b.capacity", "root.z.capacity") == ([f"{PREFIX}root.a.b.capacity"], "")
    assert change("root.z.capacity") is None
