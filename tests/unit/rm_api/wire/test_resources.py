"""Amounts."""

from __future__ import annotations

import pytest

from yodel.domain.resource import Resource
from yodel.rm_api.wire.resources import LONG_MAX, java_float, resource, seconds_map


def test_resource_names_every_type() -> None:
    shown = resource(Resource(512, 2, (("yarn.io/gpu", 1),)))
    infos = shown["resourceInformations"]["resourceInformation"]
    assert (shown["memory"], shown["vCores"]) == (512, 2)
    assert [(i["name"], i["units"], i["value"]) for i in infos] == [
        ("memory-mb", "Mi", 512),
        ("vcores", "", 2),
        ("yarn.io/gpu", "", 1),
    ]
    assert {(i["minimumAllocation"], i["maximumAllocation"]) for i in infos} == {(0, LONG_MAX)}


def test_limits_are_shown_where_there_are_any() -> None:
    infos = resource(Resource(0, 0), Resource(256, 1), Resource(8192, 8))["resourceInformations"]["resourceInformation"]
    assert [(i["minimumAllocation"], i["maximumAllocation"]) for i in infos] == [(256, 8192), (1, 8)]


def test_map_is_one_array_of_entries() -> None:
    assert seconds_map(5, 1) == {"entry": [{"key": "memory-mb", "value": 5}, {"key": "vcores", "value": 1}]}


@pytest.mark.parametrize(
    ("value", "shown"),
    [(100 * 768 / 8601, 8.929194), (100 / 3, 33.333332), (6.25, 6.25), (0.1, 0.1), (0.0, 0.0), (1e300, 0.0)],
)
def test_float_prints_as_javas(value: float, shown: float) -> None:
    assert java_float(value) == shown


def test_no_number_is_none() -> None:
    assert java_float(float("nan")) == 0.0
