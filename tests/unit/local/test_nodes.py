from __future__ import annotations

from tests.unit.local.conftest import FakeClock
from yodel.local.nodes import BATCH_CPU, BATCH_MEMORY, FIXED, LocalNode, NodeKeeper
from yodel.local.objects import ObjectStore
from yodel.local.registry import Registry
from yodel.translator.names import PUBLISHED

NODE = LocalNode(name="n", address="127.0.0.7", cpu_milli=1500, memory_bytes=5, batch_cpu_milli=700, labels={"a": "b"})


def test_node_is_published_with_its_capacity(store: ObjectStore, registry: Registry, clock: FakeClock) -> None:
    NodeKeeper(store, registry, (NODE,), clock).register()
    node = store.get("nodes", "", "n").item
    assert node["status"]["allocatable"] == {"cpu": "1500m", "memory": "5", "pods": "1000", BATCH_CPU: "700"}
    assert node["metadata"]["labels"]["a"] == "b"
    assert node["status"]["addresses"][0] == {"type": "InternalIP", "address": "127.0.0.7"}


def test_what_others_published_is_kept_and_missing_nodes_go(
    store: ObjectStore, registry: Registry, clock: FakeClock
) -> None:
    NodeKeeper(store, registry, (NODE, LocalNode(name="other")), clock).register()
    published = {"status": {"allocatable": {BATCH_MEMORY: "9"}}}
    registry.patch("nodes", "", "n", "status", "application/merge-patch+json", published)
    NodeKeeper(store, registry, (NODE,), clock).register()
    assert [record.key[2] for record in store.list("nodes")] == ["n"]
    assert store.get("nodes", "", "n").item["status"]["allocatable"][BATCH_MEMORY] == "9"


def test_what_an_earlier_start_fixed_makes_room_for_what_is_measured_and_back(
    store: ObjectStore, registry: Registry, clock: FakeClock
) -> None:
    NodeKeeper(store, registry, (NODE,), clock).register()
    measuring = LocalNode(name="n")
    NodeKeeper(store, registry, (measuring,), clock).register()
    assert BATCH_CPU not in store.get("nodes", "", "n").item["status"]["capacity"]
    measured = {
        "metadata": {"annotations": {PUBLISHED: BATCH_CPU}},
        "status": {"capacity": {BATCH_CPU: "900"}, "allocatable": {BATCH_CPU: "900"}},
    }
    registry.patch("nodes", "", "n", "status", "application/merge-patch+json", measured)
    NodeKeeper(store, registry, (measuring,), clock).register()
    kept = store.get("nodes", "", "n").item
    assert (kept["status"]["capacity"][BATCH_CPU], kept["metadata"]["annotations"]) == ("900", {PUBLISHED: BATCH_CPU})
    NodeKeeper(store, registry, (NODE,), clock).register()
    fixed = store.get("nodes", "", "n").item
    assert (fixed["status"]["allocatable"][BATCH_CPU], fixed["metadata"]["annotations"]) == ("700", {FIXED: BATCH_CPU})


def test_heartbeat_renews_the_time_but_not_the_transition(
    store: ObjectStore, registry: Registry, clock: FakeClock
) -> None:
    keeper = NodeKeeper(store, registry, (NODE,), clock)
    keeper.register()
    clock.move(60)
    keeper.heartbeat()
    ready = next(c for c in store.get("nodes", "", "n").item["status"]["conditions"] if c["type"] == "Ready")
    assert (ready["lastHeartbeatTime"], ready["lastTransitionTime"]) == ("2024-01-01T00:01:00Z", "2024-01-01T00:00:00Z")
