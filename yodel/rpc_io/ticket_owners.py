"""Decides whose tickets a port takes, if its protocol names its clients (``KerberosInfo.clientPrincipal``)."""

from __future__ import annotations

from dataclasses import dataclass

from yodel.hadoop_rpc import faults
from yodel.hadoop_rpc.faults import unauthorized

HOST = "_HOST"


@dataclass(frozen=True, slots=True, kw_only=True)
class TicketOwners:
    """Admits one principal.

    ``_HOST`` stands for any host: Hadoop compares it with the name of the peer's address.  An empty ``principal`` is
    nobody's.
    """

    protocol: str
    principal: str

    def authorize(self, principal: str) -> None:
        """Raises RemoteFault: fatal, with the text of ``ServiceAuthorizationManager.authorize``."""
        if self.principal and _without_host(principal, self.principal) == self.principal:
            return
        only = f"this service is only accessible by {self.principal}"
        reason = only if self.principal else "denied by configured ACL"
        text = f"User {principal} (auth:KERBEROS) is not authorized for protocol interface {self.protocol}: {reason}"
        raise unauthorized(faults.AUTHORIZATION, text)


def _without_host(principal: str, pattern: str) -> str:
    """Return the principal with ``_HOST`` for its host, if the pattern has that."""
    service, slash, rest = principal.partition("/")
    return f"{service}/{HOST}@{rest.partition('@')[2]}" if slash and f"/{HOST}@" in pattern else principal
