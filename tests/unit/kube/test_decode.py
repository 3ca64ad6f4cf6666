"""Bodies as a real API server writes them, shortened, and what is read from them."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from yodel.kube.decode import decode_event, decode_node, decode_node_page, decode_pod, decode_pod_page, decode_version
from yodel.ports.kube_nodes import NodeAddress
from yodel.ports.pods import PodObservation, PodPhase

FAILED_POD: dict[str, Any] = {
    "kind": "Pod",
    "apiVersion": "v1",
    "metadata": {
        "name": "application-1-0001-01-000002",
        "uid": "2f1c",
        "resourceVersion": "123",
        "creationTimestamp": "2026-01-02T03:04:05Z",
        "deletionTimestamp": "2026-01-02T03:05:05Z",
        "labels": {"yodel.io/container-id": "container_1_0001_01_000002"},
        "annotations": {"a": "b"},
        "managedFields": [{"manager": "yodel", "fieldsV1": {"f:metadata": {}}}],
    },
    "spec": {"nodeName": "node-1", "containers": [{"name": "main", "image": "x"}, {"name": "aaa-sidecar"}]},
    "status": {
        "phase": "Failed",
        "reason": "Evicted",
        "message": "The node was low on resource: memory.",
        "conditions": [{"type": "PodScheduled", "status": "True"}],
        "containerStatuses": [
            {"name": "aaa-sidecar", "state": {"terminated": {"exitCode": 1, "reason": "Error"}}},
            {
                "name": "main",
                "state": {
                    "terminated": {
                        "exitCode": 137,
                        "reason": "OOMKilled",
                        "startedAt": "2026-01-02T03:04:06Z",
                        "finishedAt": "2026-01-02T03:04:07Z",
                    }
                },
            },
        ],
    },
}


def read(body: Any) -> PodObservation:
    return decode_pod(json.dumps(body).encode())


def test_a_finished_pod_is_read_in_full() -> None:
    assert read(FAILED_POD) == PodObservation(
        name="application-1-0001-01-000002",
        uid="2f1c",
        resource_version="123",
        labels={"yodel.io/container-id": "container_1_0001_01_000002"},
        annotations={"a": "b"},
        node_name="node-1",
        phase=PodPhase.FAILED,
        deletion_requested=True,
        reason="Evicted",
        message="The node was low on resource: memory.",
        exit_code=137,
        terminated_reason="OOMKilled",
        deletion_due_ms=1767323105000,
        created_ms=1767323045000,
        finished_ms=1767323047000,
    )


def test_a_pod_nobody_scheduled_tells_why() -> None:
    conditions = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}]
    pod = read({"metadata": {"name": "a"}, "status": {"phase": "Pending", "conditions": conditions}})
    assert pod.unschedulable_message == "0/3 nodes"
    assert pod.node_name is None


def test_a_pod_about_to_be_disrupted_tells_why() -> None:
    message = "Taint manager: deleting due to NoExecute taint"
    conditions = [
        {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager", "message": message},
        {"type": "Ready", "status": "False"},
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-02T03:04:05Z"},
    ]
    pod = read({"metadata": {"name": "a"}, "status": {"phase": "Running", "conditions": conditions}})
    assert (pod.disruption_reason, pod.disruption_message) == ("DeletionByTaintManager", message)
    assert pod.is_ready is False
    assert pod.scheduled_ms == 1767323045000

    averted = [conditions[0] | {"status": "False"}]
    assert read({"metadata": {"name": "a"}, "status": {"conditions": averted}}).disruption_reason == ""


def test_a_waiting_container_tells_why() -> None:
    state = {"waiting": {"reason": "ErrImagePull", "message": "no such image"}}
    pod = read(
        {
            "metadata": {"name": "a"},
            "spec": {"containers": [{"name": "main"}]},
            "status": {"phase": "Pending", "containerStatuses": [{"name": "main", "state": state}]},
        }
    )
    assert (pod.waiting_reason, pod.waiting_message) == ("ErrImagePull", "no such image")
    assert pod.exit_code is None


def test_the_annotated_container_is_the_main_one_when_a_webhook_put_another_first() -> None:
    pod = read(
        {
            "metadata": {"name": "a", "annotations": {"kubectl.kubernetes.io/default-container": "main"}},
            "spec": {"containers": [{"name": "proxy"}, {"name": "main"}]},
            "status": {
                "containerStatuses": [
                    {"name": "main", "state": {"terminated": {"exitCode": 3}}},
                    {"name": "proxy", "state": {"terminated": {"exitCode": 0}}},
                ]
            },
        }
    )
    assert pod.exit_code == 3


def test_an_annotation_that_names_no_container_is_ignored() -> None:
    pod = read(
        {
            "metadata": {"name": "a", "annotations": {"kubectl.kubernetes.io/default-container": "gone"}},
            "spec": {"containers": [{"name": "main"}]},
            "status": {"containerStatuses": [{"name": "main", "state": {"terminated": {"exitCode": 4}}}]},
        }
    )
    assert pod.exit_code == 4


def test_nulls_are_like_absent_fields() -> None:
    metadata = {"name": "a", "uid": None, "resourceVersion": None, "labels": None, "creationTimestamp": None}
    status = {"phase": None, "reason": None, "conditions": None, "containerStatuses": None}
    pod = read({"metadata": metadata, "spec": {"nodeName": None, "containers": None}, "status": status})
    assert pod == PodObservation(name="a", uid="", resource_version="")


def test_a_phase_of_the_future_is_unknown() -> None:
    assert read({"metadata": {"name": "a"}, "status": {"phase": "Resting"}}).phase is PodPhase.UNKNOWN


@pytest.mark.parametrize("body", [b"{}", b"[]", b'{"metadata":{"name":1}}', b'{"metadata":', b"\xff"])
def test_what_is_no_pod_raises(body: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode_pod(body)


def test_a_page_carries_its_version_and_continuation() -> None:
    body = {"metadata": {"resourceVersion": "9", "continue": "next"}, "items": [FAILED_POD]}
    page = decode_pod_page(json.dumps(body).encode())
    assert (page.resource_version, page.continuation) == ("9", "next")
    assert [pod.name for pod in page.items] == ["application-1-0001-01-000002"]


def test_an_empty_page_may_say_null() -> None:
    page = decode_pod_page(b'{"metadata":{"resourceVersion":"9"},"items":null}')
    assert (list(page.items), page.continuation) == ([], "")


def test_an_event_keeps_its_object_for_later() -> None:
    event = decode_event(b'{"type":"MODIFIED","object":{"metadata":{"name":"a","resourceVersion":"5"}}}')
    assert event.type == "MODIFIED"
    assert decode_pod(event.object).name == "a"
    assert decode_version(event.object) == "5"


NODE: dict[str, Any] = {
    "metadata": {"name": "n1", "uid": "u", "resourceVersion": "7", "labels": {"zone": "a"}},
    "spec": {"unschedulable": True, "taints": [{"key": "x", "effect": "NoSchedule"}]},
    "status": {
        "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}, {"type": "InternalIP", "address": "fd00::1"}],
        "conditions": [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": "True"}],
        "allocatable": {"cpu": "3920m", "memory": "15Gi", "pods": 110},
        "images": [{"names": ["x"], "sizeBytes": 1}],
    },
}


def test_a_node_is_read() -> None:
    node = decode_node(json.dumps(NODE).encode())
    assert (node.name, node.uid, node.resource_version, node.labels) == ("n1", "u", "7", {"zone": "a"})
    assert node.addresses == (
        NodeAddress(kind="InternalIP", address="10.0.0.1"),
        NodeAddress(kind="InternalIP", address="fd00::1"),
    )
    assert (node.ready, node.unschedulable) == (True, True)
    assert node.allocatable == {"cpu": "3920m", "memory": "15Gi", "pods": "110"}


@pytest.mark.parametrize("status", ["False", "Unknown"])
def test_a_node_that_does_not_report_is_not_ready(status: str) -> None:
    body = {"metadata": {"name": "n1"}, "status": {"conditions": [{"type": "Ready", "status": status}]}}
    page = decode_node_page(json.dumps({"metadata": {"resourceVersion": "1"}, "items": [body]}).encode())
    assert not page.items[0].ready
