"""Proves that a node agent knows the secret which it shares with the ResourceManager (decision 0007).

It is a token of a kind of its own: its identifier is the node's name, its password HMAC-SHA1(secret, name).
"""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path

from yodel.errors import InvalidValue

NODE_TOKEN_KIND = "YODEL_NODE_TOKEN"
SECRET_BYTES_MIN, SECRET_BYTES_MAX = 16, 4096


def read_secret(path: Path, setting: str = "node_token_file") -> bytes:
    """Return the content of the file that a setting names, on either side, without the space around it.  Blocks.
    Blocks.

    Raises:
        InvalidValue: it cannot be read, or is too short or too long; the text does not show it.
    """
    try:
        with path.open("rb") as file:
            secret = file.read(2 * SECRET_BYTES_MAX).strip()
    except OSError as error:
        raise InvalidValue(setting, str(path), "a readable file") from error
    if not SECRET_BYTES_MIN <= len(secret) <= SECRET_BYTES_MAX:
        raise InvalidValue(setting, f"{len(secret)} bytes", f"{SECRET_BYTES_MIN} to {SECRET_BYTES_MAX} bytes")
    return secret


def password_of(secret: bytes, node_name: bytes) -> bytes:
    """20 bytes."""
    return hmac.new(secret, node_name, hashlib.sha1).digest()
