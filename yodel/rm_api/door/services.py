"""Holds the door's rules from settings and its parts from the process, for the routes too."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network
from typing import Literal

from starlette.requests import Request

from yodel.domain.browser_rules import HostNames
from yodel.domain.cross_origin import CrossOriginRules
from yodel.hadoop_rpc.gssapi import Acceptor
from yodel.ports.clock import Clock
from yodel.rm_api.door.body_room import BodyRoom
from yodel.rm_api.door.body_turns import BodyTurns
from yodel.rm_api.door.csrf import CsrfRules
from yodel.rm_api.door.replay import Replay
from yodel.services.access.rights import Rights
from yodel.services.keys.delegation import DelegationTokens
from yodel.serving.proxy_users import ProxyUserRules


@dataclass(frozen=True, slots=True, kw_only=True)
class CallerRules:
    """Decides who a caller is, and what one without a name may do.

    ``anonymous_allowed`` is hadoop.http.authentication.simple.anonymous.allowed, ``static_user``
    hadoop.http.staticuser.user: who an anonymous reader is.  Hadoop lets the static user submit and kill as well, which
    is the door that miners use; here that takes ``may_static_user_write``.
    """

    login_user: str
    authentication: Literal["simple", "kerberos"] = "simple"
    """hadoop.http.authentication.type."""
    anonymous_allowed: bool = True
    static_user: str = "dr.who"
    may_static_user_write: bool = False
    admin_token: bytes = field(default=b"", repr=False)
    """Who shows it administers from anywhere, as ``login_user``; empty: nobody does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CookieRules:
    """Describes the cookie that remembers a caller's name (hadoop.http.authentication)."""

    cookie_secret: bytes = field(repr=False)
    cookie_validity_s: int = 36_000
    cookie_domain: str = ""
    is_cookie_persistent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserRules:
    """Limits what pages make browsers do here."""

    host_names: HostNames = field(default_factory=lambda: HostNames(frozenset()))
    """Host names by which browsers may call this RM, besides addresses, ``localhost`` and the host of its web
    address."""
    csrf: CsrfRules | None = None
    cross_origin: CrossOriginRules | None = None
    frame_options: str = "SAMEORIGIN"
    """X-Frame-Options of every answer; empty for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DoorRules:
    """Holds all that a request is checked against."""

    callers: CallerRules
    cookies: CookieRules
    browsers: BrowserRules = field(default_factory=BrowserRules)
    admin_networks: tuple[IPv4Network | IPv6Network, ...] = ()
    """From where administration is taken; empty for everywhere."""
    body_bytes_max: int = 4 * 1024 * 1024
    """The most bytes of a body that is read here."""


@dataclass(slots=True, kw_only=True)
class DoorServices:
    """Holds the parts that check a request, and the kept answers."""

    rules: DoorRules
    clock: Clock
    delegation_tokens: DelegationTokens
    proxy_users: ProxyUserRules
    rights: Rights
    acceptor: Acceptor | None
    """Judges Kerberos tickets."""
    replay: Replay
    body_room: BodyRoom = field(default_factory=BodyRoom)
    body_turns: BodyTurns = field(default_factory=BodyTurns)


def door_of(request: Request) -> DoorServices:
    """Return the door of the application that answers the request."""
    door = request.app.state.door
    assert isinstance(door, DoorServices)
    return door
