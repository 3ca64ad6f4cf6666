from __future__ import annotations

from typing import Any

import pytest

from yodel.domain.constraints import AllOf, AnyOf, Namespace, NamespaceKind, Scope, Single, TagTarget
from yodel.domain.resource import Resource
from yodel.errors import InvalidResourceRequest, InvalidValue
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.pb_convert import ids
from yodel.pb_convert.constraints import (
    CHILDREN_MAX,
    COUNT_MAX,
    constraint,
    registered,
    rejected_pb,
    scheduling_ask,
)
from yodel.telemetry.limits import REFUSALS

TARGET = pb.PlacementConstraintTargetProto


def single(
    low: int = 0, high: int = COUNT_MAX, *tags: str, scope: str = "node", key: str = "self", **target: Any
) -> pb.PlacementConstraintProto:
    message = pb.PlacementConstraintProto()
    simple = message.simpleConstraint
    simple.scope, simple.minCardinality, simple.maxCardinality = scope, low, high
    simple.targetExpressions.add(
        **{"targetType": TARGET.ALLOCATION_TAG, "targetKey": key, "targetValues": tags, **target}
    )
    return message


def composite(kind: Any, *children: pb.PlacementConstraintProto) -> pb.PlacementConstraintProto:
    message = pb.PlacementConstraintProto()
    message.compositeConstraint.compositeType = kind
    message.compositeConstraint.childConstraints.extend(children)
    return message


def request(**changes: Any) -> pb.SchedulingRequestProto:
    sizing = pb.ResourceSizingProto(numAllocations=2, resources=ids.resource_pb(Resource(512, 1)))
    fields: dict[str, Any] = {"allocationRequestId": 7, "allocationTags": ["zk"], "resourceSizing": sizing, **changes}
    message = pb.SchedulingRequestProto(**{name: value for name, value in fields.items() if value is not None})
    message.priority.priority = 3
    return message


def test_single_constraints() -> None:
    assert constraint(single(1, COUNT_MAX, "zk", "hbase")) == Single(
        minimum=1, targets=(TagTarget("zk"), TagTarget("hbase"))
    )
    assert constraint(single(0, 0, "zk", scope="rack")) == Single(
        scope=Scope.RACK, maximum=0, targets=(TagTarget("zk"),)
    )
    assert constraint(single(1, 3, "zk")) == Single(minimum=1, maximum=3, targets=(TagTarget("zk"),))


def test_composite_constraints() -> None:
    kinds = pb.CompositePlacementConstraintProto
    both = composite(kinds.AND, single(0, 0, "a"), composite(kinds.OR, single(1, COUNT_MAX, "b")))
    expected = AllOf(
        (Single(maximum=0, targets=(TagTarget("a"),)), AnyOf((Single(minimum=1, targets=(TagTarget("b"),)),)))
    )
    assert constraint(both) == expected


@pytest.mark.parametrize(
    ("key", "namespace"),
    [
        ("", Namespace()),
        ("self", Namespace()),
        ("all", Namespace(NamespaceKind.ALL)),
        ("not-self", Namespace(NamespaceKind.NOT_SELF)),
        ("app-tag/team", Namespace(NamespaceKind.APP_TAG, "team")),
        ("app-id/application_17_0003", Namespace(NamespaceKind.APP_ID, "application_17_0003")),
    ],
)
def test_namespaces(key: str, namespace: Namespace) -> None:
    assert constraint(single(0, 0, "zk", key=key)) == Single(maximum=0, targets=(TagTarget("zk", namespace),))


def test_node_partition_is_a_label() -> None:
    message = single(1, COUNT_MAX, "gpu", key="yarn_node_partition/", targetType=TARGET.NODE_ATTRIBUTE)
    assert constraint(message) == Single(minimum=1, partition="gpu")


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (single(1, COUNT_MAX, "x", key="rm.yarn.io/java", targetType=TARGET.NODE_ATTRIBUTE), "Node attributes are not"),
        (single(1, COUNT_MAX, "x", targetType=TARGET.SELF), "Node attributes are not supported"),
        (
            single(1, COUNT_MAX, "a", "b", key="yarn_node_partition/", targetType=TARGET.NODE_ATTRIBUTE),
            "we only support affinity to at most one node partition now",
        ),
        (composite(pb.CompositePlacementConstraintProto.DELAYED_OR), "Unsupported type of constraint: DelayedOr"),
        (composite(pb.CompositePlacementConstraintProto.AND), "has 1 to 100 children"),
        (
            composite(pb.CompositePlacementConstraintProto.OR, *[single(0, 0, "a")] * (CHILDREN_MAX + 1)),
            "constraint_children is 101",
        ),
        (single(0, 0, "zk", scope="galaxy"), "Unsupported scope of a placement constraint: 'galaxy'"),
        (single(3, 1, "zk"), "Cardinalities of a constraint"),
        (single(-1, 1, "zk"), "Cardinalities of a constraint"),
        (single(0, 0, "zk", key="them"), "Invalid namespace prefix: them, valid values are: self,not-self,app-id"),
        (single(0, 0, "zk", key="app-id"), "Missing the application ID in the namespace string: app-id"),
        (single(0, 0, "zk", key="app-tag/"), "Missing the application tag in the namespace string: app-tag/"),
        (single(0, 0, "zk", key="app-id/x"), "Invalid application ID for app-id: x"),
        (single(0, 0, *(str(n) for n in range(33))), "constraint_tags is 33, where at most 32 are"),
    ],
)
def test_what_cannot_be_kept_is_refused_by_name(message: pb.PlacementConstraintProto, text: str) -> None:
    before = REFUSALS.counts()
    with pytest.raises(InvalidResourceRequest, match=text):
        constraint(message)
    told = {name for name, count in REFUSALS.counts().items() if count > before[name]}
    assert told == ({text.split()[0]} if text.startswith("constraint_") else set())


def test_nesting_has_a_limit() -> None:
    message = single(0, 0, "zk")
    for _ in range(10):
        message = composite(pb.CompositePlacementConstraintProto.AND, message)
    before = REFUSALS.counts()["constraint_depth"]
    with pytest.raises(InvalidResourceRequest, match="constraint_depth is 11, where at most 10 are"):
        constraint(message)
    assert REFUSALS.counts()["constraint_depth"] == before + 1


def test_scheduling_request_comes_whole_and_goes_back_as_it_came() -> None:
    message = request(placementConstraint=single(0, 0, "zk"))
    asked = scheduling_ask(message)
    assert (asked.count, asked.tags, asked.key.priority, asked.key.allocation_request_id) == (2, ("zk",), 3, 7)
    assert asked.key.capability == Resource(512, 1)
    assert asked.constraint == Single(maximum=0, targets=(TagTarget("zk"),))

    for is_for_constraint, reason in (
        (True, pb.RRP_COULD_NOT_PLACE_ON_NODE),
        (False, pb.RRP_COULD_NOT_SCHEDULE_ON_NODE),
    ):
        rejected = rejected_pb(asked.message, is_for_constraint=is_for_constraint)
        assert (rejected.reason, rejected.request) == (reason, message)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (request(resourceSizing=None), "No ResourceSizing found in the scheduling request, please double check"),
        (request(resourceSizing=pb.ResourceSizingProto(numAllocations=-1)), "numAllocation in ResourceSizing field"),
        (
            request(executionType=pb.ExecutionTypeRequestProto(execution_type="OPPORTUNISTIC")),
            "Only GUARANTEED execution type is supported.",
        ),
    ],
)
def test_malformed_requests_are_refused_in_hadoops_words(message: pb.SchedulingRequestProto, text: str) -> None:
    with pytest.raises(InvalidResourceRequest, match=text):
        scheduling_ask(message)


def test_tags_have_a_length() -> None:
    with pytest.raises(InvalidValue):
        scheduling_ask(request(allocationTags=["x" * 257]))


def test_registered_constraint_has_its_tags() -> None:
    entry = pb.PlacementConstraintMapEntryProto(allocation_tags=["zk"], placement_constraint=single(0, 0, "zk"))
    assert registered(entry) == (("zk",), Single(maximum=0, targets=(TagTarget("zk"),)))
