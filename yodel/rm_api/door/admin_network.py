"""Checks the network from which administration over the web port is allowed.

The administration port (8033) admits callers by the network alone.  The web port is open to many more, so what is done
there in an administrator's name is judged by the caller's address: SIMPLE believes any name.  A caller with the token
of ``web.admin_token_file`` has proved to be one.
"""

from __future__ import annotations

import functools
import ipaddress
from collections.abc import Awaitable, Callable

import structlog
from starlette.requests import Request
from starlette.responses import Response

from yodel.hadoop_http.errors import forbidden
from yodel.rm_api.door.caller import caller_in
from yodel.rm_api.door.services import door_of

Endpoint = Callable[[Request], Awaitable[Response]]
SETTING = "web.admin_networks"
log = structlog.get_logger("yodel.rest")


def administrative(endpoint: Endpoint) -> Endpoint:
    """Protect a route that administers: callers from elsewhere get 403, before anything is read."""

    @functools.wraps(endpoint)
    async def judged(request: Request) -> Response:
        require_network(request)
        return await endpoint(request)

    judged.is_administrative = True  # type: ignore[attr-defined]
    return judged


def require_network(request: Request) -> None:
    """Raises RestError 403 for who calls from elsewhere, without the administrator's token."""
    if caller_in(request.scope).is_by_admin_token:
        return
    networks = door_of(request).rules.admin_networks
    host = request.client.host if request.client is not None else ""
    if networks and not _is_in(host, networks):
        log.warning("administration refused", address=host, path=request.url.path[:256], setting=SETTING)
        raise forbidden(f"Administration is not allowed from {host or 'an unknown address'} (setting {SETTING})")


def _is_in(host: str, networks: tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]) -> bool:
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return any(address in network for network in networks)
