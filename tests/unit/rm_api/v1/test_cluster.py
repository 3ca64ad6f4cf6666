"""Queues and nodes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.api_rows import GONE, MASTER, NODE, RUNNING, TASK, api_get
from tests.support.rest_world import RestWorld
from yodel.domain.preemption.rules import PreemptionRules
from yodel.domain.queues.queue import QueueState
from yodel.domain.resource import Resource
from yodel.domain.states import NodeState
from yodel.ports.kube_nodes import NodeObservation
from yodel.rm_api.v1 import cursors
from yodel.translator.dialects import dialect
from yodel.translator.pools import rules_of


async def test_queues_are_listed_by_path_with_what_is_held(filled: RestWorld) -> None:
    page = await api_get(filled, "/api/v1/queues")
    root, default = page["items"]
    assert (root["path"], root["is_leaf"], root["parent"]) == ("root", False, None)
    assert (default["path"], default["name"], default["parent"]) == ("root.default", "default", "root")
    assert (default["running_applications"], default["users"]) == (1, ["alice"])
    assert (default["used"]["memory_mib"], default["used_percent"], default["containers"]) == (4096, 50.0, 2)
    assert (default["starting"]["memory_mib"], default["starting_containers"]) == (2048, 1)
    assert page["next_cursor"] is None


async def test_a_stopped_queue_with_applications_drains(filled: RestWorld) -> None:
    queue = filled.rm.state.queues["root.default"]
    await filled.rm.engine.do(lambda tx: tx.queues.rows.append(replace(queue, state=QueueState.STOPPED)))
    assert (await api_get(filled, "/api/v1/queues/root.default"))["state"] == "DRAINING"


async def test_queues_are_paged(filled: RestWorld) -> None:
    first = await api_get(filled, "/api/v1/queues?limit=1")
    second = await api_get(filled, f"/api/v1/queues?limit=1&cursor={first['next_cursor']}")
    assert [page["items"][0]["path"] for page in (first, second)] == ["root", "root.default"]
    assert second["next_cursor"] is None


@pytest.mark.parametrize("name", ["root.default", "default"])
async def test_queue_is_found_by_path_and_by_name(filled: RestWorld, name: str) -> None:
    assert (await api_get(filled, f"/api/v1/queues/{name}"))["path"] == "root.default"


async def test_queue_says_whether_it_gives_back(filled: RestWorld) -> None:
    async def given() -> tuple[bool, bool]:
        found = await api_get(filled, "/api/v1/queues/root.default")
        return found["is_preemptable"], found["is_intra_queue_preemptable"]

    assert await given() == (False, False)
    for is_within in (False, True):
        filled.rm.quotas.preemption = PreemptionRules(is_enabled=True, is_intra_queue_enabled=is_within)
        assert await given() == (True, is_within)


async def test_unknown_queue_is_404(filled: RestWorld) -> None:
    problem = await api_get(filled, "/api/v1/queues/nope", 404)
    assert problem["detail"] == "Queue 'nope' doesn't exist."
    assert problem["hint"] == "List the queues with `yodel queue list`; give a path, e.g. root.default."


@pytest.mark.parametrize(
    ("query", "expected"),
    [("", [NODE, GONE]), ("?state=LOST", [GONE]), ("?label=gpu", [NODE]), ("?state=SHUTDOWN", [])],
)
async def test_nodes_are_found_by_state_and_label(filled: RestWorld, query: str, expected: list[object]) -> None:
    items = (await api_get(filled, f"/api/v1/nodes{query}"))["items"]
    assert [item["id"] for item in items] == [str(node.id) for node in expected]  # type: ignore[attr-defined]


async def test_nodes_are_paged(filled: RestWorld) -> None:
    first = await api_get(filled, "/api/v1/nodes?limit=1")
    second = await api_get(filled, f"/api/v1/nodes?limit=1&cursor={first['next_cursor']}")
    assert [item["id"] for item in first["items"] + second["items"]] == [str(NODE.id), str(GONE.id)]


async def test_node_says_what_it_lends_and_why(filled: RestWorld) -> None:
    node = await api_get(filled, f"/api/v1/nodes/{NODE.id}")
    assert node["allocation"] == {
        "allocatable": {"memory_mib": 8192, "vcores": 8, "others": {}},
        "used": {"memory_mib": 4096, "vcores": 4, "others": {}},
        "free": {"memory_mib": 4096, "vcores": 4, "others": {}},
        "decided_by": "node agent",
        "source": "registered by node agent",
    }
    now, old = node["allocation"], node["lending"]
    assert (old["lent"], old["why"]) == (now["allocatable"], now["source"])
    assert [old[name] for name in ("used", "free", "decided_by")] == [
        now[name] for name in ("used", "free", "decided_by")
    ]
    assert node["measured"]["containers"] == {"memory_mib": 300, "cpu_cores": 0.5}
    assert (node["kubernetes_node"], node["http_address"], node["labels"]) == ("kube-1", "node-1:8042", ["gpu"])
    assert [found["id"] for found in node["container_list"]] == [str(MASTER.id), str(TASK.id)]


async def test_node_that_is_gone_lends_nothing(filled: RestWorld) -> None:
    node = await api_get(filled, f"/api/v1/nodes/{GONE.id}")
    assert (node["capacity"]["memory_mib"], node["allocation"]["allocatable"]["memory_mib"]) == (4096, 0)
    assert (node["allocation"]["source"], node["measured"]) == ("none: the node is LOST (silent)", None)


async def test_ordered_and_leaving_nodes_say_so(filled: RestWorld) -> None:
    ordered = replace(NODE, capability=Resource(5120, 5), ordered_capability=Resource(5120, 5))
    await filled.put(ordered)
    allocation = (await api_get(filled, f"/api/v1/nodes/{NODE.id}"))["allocation"]
    assert (allocation["decided_by"], allocation["allocatable"]["memory_mib"]) == ("administrator", 5120)
    await filled.put(replace(NODE, state=NodeState.DECOMMISSIONING))
    allocation = (await api_get(filled, f"/api/v1/nodes/{NODE.id}"))["allocation"]
    assert (allocation["allocatable"]["memory_mib"], allocation["free"]["memory_mib"]) == (4096, 0)
    assert allocation["source"].startswith("decommissioning: ")


@pytest.mark.parametrize(("node", "status"), [("nope:1", 404), ("nope", 400), ("a:99999", 400)])
async def test_unknown_and_malformed_nodes_are_told_apart(filled: RestWorld, node: str, status: int) -> None:
    await api_get(filled, f"/api/v1/nodes/{node}", status)


async def test_node_hides_containers_of_applications_that_are_hidden(guarded: RestWorld) -> None:
    node = await api_get(guarded, f"/api/v1/nodes/{NODE.id}?user.name=bob")
    assert (node["containers"], node["container_list"]) == (2, [])
    guarded.client.cookies.clear()
    owners = await api_get(guarded, f"/api/v1/nodes/{NODE.id}?user.name={RUNNING.submission.user}")
    assert len(owners["container_list"]) == 2


async def test_pool_of_ordinary_capacity_is_what_agents_registered(filled: RestWorld) -> None:
    page = await api_get(filled, "/api/v1/pools")
    assert page == {
        "items": [
            {
                "name": "native",
                "dialects": ["native"],
                "resources": ["cpu", "memory"],
                "size": {"memory_mib": 8192, "vcores": 8, "others": {}},
                "used": {"memory_mib": 6144, "vcores": 6, "others": {}},
                "free": {"memory_mib": 2048, "vcores": 2, "others": {}},
                "nodes": 1,
                "queues": ["root.default"],
            }
        ],
        "next_cursor": None,
    }


async def test_pools_are_paged(filled: RestWorld) -> None:
    first = await api_get(filled, "/api/v1/pools?limit=1")
    after = cursors.encoded("pools", "native")
    assert [one["name"] for one in first["items"]] == ["native"]
    assert (await api_get(filled, f"/api/v1/pools?cursor={after}"))["items"] == []
    await api_get(filled, "/api/v1/pools?cursor=zzz", 400)


async def test_pool_and_nodes_are_what_kubernetes_nodes_publish_whatever_agents_register(filled: RestWorld) -> None:
    """Two vcores are published and six held: the cluster is two large, and has nothing free."""
    core = filled.rm
    core.lending.use(rules_of(dialect("koordinator"), {}, 1000))
    allocatable = {"cpu": "64", "kubernetes.io/batch-cpu": "2000", "kubernetes.io/batch-memory": str(16 << 30)}
    core.facts.node_seen(
        NodeObservation(name="kube-1", uid="u", resource_version="1", ready=True, allocatable=allocatable)
    )
    (pool,) = (await api_get(filled, "/api/v1/pools"))["items"]
    assert (pool["name"], pool["resources"]) == (
        "koordinator",
        ["kubernetes.io/batch-cpu", "kubernetes.io/batch-memory"],
    )
    assert (pool["size"]["vcores"], pool["used"]["vcores"], pool["free"]["vcores"]) == (2, 6, 0)
    assert pool["free"]["memory_mib"] == 16384 - 6144
    node = await api_get(filled, f"/api/v1/nodes/{NODE.id}")
    assert (
        node["capacity"]["vcores"],
        node["allocation"]["allocatable"]["vcores"],
        node["allocation"]["free"]["vcores"],
    ) == (
        2,
        2,
        0,
    )
    assert node["allocation"]["decided_by"] == "kubernetes node"
    assert node["allocation"]["source"] == (
        "published by its Kubernetes node: kubernetes.io/batch-cpu, kubernetes.io/batch-memory"
    )
    metrics = (await filled.json("/metrics"))["clusterMetrics"]
    assert (metrics["totalVirtualCores"], metrics["totalMB"]) == (2, 16384)
    (shown,) = [one for one in (await filled.json("/nodes"))["nodes"]["node"] if one["id"] == str(NODE.id)]
    assert (shown["totalResource"]["vCores"], shown["availableVirtualCores"]) == (2, 0)

    await filled.put(replace(NODE, capability=Resource(4096, 1), ordered_capability=Resource(4096, 1)))
    allocation = (await api_get(filled, f"/api/v1/nodes/{NODE.id}"))["allocation"]
    assert (allocation["allocatable"], allocation["decided_by"]) == (
        {"memory_mib": 4096, "vcores": 1, "others": {}},
        "administrator",
    )
    assert allocation["source"] == (
        "set by an administrator, at most published by its Kubernetes node: "
        "kubernetes.io/batch-cpu, kubernetes.io/batch-memory"
    )
