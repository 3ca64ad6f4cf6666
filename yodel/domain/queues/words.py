"""What was said of each queue, in the words of the configuration, kept in its row.  Pure.

Fields of a row are what the words come to.  The words tell more: what a queue says itself and what it has from above,
``30`` and ``30.0``, properties that may be said and change nothing.  A row without words was made by the settings.
Of the root are the words of the whole scheduler too, by their full names: no queue's property begins so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from yodel.domain.colocation.properties import PREFIX as COLOCATION
from yodel.domain.queues.queue import ROOT, Queue
from yodel.domain.scheduler_conf import PREFIX

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


def with_words(queues: Iterable[Queue], properties: Mapping[str, str]) -> list[Queue]:
    """The queues with what the properties say of each; what is of none of them is the root's."""
    rows = list(queues)
    paths = {queue.path for queue in rows}
    words: dict[str, list[tuple[str, str]]] = {path: [] for path in paths}
    for name, text in sorted(properties.items()):
        path, own = owner(name.removeprefix(PREFIX), paths)
        if path and name.startswith(PREFIX):
            words[path].append((own, text))
        elif ROOT in words:
            words[ROOT].append((name, text))
    return [replace(queue, said=tuple(words[queue.path])) for queue in rows]


def owner(short: str, paths: set[str]) -> tuple[str, str]:
    """The queue that a property is of, the deepest there is, and the property's own name."""
    parts = short.split(".")
    for count in range(len(parts) - 1, 0, -1):
        path = ".".join(parts[:count])
        if path in paths:
            return path, ".".join(parts[count:])
    return "", short
