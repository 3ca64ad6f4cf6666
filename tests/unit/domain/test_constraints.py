from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import pytest

from yodel.domain.constraints import (
    AllOf,
    AnyOf,
    Constraint,
    Namespace,
    NamespaceKind,
    Scope,
    Single,
    TagRule,
    TagTarget,
    holds,
    rules_of,
    singles,
)
from yodel.domain.ids import ApplicationId

OWN, OTHER = ApplicationId(1, 1), ApplicationId(1, 2)
ZK, HBASE = TagTarget("zk"), TagTarget("hbase")
NOT_ZK = Single(maximum=0, targets=(ZK,))
WITH_ZK = Single(minimum=1, targets=(ZK,))
AT_MOST_2 = Single(maximum=2, targets=(ZK,))


def counted(**counts: int) -> Callable[[Scope, TagTarget], int]:
    return lambda _, target: counts.get(target.tag, 0)


def rules(constraint: Constraint, *own_tags: str, are_racks_labelled: bool = True, **tagged: Any) -> Any:
    def find(tag: str) -> Collection[ApplicationId]:
        found: Collection[ApplicationId] = tagged.get(tag, ())
        return found

    return rules_of(constraint, OWN, own_tags, find, are_racks_labelled=are_racks_labelled)


@pytest.mark.parametrize(
    ("constraint", "zk", "expected"),
    [
        (NOT_ZK, 0, True),
        (NOT_ZK, 1, False),
        (WITH_ZK, 0, False),
        (WITH_ZK, 3, True),
        (AT_MOST_2, 2, True),  # what is there already: the one to be placed comes on top, as in Hadoop
        (AT_MOST_2, 3, False),
        (Single(minimum=1, maximum=2, targets=(ZK,)), 0, False),
        (Single(minimum=1, maximum=2, targets=(ZK,)), 2, True),
    ],
)
def test_single_constraint_bounds_what_is_there_already(constraint: Constraint, zk: int, expected: bool) -> None:
    assert holds(constraint, counted(zk=zk), lambda _: True) is expected


def test_every_tag_has_to_be_within_the_bounds() -> None:
    """PlacementConstraintsUtil takes the least of the counts for the minimum and the greatest for the maximum."""
    both, neither = Single(minimum=1, targets=(ZK, HBASE)), Single(maximum=0, targets=(ZK, HBASE))
    assert [holds(both, counted(zk=1, hbase=n), lambda _: True) for n in (0, 1)] == [False, True]
    assert [holds(neither, counted(zk=0, hbase=n), lambda _: True) for n in (0, 1)] == [True, False]


def test_constraints_combine() -> None:
    near_one = AnyOf((WITH_ZK, Single(minimum=1, targets=(HBASE,))))
    assert [holds(near_one, counted(zk=n), lambda _: True) for n in (0, 1)] == [False, True]
    assert not holds(AllOf((near_one, NOT_ZK)), counted(zk=1), lambda _: True)
    assert holds(AllOf((near_one, NOT_ZK)), counted(hbase=1), lambda _: True)
    assert [single.targets for single in singles(AllOf((near_one, NOT_ZK)))] == [(ZK,), (HBASE,), (ZK,)]


def test_partition_is_asked_of_the_node() -> None:
    assert holds(Single(partition="gpu"), counted(), {"gpu"}.__contains__)
    assert not holds(Single(partition="gpu"), counted(), {"x"}.__contains__)


@pytest.mark.parametrize(
    ("namespace", "own", "other"),
    [
        (Namespace(), True, False),
        (Namespace(NamespaceKind.NOT_SELF), False, True),
        (Namespace(NamespaceKind.ALL), True, True),
        (Namespace(NamespaceKind.APP_ID, str(OTHER)), False, True),
        (Namespace(NamespaceKind.APP_TAG, "team"), False, True),
    ],
)
def test_namespaces(namespace: Namespace, own: bool, other: bool) -> None:
    tags = {OTHER: ("team",)}
    found = [namespace.includes(OWN, application_id, lambda i: tags.get(i, ())) for application_id in (OWN, OTHER)]
    assert found == [own, other]


def test_apart_and_beside_are_rules() -> None:
    assert rules(NOT_ZK) == (TagRule(is_apart=True, scope=Scope.NODE, tag="zk", applications=(str(OWN),)),)
    assert rules(WITH_ZK) == (TagRule(is_apart=False, scope=Scope.NODE, tag="zk", applications=(str(OWN),)),)
    both = rules(AllOf((WITH_ZK, Single(maximum=0, targets=(HBASE,)))))
    assert [(rule.tag, rule.is_apart) for rule in both] == [("zk", False), ("hbase", True)]


def test_at_most_so_many_of_its_own_kind_is_a_rule_with_slots() -> None:
    (rule,) = rules(AT_MOST_2, "zk")
    assert (rule.is_apart, rule.slots) == (True, 3)  # two are there and one comes on top
    assert rules(AT_MOST_2, "hbase") is None  # a bound on others' containers
    assert rules(Single(maximum=2, targets=(TagTarget("zk", Namespace(NamespaceKind.ALL)),)), "zk") is None


@pytest.mark.parametrize(
    "constraint",
    [
        AnyOf((NOT_ZK, WITH_ZK)),
        Single(minimum=2, targets=(ZK,)),
        Single(minimum=1, maximum=2, targets=(ZK,)),
        Single(minimum=1, targets=(ZK, HBASE)),  # to Kubernetes that would be one pod with both tags
        AllOf((NOT_ZK, AnyOf((WITH_ZK,)))),
        Single(partition="gpu"),
        Single(maximum=0, targets=(TagTarget("zk", Namespace(NamespaceKind.APP_TAG, "nobody")),)),
    ],
    ids=str,
)
def test_what_kubernetes_cannot_say_has_no_rules(constraint: Constraint) -> None:
    assert rules(constraint) is None


def test_racks_need_labels_for_rules() -> None:
    by_rack = Single(scope=Scope.RACK, maximum=0, targets=(ZK,))
    assert rules(by_rack, are_racks_labelled=False) is None
    assert rules(by_rack)[0].scope is Scope.RACK


@pytest.mark.parametrize(
    ("namespace", "applications", "are_excluded"),
    [
        (Namespace(NamespaceKind.NOT_SELF), (str(OWN),), True),
        (Namespace(NamespaceKind.ALL), (), False),
        (Namespace(NamespaceKind.APP_ID, str(OTHER)), (str(OTHER),), False),
        (Namespace(NamespaceKind.APP_TAG, "team"), (str(OWN), str(OTHER)), False),
    ],
)
def test_rules_name_whose_pods_count(namespace: Namespace, applications: tuple[str, ...], are_excluded: bool) -> None:
    (rule,) = rules(Single(maximum=0, targets=(TagTarget("zk", namespace),)), team=(OTHER, OWN))
    assert (rule.applications, rule.are_excluded) == (applications, are_excluded)


@pytest.mark.parametrize(
    ("constraint", "text"),
    [
        (NOT_ZK, "notin,node,zk"),
        (Single(scope=Scope.RACK, minimum=1, targets=(ZK, HBASE)), "in,rack,zk,hbase"),
        (Single(minimum=1, maximum=3, targets=(ZK,)), "cardinality,node,zk,1,3"),
        (Single(minimum=2, targets=(ZK,)), "cardinality,node,zk,2,"),
        (AnyOf((NOT_ZK, AllOf((WITH_ZK,)))), "or(notin,node,zk:and(in,node,zk))"),
        (
            Single(maximum=0, targets=(TagTarget("zk", Namespace(NamespaceKind.APP_TAG, "t")),)),
            "notin,node,app-tag/t/zk",
        ),
        (Single(partition="gpu"), "in,node,yarn_node_partition/=gpu"),
    ],
)
def test_constraints_are_written_as_users_write_them(constraint: Constraint, text: str) -> None:
    assert str(constraint) == text
