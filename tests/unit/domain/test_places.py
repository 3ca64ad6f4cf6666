from __future__ import annotations

from typing import Any

import pytest

from yodel.domain.allocation.outcomes import Hurdle
from yodel.domain.allocation.places import NodePlace, Places, Tagged
from yodel.domain.constraints import Scope, Single, TagRule, TagTarget
from yodel.domain.container import Placement
from yodel.domain.ids import ApplicationId, NodeId
from yodel.domain.resource import Resource

SIZE, LARGE = Resource(1024, 1), Resource(4096, 4)
APP, OTHER = ApplicationId(1, 1), ApplicationId(1, 2)
NOT_ZK = Single(maximum=0, targets=(TagTarget("zk"),))


def a_place(name: str, rack: str = "/r1", label: str = "", capability: Resource = LARGE, *names: str) -> NodePlace:
    return NodePlace(id=NodeId(name, 1), rack=rack, label=label, capability=capability, names=frozenset((name, *names)))


A, B, C = a_place("a"), a_place("b"), a_place("c", "/r2")


def the_places(*nodes: NodePlace, **options: Any) -> Places:
    chosen = nodes or (A, B, C)
    by_id = {node.id: node.capability for node in chosen}
    return Places(chosen, by_id.__getitem__, **options)


def tagged(node: NodePlace | None, *tags: str, application: ApplicationId = APP, **placement: Any) -> Tagged:
    return Tagged(application, tags, node.id if node is not None else None, Placement(**placement))


def names(nodes: Any) -> list[str]:
    return [node.id.host for node in nodes]


@pytest.mark.parametrize(
    ("placement", "allowed"),
    [
        (Placement(), ["a", "b", "c"]),
        (Placement(hosts=("a",)), ["a", "b", "c"]),
        (Placement(hosts=("a",), racks=("/r2",), is_strict=True), ["a", "c"]),
        (Placement(avoid=("a", "/r2")), ["b"]),
        (Placement(nodes=("b", "c")), ["b", "c"]),
    ],
)
def test_nodes_where_a_placement_may_be_had(placement: Placement, allowed: list[str]) -> None:
    assert names(the_places().allowed(placement)) == allowed


def test_labelled_nodes_are_for_who_asks_for_them() -> None:
    gpu = a_place("g", label="gpu")
    places = the_places(A, gpu, are_labels_enabled=True)
    assert names(places.allowed(Placement())) == ["a"]
    assert names(places.allowed(Placement(node_label="gpu"))) == ["g"]
    assert names(the_places(A, gpu).allowed(Placement())) == ["a", "g"]


@pytest.mark.parametrize(
    ("expression", "admitted"), [("gpu || fast", ["f", "g"]), ("!gpu", ["a", "f"]), ("!gpu || gpu", ["a", "f", "g"])]
)
def test_expression_admits_nodes_of_several_labels(expression: str, admitted: list[str]) -> None:
    places = the_places(A, a_place("f", label="fast"), a_place("g", label="gpu"), are_labels_enabled=True)
    placement = Placement(node_label=expression)
    assert names(places.allowed(placement)) == admitted
    assert [node.id.host for node in places.nodes if places.is_of_partition(node, placement)] == admitted


@pytest.mark.parametrize(
    ("placement", "capability", "text"),
    [
        (Placement(), SIZE, ""),
        (Placement(hosts=("nowhere",)), SIZE, ""),
        (
            Placement(hosts=("nowhere",), is_strict=True),
            SIZE,
            "locality is strict and none of nowhere is in the cluster",
        ),
        (Placement(hosts=("x1", "x2", "x3", "x4"), is_strict=True), SIZE, "none of x1, x2, x3 and 1 more is in"),
        (Placement(racks=("/r9",), is_strict=True), SIZE, "none of /r9 is in the cluster"),
        (Placement(node_label="gpu"), SIZE, "no node has the label 'gpu'"),
        (Placement(node_label="gpu || x"), SIZE, "no node has a label that matches the expression 'gpu || x'"),
        (Placement(avoid=("/r1", "/r2")), SIZE, "every eligible node is on the blacklist"),
        (Placement(), Resource(4096, 5), "4 GiB, 5 vcores is larger than every eligible node"),
        (Placement(hosts=("a",), is_strict=True), Resource(9000, 1), "the largest node has 4 GiB, 4 vcores"),
    ],
)
def test_why_no_node_would_ever_do(placement: Placement, capability: Resource, text: str) -> None:
    why = the_places().why_never(placement, capability)
    assert (why == "") if text == "" else (text in why)


@pytest.mark.parametrize(
    ("placement", "capability", "hurdle"),
    [
        (Placement(hosts=("nowhere",), is_strict=True), SIZE, Hurdle.PLACES),
        (Placement(node_label="gpu"), SIZE, Hurdle.LABEL),
        (Placement(avoid=("/r1", "/r2")), SIZE, Hurdle.BLACKLIST),
        (Placement(), Resource(4096, 5), Hurdle.SIZE),
    ],
)
def test_what_is_in_the_way_of_all_nodes_has_a_name(placement: Placement, capability: Resource, hurdle: Hurdle) -> None:
    never = the_places().never(placement, capability)
    assert never is not None
    assert never.hurdle is hurdle
    nowhere = Places((), lambda _: SIZE).never(placement, capability)
    assert nowhere is not None
    assert nowhere.hurdle is Hurdle.NODES


def test_cluster_without_nodes_says_so() -> None:
    assert Places((), lambda _: SIZE).why_never(Placement(), SIZE) == "the cluster has no usable node"
    only_labelled = the_places(a_place("g", label="gpu"), are_labels_enabled=True)
    assert only_labelled.why_never(Placement(), SIZE) == "every node has a label, and the request names none"


def test_nodes_have_several_names() -> None:
    place = a_place("a", "/r1", "", LARGE, "10.0.0.1")
    assert the_places(place).why_never(Placement(hosts=("10.0.0.1",), is_strict=True), SIZE) == ""


def test_room_shrinks_by_what_is_assumed() -> None:
    places = the_places()
    assert places.room(A, SIZE) == 4
    places.assume(A, SIZE, 3)
    assert (places.room(A, SIZE), places.room(B, SIZE)) == (1, 4)
    assert places.room(A, Resource(1, 1, (("gpu", 1),))) == 0


def test_constraint_is_judged_by_what_stands_on_the_node_or_in_its_rack() -> None:
    places = the_places(tagged=[tagged(A, "zk"), tagged(C, "zk", application=OTHER)])
    assert names(places.satisfying(Placement(), NOT_ZK, APP)) == ["b", "c"]
    by_rack = Single(scope=Scope.RACK, maximum=0, targets=(TagTarget("zk"),))
    assert names(places.satisfying(Placement(), by_rack, APP)) == ["c"]


def test_guess_counts_at_once_and_what_was_sent_is_not_settled() -> None:
    places = the_places()
    places.guess(A, APP, ["zk"])
    assert names(places.satisfying(Placement(), NOT_ZK, APP)) == ["b", "c"]
    assert places.is_settled(NOT_ZK, APP, are_guesses_good=True)
    assert not places.is_settled(NOT_ZK, APP, are_guesses_good=False)
    places.send(APP, ["zk"])
    assert not places.is_settled(NOT_ZK, APP, are_guesses_good=True)
    assert places.is_settled(NOT_ZK, OTHER, are_guesses_good=False)  # it counts its own only


def test_container_without_a_node_is_under_way() -> None:
    assert not the_places(tagged=[tagged(None, "zk")]).is_settled(NOT_ZK, APP, are_guesses_good=True)


def test_slots_are_filled_evenly() -> None:
    rule = TagRule(is_apart=True, scope=Scope.NODE, tag="zk", slots=2)
    places = the_places(tagged=[tagged(A, "zk", rules=(rule,))])
    assert [places.with_slot(APP, rule).slot for _ in range(3)] == [1, 0, 1]
    plain = TagRule(is_apart=True, scope=Scope.NODE, tag="zk")
    assert places.with_slot(APP, plain) is plain


def test_applications_are_found_by_their_tag() -> None:
    places = the_places(
        tagged=[tagged(A, "zk", application=OTHER), tagged(None, "x")],
        tags_of=lambda application_id: ("team",) if application_id == OTHER else (),
    )
    assert places.applications_tagged("team") == [OTHER]


def test_racks_are_labelled_when_no_node_is_in_the_default_one() -> None:
    assert the_places().are_racks_labelled
    assert not the_places(A, a_place("z", "/default-rack")).are_racks_labelled
