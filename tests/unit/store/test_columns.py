from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.records import ODD_TEXTS
from yodel.store.columns import escaped, unescaped

any_text = st.text(st.characters(exclude_categories=())) | st.text("\x00\x1a\ud800\udfff01a", max_size=12)


@given(any_text)
def test_any_text_comes_back(text: str) -> None:
    assert unescaped(escaped(text)) == text


@given(any_text)
def test_escaped_text_is_what_both_databases_take(text: str) -> None:
    assert "\x00" not in escaped(text)
    escaped(text).encode()  # a lone surrogate would raise


@given(any_text, any_text)
def test_different_texts_stay_different(one: str, other: str) -> None:
    assert (escaped(one) == escaped(other)) == (one == other)


@pytest.mark.parametrize("text", [t for t in ODD_TEXTS if not {*t} & {"\x00", "\x1a", "\ud800"}])
def test_ordinary_text_is_stored_as_it_is(text: str) -> None:
    assert escaped(text) == text


def test_nul_is_written_as_substitute_and_four_digits() -> None:
    assert escaped("a\x00b") == "a\x1a0000b"
