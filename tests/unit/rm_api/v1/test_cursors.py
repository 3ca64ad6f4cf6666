"""Cursors survive the way there and back, and nothing else does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yodel.errors import InvalidValue
from yodel.rm_api.v1 import cursors


@given(st.text(), st.integers())
def test_key_comes_back(name: str, number: int) -> None:
    assert cursors.decoded("k", cursors.encoded("k", name, number), str, int) == (name, number)


def test_no_cursor_is_no_key() -> None:
    assert cursors.decoded("k", None, str) is None


@given(st.text(max_size=40))
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue):
        cursors.decoded("k", text, str)


@pytest.mark.parametrize("key", [("a",), (1, 2), ("a", True), ("a", 1, 1)])
def test_key_of_another_form_is_refused(key: tuple[str | int, ...]) -> None:
    with pytest.raises(InvalidValue):
        cursors.decoded("k", cursors.encoded("k", *key), str, int)


def test_page_ends_with_a_cursor_only_when_more_follows() -> None:
    assert cursors.page([1, 2, 3], 2, str) == ([1, 2], "2")
    assert cursors.page([1, 2], 2, str) == ([1, 2], None)
    assert cursors.page([], 2, str) == ([], None)
