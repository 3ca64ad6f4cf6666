from __future__ import annotations

from typing import Any

import pytest

from yodel.local.objects import ObjectStore
from yodel.local.registry import DeleteOptions, Registry, parse_delete_options
from yodel.local.statuses import ApiError, Json


def a_pod(**spec: Any) -> Json:
    containers = [{"name": "main", "image": "x"}]
    return {"metadata": {"name": "p"}, "spec": {"restartPolicy": "Never", "containers": containers, **spec}}


def test_restart_policies_that_are_not_run_are_refused_with_the_reason(registry: Registry) -> None:
    for policy in ({"restartPolicy": "Always"}, {"restartPolicy": "OnFailure"}):
        with pytest.raises(ApiError, match="never restarts them") as refusal:
            registry.create("pods", "default", a_pod(**policy))
        assert refusal.value.code == 422


def test_ended_pod_is_removed_at_once(registry: Registry, store: ObjectStore) -> None:
    registry.create("pods", "default", a_pod(nodeName="n"))
    over = {"status": {"phase": "Failed"}}
    registry.patch("pods", "default", "p", "status", "application/merge-patch+json", over)
    registry.delete("pods", "default", "p", DeleteOptions())
    assert store.find("pods", "default", "p") is None


def test_eviction_is_a_graceful_deletion(registry: Registry, store: ObjectStore) -> None:
    registry.create("pods", "default", a_pod(nodeName="n"))
    registry.evict("default", "p", {"deleteOptions": {"gracePeriodSeconds": 7}})
    assert store.get("pods", "default", "p").item["metadata"]["deletionGracePeriodSeconds"] == 7


def test_namespace_takes_its_objects_with_it(registry: Registry, store: ObjectStore) -> None:
    registry.create("namespaces", "", {"metadata": {"name": "team"}})
    registry.create("pods", "team", a_pod())
    registry.delete("namespaces", "", "team", DeleteOptions())
    assert store.list("pods") == []
    with pytest.raises(ApiError) as refusal:
        registry.delete("namespaces", "", "default", DeleteOptions())
    assert refusal.value.code == 403


def test_server_owned_metadata_cannot_be_written(registry: Registry) -> None:
    forged = {"uid": "forged", "creationTimestamp": "2000-01-01T00:00:00Z", "deletionTimestamp": "2000-01-01T00:00:00Z"}
    pod = registry.create("pods", "default", {**a_pod(), "metadata": {"name": "p", **forged}})
    assert pod.uid != "forged"
    assert "deletionTimestamp" not in pod.item["metadata"]
    patch = {"metadata": {"creationTimestamp": None, "deletionTimestamp": "2000-01-01T00:00:00Z"}}
    after = registry.patch("pods", "default", "p", "", "application/merge-patch+json", patch)
    assert after.item["metadata"] == pod.item["metadata"]


def test_delete_options_come_from_body_before_query() -> None:
    assert parse_delete_options({"gracePeriodSeconds": 3}, {"gracePeriodSeconds": "5"}).grace_s == 3
    assert parse_delete_options({}, {"gracePeriodSeconds": "5"}).grace_s == 5
    with pytest.raises(ApiError):
        parse_delete_options({"gracePeriodSeconds": "soon"}, {})
