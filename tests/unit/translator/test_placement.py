from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.records import a_container, texts
from yodel.domain.constraints import Scope, TagRule
from yodel.domain.container import Placement
from yodel.translator.placement import CLOSED_MAX, HOSTS_MAX, Landmarks, affinity, tag_labels

LABEL_VALUE = re.compile(r"([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?")
names = st.lists(texts, max_size=3).map(tuple)


def node_affinity(**placement: Any) -> Any:
    return affinity(Placement(**placement))["nodeAffinity"]


def test_anywhere_is_no_affinity() -> None:
    assert affinity(Placement()) == {}
    assert affinity(Placement(is_strict=True)) == {}


def test_hosts_are_preferred_before_racks() -> None:
    assert node_affinity(hosts=("a", "b"), racks=("/dc/r1",)) == {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {
                "weight": 100,
                "preference": {
                    "matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["a", "b"]}]
                },
            },
            {
                "weight": 10,
                "preference": {
                    "matchExpressions": [{"key": "topology.kubernetes.io/rack", "operator": "In", "values": ["dc.r1"]}]
                },
            },
        ]
    }


def test_strict_locality_is_required_and_places_are_alternatives() -> None:
    found = node_affinity(hosts=("a",), racks=("/r1",), is_strict=True)
    terms = found["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert [[e["values"] for e in term["matchExpressions"]] for term in terms] == [[["a"]], [["r1"]]]
    assert "preferredDuringSchedulingIgnoredDuringExecution" not in found


def test_default_rack_is_every_node_without_a_rack() -> None:
    found = node_affinity(racks=("/default-rack", "/r1"), is_strict=True)
    terms = found["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert [term["matchExpressions"] for term in terms] == [
        [{"key": "topology.kubernetes.io/rack", "operator": "In", "values": ["r1"]}],
        [{"key": "topology.kubernetes.io/rack", "operator": "DoesNotExist"}],
    ]


def test_blacklist_is_never_cut_short_and_may_name_racks() -> None:
    hosts = tuple(f"h{n}" for n in range(HOSTS_MAX + 50))
    (term,) = node_affinity(avoid=(*hosts, "/r1", "/default-rack"))["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    not_hosts, not_rack, has_rack = term["matchExpressions"]
    assert not_hosts["values"] == [*hosts]
    assert not_rack == {"key": "topology.kubernetes.io/rack", "operator": "NotIn", "values": ["r1"]}
    assert has_rack == {"key": "topology.kubernetes.io/rack", "operator": "Exists"}


def test_avoided_hosts_are_excluded_in_every_alternative() -> None:
    without = {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["bad"]}
    (term,) = node_affinity(avoid=("bad",))["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term == {"matchExpressions": [without]}

    strict = node_affinity(hosts=("a",), racks=("/r",), is_strict=True, avoid=("bad",))
    terms = strict["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert all(without in term["matchExpressions"] for term in terms)


def test_number_of_hosts_has_a_limit() -> None:
    hosts = tuple(f"h{n:04d}" for n in range(500))
    (preferred,) = node_affinity(hosts=hosts)["preferredDuringSchedulingIgnoredDuringExecution"]
    assert len(preferred["preference"]["matchExpressions"][0]["values"]) == HOSTS_MAX


@given(st.builds(Placement, hosts=names, racks=names, avoid=names, is_strict=st.booleans()))
def test_whatever_an_am_names_the_values_are_legal(placement: Placement) -> None:
    def check(found: Any) -> None:
        if isinstance(found, dict):
            assert all(LABEL_VALUE.fullmatch(value) for value in found.get("values", ()))
            for part in found.values():
                check(part)
        elif isinstance(found, list):
            for part in found:
                check(part)

    check(affinity(placement))
    json.dumps(affinity(placement))


def closed_terms(placement: Placement, *closed: str) -> Any:
    required = affinity(placement, closed)["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    return required["nodeSelectorTerms"]


def test_closed_nodes_are_excluded_by_name_one_expression_each() -> None:
    """Kubernetes takes exactly one value for a field."""
    fields = [{"key": "metadata.name", "operator": "NotIn", "values": [name]} for name in ("node-1", "node-2")]
    assert closed_terms(Placement(), "node-2", "node-1") == [{"matchFields": fields}]


def test_closed_nodes_are_excluded_from_every_alternative() -> None:
    placement = Placement(hosts=("a",), racks=("/r",), is_strict=True)
    terms = closed_terms(placement, "node-1")
    assert len(terms) == 2
    assert all(term["matchFields"][0]["values"] == ["node-1"] and term["matchExpressions"] for term in terms)


def test_closed_nodes_have_a_limit() -> None:
    names = [f"node-{number}" for number in range(CLOSED_MAX + 1)]
    (term,) = closed_terms(Placement(), *names)
    assert len(term["matchFields"]) == CLOSED_MAX


# --- landmarks, nodes and rules --------------------------------------------------------------------------------------

ZONES = Landmarks(rack_label="topology.kubernetes.io/zone", hostname_of=lambda host: host.partition(".")[0])


def expressions(placement: Placement, landmarks: Landmarks) -> Any:
    required = affinity(placement, (), landmarks)["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    return [term["matchExpressions"] for term in required["nodeSelectorTerms"]]


def test_rack_label_and_host_names_are_the_operators() -> None:
    placement = Placement(hosts=("a.example", "a.local"), racks=("/r1", "/default-rack"), is_strict=True)
    assert expressions(placement, ZONES) == [
        [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["a"]}],
        [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["r1"]}],
        [{"key": "topology.kubernetes.io/zone", "operator": "DoesNotExist"}],
    ]
    ((avoid, rack),) = expressions(Placement(avoid=("b.example", "/r1")), ZONES)
    assert (avoid["values"], rack["key"]) == (["b"], "topology.kubernetes.io/zone")


def test_only_nodes_that_satisfy_a_constraint_are_required_whatever_is_preferred() -> None:
    found = affinity(Placement(hosts=("a",), nodes=("b", "c")))["nodeAffinity"]
    (term,) = found["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term == {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["b", "c"]}]}
    assert len(found["preferredDuringSchedulingIgnoredDuringExecution"]) == 1


def test_labelled_nodes_are_kept_for_who_asks_for_them() -> None:
    labels = Landmarks(are_labels_enabled=True)
    assert expressions(Placement(), labels) == [[{"key": "yodel.io/node-label", "operator": "DoesNotExist"}]]
    assert affinity(Placement(node_label="gpu"), (), labels) == {}  # the node selector says it


def a_rule(*, is_apart: bool = True, **changes: Any) -> TagRule:
    return TagRule(**{"is_apart": is_apart, "scope": Scope.NODE, "tag": "zk", **changes})


def pod_terms(rule: TagRule) -> Any:
    kind = "podAntiAffinity" if rule.is_apart else "podAffinity"
    (term,) = affinity(Placement(rules=(rule,)), cluster="prod")[kind]["requiredDuringSchedulingIgnoredDuringExecution"]
    return term


def test_rule_becomes_a_term_over_the_pods_of_its_cluster() -> None:
    term = pod_terms(a_rule(applications=("application_1_0001",)))
    assert term == {
        "labelSelector": {
            "matchExpressions": [
                {"key": "yodel.io/cluster", "operator": "In", "values": ["prod"]},
                {"key": "tag.yodel.io/zk", "operator": "Exists"},
                {"key": "yodel.io/application", "operator": "In", "values": ["application_1_0001"]},
            ]
        },
        "topologyKey": "kubernetes.io/hostname",
    }


def test_rules_of_racks_of_others_and_of_everybody() -> None:
    assert pod_terms(a_rule(scope=Scope.RACK))["topologyKey"] == "topology.kubernetes.io/rack"
    others = pod_terms(a_rule(applications=("application_1_0001",), are_excluded=True))
    assert others["labelSelector"]["matchExpressions"][-1]["operator"] == "NotIn"
    assert len(pod_terms(a_rule(is_apart=False))["labelSelector"]["matchExpressions"]) == 2


def test_slot_is_a_label_that_only_its_like_stand_apart_from() -> None:
    rule = a_rule(slots=3, slot=2)
    slot = {"key": "slot.yodel.io/zk", "operator": "In", "values": ["2"]}
    assert pod_terms(rule)["labelSelector"]["matchExpressions"][-1] == slot
    by_rack = a_rule(slots=3, slot=1, scope=Scope.RACK)
    container = a_container(placement=Placement(rules=(rule, by_rack)), allocation_tags=("zk",))
    assert tag_labels(container) == {"tag.yodel.io/zk": "", "slot.yodel.io/zk": "2", "rack-slot.yodel.io/zk": "1"}


@given(st.lists(texts, max_size=5, unique=True))
def test_whatever_the_tags_are_their_labels_are_legal_and_their_own(tags: list[str]) -> None:
    found = tag_labels(a_container(allocation_tags=tuple(tags)))
    assert len(found) == len(tags)
    assert all(re.fullmatch(r"[a-z.]+/[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?", key) for key in found)
