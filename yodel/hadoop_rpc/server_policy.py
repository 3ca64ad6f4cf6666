"""Identifies callers, and defines a port's requirements: how they authenticate, who is admitted, how much they may
send."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from yodel.hadoop_rpc import gssapi, sasl
from yodel.hadoop_rpc.framing import FRAME_BYTES_MAX

FRAME_BYTES_BEFORE_OPEN_MAX = 64 * 1024


class AuthMethod(Enum):
    """Lists how a caller can be authenticated; the names are Hadoop's."""

    SIMPLE = "SIMPLE"
    TOKEN = "TOKEN"
    KERBEROS = "KERBEROS"


@dataclass(frozen=True, slots=True, kw_only=True)
class KerberosOffer:
    """Names the service whose tickets a port takes: its principal is ``protocol/server_id@REALM``.

    ``short_name`` maps a principal, and leaves a plain name as it is; it raises InvalidValue if no rule applies.
    ``rule_of`` returns the rule that maps one.
    """

    protocol: str
    server_id: str
    short_name: Callable[[str], str]
    rule_of: Callable[[str], str] = field(default=lambda _: "", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenGrant:
    """Holds the password for a token's identifier, the caller's name, and the token's kind.

    ``real_user`` is set when a proxy got the token for ``user``; it was authorized then (Server.authorizeConnection).
    """

    password: bytes = field(repr=False)
    user: str
    kind: str
    real_user: str | None = None


TokenPasswords = Callable[[bytes], TokenGrant | None]
"""Identifier bytes to grant; None when unknown or expired; may raise ``RemoteFault(INVALID_TOKEN, reason)``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallerIdentity:
    """Identifies the caller of an open connection.  ``real_user`` is set when a proxy acts for ``user``."""

    user: str
    real_user: str | None = None
    auth_method: AuthMethod = AuthMethod.SIMPLE
    token_kind: str | None = None
    token_identifier: bytes | None = None
    principal: str = ""
    """The ticket's owner: of ``real_user``, if there is one."""


Authorize = Callable[[CallerIdentity], None]
"""Raises a fatal ``RemoteFault`` to refuse an identity (impersonation rules, service ACL)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionPolicy:
    """Defines a port's requirements for clients, and the largest frames it takes (in bytes, without the length itself).

    ``frame_setting`` is the setting that allows larger ones, for the refusal's text.
    """

    allow_simple: bool
    token_passwords: TokenPasswords | None
    authorize: Authorize
    kerberos: KerberosOffer | None = None
    frame_bytes_max: int = FRAME_BYTES_MAX
    frame_bytes_before_open_max: int = FRAME_BYTES_BEFORE_OPEN_MAX
    frame_setting: str | None = None

    def __post_init__(self) -> None:
        if not self.allow_simple and self.token_passwords is None and self.kerberos is None:
            raise ValueError("a port that takes neither SIMPLE nor tokens nor tickets serves nobody")

    @property
    def methods(self) -> str:
        """The enabled methods as Hadoop prints them."""
        names = [] if self.token_passwords is None else [sasl.METHOD]
        names += [gssapi.METHOD] * (self.kerberos is not None) + ["SIMPLE"] * self.allow_simple
        return "[" + ", ".join(names) + "]"
