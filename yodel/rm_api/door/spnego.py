"""The place where Kerberos plugs in: somebody who can judge an SPNEGO token (KerberosAuthenticationHandler).

Nobody who can is part of this release: with ``authentication = "kerberos"`` callers without a delegation token are told
so with 401 and the challenge.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

SCHEME = "Negotiate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Negotiated:
    """``user`` is the short name of ``principal``; both are empty while the negotiation goes on with ``answer``."""

    user: str = ""
    principal: str = ""
    answer: bytes = b""


class Acceptor(Protocol):
    """Judges tokens, under the service principal ``HTTP/<host>``."""

    async def accept(self, token: bytes) -> Negotiated:
        """Raises AccessDenied: the token proves nothing."""
        ...
