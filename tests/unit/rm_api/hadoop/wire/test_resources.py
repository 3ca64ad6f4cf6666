"""Amounts."""

from __future__ import annotations

from msgspec import to_builtins

from yodel.domain.resource import Resource
from yodel.rm_api.hadoop.wire.resources import LONG_MAX, resource, seconds_map


def test_resource_names_every_type() -> None:
    shown = to_builtins(resource(Resource(512, 2, (("yarn.io/gpu", 1),))))
    infos = shown["resourceInformations"]["resourceInformation"]
    assert (shown["memory"], shown["vCores"]) == (512, 2)
    assert [(i["name"], i["units"], i["value"]) for i in infos] == [
        ("memory-mb", "Mi", 512),
        ("vcores", "", 2),
        ("yarn.io/gpu", "", 1),
    ]
    assert {(i["minimumAllocation"], i["maximumAllocation"]) for i in infos} == {(0, LONG_MAX)}


def test_limits_are_shown_where_there_are_any() -> None:
    infos = resource(Resource(0, 0), Resource(256, 1), Resource(8192, 8)).resource_informations.resource_information
    assert [(i.minimum_allocation, i.maximum_allocation) for i in infos] == [(256, 8192), (1, 8)]


def test_map_is_one_array_of_entries() -> None:
    assert seconds_map(5, 1) == {"entry": [{"key": "memory-mb", "value": 5}, {"key": "vcores", "value": 1}]}
