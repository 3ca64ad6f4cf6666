"""Numbers as Java writes them."""

from __future__ import annotations

import pytest

from yodel.hadoop_http.java_numbers import java_float


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (100 * 768 / 8601, 8.929194),
        (100 / 3, 33.333332),
        (6.25, 6.25),
        (0.1, 0.1),
        (0.0, 0.0),
        (-1.0, -1.0),
        (999999.0, 999999.0),
        (12345678.0, 12345678.0),
        (123456789.0, 123456790.0),
        (1e300, 0.0),
        (1234567.8, 1234567.8),
        (16777217.0, 16777216.0),
        (0.123456789, 0.12345679),
    ],
)
def test_float_prints_as_javas(value: float, shown: float) -> None:
    assert java_float(value) == shown


def test_no_number_is_none() -> None:
    assert java_float(float("nan")) == 0.0
