"""A node is chosen for each pod, or a reason is given why none was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from yodel.translator.binding import FEW, INDEXES_MAX, REMEMBERED_MAX, Chooser, Wants, wants_of
from yodel.translator.ledger import NodeLedger

HOST, RACK = "kubernetes.io/hostname", "topology.kubernetes.io/rack"
MANY = FEW + 40
FOREVER_S = 1e9


@dataclass
class Node:
    name: str
    allocatable: Mapping[str, str]
    labels: Mapping[str, str] = field(default_factory=dict)
    resource_version: str = "1"
    uid: str = "u"
    ready: bool = True
    unschedulable: bool = False
    taints: list[dict[str, Any]] = field(default_factory=list)


class Cluster:
    """A ledger and who chooses from it."""

    def __init__(self, *nodes: Node) -> None:
        self.ledger = NodeLedger()
        self.chooser = Chooser(self.ledger)
        self.ledger.nodes_listed(nodes)
        self.ledger.pods_listed(())
        for node in nodes:
            self.chooser.open(node.name, is_open=True)
        self._made = 0

    def choose(self, wants: Wants, *avoided: str) -> str | None:
        return self.chooser.choose(wants, avoided)

    def place(self, wants: Wants) -> str | None:
        node = self.choose(wants)
        if node is not None:
            self.take(node, wants)
        return node

    def take(self, node: str, wants: Wants) -> None:
        self._made += 1
        self.ledger.assume(("ns", f"p{self._made}"), node, wants.amounts, wants.application, FOREVER_S)


def a_node(name: str, cpu: str = "10", rack: str = "", **more: Any) -> Node:
    labels = {HOST: name, **({RACK: rack} if rack else {}), **more.pop("labels", {})}
    return Node(name, labels=labels, allocatable={"cpu": cpu, "pods": "110"}, **more)


def wants(cpu: str = "1", application: str = "a", **spec: Any) -> Wants:
    containers = [{"resources": {"requests": {"cpu": cpu}}}]
    labels = {"yodel.io/application": application}
    return wants_of({"metadata": {"labels": labels}, "spec": {"containers": containers, **spec}})


def named(label: str, *values: str, operator: str = "In") -> dict[str, Any]:
    return {"matchExpressions": [{"key": label, "operator": operator, "values": [*values]}]}


def preferring(*wishes: tuple[int, dict[str, Any]]) -> dict[str, Any]:
    terms = [{"weight": weight, "preference": term} for weight, term in wishes]
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}


def requiring(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [*terms]}}}


def many(count: int = MANY) -> list[Node]:
    return [a_node(f"n{number:03}", rack=f"r{number % 4}") for number in range(count)]


@pytest.mark.parametrize("count", [4, MANY])
def test_pods_are_spread_evenly(count: int) -> None:
    cluster = Cluster(*many(count))
    placed = [cluster.place(wants()) for _ in range(2 * count)]
    assert {placed.count(name) for name in {*placed}} == {2}
    assert len({*placed}) == count


@pytest.mark.parametrize("count", [3, MANY])
def test_the_freest_share_wins_not_the_largest_rest(count: int) -> None:
    cluster = Cluster(a_node("large", "100"), a_node("small", "10"), *(a_node(f"x{n}", "0") for n in range(count)))
    cluster.take("large", wants("30"))
    assert cluster.choose(wants()) == "small"
    assert cluster.choose(wants("20")) == "large"


@pytest.mark.parametrize("count", [2, MANY])
def test_of_equals_the_one_with_fewest_pods_of_the_application(count: int) -> None:
    cluster = Cluster(*(a_node(f"n{n:03}", "1000") for n in range(count)))
    for node in [*cluster.ledger.nodes][1:]:
        cluster.take(node, wants("1", "a"))  # a thousandth: the level stays
    cluster.take("n000", wants("1", "other"))
    assert cluster.choose(wants("1", "a")) == "n000"
    cluster.take("n000", wants("1", "a"))
    cluster.take("n000", wants("1", "a"))
    assert cluster.choose(wants("1", "a")) != "n000"


@pytest.mark.parametrize("count", [4, MANY])
def test_hosts_before_racks_before_anywhere(count: int) -> None:
    cluster = Cluster(*many(count))
    wish = wants("6", affinity=preferring((100, named(HOST, "n001", "n002")), (10, named(RACK, "r1", "r2"))))
    assert {cluster.place(wish), cluster.place(wish)} == {"n001", "n002"}
    third = cluster.choose(wish)
    assert third is not None
    rack = cluster.ledger.nodes[third].labels[RACK]
    assert (rack in ("r1", "r2")) is (count > 4)  # else the racks are full
    assert cluster.choose(wish, *cluster.ledger.nodes) is None


def test_a_wish_that_all_nodes_fulfil_prefers_none() -> None:
    cluster = Cluster(a_node("a"), a_node("b"))
    cluster.take("a", wants("5"))
    nowhere_labelled = named(RACK, operator="DoesNotExist")
    assert cluster.choose(wants(affinity=preferring((10, nowhere_labelled)))) == "b"
    cluster.ledger.node_seen(a_node("b", rack="r1", resource_version="2"))
    assert cluster.choose(wants(affinity=preferring((10, nowhere_labelled)))) == "a"


def test_strict_locality_waits_rather_than_going_elsewhere() -> None:
    cluster = Cluster(*many())
    strict = wants("6", affinity=requiring(named(HOST, "n007"), named(HOST, "unknown")))
    assert cluster.place(strict) == "n007"
    assert cluster.choose(strict) is None
    text = cluster.chooser.explain(strict)
    others = f"{MANY - 1} node(s) didn't match Pod's node affinity/selector"
    assert text == f"0/{MANY} nodes are available: 1 Insufficient cpu, {others}."


def test_an_index_leaves_the_rest_of_a_term_to_be_tested() -> None:
    cluster = Cluster(*many(8))
    in_rack, elsewhere = named(RACK, "r1"), named(HOST, "n001", operator="NotIn")
    both = {"matchExpressions": [*in_rack["matchExpressions"], *elsewhere["matchExpressions"]]}
    assert cluster.choose(wants(affinity=requiring(both))) == "n005"
    assert cluster.choose(wants(affinity=preferring((1, both)))) == "n005"


def test_blacklist_node_label_taints_cordons_and_agents() -> None:
    taint = [{"key": "gpu", "effect": "NoSchedule"}]
    nodes = [
        a_node("black"),
        a_node("tainted", taints=taint),
        a_node("cordoned", unschedulable=True),
        a_node("away", ready=False),
        a_node("other", labels={"yodel.io/node-label": "x"}),
        a_node("foreign"),
    ]
    cluster = Cluster(*nodes)
    assert cluster.chooser.open("foreign", is_open=False)
    assert not cluster.chooser.open("foreign", is_open=False)
    blacklist = requiring(named(HOST, "black", operator="NotIn"))
    pod = wants(affinity=blacklist)
    assert cluster.choose(pod, "other") is None
    assert cluster.chooser.explain(pod, ["other"]) == (
        "0/6 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, "
        "1 node(s) had no running node agent, 1 node(s) had untolerated taint {gpu: }, "
        "1 node(s) refused the pod a short time ago, 1 node(s) were not ready, 1 node(s) were unschedulable."
    )
    assert cluster.choose(pod) == "other"
    assert cluster.choose(wants(nodeSelector={"yodel.io/node-label": "x"})) == "other"
    tolerant = wants(affinity=blacklist, tolerations=[{"key": "gpu", "operator": "Exists"}])
    assert cluster.choose(tolerant, "other") == "tainted"


def test_facts_that_change_are_noticed() -> None:
    cluster = Cluster(a_node("a"))
    pod = wants()
    assert cluster.choose(pod) == "a"
    cluster.ledger.node_seen(a_node("a", unschedulable=True, resource_version="2"))
    assert cluster.choose(pod) is None
    assert not cluster.chooser.may_go(pod, "a")
    cluster.ledger.node_seen(a_node("a", resource_version="3"))
    assert cluster.choose(pod) == "a"
    assert cluster.chooser.may_go(pod, "a")
    cluster.ledger.node_gone("a")
    assert cluster.choose(pod) is None
    assert not cluster.chooser.may_go(pod, "a")
    assert cluster.chooser.explain(pod) == "no nodes available to schedule pods"


def test_the_number_of_pods_is_a_resource() -> None:
    cluster = Cluster(Node("a", allocatable={"cpu": "100", "pods": "1"}))
    assert cluster.place(wants()) == "a"
    assert cluster.choose(wants()) is None
    assert cluster.chooser.explain(wants()) == "0/1 nodes are available: 1 Too many pods."


def test_pods_of_one_shape_fit_alike() -> None:
    assert wants().shape == wants(application="b", affinity=preferring((1, named(HOST, "x")))).shape
    assert wants().shape != wants("2").shape
    assert wants().shape != wants(nodeSelector={"a": "b"}).shape


def test_what_is_remembered_is_bounded() -> None:
    cluster = Cluster(a_node("a"))
    for number in range(max(REMEMBERED_MAX, INDEXES_MAX) + 1):
        wish = preferring((1, named(f"l{number}", "x")), (1, named(f"l{number}", operator="DoesNotExist")))
        assert cluster.choose(wants(nodeSelector={HOST: "a"}, tolerations=[{"key": str(number)}], affinity=wish)) == "a"
