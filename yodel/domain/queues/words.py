"""Keeps the configured properties of each queue in its row.  Pure.

The fields of a row are their results.  The properties show more: what a queue sets itself and what it inherits, ``30``
and ``30.0``, properties that may be set and change nothing.  A row without properties was made by the settings.  The
root also has the properties of the whole scheduler, by their full names: no queue's property begins like them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace

from yodel.domain.colocation.properties import PREFIX as COLOCATION
from yodel.domain.queues.queue import ROOT, Queue, is_name
from yodel.domain.scheduler_conf import DEPTH_MAX, PREFIX, QUEUES_MAX, children, dots
from yodel.errors import Refused

_FULL = (PREFIX, COLOCATION)
"""How names begin that are kept whole."""


def are_said(queues: Iterable[Queue]) -> bool:
    """The rows are the configuration, whatever the settings say."""
    return any(queue.said for queue in queues)


def said_properties(queues: Iterable[Queue]) -> dict[str, str]:
    """The configuration as it was said, by full names."""
    found: dict[str, str] = {}
    for queue in queues:
        own = f"{PREFIX}{queue.path}."
        found.update((name if name.startswith(_FULL) else own + name, text) for name, text in queue.said)
    return found


def with_words(queues: Sequence[Queue], properties: Mapping[str, str]) -> list[Queue]:
    """Return the queues with what the properties say of each (``words_of``)."""
    words = words_of({queue.path for queue in queues}, properties)
    return [replace(queue, said=tuple(words[queue.path].items())) for queue in queues]


def words_of(paths: Set[str], properties: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return by queue what the properties say of it by its own names; what is of none is the root's, by full names.
    Each in the order of the full names."""
    words: dict[str, dict[str, str]] = {path: {} for path in paths}
    for name, text in sorted(properties.items()):
        path, own = owner(name.removeprefix(PREFIX), paths)
        if path and name.startswith(PREFIX):
            words[path][own] = text
        elif ROOT in words:
            words[ROOT][name] = text
    return words


def owner(short: str, paths: Set[str]) -> tuple[str, str]:
    """The queue that a property is of, the deepest there is, and the property's own name."""
    path, _, own = short.rpartition(".")
    if path in paths:  # as with most: their own names have no dot
        return path, own
    found = max((at for at in dots(short) if short[:at] in paths), default=0)
    return (short[:found], short[found + 1 :]) if found else ("", short)


def tree_of(properties: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the names of the queues below each existing queue, parents first.

    Raises:
        Refused: more queues than a tree may have.
    """
    below: dict[str, list[str]] = {}
    waiting = [ROOT]
    for path in waiting:  # grows meanwhile
        names = below[path] = children(properties, path)
        if path.count(".") < DEPTH_MAX:
            waiting += [f"{path}.{name}" for name in dict.fromkeys(names) if is_name(name)]
        if len(waiting) > QUEUES_MAX:
            raise Refused(f"Too many queues: at most {QUEUES_MAX}, in at most {DEPTH_MAX} levels")
    return below
