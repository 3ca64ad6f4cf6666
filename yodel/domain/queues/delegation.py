"""What the administrators of a queue may change and read below it (acl_administer_queue).  Pure.

Shares, limits, ACLs and state of the queues below, never of the queue itself: that is its parent's business, so nobody
grows beyond what the parent is guaranteed.  What queues there are, and how their pods look, are the cluster's.  They
read all that is said of the queues below, and was said of those that are there no more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from dataclasses import replace
from functools import cache

from yodel.domain.property_row import Mark
from yodel.domain.queues.history import TreeChange
from yodel.domain.queues.property_table import BY_QUEUE
from yodel.domain.queues.words import owner
from yodel.domain.scheduler_conf import PREFIX


def first_not_delegated(names: Iterable[str], paths: Set[str], administers: Callable[[str], bool]) -> str | None:
    """The first property, by its full name, that takes an administrator of the cluster; None: there is none.

    ``administers`` says whether the user administers a queue, by its path.  Each queue is asked for once.
    """
    known = dict[str, bool]()
    for name in names:
        path, own = owner(name.removeprefix(PREFIX), paths)
        parent = path.rpartition(".")[0]
        row = BY_QUEUE.find(own)
        if parent and parent not in known:
            known[parent] = administers(parent)
        if not parent or row is None or Mark.DELEGATED not in row.marks or not known[parent]:
            return name
    return None


IsRead = Callable[[str], bool]
"""Whether a property, by its full name, is somebody's to read."""


def reading(paths: Set[str], administers: Callable[[str], bool]) -> IsRead:
    """Return what somebody reads who administers some of the queues.  Each queue is asked for once."""
    administers = cache(administers)

    def is_read(name: str) -> bool:
        path, own = owner(name.removeprefix(PREFIX), paths)
        parent = path.rpartition(".")[0]
        if parent and administers(parent):
            return True
        is_own = "." not in own or BY_QUEUE.find(own) is not None
        return bool(path) and not is_own and administers(path)  # of a queue below it that was there once

    return is_read


def told(change: TreeChange, is_read: IsRead) -> TreeChange | None:
    """Return what somebody reads of a change; None: nothing.  The reason is of the whole change: of a part none is
    told."""
    before = tuple(one for one in change.before if is_read(one.name))
    after = tuple(one for one in change.after if is_read(one.name))
    if not before and not after:
        return None
    is_whole = (len(before), len(after)) == (len(change.before), len(change.after))
    return replace(change, before=before, after=after, reason=change.reason if is_whole else "")
