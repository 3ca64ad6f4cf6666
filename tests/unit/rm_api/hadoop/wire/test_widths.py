"""Sums that Java's fields do not hold leave as the most that they do: a client would fail to read more."""

from __future__ import annotations

from msgspec import to_builtins

from yodel.domain.resource import Resource
from yodel.rm_api.hadoop.wire.resources import resource

INT_MAX, LONG_MAX = 2**31 - 1, 2**63 - 1


def test_amounts_fit_javas_fields() -> None:
    shown = to_builtins(resource(Resource(2**70, 2**40, (("gpu", 2**70),))))
    assert (shown["memory"], shown["vCores"]) == (LONG_MAX, INT_MAX)
    values = [info["value"] for info in shown["resourceInformations"]["resourceInformation"]]
    assert values == [LONG_MAX, 2**40, LONG_MAX]  # vCores are a long there


def test_negative_amounts_fit_them_too() -> None:
    shown = to_builtins(resource(Resource(-(2**70), -(2**40))))
    assert (shown["memory"], shown["vCores"]) == (-LONG_MAX - 1, -INT_MAX - 1)
