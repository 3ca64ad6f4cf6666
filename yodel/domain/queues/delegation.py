"""Decides what the administrators of a queue may change and read below it (acl_administer_queue).  Pure.

They may change shares, limits, ACLs and state of the queues below, never of the queue itself: that is up to its parent,
so nobody grows beyond the parent's guarantee.  The set of queues, and how their pods look, is for the cluster's
administrators.  They may read all properties of the queues below, including removed ones.
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
    """Return the first property, by its full name, that requires an administrator of the cluster; None: there is none.

    ``administers`` returns True for the paths of queues that the user administers.  Each queue is looked up once.
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
    """Return a function that decides which properties an administrator of some queues may read.  Each queue is looked
    up once."""
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
    """Return the part of a change that the reader may see; None: nothing.  The reason is left out of a partial one."""
    before = tuple(one for one in change.before if is_read(one.name))
    after = tuple(one for one in change.after if is_read(one.name))
    if not before and not after:
        return None
    is_whole = (len(before), len(after)) == (len(change.before), len(change.after))
    return replace(change, before=before, after=after, reason=change.reason if is_whole else "")
