"""Every Kubernetes API server has to do this for us: one suite, given a base URL and a client.

Pods here either select a node that does not exist (they stay Pending) or name one (nobody touches them), so the suite
needs neither scheduler nor kubelet and holds for a bare API server as well.
"""

from __future__ import annotations

import asyncio
import ssl
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest

from tests.support.local_kubernetes import local_cluster

Json = dict[str, Any]
PODS = "/api/v1/namespaces/default/pods"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


@dataclass(frozen=True, slots=True)
class Kubernetes:
    """An API server under test."""

    http: httpx2.AsyncClient

    async def call(self, method: str, path: str, status: int, body: object = None, **headers: str) -> Json:
        """Send, expect ``status``, return the JSON."""
        content = None if body is None else msgspec.json.encode(body)
        sent = {"Content-Type": "application/json", **{name.replace("_", "-"): v for name, v in headers.items()}}
        answer = await self.http.request(method, path, content=content, headers=sent)
        assert answer.status_code == status, answer.text
        decoded: Json = answer.json()
        return decoded

    async def create(self, pod: Json) -> Json:
        return await self.call("POST", PODS, 201, pod)


@pytest.fixture
async def kubernetes(tmp_path: Path) -> AsyncIterator[Kubernetes]:
    async with local_cluster(tmp_path) as cluster:
        headers = {"Authorization": f"Bearer {cluster.credentials.token}"}
        trusted = ssl.create_default_context(cafile=cluster.credentials.ca_certificate)
        async with httpx2.AsyncClient(base_url=cluster.url, verify=trusted, headers=headers) as http:
            yield Kubernetes(http)


def a_pod(**spec: Any) -> Json:
    metadata = {"name": f"contract-{uuid.uuid4()}", "labels": {"suite": "contract"}}
    container = {"name": "main", "image": "none:1", "command": ["/bin/true"]}
    base = {"restartPolicy": "Never", "nodeSelector": {"contract": "nowhere"}, "containers": [container]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": base | spec}


def an_untouched_pod() -> Json:
    """No scheduler writes into its status: its node is named."""
    return a_pod(nodeName="nobody", nodeSelector={})


def name_of(pod: Json) -> str:
    return str(pod["metadata"]["name"])


async def test_created_pod_has_identity_defaults_and_phase(kubernetes: Kubernetes) -> None:
    pod = await kubernetes.create(a_pod())
    assert pod["metadata"]["uid"]
    assert int(pod["metadata"]["resourceVersion"]) > 0
    assert pod["metadata"]["creationTimestamp"].endswith("Z")
    assert pod["spec"]["schedulerName"] == "default-scheduler"
    assert pod["spec"]["terminationGracePeriodSeconds"] == 30
    assert pod["status"]["phase"] == "Pending"


async def test_second_creation_is_refused_as_already_existing(kubernetes: Kubernetes) -> None:
    pod = a_pod()
    await kubernetes.create(pod)
    refusal = await kubernetes.call("POST", PODS, 409, pod)
    assert (refusal["kind"], refusal["status"], refusal["reason"]) == ("Status", "Failure", "AlreadyExists")
    assert refusal["message"] == f'pods "{name_of(pod)}" already exists'


async def test_missing_pod_is_not_found(kubernetes: Kubernetes) -> None:
    refusal = await kubernetes.call("GET", f"{PODS}/no-such-pod", 404)
    assert (refusal["reason"], refusal["message"]) == ("NotFound", 'pods "no-such-pod" not found')
    assert refusal["details"] == {"name": "no-such-pod", "kind": "pods"}


async def test_wrong_token_is_unauthorized(kubernetes: Kubernetes) -> None:
    refusal = await kubernetes.call("GET", PODS, 401, Authorization="Bearer wrong")
    assert refusal["reason"] == "Unauthorized"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"containers": []}, "spec.containers"),
        ({"containers": [{"name": "Main_1", "image": "x"}]}, "spec.containers[0].name"),
        ({"containers": [{"name": "main"}]}, "spec.containers[0].image"),
        ({"terminationGracePeriodSeconds": -1}, "spec.terminationGracePeriodSeconds"),
    ],
)
async def test_invalid_spec_names_the_field(kubernetes: Kubernetes, change: Json, field: str) -> None:
    refusal = await kubernetes.call("POST", PODS, 422, a_pod(**change))
    assert refusal["reason"] == "Invalid"
    assert field in [cause["field"] for cause in refusal["details"]["causes"]]


async def test_invalid_name_is_refused(kubernetes: Kubernetes) -> None:
    pod = a_pod()
    pod["metadata"]["name"] = "Not_A_Name"
    refusal = await kubernetes.call("POST", PODS, 422, pod)
    assert [cause["field"] for cause in refusal["details"]["causes"]] == ["metadata.name"]


async def test_request_above_limit_is_refused(kubernetes: Kubernetes) -> None:
    resources = {"requests": {"memory": "2Gi"}, "limits": {"memory": "1Gi"}}
    container = {"name": "main", "image": "x", "resources": resources}
    refusal = await kubernetes.call("POST", PODS, 422, a_pod(containers=[container]))
    assert refusal["details"]["causes"][0]["field"] == "spec.containers[0].resources.requests"


async def test_requests_default_to_limits(kubernetes: Kubernetes) -> None:
    container = {"name": "main", "image": "x", "resources": {"limits": {"memory": "1Gi"}}}
    pod = await kubernetes.create(a_pod(containers=[container]))
    assert pod["spec"]["containers"][0]["resources"]["requests"] == {"memory": "1Gi"}


async def test_label_selectors_by_equality_and_by_set(kubernetes: Kubernetes) -> None:
    pod = a_pod()
    pod["metadata"]["labels"] = {"application": "one", "role": "am"}
    await kubernetes.create(pod)
    for selector, found in {
        "application=one": 1,
        "application==one,role!=task": 1,
        "role in (am,task),application notin (two)": 1,
        "role,!queue": 1,
        "application=two": 0,
        "!role": 0,
    }.items():
        answer = await kubernetes.http.get(PODS, params={"labelSelector": selector})
        names = [item["metadata"]["name"] for item in answer.json()["items"]]
        assert names.count(name_of(pod)) == found, selector


async def test_field_selectors(kubernetes: Kubernetes) -> None:
    pod = await kubernetes.create(a_pod())
    query = {"fieldSelector": f"metadata.name={name_of(pod)},status.phase!=Running,spec.nodeName="}
    answer = await kubernetes.http.get("/api/v1/pods", params=query)
    assert [name_of(item) for item in answer.json()["items"]] == [name_of(pod)]
    wrong = await kubernetes.http.get("/api/v1/pods", params={"fieldSelector": "spec.colour=red"})
    assert wrong.status_code == 400


async def test_limited_list_continues_to_the_end(kubernetes: Kubernetes) -> None:
    created = {name_of(await kubernetes.create(a_pod())) for _ in range(5)}
    seen: list[str] = []
    query = {"limit": "2"}
    while True:
        page = (await kubernetes.http.get(PODS, params=query)).json()
        seen += [name_of(item) for item in page["items"]]
        if not page["metadata"].get("continue"):
            break
        query["continue"] = page["metadata"]["continue"]
    assert set(seen) >= created
    assert len(seen) == len(set(seen))


async def test_update_with_a_stale_version_is_a_conflict(kubernetes: Kubernetes) -> None:
    first = await kubernetes.create(an_untouched_pod())
    path = f"{PODS}/{name_of(first)}"
    changed = {**first, "metadata": {**first["metadata"], "labels": {"turn": "one"}}}
    second = await kubernetes.call("PUT", path, 200, changed)
    assert int(second["metadata"]["resourceVersion"]) > int(first["metadata"]["resourceVersion"])
    refusal = await kubernetes.call("PUT", path, 409, changed)
    assert refusal["reason"] == "Conflict"


async def test_spec_of_a_pod_may_not_change(kubernetes: Kubernetes) -> None:
    pod = await kubernetes.create(a_pod())
    patch = {"spec": {"nodeSelector": {"other": "place"}}}
    merge = "application/merge-patch+json"
    refusal = await kubernetes.call("PATCH", f"{PODS}/{name_of(pod)}", 422, patch, Content_Type=merge)
    assert refusal["details"]["causes"][0]["field"] == "spec"


async def test_three_patch_languages(kubernetes: Kubernetes) -> None:
    path = f"{PODS}/{name_of(await kubernetes.create(a_pod()))}"
    merge = {"metadata": {"labels": {"a": "1", "suite": None}}}
    await kubernetes.call("PATCH", path, 200, merge, Content_Type="application/merge-patch+json")
    strategic = {"metadata": {"annotations": {"b": "2"}}}
    await kubernetes.call("PATCH", path, 200, strategic, Content_Type="application/strategic-merge-patch+json")
    steps = [{"op": "add", "path": "/metadata/labels/c~1d", "value": "3"}]
    pod = await kubernetes.call("PATCH", path, 200, steps, Content_Type="application/json-patch+json")
    assert pod["metadata"]["labels"] == {"a": "1", "c/d": "3"}
    assert pod["metadata"]["annotations"] == {"b": "2"}


async def test_status_changes_only_through_its_subresource(kubernetes: Kubernetes) -> None:
    path = f"{PODS}/{name_of(await kubernetes.create(a_pod()))}"
    patch = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    strategic = "application/strategic-merge-patch+json"
    assert (await kubernetes.call("PATCH", path, 200, patch, Content_Type=strategic))["status"]["phase"] == "Pending"
    pod = await kubernetes.call("PATCH", f"{path}/status", 200, patch, Content_Type=strategic)
    assert pod["status"]["phase"] == "Running"
    assert "Ready" in [condition["type"] for condition in pod["status"]["conditions"]]


async def test_pod_without_a_node_is_deleted_at_once(kubernetes: Kubernetes) -> None:
    path = f"{PODS}/{name_of(await kubernetes.create(a_pod()))}"
    await kubernetes.call("DELETE", path, 200)
    await kubernetes.call("GET", path, 404)


async def test_pod_with_a_node_is_marked_and_forced_away(kubernetes: Kubernetes) -> None:
    path = f"{PODS}/{name_of(await kubernetes.create(an_untouched_pod()))}"
    marked = await kubernetes.call("DELETE", f"{path}?gracePeriodSeconds=20", 200)
    assert marked["metadata"]["deletionGracePeriodSeconds"] == 20
    assert marked["metadata"]["deletionTimestamp"]
    shorter = await kubernetes.call("DELETE", path, 200, {"gracePeriodSeconds": 5})
    assert shorter["metadata"]["deletionGracePeriodSeconds"] == 5
    await kubernetes.call("DELETE", path, 200, {"gracePeriodSeconds": 0})
    await kubernetes.call("GET", path, 404)


async def test_deletion_with_a_foreign_uid_is_a_conflict(kubernetes: Kubernetes) -> None:
    path = f"{PODS}/{name_of(await kubernetes.create(a_pod()))}"
    refusal = await kubernetes.call("DELETE", path, 409, {"preconditions": {"uid": str(uuid.uuid4())}})
    assert refusal["reason"] == "Conflict"
    await kubernetes.call("GET", path, 200)


async def test_collection_is_deleted_by_selector(kubernetes: Kubernetes) -> None:
    victim, other = a_pod(), a_pod()
    victim["metadata"]["labels"]["victim"] = "yes"
    await kubernetes.create(victim)
    await kubernetes.create(other)
    await kubernetes.call("DELETE", f"{PODS}?labelSelector=victim%3Dyes", 200)
    await kubernetes.call("GET", f"{PODS}/{name_of(victim)}", 404)
    await kubernetes.call("GET", f"{PODS}/{name_of(other)}", 200)


async def test_binding_gives_a_pod_its_node_once(kubernetes: Kubernetes) -> None:
    path = f"{PODS}/{name_of(await kubernetes.create(a_pod()))}"
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": path.rsplit("/", 1)[1]}}
    binding |= {"target": {"apiVersion": "v1", "kind": "Node", "name": "nobody"}}
    await kubernetes.call("POST", f"{path}/binding", 201, binding)
    pod = await kubernetes.call("GET", path, 200)
    assert pod["spec"]["nodeName"] == "nobody"
    assert {"PodScheduled": "True"}.items() <= {c["type"]: c["status"] for c in pod["status"]["conditions"]}.items()
    assert (await kubernetes.call("POST", f"{path}/binding", 409, binding))["reason"] == "Conflict"


async def watched(kubernetes: Kubernetes, count: int, **query: str) -> list[Json]:
    """The first ``count`` events of a watch of pods."""
    events: list[Json] = []
    async with (
        asyncio.timeout(60),
        kubernetes.http.stream("GET", PODS, params={"watch": "true", "timeoutSeconds": "8", **query}) as answer,
    ):
        assert answer.status_code == 200
        async for line in answer.aiter_lines():
            events.append(msgspec.json.decode(line))
            if len(events) == count:
                break
    return events


async def test_watch_continues_where_a_list_ended(kubernetes: Kubernetes) -> None:
    version = (await kubernetes.http.get(PODS)).json()["metadata"]["resourceVersion"]
    pod = await kubernetes.create(an_untouched_pod())
    patch = {"metadata": {"labels": {"turn": "two"}}}
    path = f"{PODS}/{name_of(pod)}"
    await kubernetes.call("PATCH", path, 200, patch, Content_Type="application/merge-patch+json")
    await kubernetes.call("DELETE", f"{path}?gracePeriodSeconds=0", 200)
    events = await watched(kubernetes, 4, resourceVersion=version, fieldSelector=f"metadata.name={name_of(pod)}")
    assert [event["type"] for event in events] == ["ADDED", "MODIFIED", "MODIFIED", "DELETED"]
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in events]
    assert versions == sorted(set(versions))


async def test_watch_without_a_version_begins_with_what_is_there(kubernetes: Kubernetes) -> None:
    pod = await kubernetes.create(a_pod())
    events = await watched(kubernetes, 1, fieldSelector=f"metadata.name={name_of(pod)}")
    assert [(event["type"], name_of(event["object"])) for event in events] == [("ADDED", name_of(pod))]


async def test_leaving_a_watchs_selector_is_a_deletion(kubernetes: Kubernetes) -> None:
    pod = await kubernetes.create(an_untouched_pod())
    version = pod["metadata"]["resourceVersion"]
    patch = {"metadata": {"labels": {"suite": "other"}}}
    path = f"{PODS}/{name_of(pod)}"
    await kubernetes.call("PATCH", path, 200, patch, Content_Type="application/merge-patch+json")
    events = await watched(kubernetes, 1, resourceVersion=version, labelSelector="suite=contract")
    assert [event["type"] for event in events] == ["DELETED"]


async def test_watch_ends_at_its_timeout(kubernetes: Kubernetes) -> None:
    query = {
        "timeoutSeconds": "1",
        "resourceVersion": (await kubernetes.http.get(PODS)).json()["metadata"]["resourceVersion"],
    }
    assert await watched(kubernetes, 1, **query, fieldSelector="metadata.name=nobody") == []


async def test_lists_and_single_objects_are_printed_as_tables(kubernetes: Kubernetes) -> None:
    pod = await kubernetes.create(a_pod())
    for path in (PODS, f"{PODS}/{name_of(pod)}"):
        table = await kubernetes.call("GET", path, 200, Accept=TABLE)
        columns = [column["name"] for column in table["columnDefinitions"]]
        assert (table["kind"], columns[:5]) == ("Table", ["Name", "Ready", "Status", "Restarts", "Age"])
        row = next(row for row in table["rows"] if row["cells"][0] == name_of(pod))
        assert row["cells"][1:3] == ["0/1", "Pending"]
        assert row["object"]["kind"] == "PartialObjectMetadata"


async def test_discovery_names_pods_and_their_subresources(kubernetes: Kubernetes) -> None:
    resources = (await kubernetes.call("GET", "/api/v1", 200))["resources"]
    names = {entry["name"] for entry in resources}
    assert names >= {
        "pods",
        "pods/log",
        "pods/status",
        "pods/binding",
        "pods/eviction",
        "pods/resize",
        "nodes",
        "events",
        "namespaces",
    }
    assert int((await kubernetes.call("GET", "/version", 200))["minor"].rstrip("+")) >= 20
    for path in ("/healthz", "/livez", "/readyz"):
        assert (await kubernetes.http.get(path)).text == "ok"


async def test_pod_in_an_unknown_namespace_is_not_found(kubernetes: Kubernetes) -> None:
    refusal = await kubernetes.call("POST", "/api/v1/namespaces/nowhere/pods", 404, a_pod())
    assert refusal["message"] == 'namespaces "nowhere" not found'
