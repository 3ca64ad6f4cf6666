from __future__ import annotations

import pytest

from yodel.errors import InvalidValue
from yodel.translator.quantities import format_milli, parse_milli, quantity


@pytest.mark.parametrize(
    ("text", "milli"),
    [
        ("1", 1000),
        ("500m", 500),
        ("2Gi", 2 * 2**30 * 1000),
        ("1.5k", 1_500_000),
        ("1e3", 1_000_000),
        ("1E", 10**21),
        ("1Ei", 2**60 * 1000),
        (".5", 500),
        ("-2", -2000),
        ("1n", 1),
        (3, 3000),
    ],
)
def test_quantities_are_read_exactly_and_rounded_up(text: object, milli: int) -> None:
    assert parse_milli(text) == milli


@pytest.mark.parametrize("text", ["", "x", "1 Gi", "1gi", "--1", None, True, "1" * 100, "1.2.3"])
def test_everything_else_is_refused(text: object) -> None:
    with pytest.raises(InvalidValue):
        parse_milli(text)


def test_whole_numbers_print_without_suffix() -> None:
    assert (format_milli(2000), format_milli(1500)) == ("2", "1500m")


@pytest.mark.parametrize("text", ["１２", "٤Gi", "1e٣", "1.５"])
def test_digits_of_other_scripts_are_none(text: str) -> None:
    with pytest.raises(InvalidValue):
        parse_milli(text)


@pytest.mark.parametrize(
    ("amount", "unit", "text"),
    [
        (6_100, "m", "6100m"),
        (6, "cores", "6"),
        (6_144, "Mi", "6144Mi"),
        (6 << 30, "bytes", "6144Mi"),
        ((6 << 30) + 1, "bytes", "6442450945"),
        (-(1 << 20), "bytes", "-1Mi"),
        (7, "", "7"),
    ],
)
def test_amounts_for_people_have_a_unit(amount: int, unit: str, text: str) -> None:
    assert quantity(amount, unit) == text
    assert quantity(amount, unit, "+") == ("+" if amount >= 0 else "") + text
