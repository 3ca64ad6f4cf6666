from __future__ import annotations

from typing import get_args

import pytest

from yodel.domain.effects import Effect, OutsideEffect, TransactionEffect


def test_every_effect_is_either_inside_the_transaction_or_outside() -> None:
    assert {*get_args(Effect)} == {*get_args(TransactionEffect), *get_args(OutsideEffect)}
    assert not {*get_args(TransactionEffect)} & {*get_args(OutsideEffect)}


@pytest.mark.parametrize("effect", get_args(Effect), ids=lambda effect: effect.__name__)
def test_effects_are_values(effect: type) -> None:
    arguments = range(len(effect.__match_args__))  # type: ignore[attr-defined]
    assert effect(*arguments) == effect(*arguments)
    assert hash(effect(*arguments)) == hash(effect(*arguments))
