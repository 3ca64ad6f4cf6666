"""Bounds a change of queues: the length and number of names, paths and values.  Pure.

All of it comes from outside, and much of it is split at dots and commas later, so it is checked before that: here
nothing is split, and every check takes time linear in its input.
"""

from __future__ import annotations

from collections.abc import Iterable

from yodel.domain.queues.limit_properties import USER_LENGTH_MAX, last_user_of
from yodel.domain.queues.mapping_properties import MAPPING_PROPERTIES, TEXT_LENGTH_MAX
from yodel.domain.scheduler_conf import PATH_PARTS_MAX, PREFIX, QUEUES_MAX, ConfUpdate, QueueUpdate
from yodel.errors import InvalidQueues

NAME_BYTES_MAX = 4096
"""The most bytes of a property's name, with the path of its queue."""
VALUE_LENGTH_MAX = 4096
NAMES_LENGTH_MAX = QUEUES_MAX * 129
"""The most characters of the names of queues below one, with the commas between them."""
NAME_PARTS_MAX = PREFIX.count(".") + PATH_PARTS_MAX + 8
"""The most parts of a property's name without the user in it; the longest names of Hadoop have six after the path."""
SHOWN_LENGTH_MAX = 80


class OutOfBounds(InvalidQueues):
    """A change that is not looked at.  ``name`` is the property, or empty; the rest of it may be somebody's to say."""

    def __init__(self, text: str, name: str = "") -> None:
        self.name = name
        super().__init__(text)


def require_update(update: ConfUpdate) -> None:
    """Check a change before it is applied.

    Raises:
        OutOfBounds: names what is too long or too many.
    """
    for what, edits in (("added", update.added), ("removed", update.removed)):
        if len(edits) > QUEUES_MAX:
            raise OutOfBounds(f"Too many queues {what}: {len(edits)}; expected at most {QUEUES_MAX}")
    changes = [*update.added, *update.updated]
    for path in (*update.removed, *(change.path for change in changes)):
        require_path(path)
    require_properties(_said(changes))
    require_properties((update.overall or {}).items())


def require_path(path: str) -> None:
    """Check the path of a queue.  Raises OutOfBounds."""
    _require_length(path, "path of a queue")
    _require_parts(path, "path of a queue", PATH_PARTS_MAX)


def require_properties(properties: Iterable[tuple[str, str | None]]) -> None:
    """Check properties by their full names.  Raises OutOfBounds."""
    commas = 0
    for name, value in properties:
        _require_length(name, "property")
        if not value:  # what was stored before there were bounds may go
            continue
        user = last_user_of(name)
        if len(user) > USER_LENGTH_MAX:
            text = f"the name of a user of at most {USER_LENGTH_MAX} characters"
            raise OutOfBounds(f"Invalid property: {_shown(name)}; expected {text}", name)
        _require_parts(name, "property", NAME_PARTS_MAX + user.count("."))
        are_names, is_mapping = name.endswith(".queues"), name in MAPPING_PROPERTIES
        length_max = NAMES_LENGTH_MAX if are_names else TEXT_LENGTH_MAX if is_mapping else VALUE_LENGTH_MAX
        if len(value) > length_max:
            text = f"{len(value)} characters; expected at most {length_max}"
            raise OutOfBounds(f"Invalid {_clipped(name)}: {text}", name)
        if not (" ".join(value.split()) if is_mapping else value).isprintable():
            raise OutOfBounds(f"Invalid {_clipped(name)}: {_shown(value)}; expected printable text", name)
        commas += value.count(",") if are_names else 0
        if commas > QUEUES_MAX:
            raise OutOfBounds(f"Too many queues in {_clipped(name)}: expected at most {QUEUES_MAX} in the tree", name)


def _said(changes: Iterable[QueueUpdate]) -> Iterable[tuple[str, str | None]]:
    for change in changes:
        for name, value in change.properties.items():
            yield f"{PREFIX}{change.path}.{name}", value


def _require_length(name: str, what: str) -> None:
    is_long = len(name) > NAME_BYTES_MAX or len(name.encode("utf-8", "surrogatepass")) > NAME_BYTES_MAX
    if is_long or not name.isprintable():
        text = f"a printable name of at most {NAME_BYTES_MAX} bytes"
        raise OutOfBounds(f"Invalid {what}: {_shown(name)}; expected {text}", name)


def _require_parts(name: str, what: str, parts_max: int) -> None:
    if name.count(".") >= parts_max:
        raise OutOfBounds(f"Invalid {what}: {_shown(name)}; expected at most {parts_max} parts", name)


def _clipped(text: str) -> str:
    return text if len(text) <= 2 * SHOWN_LENGTH_MAX else f"{text[:SHOWN_LENGTH_MAX]}…"


def _shown(text: str) -> str:
    return repr(text[:SHOWN_LENGTH_MAX])
