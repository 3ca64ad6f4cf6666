from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yodel.domain.delegation_token import DelegationTokenContent
from yodel.domain.tokens import MasterKey, is_signed_by
from yodel.errors import InvalidToken
from yodel.pb_convert.delegation_tokens import delegation_content, delegation_token

KEY = MasterKey(key_id=3, secret=b"secret")
names = st.text(st.characters(codec="utf-8"), max_size=20)


@given(names, names, names, st.integers(0, 2**40), st.integers(0, 2**31 - 1))
def test_what_is_signed_says_the_same(owner: str, renewer: str, real_user: str, at_ms: int, sequence: int) -> None:
    content = DelegationTokenContent(
        owner=owner,
        renewer=renewer,
        real_user=real_user,
        issued_ms=at_ms,
        max_ms=at_ms + 1,
        sequence=sequence,
        master_key_id=3,
    )
    token = delegation_token(KEY, content)
    assert delegation_content(token.identifier) == content
    assert is_signed_by(KEY, token.identifier, token.password)


def test_identifier_is_what_hadoop_writes() -> None:
    """YARNDelegationTokenIdentifierProto: texts that are empty are left out."""
    content = DelegationTokenContent(
        owner="a", renewer="", real_user="", issued_ms=1, max_ms=2, sequence=3, master_key_id=4
    )
    assert delegation_token(KEY, content).identifier == bytes.fromhex("0a0161 2001 2802 3003 3804".replace(" ", ""))


def test_bytes_that_are_no_message_are_refused() -> None:
    with pytest.raises(InvalidToken):
        delegation_content(b"\xff")
