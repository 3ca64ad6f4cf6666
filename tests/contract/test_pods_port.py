"""The Pods port and the watch keep their promises, held against an API server: the embedded one.

The suite uses nothing but the Kubernetes API (scheduler and kubelet are played through ``binding`` and ``status``), so
the same functions hold for a cluster's API server.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.embedded_kubernetes import embedded_kubernetes
from tests.support.fake_kubernetes import RecordingSink
from yodel.domain.backoff import Backoff
from yodel.errors import Refused
from yodel.kube.api import ApiRequest, ApiStatus
from yodel.kube.client import KubeClient, check_reachable, open_kube
from yodel.kube.nodes import list_nodes
from yodel.kube.pod_driver import PodDriver
from yodel.kube.watch_loop import WatchLimits, watch, watched_pods
from yodel.ports.pods import PodPhase

NAMESPACE = "contract"
SELECTOR = "app.kubernetes.io/managed-by=yodel,yodel.io/cluster=test"
LIMITS = WatchLimits(page_size=2, backoff=Backoff(initial_s=0.05, cap_s=0.5))


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[KubeClient]:
    async with embedded_kubernetes(tmp_path) as kubeconfig, await open_kube(kubeconfig, None) as connected:
        await send(connected, "POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        node = {
            "metadata": {"name": "node-1", "labels": {"zone": "a"}},
            "status": {"allocatable": {"cpu": "4", "memory": "8Gi"}},
        }
        await send(connected, "POST", "/api/v1/nodes", node)
        yield connected


@pytest.fixture
def pods(client: KubeClient) -> PodDriver:
    return PodDriver(client, NAMESPACE)


async def send(client: KubeClient, method: str, path: str, body: Any) -> None:
    await client.call(ApiRequest(method=method, path=path, body=msgspec.json.encode(body)))


def manifest(name: str, container_id: str = "container_1_0001_01_000002", cluster: str = "test") -> dict[str, Any]:
    labels = {
        "app.kubernetes.io/managed-by": "yodel",
        "yodel.io/cluster": cluster,
        "yodel.io/container-id": container_id,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 30,
            "containers": [{"name": "main", "image": "busybox", "command": ["sh"]}],
        },
    }


async def bind(client: KubeClient, name: str) -> None:
    """Bind a pod to the node, as the scheduler does."""
    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "node-1"},
    }
    await send(client, "POST", f"/api/v1/namespaces/{NAMESPACE}/pods/{name}/binding", body)


async def end(client: KubeClient, name: str, exit_code: int) -> None:
    """End a pod as the kubelet does: the status is read, changed and written back."""
    path = f"/api/v1/namespaces/{NAMESPACE}/pods/{name}"
    pod = msgspec.json.decode(await client.call(ApiRequest(path=path)))
    terminated = {"exitCode": exit_code, "reason": "Error", "finishedAt": "2026-01-02T03:04:05Z"}
    state = {"name": "main", "image": "busybox", "imageID": "", "ready": False, "restartCount": 0}
    pod["status"] = {"phase": "Failed", "containerStatuses": [{**state, "state": {"terminated": terminated}}]}
    await send(client, "PUT", f"{path}/status", pod)


@asynccontextmanager
async def watching(client: KubeClient) -> AsyncIterator[RecordingSink]:
    sink = RecordingSink()
    loop = watch(
        client, watched_pods(NAMESPACE, SELECTOR, sink), clock=time.monotonic, random=lambda: 0.5, limits=LIMITS
    )
    task = asyncio.create_task(loop)
    try:
        yield sink
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_the_server_is_reachable_and_tells_its_version(client: KubeClient) -> None:
    assert (await check_reachable(client)).startswith("v1.")


async def test_a_created_pod_can_be_read(pods: PodDriver) -> None:
    await pods.create(manifest("a"))
    seen = await pods.get("a")
    assert seen is not None
    assert (seen.name, seen.phase, seen.node_name) == ("a", PodPhase.PENDING, None)
    assert seen.uid
    assert int(seen.resource_version) > 0
    assert abs(seen.created_ms - time.time() * 1000) < 600_000


async def test_creating_again_is_success(pods: PodDriver) -> None:
    await pods.create(manifest("a"))
    first = await pods.get("a")
    await pods.create(manifest("a"))
    assert await pods.get("a") == first


def sized(name: str, **amounts: str) -> dict[str, Any]:
    body = manifest(name)
    body["spec"]["containers"][0]["resources"] = {"requests": amounts, "limits": amounts}
    return body


async def test_a_pod_is_resized_in_place(client: KubeClient, pods: PodDriver) -> None:
    await pods.create(sized("a", cpu="1", memory="1Gi"))
    await bind(client, "a")
    before = await pods.get("a")
    await pods.resize(sized("a", cpu="2", memory="2Gi"))

    path = f"/api/v1/namespaces/{NAMESPACE}/pods/a"
    (container,) = msgspec.json.decode(await client.call(ApiRequest(path=path)))["spec"]["containers"]
    assert container["resources"]["limits"] == container["resources"]["requests"] == {"cpu": "2", "memory": "2Gi"}
    after = await pods.get("a")
    assert before is not None
    assert after is not None
    assert (after.uid, after.node_name) == (before.uid, "node-1")


async def test_no_pod_grows_beyond_its_node(client: KubeClient, pods: PodDriver) -> None:
    await pods.create(sized("a", cpu="1", memory="1Gi"))
    await bind(client, "a")
    words = r"node didn't have enough allocatable resources: cpu, requested: 5000, allocatable: 4000"
    with pytest.raises(Refused, match=words):
        await pods.resize(sized("a", cpu="5", memory="1Gi"))


async def test_only_cpu_and_memory_can_be_resized(pods: PodDriver) -> None:
    await pods.create(sized("a", **{"example.com/gpu": "1"}))
    with pytest.raises(Refused, match="only cpu and memory resources are mutable"):
        await pods.resize(sized("a", **{"example.com/gpu": "2"}))


async def test_resizing_a_pod_that_is_gone_is_success(pods: PodDriver) -> None:
    await pods.resize(sized("nobody", cpu="1"))


async def test_the_name_of_a_strangers_pod_is_refused(pods: PodDriver) -> None:
    await pods.create(manifest("a"))
    with pytest.raises(Refused, match="belongs to somebody else"):
        await pods.create(manifest("a", container_id="container_1_0001_01_000099"))


async def test_an_invalid_manifest_is_refused_with_the_servers_words(pods: PodDriver) -> None:
    broken = manifest("a")
    broken["spec"]["containers"] = []
    with pytest.raises(Refused, match=r"spec\.containers"):
        await pods.create(broken)


async def test_a_namespace_that_does_not_exist_is_refused(client: KubeClient) -> None:
    with pytest.raises(Refused, match="nowhere"):
        await PodDriver(client, "nowhere").create(manifest("a"))


def of_class(name: str) -> dict[str, Any]:
    body = manifest("a")
    body["spec"]["priorityClassName"] = name
    return body


async def test_a_tried_pod_has_its_priority_and_is_not_there(pods: PodDriver) -> None:
    assert await pods.priority_of(manifest("a")) == 0
    assert await pods.priority_of(of_class("system-node-critical")) == 2_000_001_000
    assert await pods.get("a") is None
    await pods.create(manifest("a"))
    with pytest.raises(Refused, match='"a" already exists'):
        await pods.priority_of(manifest("a"))


async def test_a_priority_class_that_is_missing_is_named(pods: PodDriver) -> None:
    words = 'pods "a" is forbidden: no PriorityClass with name koord-batch was found'
    for attempt in (pods.priority_of, pods.create):
        with pytest.raises(Refused, match=words):
            await attempt(of_class("koord-batch"))
    wrong = of_class("system-node-critical")
    wrong["spec"]["priority"] = 7
    with pytest.raises(Refused, match=r"the integer value of priority \(7\) must not be provided in pod spec"):
        await pods.priority_of(wrong)


async def test_every_change_can_be_tried(client: KubeClient, pods: PodDriver) -> None:
    """The server answers or refuses a dry run as if the change were made, and nothing is changed."""

    async def tried(method: str, path: str, body: Any, kind: str = "application/json", run: str = "All") -> Any:
        encoded = msgspec.json.encode(body)
        request = ApiRequest(method=method, path=path, query={"dryRun": run}, body=encoded, content_type=kind)
        return msgspec.json.decode(await client.call(request))

    await pods.create(manifest("a"))
    path = f"/api/v1/namespaces/{NAMESPACE}/pods/a"
    before = await client.call(ApiRequest(path=path))
    patch = {"metadata": {"labels": {"tried": "yes"}}}
    answer = await tried("PATCH", path, patch, "application/merge-patch+json")
    assert answer["metadata"]["labels"]["tried"] == "yes"
    whole = msgspec.json.decode(before)
    assert answer["metadata"]["resourceVersion"] == whole["metadata"]["resourceVersion"]
    whole["metadata"]["labels"]["tried"] = "too"
    assert (await tried("PUT", path, whole))["metadata"]["labels"]["tried"] == "too"
    whole["metadata"]["resourceVersion"] = "1"
    with pytest.raises(ApiStatus, match="the object has been modified"):
        await tried("PUT", path, whole)
    target = {"apiVersion": "v1", "kind": "Node", "name": "node-1"}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "a"}, "target": target}
    await tried("POST", f"{path}/binding", binding)
    await tried("DELETE", path, {"kind": "DeleteOptions", "apiVersion": "v1", "dryRun": ["All"]})
    with pytest.raises(ApiStatus, match=r'Unsupported value: \["Some"\]: supported values: "All"'):
        await tried("PATCH", path, patch, "application/merge-patch+json", run="Some")
    assert await client.call(ApiRequest(path=path)) == before


async def test_what_is_not_there_reads_as_none_and_deletes_as_success(pods: PodDriver) -> None:
    assert await pods.get("a") is None
    await pods.delete("a")


async def test_an_unbound_pod_is_gone_at_once(pods: PodDriver) -> None:
    await pods.create(manifest("a"))
    await pods.delete("a")
    assert await pods.get("a") is None


async def test_a_bound_pod_is_marked_and_no_grace_removes_it(client: KubeClient, pods: PodDriver) -> None:
    await pods.create(manifest("a"))
    await bind(client, "a")
    await pods.delete("a", grace_s=20)
    marked = await pods.get("a")
    assert marked is not None
    assert (marked.deletion_requested, marked.node_name) == (True, "node-1")
    await pods.delete("a", grace_s=0)
    assert await pods.get("a") is None


async def test_the_end_of_the_main_container_is_read(client: KubeClient, pods: PodDriver) -> None:
    await pods.create(manifest("a"))
    await bind(client, "a")
    await end(client, "a", exit_code=42)
    seen = await pods.get("a")
    assert seen is not None
    assert (seen.phase, seen.exit_code, seen.terminated_reason) == (PodPhase.FAILED, 42, "Error")
    assert seen.finished_ms == 1767323045000


async def test_the_watch_lists_all_pages_and_tells_changes_of_selected_pods_in_order(
    client: KubeClient, pods: PodDriver
) -> None:
    for name in ("a", "b", "c", "d", "e"):
        await pods.create(manifest(name))
    await pods.create(manifest("stranger", cluster="other"))
    async with watching(client) as sink:
        assert await sink.heard(1) == [("listed", ["a", "b", "c", "d", "e"])]
        await pods.create(manifest("stranger-2", cluster="other"))
        await pods.create(manifest("f"))
        await sink.heard(2)
        await pods.delete("a")
        transcript = await sink.heard(4)
    assert transcript[1:] == [("seen", "f"), ("seen", "a"), ("gone", "a")]
    assert sink.alive == {"b", "c", "d", "e", "f"}


async def test_nodes_are_listed(client: KubeClient) -> None:
    nodes = await list_nodes(client, selector="zone=a")
    assert [node.name for node in nodes] == ["node-1"]
    assert await list_nodes(client, selector="zone=b") == ()
