from __future__ import annotations

from pathlib import Path

import pytest

from yodel.local.journal import Journal
from yodel.local.objects import ObjectStore
from yodel.local.statuses import ApiError, Json


def an_object(name: str, **fields: object) -> Json:
    return {"metadata": {"name": name, "namespace": "default", "uid": name}, **fields}


def test_every_change_has_a_higher_version(store: ObjectStore) -> None:
    created = store.create("pods", an_object("a"))
    replaced = store.replace("pods", an_object("a", spec=1))
    removed = store.remove("pods", "default", "a")
    assert created.version < replaced.version < removed.version == store.version
    assert removed.item["metadata"]["resourceVersion"] == str(removed.version)


def test_equal_replacement_changes_nothing(store: ObjectStore) -> None:
    created = store.create("pods", an_object("a", spec=1))
    assert store.replace("pods", created.item) is created


def test_stale_expected_version_is_a_conflict(store: ObjectStore) -> None:
    created = store.create("pods", an_object("a"))
    store.replace("pods", an_object("a", spec=1))
    with pytest.raises(ApiError) as refusal:
        store.replace("pods", an_object("a", spec=2), expected_version=str(created.version))
    assert refusal.value.reason == "Conflict"


async def test_subscription_replays_history_and_then_follows(store: ObjectStore) -> None:
    since = store.create("pods", an_object("a")).version
    store.create("pods", an_object("b"))
    store.create("nodes", {"metadata": {"name": "n"}})
    subscription = store.subscribe("pods", since)
    store.remove("pods", "default", "a")
    changes = await subscription.next()
    assert [(change.kind, change.record.key[2]) for change in changes] == [("ADDED", "b"), ("DELETED", "a")]


def test_history_that_does_not_reach_back_is_expired(tmp_path: Path) -> None:
    store = ObjectStore(Journal(tmp_path / "log"), history_max=2)
    first = store.create("pods", an_object("a")).version
    for turn in range(3):
        store.replace("pods", an_object("a", spec=turn))
    with pytest.raises(ApiError) as refusal:
        store.subscribe("pods", first)
    assert (refusal.value.code, refusal.value.reason) == (410, "Expired")
    with pytest.raises(ApiError):
        store.subscribe("pods", store.version + 1)
    store.subscribe("pods", store.version - 2)


async def test_client_that_saw_everything_before_a_restart_goes_on(tmp_path: Path) -> None:
    before = ObjectStore(Journal(tmp_path / "log"))
    last = before.create("pods", an_object("a")).version
    before.close()
    after = ObjectStore(Journal(tmp_path / "log"))
    assert after.get("pods", "default", "a").version == last
    subscription = after.subscribe("pods", last)
    created = after.create("pods", an_object("b"))
    assert [change.record for change in await subscription.next()] == [created]
    assert created.version > last
