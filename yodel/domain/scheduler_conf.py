"""The scheduler's configuration as Hadoop's clients see and change it: properties by their full names.  Pure.

A change is put together as ConfigurationUpdateAssembler does it: queues removed, added, updated, then properties of the
whole; an empty value takes a property away.  What the properties mean is ``yodel.domain.queues.properties``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from yodel.errors import NoSuchQueue, Refused

PREFIX = "yarn.scheduler.capacity."
FIRST_VERSION = 1
QUEUES_MAX = 5000
"""Queues in the tree: all are shown in one answer (decision 0066)."""
DEPTH_MAX = 10
PATH_PARTS_MAX = DEPTH_MAX + 1
"""Looked at of a path: nobody has to look deeper to tell that it is too deep."""


@dataclass(frozen=True, slots=True)
class SchedulerProperty:
    name: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerConf:
    """The version of the queue tree, which grows with every change.  ``properties`` are a copy of what the queues' rows
    say (``yodel.domain.queues.words``), for the release before this one; none: the settings speak."""

    version: int = FIRST_VERSION
    properties: tuple[SchedulerProperty, ...] = ()

    def mapping(self) -> dict[str, str]:
        return {kept.name: kept.value for kept in self.properties}

    def next(self, properties: Mapping[str, str]) -> SchedulerConf:
        """The version after this one."""
        kept = tuple(SchedulerProperty(name, value) for name, value in sorted(properties.items()))
        return SchedulerConf(version=self.version + 1, properties=kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueUpdate:
    """A queue with short property names (``capacity``); a value of None or "" takes the property away."""

    path: str
    properties: Mapping[str, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfUpdate:
    """SchedConfUpdateInfo.  ``overall`` has full property names."""

    removed: Sequence[str] = ()
    added: Sequence[QueueUpdate] = ()
    updated: Sequence[QueueUpdate] = ()
    overall: Mapping[str, str | None] | None = None


def assembled(properties: Mapping[str, str], update: ConfUpdate) -> dict[str, str]:
    """The properties after the change.

    Raises:
        Refused: a queue is there already, is not there, or cannot be one; in Hadoop's words.
    """
    tree = _Names(dict(properties))
    for path in update.removed:
        tree.remove(path)
    tree.forget_removed()
    for change in update.added:
        tree.add(change)
    for change in update.updated:
        tree.require(change.path)
        tree.put(change)
    for name, value in (update.overall or {}).items():
        tree.set(name, value)
    return tree.properties()


class _Names:
    """Properties while a change is put together.  Names of queues are parsed once for each parent, not for each edit,
    and written when all is done; what is said of removed queues goes in one pass."""

    def __init__(self, properties: dict[str, str]) -> None:
        self._properties = properties
        self._below: dict[str, dict[str, None]] = {}
        """Names in their order, by the parents that were looked at."""
        self._written: set[str] = set()
        """Parents below which there are others than the properties say."""
        self._removed: set[str] = set()

    def properties(self) -> dict[str, str]:
        for parent in self._written:
            self._assign(_names_of(parent), ",".join(self._below[parent]))
        return self._properties

    def remove(self, path: str) -> None:
        parent, _, name = path.rpartition(".")
        if not parent:
            raise Refused(f"Can't remove queue {path}")
        self.require(path)
        below = self._of(parent)
        del below[name]
        self._written.add(parent)
        self._removed.add(path)
        if not below:
            self._assign(f"{PREFIX}{parent}.ordering-policy", None)

    def forget_removed(self) -> None:
        """Takes away what is said of removed queues and of those below them."""
        if not self._removed:
            return
        gone = [name for name in self._properties if self._is_removed(name.removeprefix(PREFIX), name)]
        for name in gone:
            del self._properties[name]
        for parent in [parent for parent in self._below if self._is_removed(f"{parent}.")]:
            del self._below[parent]
            self._written.discard(parent)
        self._removed.clear()

    def add(self, change: QueueUpdate) -> None:
        parent, _, name = change.path.rpartition(".")
        if not parent or not name:
            raise Refused(f"Can't add invalid queue {change.path}")
        below = self._of(parent)
        if name in below:
            raise Refused(f"Can't add existing queue {change.path}")
        is_first = not below
        below[name] = None
        self._written.add(parent)
        self.put(change)
        if is_first:
            self._assign(f"{PREFIX}{parent}.ordering-policy", None)

    def put(self, change: QueueUpdate) -> None:
        for name, value in change.properties.items():
            self.set(f"{PREFIX}{change.path}.{name}", value)

    def set(self, name: str, value: str | None) -> None:
        if name.endswith(".queues"):  # what is said of names at last counts
            parent = name.removeprefix(PREFIX).removesuffix(".queues")
            self._below.pop(parent, None)
            self._written.discard(parent)
        self._assign(name, value)

    def require(self, path: str) -> None:
        """Hadoop keeps what is said of a queue that is not there, and nothing comes of it."""
        parent, _, name = path.rpartition(".")
        if path != "root" and (not name or name not in self._of(parent)):
            raise NoSuchQueue(path)

    def _of(self, parent: str) -> dict[str, None]:
        if self._is_removed(f"{parent}."):
            return {}
        below = self._below.get(parent)
        if below is None:
            below = self._below[parent] = dict.fromkeys(children(self._properties, parent))
        return below

    def _is_removed(self, short: str, name: str = PREFIX) -> bool:
        """Return True if a name without the prefix, or one that ends in a dot, belongs to a removed queue or one below
        it."""
        if not self._removed or not name.startswith(PREFIX):
            return False
        return any(short[:at] in self._removed for at in dots(short))

    def _assign(self, name: str, value: str | None) -> None:
        if value:
            self._properties[name] = value
        else:
            self._properties.pop(name, None)


def dots(name: str) -> Iterator[int]:
    """Yield the positions in a name where a path may end, for at most as many parts as a path may have."""
    at = name.find(".")
    for _ in range(PATH_PARTS_MAX):
        if at < 0:
            return
        yield at
        at = name.find(".", at + 1)


def _names_of(parent: str) -> str:
    return f"{PREFIX}{parent}.queues"


def children(properties: Mapping[str, str], path: str) -> list[str]:
    """Return the names of the queues below one, in the order they are written.

    Raises:
        Refused: more than a tree may have, so they are not taken apart.
    """
    text = properties.get(_names_of(path), "")
    if (count := text.count(",")) > QUEUES_MAX:
        raise Refused(f"Invalid {_names_of(path)}: {count + 1} names; expected at most {QUEUES_MAX} queues")
    return [name.strip() for name in text.split(",") if name.strip()]
