"""Vectors from Hadoop's TestResources and TestResourceCalculator; the laws are in tests/property/test_domain.py."""

from __future__ import annotations

import pytest

from yodel.domain.resource import NONE, Resource, rounded_up
from yodel.errors import InvalidValue

GPU = (("gpu", 2),)


def test_sum_has_the_extras_of_both_sorted_by_name() -> None:
    assert Resource(1, 2, (("b", 1),)) + Resource(3, 4, (("a", 5), ("b", 1))) == Resource(4, 6, (("a", 5), ("b", 2)))


def test_difference_may_be_negative() -> None:
    assert Resource(1, 1) - Resource(2, 3, GPU) == Resource(-1, -2, (("gpu", -2),))


def test_product_multiplies_every_amount() -> None:
    assert Resource(1024, 2, GPU) * 3 == Resource(3072, 6, (("gpu", 6),))


def test_a_type_that_nobody_has_any_more_is_not_in_a_sum() -> None:
    several, of_none = Resource(1, 2, (("fpga", 1), ("gpu", 2))), Resource(1, 1, (("gpu", 0),))

    assert several - Resource(0, 0, GPU) == Resource(1, 2, (("fpga", 1),))
    assert several - several == NONE + NONE == several * 0 == (NONE - several).at_least_zero() == NONE
    assert NONE + of_none == of_none - NONE == of_none * 1 == of_none.at_least_zero() == Resource(1, 1)


@pytest.mark.parametrize(
    ("small", "large", "fits"),
    [
        (Resource(1, 1), Resource(1, 1), True),
        (Resource(1, 1), Resource(2, 2), True),
        (Resource(2, 1), Resource(1, 2), False),
        (Resource(1, 2), Resource(2, 1), False),
        (Resource(1, 1, GPU), Resource(2, 2), False),
        (Resource(1, 1), Resource(2, 2, GPU), True),
        (Resource(1, 1, GPU), Resource(1, 1, GPU), True),
        (Resource(1, 1, (("gpu", 3),)), Resource(9, 9, GPU), False),
        (Resource(1, 1, (("gpu", 0),)), Resource(1, 1), True),
        (NONE, NONE, True),
    ],
)
def test_fitting_needs_every_amount(small: Resource, large: Resource, fits: bool) -> None:
    assert small.fits_in(large) is fits


def test_at_least_zero_raises_only_what_is_negative() -> None:
    assert Resource(-1, 5, (("gpu", -2),)).at_least_zero() == Resource(0, 5)


@pytest.mark.parametrize(
    ("ask", "rounded"),
    [
        (Resource(0, 0), Resource(1024, 1)),
        (Resource(1, 1), Resource(1024, 1)),
        (Resource(1024, 1), Resource(1024, 1)),
        (Resource(1025, 2), Resource(2048, 2)),
        (Resource(1408, 3, GPU), Resource(2048, 3, GPU)),
    ],
)
def test_ask_is_rounded_up_to_the_minimum_allocation(ask: Resource, rounded: Resource) -> None:
    assert rounded_up(ask, Resource(1024, 1)) == rounded


@pytest.mark.parametrize("minimum", [Resource(0, 1), Resource(1024, 0), Resource(-1, 1)])
def test_minimum_that_is_not_positive_is_refused(minimum: Resource) -> None:
    with pytest.raises(InvalidValue, match="minimum allocation"):
        rounded_up(Resource(1, 1), minimum)


@pytest.mark.parametrize(
    ("amount", "expected"),
    [
        (Resource(0, 0), "0 MiB, 0 vcores"),
        (Resource(1024, 1), "1 GiB, 1 vcore"),
        (Resource(12_289, 3, GPU), "12289 MiB, 3 vcores, 2 gpu"),
        (Resource(-2048, -1), "-2 GiB, -1 vcores"),
    ],
)
def test_people_read_amounts_with_units(amount: Resource, expected: str) -> None:
    assert amount.with_units == expected


def test_text_is_hadoops() -> None:
    assert str(Resource(1024, 2)) == "<memory:1024, vCores:2>"
    assert str(Resource(1024, 2, GPU)) == "<memory:1024, vCores:2, gpu: 2>"
