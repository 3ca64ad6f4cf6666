from __future__ import annotations

import pytest

from yodel.domain.tokens import MasterKey, Token, is_signed_by, password

# RFC 2202, test cases for HMAC-SHA1.
VECTORS = [
    (b"\x0b" * 20, b"Hi There", "b617318655057264e28bc0b6fb378c8ef146be00"),
    (b"Jefe", b"what do ya want for nothing?", "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"),
    (b"\xaa" * 20, b"\xdd" * 50, "125d7342b9ac11cd91a39af48aa17b4f63f175d3"),
    (
        b"\xaa" * 80,
        b"Test Using Larger Than Block-Size Key - Hash Key First",
        "aa4ae5e15272d00e95705637ce8a3b55ed402112",
    ),
]


@pytest.mark.parametrize(("secret", "identifier", "expected"), VECTORS)
def test_password_is_hmac_sha1_of_the_identifier(secret: bytes, identifier: bytes, expected: str) -> None:
    assert password(MasterKey(key_id=1, secret=secret), identifier).hex() == expected


def test_password_of_another_length_does_not_verify() -> None:
    key = MasterKey(key_id=1, secret=b"k" * 32)
    signed = password(key, b"identifier")

    assert is_signed_by(key, b"identifier", signed)
    assert not is_signed_by(key, b"identifier", signed[:-1])
    assert not is_signed_by(key, b"identifier", signed + b"\0")
    assert not is_signed_by(key, b"identifier", b"")


def test_secrets_are_in_no_repr() -> None:
    token = Token(identifier=b"id", password=b"hush-hush", kind="NMToken", service="")

    assert "hush-hush" not in repr(token)
    assert "hush-hush" not in repr(MasterKey(key_id=1, secret=b"hush-hush"))
