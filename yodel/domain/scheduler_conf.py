"""The scheduler's configuration as Hadoop's clients see and change it: properties by their full names.  Pure.

A change is put together as ConfigurationUpdateAssembler does it: queues removed, added, updated, then properties of the
whole; an empty value takes a property away.  What the properties mean is ``yodel.domain.queues.properties``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from yodel.errors import NoSuchQueue, Refused

PREFIX = "yarn.scheduler.capacity."
FIRST_VERSION = 1


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
class QueueChange:
    """A queue with short property names (``capacity``); a value of None or "" takes the property away."""

    path: str
    properties: Mapping[str, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfUpdate:
    """SchedConfUpdateInfo.  ``overall`` has full property names."""

    removed: Sequence[str] = ()
    added: Sequence[QueueChange] = ()
    updated: Sequence[QueueChange] = ()
    overall: Mapping[str, str | None] | None = None


def assembled(properties: Mapping[str, str], update: ConfUpdate) -> dict[str, str]:
    """The properties after the change.

    Raises:
        Refused: a queue is there already, is not there, or cannot be one; in Hadoop's words.
    """
    result = dict(properties)
    for path in update.removed:
        _remove(result, path)
    for change in update.added:
        _add(result, change)
    for change in update.updated:
        _require_queue(result, change.path)
        _put(result, change)
    for name, value in (update.overall or {}).items():
        _set(result, name, value)
    return result


def _remove(properties: dict[str, str], path: str) -> None:
    parent, _, name = path.rpartition(".")
    if not parent:
        raise Refused(f"Can't remove queue {path}")
    _require_queue(properties, path)
    siblings = [sibling for sibling in children(properties, parent) if sibling != name]
    _set(properties, f"{PREFIX}{parent}.queues", ",".join(siblings))
    if not siblings:
        _set(properties, f"{PREFIX}{parent}.ordering-policy", None)
    for key in [key for key in properties if key.startswith(f"{PREFIX}{path}.")]:
        del properties[key]


def _add(properties: dict[str, str], change: QueueChange) -> None:
    parent, _, name = change.path.rpartition(".")
    if not parent or not name:
        raise Refused(f"Can't add invalid queue {change.path}")
    siblings = children(properties, parent)
    if name in siblings:
        raise Refused(f"Can't add existing queue {change.path}")
    _set(properties, f"{PREFIX}{parent}.queues", ",".join((*siblings, name)))
    _put(properties, change)
    if not siblings:
        _set(properties, f"{PREFIX}{parent}.ordering-policy", None)


def _put(properties: dict[str, str], change: QueueChange) -> None:
    for name, value in change.properties.items():
        _set(properties, f"{PREFIX}{change.path}.{name}", value)


def _set(properties: dict[str, str], name: str, value: str | None) -> None:
    if value:
        properties[name] = value
    else:
        properties.pop(name, None)


def _require_queue(properties: Mapping[str, str], path: str) -> None:
    """Hadoop keeps what is said of a queue that is not there, and nothing comes of it."""
    parent, _, name = path.rpartition(".")
    if path != "root" and name not in children(properties, parent):
        raise NoSuchQueue(path)


def children(properties: Mapping[str, str], path: str) -> list[str]:
    """Names of the queues below one, in the order they are written."""
    return [name.strip() for name in properties.get(f"{PREFIX}{path}.queues", "").split(",") if name.strip()]
