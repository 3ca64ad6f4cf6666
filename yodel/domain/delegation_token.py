"""A delegation token: the right to speak to the RM as its owner without any other proof, until it expires.

Follows AbstractDelegationTokenSecretManager: the row holds the identifier as it was signed and until when it is valid;
the password is made again from the master key that the identifier names, so no secret lies beside it.
"""

from __future__ import annotations

from dataclasses import dataclass

DELEGATION_TOKEN_KIND = "RM_DELEGATION_TOKEN"


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegationToken:
    """One token that was given out.  ``expires_ms`` (epoch) moves with each renewal, never beyond the maximum."""

    sequence: int
    identifier: bytes
    expires_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegationTokenContent:
    """Holds the content of an identifier (YARNDelegationTokenIdentifierProto).  Times are epoch milliseconds."""

    owner: str
    renewer: str
    real_user: str
    issued_ms: int
    max_ms: int
    sequence: int
    master_key_id: int

    def __str__(self) -> str:
        """Return the text of AbstractDelegationTokenIdentifier.toString, which error texts contain."""
        return (
            f"{DELEGATION_TOKEN_KIND} owner={self.owner}, renewer={self.renewer}, realUser={self.real_user}, "
            f"issueDate={self.issued_ms}, maxDate={self.max_ms}, sequenceNumber={self.sequence}, "
            f"masterKeyId={self.master_key_id}"
        )
