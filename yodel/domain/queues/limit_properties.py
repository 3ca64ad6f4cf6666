"""Converts fields of a queue to the properties of the table, and back.  Pure."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import Any, NamedTuple

from yodel.domain.property_row import Mark, PropertyRow, PropertyScope
from yodel.domain.queues.property_table import OF_QUEUES, OF_SCHEDULER, USER_WEIGHT
from yodel.domain.queues.queue import ROOT, Queue
from yodel.domain.queues.user_weights import NO_WEIGHTS, UserWeights, below, weights_of
from yodel.domain.scheduler_conf import PREFIX
from yodel.errors import Refused

WEIGHT_MAX = 1_000_000.0
USERS_MAX = 1000
"""Users with a weight of their own in one queue."""
USER_LENGTH_MAX = 256
"""The longest name of a user, as the RPC ports take it (``hadoop_rpc.server_connection``)."""
_USER = USER_WEIGHT.name.partition("USER")


class _QueueField(NamedTuple):
    """Holds a row with the meaning of its marks for one kind of queue, because they are looked up for each queue."""

    row: PropertyRow
    read: attrgetter[Any]
    """Returns the fields of a queue that the row is kept in."""
    is_inherited: bool
    is_always_said: bool


def _fields(scope: PropertyScope, always: Mark) -> tuple[_QueueField, ...]:
    rows = (row for row in OF_QUEUES if row.fields and row.scope in (PropertyScope.QUEUE, scope))
    return tuple(
        _QueueField(row, attrgetter(*row.fields), Mark.INHERITED in row.marks, bool(always & row.marks)) for row in rows
    )


_FIELDS = {
    True: _fields(PropertyScope.LEAF, Mark.ALWAYS_SAID | Mark.SAID_OF_LEAVES),
    False: _fields(PropertyScope.PARENT, Mark.ALWAYS_SAID),
}
"""By whether the queue is a leaf."""
_OF_LEAVES = tuple(row for row in OF_QUEUES if row.scope is PropertyScope.LEAF and row.name != "ordering-policy")
_BARE = Queue(path=f"{ROOT}.bare")
"""A queue that nothing is said of."""


def user_of(name: str) -> str:
    """Return the user of a property ``user-settings.NAME.weight``; empty: it is another one."""
    return USER_WEIGHT.variable(name)


def last_user_of(name: str) -> str:
    """Likewise of a full name, whatever queue it is of: what is behind the last ``user-settings`` in it."""
    marker = f".{_USER[0]}"
    at = name.rfind(marker)
    return user_of(name[at + 1 :]) if at >= 0 else ""


def common_fields(properties: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields that the whole scheduler sets for every queue without its own."""
    found: dict[str, Any] = {}
    for row in OF_SCHEDULER:
        if row.fields:
            name = PREFIX + row.name
            found |= _named(row, row.value(name, properties.get(name)))
    return found


def fields_of(path: str, words: Mapping[str, str], parent: Queue | None, *, is_leaf: bool) -> dict[str, Any]:
    """Return the fields of a ``Queue`` that its own properties set, or that it inherits from the queue above.

    Raises:
        Refused: a malformed value, or a limit of users on a queue that has none.
    """
    own = f"{PREFIX}{path}."
    found: dict[str, Any] = {}
    for row, _, is_inherited, _ in _FIELDS[is_leaf]:
        text = words.get(row.name)
        if text is not None and row.is_said(text):
            found |= _named(row, row.kind.parse(own + row.name, text))
        elif is_inherited and parent is not None:
            for field in row.fields:
                found[field] = getattr(parent, field)
    inherited = weights_of(parent.user_weights) if parent is not None else NO_WEIGHTS
    found["user_weights"] = weights = below(inherited, _weights(own, path, words).items())
    if is_leaf:
        _require_weights(path, weights, found.get("minimum_user_limit_percent", 100.0))
        return found
    for row in _OF_LEAVES:
        name = own + row.name
        if row.is_said(words.get(row.name)) and row.value(name, words[row.name]) != row.value(name, None):
            raise Refused(f"Property {name} is not supported: it has no effect, {path} is not a leaf queue")
    return found


def text_of(row: PropertyRow, queue: Queue) -> str:
    """Return the queue's value as the property's text."""
    values = {field: getattr(queue, field) for field in row.fields}
    return row.kind.text(values if len(row.fields) > 1 else values[row.fields[0]])


def said_of(queue: Queue, parent: Queue | None) -> dict[str, str]:
    """Return the queue's properties by their own names."""
    found: dict[str, str] = {}
    for row, read, is_inherited, is_always_said in _FIELDS[queue.is_leaf]:
        above = parent if is_inherited and parent is not None else _BARE
        if (read(queue) != read(above) or (is_always_said and queue.path != ROOT)) and Mark.ALIAS not in row.marks:
            found[row.name] = text_of(row, queue)
    before, _, after = _USER
    kind = USER_WEIGHT.kind
    return found | {f"{before}{user}{after}": kind.text(weight) for user, weight in weights_of(queue.user_weights).own}


def said_of_all(root: Queue) -> dict[str, str]:
    """Return the root's properties of the whole scheduler, by their names without the prefix."""
    return {
        row.name: text_of(row, root)
        for row in OF_SCHEDULER
        if Mark.ALIAS not in row.marks and any(getattr(root, field) != getattr(_BARE, field) for field in row.fields)
    }


def _named(row: PropertyRow, value: Any) -> dict[str, Any]:
    return dict(value) if len(row.fields) > 1 else {row.fields[0]: value}


def _weights(own: str, path: str, words: Mapping[str, str]) -> dict[str, float]:
    names = {user: name for name in words if (user := user_of(name))}
    if len(names) > USERS_MAX:
        raise Refused(f"Too many users with a weight in {path}: at most {USERS_MAX}")
    for user, name in names.items():
        if len(user) > USER_LENGTH_MAX:
            text = f"the name of a user of at most {USER_LENGTH_MAX} characters"
            raise Refused(f"Invalid property: {(own + name)[:80]!r}; expected {text}")
    return {user: USER_WEIGHT.value(own + name, words[name]) for user, name in names.items()}


def _require_weights(path: str, weights: UserWeights, percent: float) -> None:
    """UserWeights.validateForLeafQueue: of those that it has from above too."""
    most = min(WEIGHT_MAX, 100.0 / percent) if percent else WEIGHT_MAX
    if not weights or 0.0 <= weights.least <= weights.most <= most:
        return
    for user, weight in weights:
        if not 0.0 <= weight <= most:
            raise Refused(
                f'Weight ({weight}) for user "{user}" must be between 0 and 100 / {percent} (= {most}, the number of '
                f"concurrent active users in {path})"
            )
