"""Tokens as text."""

from __future__ import annotations

import pytest

from yodel.domain.tokens import Token
from yodel.errors import InvalidValue
from yodel.rm_api.door.token_text import LENGTH_MAX, from_text, to_text

TOKEN = Token(identifier=b"\xfb\xff\xfe", password=b"\x00secret", kind="RM_DELEGATION_TOKEN", service="")


def test_token_is_what_hadoop_writes() -> None:
    # Token.write: each field behind its length; Base64(0, null, true) pads nothing.
    assert to_text(TOKEN, "rm:8032") == "A_v__gcAc2VjcmV0E1JNX0RFTEVHQVRJT05fVE9LRU4Hcm06ODAzMg"


def test_token_comes_back() -> None:
    wire = from_text(to_text(TOKEN))
    assert (wire.identifier, wire.password, wire.kind, wire.service) == (
        TOKEN.identifier,
        TOKEN.password,
        TOKEN.kind,
        "",
    )


def test_both_alphabets_and_padding_are_read() -> None:
    text = to_text(TOKEN)
    padded = text.replace("_", "/").replace("-", "+") + "=" * (-len(text) % 4)
    assert from_text(padded) == from_text(text)


@pytest.mark.parametrize("text", ["", "A", "nonsense!", "AAAA", "é", "A" * (LENGTH_MAX + 1)])
def test_what_is_no_token_is_refused_without_being_shown(text: str) -> None:
    with pytest.raises(InvalidValue, match=f"<{len(text)} characters>"):
        from_text(text)
