"""The ledger knows what is free: listings and watches in any order, assumptions, and the order of nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from yodel.domain.pod import PodHolding
from yodel.translator.ledger import LEVEL_MAX, ORDERS_MAX, NodeLedger

CPU = ("cpu",)
FOREVER_S = 1e9


@dataclass
class Node:
    name: str = "n1"
    allocatable: Mapping[str, str] = field(default_factory=lambda: {"cpu": "10", "pods": "10"})
    resource_version: str = "1"
    uid: str = "u"
    ready: bool = True
    unschedulable: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: list[dict[str, Any]] = field(default_factory=list)


def cpu(cores: float) -> dict[str, int]:
    return {"cpu": round(cores * 1000), "pods": 1000}


def held(name: str = "p", cores: float = 1, node: str = "n1", uid: str = "", version: int = 1) -> PodHolding:
    return PodHolding(
        namespace="ns",
        name=name,
        uid=uid or f"uid-{name}",
        resource_version=str(version),
        node_name=node,
        amounts=cpu(cores),
        application="a",
    )


def free_cores(ledger: NodeLedger, node: str = "n1") -> float:
    return ledger.nodes[node].free.get("cpu", 0) / 1000


def a_ledger(*nodes: Node) -> NodeLedger:
    ledger = NodeLedger()
    ledger.nodes_listed(nodes or (Node(),))
    ledger.pods_listed(())
    return ledger


def test_it_is_known_after_both_listings() -> None:
    ledger = NodeLedger()
    ledger.pods_listed([held()])
    assert not ledger.is_known
    ledger.nodes_listed([Node()])
    assert ledger.is_known
    assert free_cores(ledger) == 9  # pods may be told of before their node


def test_duplicates_count_once_and_the_newer_version_wins() -> None:
    ledger = a_ledger()
    for pod in (held(cores=1, version=3), held(cores=1, version=3), held(cores=4, version=2)):
        ledger.pod_seen(pod)
    assert free_cores(ledger) == 9
    ledger.pod_seen(held(cores=4, version=5))  # resized
    assert free_cores(ledger) == 6
    ledger.pod_gone(held(cores=4, version=6))
    ledger.pod_gone(held(cores=4, version=6))
    assert free_cores(ledger) == 10
    assert ledger.nodes["n1"].pods_of == {}


def test_versions_that_are_no_numbers_are_news() -> None:
    ledger = a_ledger()
    ledger.node_seen(Node(allocatable={"cpu": "4"}, resource_version="abc"))
    assert free_cores(ledger) == 4


def test_a_listing_is_the_truth_whatever_its_versions() -> None:
    ledger = a_ledger()
    ledger.pod_seen(held("gone", 3, version=9))
    ledger.pod_seen(held("stays", 1, version=9))
    ledger.pods_listed([held("stays", 2, version=4), held("new", 1)])  # a store that was set back
    assert free_cores(ledger) == 7
    ledger.nodes_listed([Node(allocatable={"cpu": "20"}, resource_version="0")])
    assert free_cores(ledger) == 17


def test_end_of_an_earlier_pod_of_the_name_changes_nothing() -> None:
    ledger = a_ledger()
    ledger.pod_seen(held(uid="new", version=8))
    ledger.pod_gone(held(uid="old", version=9))
    assert free_cores(ledger) == 9


def test_an_assumption_is_replaced_by_the_pod() -> None:
    ledger = a_ledger()
    ledger.assume(("ns", "p"), "n1", cpu(2), "a", FOREVER_S)
    assert free_cores(ledger) == 8
    growth = ledger.growth
    ledger.pod_seen(held(cores=2))
    assert free_cores(ledger) == 8
    assert ledger.assumed_node(("ns", "p")) is None
    assert ledger.growth == growth  # nothing came free
    assert ledger.nodes["n1"].pods_of == {"a": 1}


def test_the_pod_that_the_assumed_one_replaces_does_not_confirm_it() -> None:
    ledger = a_ledger(Node(), Node("n2"))
    ledger.pod_seen(held(uid="refused", version=4))
    ledger.assume(("ns", "p"), "n1", cpu(1), "a", FOREVER_S)
    ledger.pod_seen(held(uid="refused", version=5))
    assert free_cores(ledger) == 8
    ledger.pod_gone(held(uid="refused", version=6))
    assert free_cores(ledger) == 9
    ledger.pod_seen(held(uid="next", version=7))
    assert free_cores(ledger) == 9
    assert ledger.assumed_node(("ns", "p")) is None


def test_a_pod_elsewhere_than_assumed_counts_beside_the_assumption_until_that_falls() -> None:
    ledger = a_ledger(Node(), Node("n2"))
    ledger.assume(("ns", "p"), "n1", cpu(1), "a", 5.0)
    ledger.pod_seen(held(node="n2"))
    assert (free_cores(ledger), free_cores(ledger, "n2")) == (9, 9)
    ledger.expire(5.0)
    assert (free_cores(ledger), free_cores(ledger, "n2")) == (10, 9)


def test_assumptions_fall_when_their_time_is_up() -> None:
    ledger = a_ledger()
    ledger.assume(("ns", "p"), "n1", cpu(1), "a", 100.0)
    ledger.keep_until(("ns", "p"), 30.0)
    ledger.keep_until(("ns", "unknown"), 30.0)
    ledger.expire(29.9)
    assert free_cores(ledger) == 9
    growth = ledger.growth
    ledger.expire(30.0)
    assert free_cores(ledger) == 10
    assert ledger.growth > growth


def test_a_second_assumption_takes_the_place_of_the_first() -> None:
    ledger = a_ledger(Node(), Node("n2"))
    for node in ("n1", "n2"):
        ledger.assume(("ns", "p"), node, cpu(1), "a", FOREVER_S)
    assert (free_cores(ledger), free_cores(ledger, "n2")) == (10, 9)
    ledger.release(("ns", "p"))
    ledger.release(("ns", "p"))
    assert free_cores(ledger, "n2") == 10


def test_a_listing_leaves_assumptions_alone() -> None:
    ledger = a_ledger()
    ledger.assume(("ns", "p"), "n1", cpu(1), "a", FOREVER_S)
    ledger.pods_listed([])
    assert free_cores(ledger) == 9


def test_a_node_that_comes_back_is_as_full_as_its_pods_make_it() -> None:
    ledger = a_ledger()
    ledger.pod_seen(held(cores=3))
    ledger.node_gone("n1")
    assert "n1" not in ledger.nodes
    ledger.pod_seen(held("q", 2, version=2))
    ledger.pod_gone(held("q", 2, version=3))
    ledger.node_seen(Node(uid="another", resource_version="0"))
    assert free_cores(ledger) == 7
    ledger.node_gone("n1")
    ledger.pod_gone(held(cores=3, version=9))
    ledger.node_gone("n1")
    ledger.node_seen(Node())
    assert free_cores(ledger) == 10


def test_nodes_that_a_listing_does_not_name_are_gone() -> None:
    ledger = a_ledger(Node(), Node("n2"))
    version = ledger.facts_version
    ledger.nodes_listed([Node("n2")])
    assert [*ledger.nodes] == ["n2"]
    assert ledger.facts_version > version


def test_heartbeats_change_nothing_and_facts_do() -> None:
    ledger = a_ledger()
    before = (ledger.facts_version, ledger.growth)
    ledger.node_seen(Node(resource_version="2"))
    assert (ledger.facts_version, ledger.growth) == before
    ledger.node_seen(Node(resource_version="3", ready=False))
    assert ledger.facts_version > before[0]


def test_order_follows_the_free_share_of_the_scarcest() -> None:
    ledger = a_ledger(Node(allocatable={"cpu": "10", "pods": "4"}), Node("n2"))
    order = ledger.order(("cpu", "pods"))
    one, two = ledger.nodes["n1"], ledger.nodes["n2"]
    assert {*order.levels[LEVEL_MAX]} == {one, two}
    ledger.pod_seen(held(cores=1))
    assert (order.level_of[one], order.level_of[two]) == (75, LEVEL_MAX)
    ledger.node_seen(Node("n2", allocatable={"cpu": "0", "pods": "10"}, resource_version="2"))
    assert order.level_of[two] == 0
    ledger.node_gone("n2")
    assert two not in order.level_of
    ledger.pod_seen(held("much", 30))
    assert order.level_of[one] == 0  # more than there is, for a kubelet may have shrunk


def test_orders_are_bounded() -> None:
    ledger = a_ledger()
    kept = ledger.order(CPU)
    assert ledger.order(CPU) is kept
    for number in range(ORDERS_MAX):
        ledger.order((f"r{number}",))
    ledger.pod_seen(held())
    assert ledger.order(CPU) is not kept
    assert ledger.order(CPU).level_of[ledger.nodes["n1"]] == 90


def test_nodes_that_turned_a_pod_away_come_back_in_time() -> None:
    ledger = a_ledger()
    ledger.turn_away("n1", 10.0)
    assert ledger.turned_away == {"n1"}
    growth = ledger.growth
    ledger.expire(9.0)
    assert ledger.turned_away == {"n1"}
    ledger.expire(10.0)
    assert ledger.turned_away == frozenset()
    assert ledger.growth > growth
