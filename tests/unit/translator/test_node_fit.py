"""Filters of kube-scheduler: what they refuse, and in which words."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest

from yodel.translator.node_fit import (
    Amounts,
    amounts,
    expression_matches,
    is_selected,
    lacking,
    milli,
    nowhere,
    preferred_terms,
    refusal,
    requests_of,
    required_terms,
    term_matches,
    tolerated,
)


@dataclass
class Node:
    name: str = "n1"
    labels: dict[str, str] = field(default_factory=lambda: {"zone": "one", "cores": "8"})
    taints: list[dict[str, Any]] = field(default_factory=list)
    unschedulable: bool = False


def a_container(**requests: str) -> dict[str, Any]:
    return {"resources": {"requests": requests}}


@pytest.mark.parametrize(
    ("operator", "values", "is_match"),
    [
        ("In", ["one", "two"], True),
        ("In", ["two"], False),
        ("NotIn", ["two"], True),
        ("NotIn", ["one"], False),
        ("Exists", None, True),
        ("DoesNotExist", None, False),
    ],
)
def test_expressions(operator: str, values: list[str] | None, is_match: bool) -> None:
    expression = {"key": "zone", "operator": operator, "values": values}
    assert expression_matches(expression, {"zone": "one"}) is is_match


def test_a_missing_label_is_not_in_and_does_not_exist() -> None:
    assert expression_matches({"key": "zone", "operator": "NotIn", "values": ["one"]}, {})
    assert expression_matches({"key": "zone", "operator": "DoesNotExist"}, {})
    assert not expression_matches({"key": "zone", "operator": "In", "values": [""]}, {})


@pytest.mark.parametrize(("operator", "bound", "is_match"), [("Gt", "7", True), ("Gt", "8", False), ("Lt", "9", True)])
def test_numbers(operator: str, bound: str, is_match: bool) -> None:
    expression = {"key": "cores", "operator": operator, "values": [bound]}
    assert expression_matches(expression, Node().labels) is is_match
    assert not expression_matches({**expression, "key": "zone"}, Node().labels)


def test_terms_are_alternatives_and_an_empty_one_matches_nothing() -> None:
    matching, other = ({"matchExpressions": [{"key": "zone", "operator": "In", "values": [z]}]} for z in ("one", "two"))
    spec = {
        "affinity": {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [other, matching]}}
        }
    }
    assert is_selected(spec, Node())
    assert not is_selected(spec, Node(labels={}))
    assert not term_matches({}, Node())
    assert term_matches({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}, Node())
    assert required_terms({}) is None
    assert preferred_terms({}) == ()


@pytest.mark.parametrize(
    ("toleration", "is_tolerated"),
    [
        ({"operator": "Exists"}, True),
        ({"key": "gpu", "operator": "Exists"}, True),
        ({"key": "gpu", "value": "yes", "effect": "NoSchedule"}, True),
        ({"key": "gpu", "value": "no"}, False),
        ({"key": "gpu", "value": "yes", "effect": "NoExecute"}, False),
        ({"key": "tpu", "operator": "Exists"}, False),
    ],
)
def test_tolerations(toleration: dict[str, str], is_tolerated: bool) -> None:
    assert tolerated({"key": "gpu", "value": "yes", "effect": "NoSchedule"}, [toleration]) is is_tolerated


def test_the_first_reason_is_told() -> None:
    taints = [{"key": "soft", "effect": "PreferNoSchedule"}, {"key": "gpu", "effect": "NoSchedule"}]
    wrong = {"nodeSelector": {"zone": "two"}}
    assert refusal(wrong, Node(unschedulable=True, taints=taints)) == "node(s) were unschedulable"
    assert refusal(wrong, Node(taints=taints)) == "node(s) didn't match Pod's node affinity/selector"
    assert refusal({}, Node(taints=taints)) == "node(s) had untolerated taint {gpu: }"
    assert refusal({"tolerations": [{"operator": "Exists"}]}, Node(unschedulable=True, taints=taints)) == ""
    assert refusal({}, Node(taints=taints[:1])) == ""


def test_what_is_lacking_and_the_words_for_it() -> None:
    wanted: Amounts = {"cpu": 2000, "pods": 1000, "gpu": 0}
    reasons = lacking(wanted, {"cpu": 3000, "pods": 5000}, {"cpu": 1500, "pods": 5000})
    assert reasons == ["Insufficient cpu", "Too many pods"]
    counted = Counter({"Insufficient cpu": 2, "Too many pods": 1})
    assert nowhere(3, counted) == "0/3 nodes are available: 1 Too many pods, 2 Insufficient cpu."
    assert nowhere(0, Counter()) == "no nodes available to schedule pods"


def test_a_pod_takes_the_sum_or_what_runs_before_if_that_is_more() -> None:
    spec = {
        "containers": [a_container(cpu="1", memory="1Gi"), a_container(cpu="500m")],
        "initContainers": [a_container(memory="3Gi"), {**a_container(cpu="250m"), "restartPolicy": "Always"}],
        "overhead": {"cpu": "100m"},
    }
    expected = {"cpu": 1850, "memory": 3 * 2**30 * 1000, "pods": 1000}
    assert requests_of(spec) == expected


def test_what_begins_after_a_sidecar_runs_beside_it() -> None:
    sidecar = {**a_container(cpu="1"), "restartPolicy": "Always"}
    assert requests_of({"containers": [a_container(cpu="1")], "initContainers": [sidecar, a_container(cpu="3")]}) == {
        "cpu": 4000,
        "pods": 1000,
    }


def test_requests_of_the_whole_pod_take_the_place_of_the_sum() -> None:
    spec = {"containers": [a_container(cpu="1", memory="1")], "resources": {"requests": {"cpu": "4"}}}
    assert requests_of(spec) == {"cpu": 4000, "memory": 1000, "pods": 1000}
    assert requests_of({}) == {"pods": 1000}


def test_what_cannot_be_read_counts_as_nothing() -> None:
    assert milli("many") == 0
    assert amounts({"cpu": "1500m", "gpu": 2}) == {"cpu": 1500, "gpu": 2000}
