from __future__ import annotations

from typing import Any

import pytest

from yodel.local.neighbours import filter_for, neighbour
from yodel.local.statuses import Json

HOST, RACK = "kubernetes.io/hostname", "topology.kubernetes.io/rack"
NODES = {"n1": {HOST: "n1", RACK: "r1"}, "n2": {HOST: "n2", RACK: "r1"}, "n3": {HOST: "n3", RACK: "r2"}, "n4": {}}


def term(label: str, key: str = HOST, **more: Any) -> Json:
    return {"topologyKey": key, "labelSelector": {"matchExpressions": [{"key": label, "operator": "Exists"}]}, **more}


def a_pod(
    *labels: str, node: str | None = None, near: list[Json] | None = None, apart: list[Json] | None = None
) -> Json:
    affinity = {
        kind: {"requiredDuringSchedulingIgnoredDuringExecution": terms}
        for kind, terms in (("podAffinity", near), ("podAntiAffinity", apart))
        if terms
    }
    metadata = {"namespace": "default", "labels": dict.fromkeys(labels, "")}
    return {"metadata": metadata, "spec": {"nodeName": node, "affinity": affinity}}


def allowed(pod: Json, *others: Json) -> list[str]:
    refusal = filter_for(pod, [neighbour(other) for other in others], NODES)
    return [name for name, labels in NODES.items() if not refusal(labels)]


def test_apart_from_pods_with_the_label_by_node_and_by_rack() -> None:
    assert allowed(a_pod(apart=[term("zk")]), a_pod("zk", node="n1"), a_pod("hbase", node="n2")) == ["n2", "n3", "n4"]
    assert allowed(a_pod(apart=[term("zk", RACK)]), a_pod("zk", node="n1")) == ["n3", "n4"]


def test_who_was_there_first_keeps_others_away_too() -> None:
    assert allowed(a_pod("zk"), a_pod("hbase", node="n1", apart=[term("zk")])) == ["n2", "n3", "n4"]


def test_beside_pods_with_the_label() -> None:
    assert allowed(a_pod(near=[term("zk")]), a_pod("zk", node="n2")) == ["n2"]
    assert allowed(a_pod(near=[term("zk", RACK)]), a_pod("zk", node="n2")) == ["n1", "n2"]
    assert allowed(a_pod(near=[term("zk")]), a_pod("hbase", node="n2")) == []


def test_several_terms_mean_one_pod_that_matches_all() -> None:
    pod = a_pod(near=[term("zk"), term("hbase")])
    assert allowed(pod, a_pod("zk", node="n1"), a_pod("hbase", node="n1")) == []
    assert allowed(pod, a_pod("zk", "hbase", node="n1")) == ["n1"]


def test_first_of_its_own_kind_is_let_in_wherever_there_is_a_topology() -> None:
    assert allowed(a_pod("zk", near=[term("zk")])) == ["n1", "n2", "n3"]


@pytest.mark.parametrize(("namespaces", "found"), [(None, False), (["other"], True), (["default"], False)])
def test_terms_mean_their_own_namespace_unless_they_name_others(namespaces: list[str] | None, found: bool) -> None:
    stranger = a_pod("zk", node="n1")
    stranger["metadata"]["namespace"] = "other"
    more = {"namespaces": namespaces} if namespaces else {}
    assert ("n1" not in allowed(a_pod(apart=[term("zk", **more)]), stranger)) is found


def test_term_without_a_selector_means_nobody_and_labels_may_be_listed() -> None:
    zk = a_pod("zk", node="n1")
    assert allowed(a_pod(apart=[{"topologyKey": HOST}]), zk) == [*NODES]
    listed = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"zk": ""}}}
    assert allowed(a_pod(apart=[listed]), zk) == ["n2", "n3", "n4"]


def test_reasons_are_kube_schedulers() -> None:
    zk = [neighbour(a_pod("zk", node="n1", apart=[term("hbase")]))]
    here = NODES["n1"]
    assert filter_for(a_pod(apart=[term("zk")]), zk, NODES)(here) == "node(s) didn't match pod anti-affinity rules"
    assert filter_for(a_pod(near=[term("x")]), zk, NODES)(here) == "node(s) didn't match pod affinity rules"
    assert filter_for(a_pod("hbase"), zk, NODES)(here) == "node(s) didn't satisfy existing pods anti-affinity rules"
