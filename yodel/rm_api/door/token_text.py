"""Delegation tokens as text in headers and addresses (Token.encodeToUrlString): URL-safe base64 of the Writable."""

from __future__ import annotations

import base64
import binascii

from yodel.domain.tokens import Token
from yodel.errors import InvalidValue
from yodel.hadoop_rpc.writable import WireToken, encode_token, parse_token

LENGTH_MAX = 16 * 1024


def to_text(token: Token, service: str = "") -> str:
    wire = WireToken(
        identifier=token.identifier, password=token.password, kind=token.kind, service=service or token.service
    )
    return base64.urlsafe_b64encode(encode_token(wire)).rstrip(b"=").decode()


def from_text(text: str) -> WireToken:
    """Raises InvalidValue, which shows nothing of the text: it is a secret."""
    plain = text.strip().rstrip("=")
    try:
        if len(plain) > LENGTH_MAX:
            raise ValueError("too long")
        # Both alphabets: Hadoop's decoder takes both.
        data = base64.b64decode(plain.replace("+", "-").replace("/", "_") + "=" * (-len(plain) % 4), b"-_", True)
        return parse_token(data)
    except (binascii.Error, ValueError) as error:
        raise InvalidValue("delegation token", f"<{len(text)} characters>", "an encoded token") from error
