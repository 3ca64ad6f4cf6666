"""SASL GSSAPI works as Java's does with Kerberos tickets, on the server's side: what is said, and who judges a ticket.

Follows ``SaslRpcServer`` and the JDK's ``com.sun.security.sasl.gsskerb.GssKrb5Server`` (RFC 4752): the client's first
token is judged by an ``Acceptor``; its answer goes back, the client says nothing, the server offers its security
layers, and the client chooses one.  Only authentication is offered (``hadoop.rpc.protection``): no integrity, no
privacy.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from yodel.hadoop_rpc.sasl import SaslRefused

METHOD = "KERBEROS"
MECHANISM = "GSSAPI"
NO_LAYER = 1
"""Bit of authentication alone; 2 is integrity, 4 privacy."""
LAYERS = bytes([NO_LAYER]) + (64 * 1024).to_bytes(3, "big")
"""The layers offered, and the largest buffer, which means nothing without a layer but which Java sends."""
CHOICE_BYTES_MIN = 4


class Session(Protocol):
    """Protects messages under the key of an accepted ticket."""

    def wrap(self, data: bytes) -> bytes:
        """Return data with a proof of its integrity.  Raises AccessDenied: the ticket has expired."""
        ...

    def unwrap(self, data: bytes) -> bytes:
        """Raises AccessDenied: it was not made with this key, or is not the next."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Negotiated:
    """Reports a ticket's owner; ``user`` is the short name of ``principal``.

    Both are empty, and there is no session, while a negotiation (SPNEGO) goes on with ``answer``.
    """

    user: str = ""
    principal: str = ""
    answer: bytes = b""
    session: Session | None = field(default=None, repr=False)


class Ticket(Protocol):
    """Proves a client's name on one connection.  ``token`` is sent first."""

    @property
    def token(self) -> bytes: ...

    def answered(self, token: bytes) -> Session:
        """Take the service's answer.  Raises AccessDenied: it does not prove that it is the service."""
        ...


class Acceptor(Protocol):
    """Judges tickets for a service principal (KerberosAuthenticationHandler, GssKrb5Server)."""

    async def accept(self, token: bytes) -> Negotiated:
        """Raises AccessDenied: the token proves nothing; InvalidValue: its owner has no short name; Unavailable: it was
        not judged in time."""
        ...


def choice_of(offered: bytes) -> bytes:
    """Return a client's choice among the layers that a server offers.

    Raises:
        SaslRefused: with the JDK's text.
    """
    if not offered or not offered[0] & NO_LAYER:
        raise SaslRefused("No common protection layer between client and server")
    return bytes([NO_LAYER, 0, 0, 0])


def check_choice(data: bytes, principal: str) -> None:
    """Check the client's choice of a layer, and that it claims to be nobody else.

    Raises:
        SaslRefused: with the JDK's text.
    """
    if len(data) < CHOICE_BYTES_MIN:
        raise SaslRefused("Client response was too short")
    if data[0] != NO_LAYER:
        raise SaslRefused(
            f"Client selected unsupported protection: {data[0]} "
            "(only authentication is offered: hadoop.rpc.protection=authentication)"
        )
    claimed = data[CHOICE_BYTES_MIN:]
    if claimed and claimed != principal.encode():
        raise SaslRefused(f"{principal} is not authorized to connect as {claimed[:256].decode(errors='replace')}")
