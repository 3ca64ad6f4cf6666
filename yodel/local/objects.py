"""The object store: what etcd and the watch cache are to a real API server.

One global version counter; every change is journalled, remembered in a bounded history and shown to subscriptions, in
this order and without awaiting, so readers on the event loop always see one consistent state.  Objects are immutable
once stored: an update stores a new dictionary.  A subscription that falls behind its bound is cut: list again.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from yodel.local.journal import VERSION_GAP, Journal, Key
from yodel.local.statuses import Json, already_exists, conflict, expired, not_found

HISTORY_MAX = 20_000
SUBSCRIPTION_MAX = 20_000

Listener = Callable[["ObjectChange"], None]


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One object at one version, with its JSON made once for journal, lists and watches."""

    key: Key
    version: int
    item: Json
    encoded: bytes

    @property
    def uid(self) -> str:
        return str(self.item["metadata"]["uid"])


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """``kind`` is ADDED, MODIFIED or DELETED; ``previous`` the record before, if there was one."""

    kind: str
    record: StoredObject
    previous: StoredObject | None

    @property
    def resource(self) -> str:
        return self.record.key[0]


class Subscription:
    """Changes of one resource, in order, from a version on.  Close it, or it stays registered."""

    def __init__(self, store: ObjectStore, resource: str) -> None:
        self._store, self.resource = store, resource
        self._waiting: deque[ObjectChange] = deque()
        self._ready = asyncio.Event()
        self._overflowed = False

    def offer(self, change: ObjectChange) -> None:
        if len(self._waiting) >= SUBSCRIPTION_MAX:
            self._overflowed = True
        else:
            self._waiting.append(change)
        self._ready.set()

    async def next(self) -> list[ObjectChange]:
        """Wait for at least one change and take all.  Raises ApiError (410) after an overflow."""
        await self._ready.wait()
        self._ready.clear()
        if self._overflowed:
            raise expired("too old resource version: the watch fell behind")
        changes = list(self._waiting)
        self._waiting.clear()
        return changes

    def close(self) -> None:
        self._store.forget(self)


class ObjectStore:
    """All objects of the cluster.  Used from one event loop's thread only."""

    def __init__(self, journal: Journal, *, history_max: int = HISTORY_MAX) -> None:
        self._journal = journal
        self._records: dict[str, dict[tuple[str, str], StoredObject]] = {}
        self._history: deque[ObjectChange] = deque(maxlen=history_max)
        self._subscriptions: dict[str, set[Subscription]] = {}
        self._listeners: list[Listener] = []
        recovered = journal.recover()
        self.version = recovered.version
        # Nothing at or below this version is lost from the history: older watches have to list again.  The gap that
        # the journal leaves at a start holds no changes, so a client that saw everything before it can go on.
        self._history_floor = max(0, recovered.version - VERSION_GAP)
        for key, item in recovered.objects.items():
            version = int(item["metadata"]["resourceVersion"])
            self._table(key[0])[key[1:]] = StoredObject(key, version, item, msgspec.json.encode(item))

    def listen(self, listener: Listener) -> None:
        """Have every change told at once.  The listener only records; it may not raise or change the store."""
        self._listeners.append(listener)

    def get(self, resource: str, namespace: str, name: str) -> StoredObject:
        """Raises ApiError (404)."""
        record = self.find(resource, namespace, name)
        if record is None:
            raise not_found(resource, name)
        return record

    def find(self, resource: str, namespace: str, name: str) -> StoredObject | None:
        return self._table(resource).get((namespace, name))

    def list(self, resource: str, namespace: str | None = None) -> list[StoredObject]:
        """Return the objects in the order of etcd: by namespace and name.  ``None`` means all namespaces."""
        table = self._table(resource)
        return [table[key] for key in sorted(table) if namespace is None or key[0] == namespace]

    def records(self, resource: str) -> Iterator[StoredObject]:
        """Yield the objects in order of creation; cheaper than ``list``."""
        return iter(tuple(self._table(resource).values()))

    def create(self, resource: str, item: Json) -> StoredObject:
        """``item`` is kept.  Raises ApiError (409)."""
        key = _key(resource, item)
        if key[1:] in self._table(resource):
            raise already_exists(resource, key[2])
        return self._store("ADDED", key, item, None)

    def replace(self, resource: str, item: Json, *, expected_version: str = "") -> StoredObject:
        """An equal object keeps its version.  Raises ApiError: 404, or 409 when ``expected_version`` is not current."""
        key = _key(resource, item)
        previous = self.get(resource, key[1], key[2])
        if expected_version and expected_version != str(previous.version):
            raise conflict(resource, key[2])
        metadata = {**item["metadata"], "resourceVersion": str(previous.version)}
        if {**item, "metadata": metadata} == previous.item:
            return previous
        return self._store("MODIFIED", key, item, previous)

    def update(self, resource: str, namespace: str, name: str, change: Callable[[Json], Json]) -> StoredObject:
        """Replace by ``change(current)``.  Raises ApiError (404)."""
        return self.replace(resource, change(self.get(resource, namespace, name).item))

    def remove(self, resource: str, namespace: str, name: str) -> StoredObject:
        """The last state, at the version of its removal.  Raises ApiError (404)."""
        previous = self.get(resource, namespace, name)
        version = self.version + 1
        self._journal.remove(version, previous.key)
        self.version = version
        del self._table(resource)[namespace, name]
        record = _record(previous.key, version, previous.item)
        self._tell(ObjectChange("DELETED", record, previous))
        return record

    def subscribe(self, resource: str, since: int) -> Subscription:
        """Changes after version ``since``.  Raises ApiError (410) when the history does not reach back."""
        if since < self._history_floor or since > self.version:
            raise expired(f"too old resource version: {since} ({self._history_floor})")
        subscription = Subscription(self, resource)
        for change in self._history:
            if change.record.version > since and change.resource == resource:
                subscription.offer(change)
        self._subscriptions.setdefault(resource, set()).add(subscription)
        return subscription

    def reaches_back_to(self, version: int) -> bool:
        return self._history_floor <= version <= self.version

    def forget(self, subscription: Subscription) -> None:
        self._subscriptions.get(subscription.resource, set()).discard(subscription)

    def close(self) -> None:
        self._journal.close()

    def _table(self, resource: str) -> dict[tuple[str, str], StoredObject]:
        return self._records.setdefault(resource, {})

    def _store(self, kind: str, key: Key, item: Json, previous: StoredObject | None) -> StoredObject:
        record = _record(key, self.version + 1, item)
        self._journal.put(record.version, key, record.encoded)
        self.version = record.version
        self._table(key[0])[key[1:]] = record
        self._tell(ObjectChange(kind, record, previous))
        return record

    def _tell(self, change: ObjectChange) -> None:
        if len(self._history) == self._history.maxlen:
            self._history_floor = self._history[0].record.version
        self._history.append(change)
        for listener in self._listeners:
            listener(change)
        for subscription in self._subscriptions.get(change.resource, ()):
            subscription.offer(change)
        if self._journal.wants_compaction:
            live = ((r.key, r.encoded) for table in self._records.values() for r in table.values())
            self._journal.compact(self.version, live)


class DryRun(ObjectStore):
    """The objects of another store, as they are at any time.  Writes are judged and answered, and nothing stays."""

    def __init__(self, store: ObjectStore) -> None:
        self._records = store._records

    def remove(self, resource: str, namespace: str, name: str) -> StoredObject:
        """The last state.  Raises ApiError (404)."""
        return self.get(resource, namespace, name)

    def _store(self, kind: str, key: Key, item: Json, previous: StoredObject | None) -> StoredObject:
        if previous is not None:
            return _record(key, previous.version, item)
        metadata = {name: value for name, value in item["metadata"].items() if name != "resourceVersion"}
        unversioned = {**item, "metadata": metadata}
        return StoredObject(key, 0, unversioned, msgspec.json.encode(unversioned))


def _key(resource: str, item: Json) -> Key:
    metadata: dict[str, Any] = item["metadata"]
    return resource, metadata.get("namespace", ""), metadata["name"]


def _record(key: Key, version: int, item: Json) -> StoredObject:
    stamped = {**item, "metadata": {**item["metadata"], "resourceVersion": str(version)}}
    return StoredObject(key, version, stamped, msgspec.json.encode(stamped))
