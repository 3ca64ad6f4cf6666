"""Events: what the scheduler and the kubelet say about an object, for ``kubectl describe`` and ``kubectl get events``.

A repeated event raises the count of the first one, as client-go's correlator does.  Their number is bounded and they
expire after an hour, the real server's ``--event-ttl``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from yodel.local.objects import ObjectStore
from yodel.local.statuses import Json
from yodel.local.times import from_text, to_text

EVENTS_MAX = 5_000
EVENT_LIFE = timedelta(hours=1)
MESSAGE_LENGTH_MAX = 1024  # validation.go: maximum of an event's note
NORMAL, WARNING = "Normal", "Warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class EventSource:
    """Names the component that reports an event, and its node (empty for the scheduler)."""

    component: str
    host: str = ""


class EventRecorder:
    """Writes events into the store; ``now`` is the wall clock."""

    def __init__(self, store: ObjectStore, now: Callable[[], datetime]) -> None:
        self._store, self._now = store, now
        names = [(record.item.get("lastTimestamp") or "", record.key[1:]) for record in store.list("events")]
        self._names: deque[tuple[str, str]] = deque(name for _, name in sorted(names))

    def record(
        self, item: Json, reason: str, message: str, *, source: EventSource, kind: str = NORMAL, field_path: str = ""
    ) -> None:
        """Say ``reason`` and ``message`` about ``item``; ``kind`` is Normal or Warning."""
        at = self._now()
        involved = _reference(item, field_path)
        name = f"{involved['name']}.{_fingerprint(involved['uid'], reason, message, field_path)}"
        namespace = str(involved.get("namespace", "default"))
        known = self._store.find("events", namespace, name)
        if known is not None:
            count = int(known.item.get("count") or 1) + 1
            self._store.replace("events", {**known.item, "count": count, "lastTimestamp": to_text(at)})
            return
        event = _event(name, namespace, involved, at)
        said = {"reason": reason, "message": message[:MESSAGE_LENGTH_MAX], "type": kind}
        spoken_by: Json = {"component": source.component, **({"host": source.host} if source.host else {})}
        reporting = {"reportingComponent": source.component, "reportingInstance": source.host}
        self._store.create("events", {**event, **said, "source": spoken_by, **reporting})
        self._names.append((namespace, name))
        while len(self._names) > EVENTS_MAX:
            self._forget(*self._names.popleft())

    def expire(self) -> None:
        """Remove what is older than an hour, or too many; call it now and then (clients write events, too)."""
        limit = self._now() - EVENT_LIFE
        records = list(self._store.records("events"))
        surplus = len(records) - EVENTS_MAX
        for index, record in enumerate(records):
            if index < surplus or _last_time(record.item) < limit:
                self._forget(*record.key[1:])
        self._names = deque(name for name in self._names if self._store.find("events", *name) is not None)

    def _forget(self, namespace: str, name: str) -> None:
        if self._store.find("events", namespace, name) is not None:
            self._store.remove("events", namespace, name)


def _last_time(event: Json) -> datetime:
    created = from_text(event["metadata"]["creationTimestamp"])
    try:
        return from_text(event["lastTimestamp"]) if event.get("lastTimestamp") else created
    except ValueError:
        return created


def _fingerprint(uid: str, *parts: str) -> str:
    """Sixteen hexadecimal digits, the same for the same words about the same object."""
    value = 0xCBF29CE484222325  # FNV-1a, 64 bits
    for byte in "\0".join((uid, *parts)).encode():
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def _reference(item: Json, field_path: str) -> Json:
    metadata = item["metadata"]
    reference: Json = {"kind": item["kind"], "apiVersion": "v1", "name": metadata["name"], "uid": metadata["uid"]}
    if item["kind"] == "Node":  # the kubelet's own habit: kubectl describe node looks for the name as the uid
        reference["uid"] = metadata["name"]
    else:
        reference["resourceVersion"] = metadata["resourceVersion"]
    if "namespace" in metadata:
        reference["namespace"] = metadata["namespace"]
    if field_path:
        reference["fieldPath"] = field_path
    return reference


def _event(name: str, namespace: str, involved: Json, at: datetime) -> Json:
    moment = to_text(at)
    metadata = {"name": name, "namespace": namespace, "uid": _uid_of(name), "creationTimestamp": moment}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": metadata,
        "involvedObject": involved,
        "firstTimestamp": moment,
        "lastTimestamp": moment,
        "eventTime": None,
        "count": 1,
    }


def _uid_of(name: str) -> str:
    digits = _fingerprint(name, "low") + _fingerprint(name, "high")
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
