from __future__ import annotations

import pytest

from yodel.domain.resource import Resource
from yodel.errors import InvalidValue
from yodel.translator.dialects import DIALECTS, dialect, quantities

CAPABILITY = Resource(2048, 3)


def test_native_asks_for_cores_and_memory() -> None:
    assert quantities(dialect("native"), CAPABILITY, 1000) == {"cpu": "3000m", "memory": "2048Mi"}


def test_koordinator_asks_for_milli_cores_and_bytes_as_plain_integers() -> None:
    assert quantities(dialect("koordinator"), CAPABILITY, 1000) == {
        "kubernetes.io/batch-cpu": "3000",
        "kubernetes.io/batch-memory": "2147483648",
    }
    assert dialect("koordinator").labels == {"koordinator.sh/qosClass": "BE"}
    assert dialect("koordinator").priority_class_name == "koord-batch"


@pytest.mark.parametrize("name", sorted(DIALECTS))
def test_a_vcore_is_worth_what_the_operator_says(name: str) -> None:
    whole, half = (quantities(dialect(name), CAPABILITY, milli) for milli in (1000, 500))
    cpu = next(key for key in whole if "cpu" in key)
    assert int(whole[cpu].rstrip("m")) == 2 * int(half[cpu].rstrip("m")) == 3000


def test_further_types_go_by_their_names_and_none_of_one_is_left_out() -> None:
    capability = Resource(1024, 1, (("example.com/gpu", 2), ("example.com/none", 0)))
    assert quantities(dialect("native"), capability, 1000) == {
        "cpu": "1000m",
        "memory": "1024Mi",
        "example.com/gpu": "2",
    }


@pytest.mark.parametrize("name", sorted(DIALECTS))
def test_further_types_cannot_take_the_place_of_the_dialects_own(name: str) -> None:
    plain = quantities(dialect(name), CAPABILITY, 1000)
    cheat = Resource(2048, 3, tuple(sorted((key, 1) for key in plain)))
    assert quantities(dialect(name), cheat, 1000) == plain


def test_unknown_dialect_is_refused_with_the_ones_there_are() -> None:
    with pytest.raises(InvalidValue, match="koordinator, native"):
        dialect("klingon")
