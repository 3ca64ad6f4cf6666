"""Bound pods of all namespaces: what is asked for, and how it is read."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import msgspec
import pytest

from tests.support.fake_kubernetes import Answer, FakeApi, Stream, event, listing
from yodel.kube.decode import decode_holding, decode_holding_page
from yodel.kube.holdings import watched_holdings
from yodel.kube.watch_loop import watch
from yodel.ports.pods import PodHolding

pytestmark = pytest.mark.looptime


class Sink:
    """A HoldingSink with a transcript."""

    def __init__(self) -> None:
        self.transcript: list[tuple[str, Any]] = []
        self.gone = asyncio.Event()

    def holdings_listed(self, pods: Sequence[PodHolding]) -> None:
        self.transcript.append(("listed", [(pod.namespace, pod.name, pod.node_name) for pod in pods]))

    def holding_seen(self, pod: PodHolding) -> None:
        self.transcript.append(("seen", dict(pod.amounts)))

    def holding_gone(self, pod: PodHolding) -> None:
        self.transcript.append(("gone", pod.name))
        self.gone.set()


def pod(name: str, cpu: str = "1", **status: Any) -> dict[str, Any]:
    containers = [{"name": "main", "image": "x", "resources": {"requests": {"cpu": cpu}, "limits": {"cpu": "64"}}}]
    labels = {"yodel.io/application": "application_1_0001"}
    metadata = {"name": name, "namespace": "web", "uid": f"uid-{name}", "resourceVersion": "7", "labels": labels}
    return {"metadata": metadata, "spec": {"nodeName": "n1", "containers": containers}, "status": status}


async def test_bound_pods_of_all_namespaces_are_watched() -> None:
    api = FakeApi(
        Answer(body=listing(9, pod("a"))),
        Stream(chunks=(event("ADDED", pod("b", "2")), event("DELETED", pod("a")))),
    )
    sink, loop = Sink(), asyncio.get_running_loop()
    task = asyncio.create_task(watch(api, watched_holdings(sink), clock=loop.time, random=lambda: 0.0))
    async with asyncio.timeout(60):
        await sink.gone.wait()
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    assert sink.transcript == [
        ("listed", [("web", "a", "n1")]),
        ("seen", {"cpu": 2000, "pods": 1000}),
        ("gone", "a"),
    ]
    selector = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"
    for asked in api.server.asked:
        assert asked.path == "/api/v1/pods"
        assert asked.query["fieldSelector"] == selector


def read(body: dict[str, Any]) -> PodHolding:
    return decode_holding(json.dumps(body).encode())


def test_a_holding_names_pod_node_and_application() -> None:
    found = read(pod("a"))
    assert (found.namespace, found.name, found.uid, found.resource_version) == ("web", "a", "uid-a", "7")
    assert (found.node_name, found.application) == ("n1", "application_1_0001")


def test_what_the_kubelet_has_allocated_counts_while_it_is_more() -> None:
    shrinking = pod("a", "1", containerStatuses=[{"allocatedResources": {"cpu": "3"}}, {"name": "side"}])
    assert read(shrinking).amounts == {"cpu": 3000, "pods": 1000}
    growing = pod("a", "4", containerStatuses=[{"allocatedResources": {"cpu": "3"}}])
    assert read(growing).amounts == {"cpu": 4000, "pods": 1000}


def test_sidecars_overhead_and_requests_of_the_whole_pod_are_read() -> None:
    body = pod("a")
    sidecar = {"resources": {"requests": {"cpu": "500m"}}, "restartPolicy": "Always"}
    body["spec"] |= {"initContainers": [sidecar], "overhead": {"memory": "1Ki"}}
    assert read(body).amounts == {"cpu": 1500, "memory": 1024 * 1000, "pods": 1000}
    body["spec"]["resources"] = {"requests": {"cpu": "8"}}
    assert read(body).amounts["cpu"] == 8000


def test_little_is_needed() -> None:
    assert read({"metadata": {"name": "a"}}).amounts == {"pods": 1000}
    page = decode_holding_page(json.dumps({"metadata": {"continue": "more"}, "items": None}).encode())
    assert (list(page.items), page.continuation) == ([], "more")
    with pytest.raises(msgspec.DecodeError):
        decode_holding(b'{"spec": {}}')
