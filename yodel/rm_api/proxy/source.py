"""The address this RM's proxy connects from: what ApplicationMasters' filters compare (AmIpFilter's PROXY_HOSTS).

An AM resolves the web address of its configuration and lets only callers from there in; all others it sends back to the
proxy.  WebAppProxyServlet therefore binds its own side to its configured name, and so do we when that name is an
address of this machine.  A loopback address is used only towards this machine: nobody else could answer to it.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket

RESOLVE_TIMEOUT_S = 5.0


async def source_address(web_host: str) -> str | None:
    """The address to bind to; None leaves it to the system, when the name leads to another machine or nowhere."""
    return next((address for address in await _addresses(web_host) if is_ours(address)), None)


def is_loopback(address: str) -> bool:
    return ipaddress.ip_address(address).is_loopback


async def _addresses(host: str) -> list[str]:
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(RESOLVE_TIMEOUT_S):
            found = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, TimeoutError, UnicodeError):
        return []
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def is_ours(address: str) -> bool:
    """Only addresses of this machine can be bound; the one that means "any" names nobody."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    if parsed.is_unspecified:
        return False
    try:
        with socket.socket(socket.AF_INET6 if parsed.version == 6 else socket.AF_INET, socket.SOCK_STREAM) as trial:
            trial.bind((address, 0))
    except OSError:
        return False
    return True
