from __future__ import annotations

import pytest

from yodel.domain.queues.delegation import not_delegated
from yodel.domain.queues.history import change_between
from yodel.domain.scheduler_conf import PREFIX

PATHS = {"root", "root.a", "root.a.b", "root.a.b.c", "root.z"}


def refused(*names: str) -> str | None:
    """What somebody who administers root.a and what is below may not change."""
    after = {PREFIX + name: "1" for name in names}
    change = change_between({}, after, version=2, author="alice", time_ms=1, reason="")
    return not_delegated(change, PATHS, lambda path: path.startswith("root.a"))


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
