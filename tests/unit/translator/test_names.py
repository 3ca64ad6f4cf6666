from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.records import a_container, containers
from yodel.domain.states import ContainerType
from yodel.translator import names

LABEL_VALUE = re.compile(r"([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?")
"""Kubernetes' own rule (IsValidLabelValue)."""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("alice", "alice"),
        ("root.default", "root.default"),
        ("alice@EXAMPLE.COM", "alice-EXAMPLE.COM"),
        ("_alice_", "alice"),
        ("", ""),
        ("☃☃", ""),
        ("a" * 70, "a" * 63),
        ("a" * 62 + "@b", "a" * 62),
        ('x";\n{}', "x"),
    ],
)
def test_text_is_bent_into_a_label(text: str, value: str) -> None:
    assert names.label_value(text) == value


@given(st.text(max_size=200))
def test_whatever_the_text_the_label_is_legal(text: str) -> None:
    assert LABEL_VALUE.fullmatch(names.label_value(text))


@settings(max_examples=40)
@given(containers)
def test_every_label_of_every_container_is_legal(container: object) -> None:
    found = names.labels(container, "cluster")  # type: ignore[arg-type]
    bent = {k: v for k, v in found.items() if k in (names.USER, names.QUEUE, names.ROLE, names.CLUSTER)}
    assert all(LABEL_VALUE.fullmatch(value) for value in bent.values())


def test_labels_answer_who_what_and_where() -> None:
    assert names.labels(a_container(), "prod") == {
        "app.kubernetes.io/managed-by": "yodel",
        "yodel.io/cluster": "prod",
        "yodel.io/application": "application_1700000000000_0001",
        "yodel.io/attempt-id": "appattempt_1700000000000_0001_000001",
        "yodel.io/container-id": "container_1700000000000_0001_01_000002",
        "yodel.io/role": "task",
        "yodel.io/user": "alice",
        "yodel.io/queue": "root.default",
    }


def test_role_tells_the_am_from_its_tasks() -> None:
    assert names.role(a_container(type=ContainerType.APPLICATION_MASTER)) == "am"
    assert names.role(a_container()) == "task"


def test_selector_finds_the_pods_with_these_labels() -> None:
    labels = names.labels(a_container(), "my cluster!")
    wanted = dict(part.split("=") for part in names.selector("my cluster!").split(","))
    assert wanted.items() <= labels.items()


def test_annotations_carry_the_exact_text_up_to_a_length() -> None:
    found = names.annotations(a_container(user="alice@EXAMPLE.COM"), "n" * 9000, "SPARK")
    assert found["yodel.io/user"] == "alice@EXAMPLE.COM"
    assert found["yodel.io/capability"] == "<memory:2048, vCores:2>"
    assert (len(found["yodel.io/application-name"]), found["yodel.io/application-type"]) == (4096, "SPARK")
    assert found["yodel.io/priority"] == "1"


def test_container_is_found_again_by_its_label() -> None:
    container = a_container()
    assert names.container_of(names.labels(container, "c")) == container.id


@pytest.mark.parametrize("labels", [None, {}, {names.CONTAINER: "no container"}, {names.CONTAINER: 7}])
def test_pod_without_our_label_is_nobodys(labels: object) -> None:
    assert names.container_of(labels) is None
