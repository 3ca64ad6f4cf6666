"""Tokens: an identifier, a password made from it with a master key, and how both are checked.

Follows ``SecretManager``/``BaseNMTokenSecretManager``: password = HMAC-SHA1(master key, identifier bytes).  The
received identifier bytes are what is verified, never a re-encoded message.  Master keys roll: the current key
signs, the previous one is still accepted.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field

AMRM_TOKEN_KIND = "YARN_AM_RM_TOKEN"
NM_TOKEN_KIND = "NMToken"
CONTAINER_TOKEN_KIND = "ContainerToken"
CLIENT_TOKEN_KIND = "YARN_CLIENT_TOKEN"
MASTER_KEY_BYTES = 32
CLIENT_KEY_BYTES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """Holds a token, which goes over the wire as TokenProto and into credentials as a Writable."""

    identifier: bytes
    password: bytes = field(repr=False)
    kind: str
    service: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MasterKey:
    """A signing key.  ``key_id`` travels in identifiers and heartbeats; the secret in no log and no repr."""

    key_id: int
    secret: bytes = field(repr=False)


def password(key: MasterKey, identifier: bytes) -> bytes:
    """The 20 password bytes of an identifier."""
    return hmac.new(key.secret, identifier, "sha1").digest()  # hmac.digest gives up the interpreter's lock for it


def is_signed_by(key: MasterKey, identifier: bytes, candidate: bytes) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(password(key, identifier), candidate)
