"""Decides who may submit to a queue and administer it, by its ACLs and those of the queues above it.  Pure.

Rights pass down the tree (ConfiguredYarnAuthorizer): without an ACL everybody has them on root, and nobody on any other
queue, so a right holds in all queues below the one that grants it.  Administrators of a queue may submit to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from yodel.domain.acl import Acl
from yodel.domain.queues.queue import ROOT, Queue

EVERYBODY, NOBODY = "*", " "


def may_submit(queues: Mapping[str, Queue], path: str, user: str, groups: Sequence[str]) -> bool:
    submit = any(Acl.parse(submit_acl(queue)).allows(user, groups) for queue in _line(queues, path))
    return submit or may_administer(queues, path, user, groups)


def may_administer(queues: Mapping[str, Queue], path: str, user: str, groups: Sequence[str]) -> bool:
    return any(Acl.parse(administer_acl(queue)).allows(user, groups) for queue in _line(queues, path))


def is_named_administrator(queues: Mapping[str, Queue], path: str, user: str, groups: Sequence[str]) -> bool:
    """Somebody said so: that the root is everybody's by default lets nobody change another's applications here."""
    said = (queue.administer_acl for queue in _line(queues, path))
    return any(text is not None and Acl.parse(text).allows(user, groups) for text in said)


def submit_acl(queue: Queue) -> str:
    """acl_submit_applications as it counts."""
    return _effective(queue, queue.submit_acl)


def administer_acl(queue: Queue) -> str:
    """acl_administer_queue as it counts."""
    return _effective(queue, queue.administer_acl)


def _effective(queue: Queue, said: str | None) -> str:
    if said is not None:
        return said
    return EVERYBODY if queue.path == ROOT else NOBODY


def _line(queues: Mapping[str, Queue], path: str) -> Iterable[Queue]:
    """The queue and those above it."""
    queue = queues.get(path)
    while queue is not None:
        yield queue
        queue = queues.get(queue.parent_path) if queue.parent_path is not None else None
