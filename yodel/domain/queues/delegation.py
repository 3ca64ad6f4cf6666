"""What the administrators of a queue may change below it (acl_administer_queue).  Pure.

Shares, limits, ACLs and state of the queues below, never of the queue itself: that is its parent's business, so nobody
grows beyond what the parent is guaranteed.  What queues there are, and how their pods look, are the cluster's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set

from yodel.domain.queues.history import TreeChange
from yodel.domain.queues.limit_properties import PARALLEL, user_of
from yodel.domain.queues.window_properties import window_of
from yodel.domain.queues.words import owner
from yodel.domain.scheduler_conf import PREFIX

DELEGATED = frozenset(
    {
        *("capacity", "maximum-capacity", "state", "acl_submit_applications", "acl_administer_queue"),
        *("user-limit-factor", "minimum-user-limit-percent", "maximum-am-resource-percent", "maximum-applications"),
        *("maximum-application-lifetime", "default-application-lifetime", PARALLEL),
    }
)


def not_delegated(change: TreeChange, paths: Set[str], administers: Callable[[str], bool]) -> str | None:
    """The first property of a change that takes an administrator of the cluster; None: there is none.

    ``administers`` says whether the user administers a queue, by its path.
    """
    return first_not_delegated(change.names, paths, administers)


def first_not_delegated(names: Iterable[str], paths: Set[str], administers: Callable[[str], bool]) -> str | None:
    """The same of properties by their full names.  Each queue is asked for once."""
    known = dict[str, bool]()
    for name in names:
        path, own = owner(name.removeprefix(PREFIX), paths)
        parent = path.rpartition(".")[0]
        is_kind = own in DELEGATED or bool(user_of(own)) or any(window_of(own))
        if parent and parent not in known:
            known[parent] = administers(parent)
        if not parent or not is_kind or not known[parent]:
            return name
    return None
