"""An image of the submitter's: as YARN users ask for it, and only where the queue allows it."""

from __future__ import annotations

import pytest

from yodel.errors import Refused
from yodel.translator import images

DOCKER = {"YARN_CONTAINER_RUNTIME_TYPE": "docker"}
ALLOWED = ("registry.example.com/hadoop/*", "busybox:1.36")


def test_image_is_asked_for_in_the_environment_as_in_yarn() -> None:
    asked = {**DOCKER, "YARN_CONTAINER_RUNTIME_DOCKER_IMAGE": " registry.example.com/hadoop/py:3 "}
    assert images.asked(asked) == "registry.example.com/hadoop/py:3"


@pytest.mark.parametrize(
    "environment",
    [
        {},
        DOCKER,
        {"YARN_CONTAINER_RUNTIME_DOCKER_IMAGE": "x"},
        {"YARN_CONTAINER_RUNTIME_TYPE": "default", "YARN_CONTAINER_RUNTIME_DOCKER_IMAGE": "x"},
    ],
)
def test_nothing_is_asked_for_without_the_docker_runtime_and_an_image(environment: dict[str, str]) -> None:
    assert images.asked(environment) == ""


@pytest.mark.parametrize("wanted", ["", "own:1"])
def test_queues_own_image_needs_no_permission(wanted: str) -> None:
    assert images.chosen("own:1", (), wanted) == "own:1"


@pytest.mark.parametrize(
    "wanted", ["registry.example.com/hadoop/py:3", "registry.example.com/hadoop/a/b", "busybox:1.36"]
)
def test_what_a_pattern_matches_is_allowed(wanted: str) -> None:
    assert images.chosen("own:1", ALLOWED, wanted) == wanted


@pytest.mark.parametrize(
    "wanted", ["registry.example.com.evil/hadoop/x", "evil/registry.example.com/hadoop/x", "busybox:1.37", "busybox"]
)
def test_what_none_matches_is_refused_with_what_is_allowed(wanted: str) -> None:
    with pytest.raises(Refused, match=r"not allowed in this queue; allowed: busybox:1\.36, registry"):
        images.chosen("own:1", ALLOWED, wanted)


def test_queue_that_allows_none_says_so() -> None:
    with pytest.raises(Refused, match="no other image than the queue's own"):
        images.chosen("own:1", (), "other:1")


@pytest.mark.parametrize("wanted", ["a b", "-v/:/host", "a\nb", "$(id)", "x" * 600, "☃", "../../x"])
def test_what_is_no_image_is_refused_even_where_all_are_allowed(wanted: str) -> None:
    with pytest.raises(Refused, match="expected the name of an image") as caught:
        images.chosen("own:1", ("*",), wanted)
    assert len(str(caught.value)) < 400
