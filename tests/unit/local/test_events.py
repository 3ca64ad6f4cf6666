from __future__ import annotations

from tests.unit.local.conftest import FakeClock
from yodel.local.events import EventRecorder, EventSource
from yodel.local.objects import ObjectStore

POD = {"kind": "Pod", "metadata": {"name": "p", "namespace": "default", "uid": "u", "resourceVersion": "5"}}


def test_repeated_event_is_counted(store: ObjectStore, clock: FakeClock) -> None:
    recorder = EventRecorder(store, clock)
    for _ in range(3):
        recorder.record(POD, "FailedScheduling", "no room", source=EventSource(component="s"))
        clock.move(1)
    events = [record.item for record in store.list("events")]
    assert [(event["count"], event["lastTimestamp"]) for event in events] == [(3, "2024-01-01T00:00:02Z")]
    assert events[0]["involvedObject"]["uid"] == "u"


def test_events_expire_after_an_hour(store: ObjectStore, clock: FakeClock) -> None:
    recorder = EventRecorder(store, clock)
    recorder.record(POD, "Old", "", source=EventSource(component="s"))
    clock.move(1800)
    recorder.record(POD, "New", "", source=EventSource(component="s"))
    clock.move(1801)
    recorder.expire()
    assert [record.item["reason"] for record in store.list("events")] == ["New"]
