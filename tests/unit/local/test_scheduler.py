from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from yodel.local.events import EventRecorder
from yodel.local.nodes import LocalNode, NodeKeeper
from yodel.local.objects import ObjectStore
from yodel.local.registry import DeleteOptions, Registry
from yodel.local.scheduler import PodScheduler
from yodel.local.statuses import Json

NODE = LocalNode(name="n1", cpu_milli=1000, memory_bytes=2**30)


def a_scheduler(store: ObjectStore, registry: Registry, clock: Callable[[], datetime]) -> PodScheduler:
    NodeKeeper(store, registry, (NODE,), clock).register()
    return PodScheduler(store, registry, EventRecorder(store, clock), clock)


def a_pod(name: str, cpu: str = "600m", **spec: Any) -> Json:
    container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": cpu}}}
    return {"metadata": {"name": name}, "spec": {"restartPolicy": "Never", "containers": [container], **spec}}


def node_of(store: ObjectStore, name: str) -> str | None:
    found: str | None = store.get("pods", "default", name).item["spec"].get("nodeName")
    return found


def test_pending_pods_are_bound_whatever_scheduler_they_name(
    store: ObjectStore, registry: Registry, clock: Callable[[], datetime]
) -> None:
    scheduler = a_scheduler(store, registry, clock)
    registry.create("pods", "default", a_pod("a", schedulerName="koord-scheduler"))
    scheduler.schedule_waiting()
    assert node_of(store, "a") == "n1"
    event = next(store.records("events")).item
    assert (event["reason"], event["source"]["component"]) == ("Scheduled", "koord-scheduler")
    condition = store.get("pods", "default", "a").item["status"]["conditions"][0]
    assert (condition["type"], condition["status"]) == ("PodScheduled", "True")


def test_pod_that_does_not_fit_waits_for_capacity(
    store: ObjectStore, registry: Registry, clock: Callable[[], datetime]
) -> None:
    scheduler = a_scheduler(store, registry, clock)
    registry.create("pods", "default", a_pod("a"))
    registry.create("pods", "default", a_pod("b"))
    scheduler.schedule_waiting()
    assert node_of(store, "b") is None
    condition = store.get("pods", "default", "b").item["status"]["conditions"][0]
    assert (condition["reason"], condition["message"]) == (
        "Unschedulable",
        "0/1 nodes are available: 1 Insufficient cpu.",
    )
    before = store.version
    scheduler.schedule_waiting()
    assert store.version == before
    registry.delete("pods", "default", "a", DeleteOptions(grace_s=0))
    scheduler.schedule_waiting()
    assert node_of(store, "b") == "n1"


def test_terminal_pod_frees_its_node(store: ObjectStore, registry: Registry, clock: Callable[[], datetime]) -> None:
    scheduler = a_scheduler(store, registry, clock)
    registry.create("pods", "default", a_pod("a"))
    registry.create("pods", "default", a_pod("b"))
    scheduler.schedule_waiting()
    done = {"status": {"phase": "Succeeded"}}
    registry.patch("pods", "default", "a", "status", "application/merge-patch+json", done)
    scheduler.schedule_waiting()
    assert node_of(store, "b") == "n1"


def test_grown_node_is_tried_again(store: ObjectStore, registry: Registry, clock: Callable[[], datetime]) -> None:
    scheduler = a_scheduler(store, registry, clock)
    registry.create("pods", "default", a_pod("a", cpu="2"))
    scheduler.schedule_waiting()
    assert node_of(store, "a") is None
    grown = {"status": {"allocatable": {"cpu": "3"}}}
    registry.patch("nodes", "", "n1", "status", "application/merge-patch+json", grown)
    scheduler.schedule_waiting()
    assert node_of(store, "a") == "n1"


def test_use_is_known_again_after_a_restart(
    store: ObjectStore, registry: Registry, clock: Callable[[], datetime]
) -> None:
    registry.create("pods", "default", a_pod("a", nodeName="n1"))
    registry.create("pods", "default", a_pod("b"))
    scheduler = a_scheduler(store, registry, clock)
    scheduler.schedule_waiting()
    assert node_of(store, "b") is None


def beside(label: str, kind: str = "podAffinity") -> Json:
    selector = {"matchExpressions": [{"key": label, "operator": "Exists"}]}
    terms = [{"topologyKey": "kubernetes.io/hostname", "labelSelector": selector}]
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def test_pod_that_wants_company_is_placed_when_that_is(
    store: ObjectStore, registry: Registry, clock: Callable[[], datetime]
) -> None:
    scheduler = a_scheduler(store, registry, clock)
    registry.create("pods", "default", a_pod("a", cpu="100m", affinity=beside("zk")))
    scheduler.schedule_waiting()
    assert node_of(store, "a") is None
    zk = a_pod("zk", cpu="100m")
    registry.create("pods", "default", {**zk, "metadata": {"name": "zk", "labels": {"zk": ""}}})
    scheduler.schedule_waiting()
    scheduler.schedule_waiting()
    assert (node_of(store, "zk"), node_of(store, "a")) == ("n1", "n1")


def test_pod_that_stands_apart_waits_until_the_other_is_gone(
    store: ObjectStore, registry: Registry, clock: Callable[[], datetime]
) -> None:
    scheduler = a_scheduler(store, registry, clock)
    for name in ("a", "b"):
        pod = a_pod(name, cpu="100m", affinity=beside("zk", "podAntiAffinity"))
        registry.create("pods", "default", {**pod, "metadata": {"name": name, "labels": {"zk": ""}}})
    scheduler.schedule_waiting()
    assert (node_of(store, "a"), node_of(store, "b")) == ("n1", None)
    message = store.get("pods", "default", "b").item["status"]["conditions"][0]["message"]
    assert message == "0/1 nodes are available: 1 node(s) didn't match pod anti-affinity rules."
    registry.delete("pods", "default", "a", DeleteOptions(grace_s=0))
    scheduler.schedule_waiting()
    assert node_of(store, "b") == "n1"
