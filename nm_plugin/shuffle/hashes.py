"""Proof that a reducer knows its job's secret, and that the answer comes from somebody who knows it too.

Follows ``SecureShuffleUtils``: HMAC-SHA1 under the job's shuffle secret, whatever its length, in base64.  The message
of a request is the decimal port and the request target, of the answer the request's hash as it was received.  The port
is the one this server listens on: a reducer that dials through a port mapping cannot be verified.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from http import HTTPStatus

from nm_plugin.shuffle.fetch import HttpRefusal

HASH_TEXT_MAX = 100


def url_hash(secret: bytes, port: int, target: str) -> str:
    """Return the ``UrlHash`` of a reducer's request."""
    return _hash(secret, f"{port}{target}")


def verified_reply(secret: bytes, port: int, target: str, received: str | None) -> str:
    """The ``ReplyHash`` for a request with this ``UrlHash``.  Compares in constant time.

    Raises:
        HttpRefusal: no hash, or not this job's over this target; the texts are Hadoop's.
    """
    if received is None:
        raise HttpRefusal(HTTPStatus.UNAUTHORIZED, "fetcher cannot be authenticated")
    try:
        digest = base64.b64decode(received[:HASH_TEXT_MAX].encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError):
        digest = b""
    expected = hmac.new(secret, f"{port}{target}".encode(), hashlib.sha1).digest()
    if not hmac.compare_digest(digest, expected):
        raise HttpRefusal(HTTPStatus.UNAUTHORIZED, "Verification of the hashReply failed")
    return _hash(secret, received)


def _hash(secret: bytes, text: str) -> str:
    return base64.b64encode(hmac.new(secret, text.encode(), hashlib.sha1).digest()).decode("ascii")
