"""Normalizes IP addresses of any spelling, and resolves names, for callers of URLs that strangers wrote.

A name's owner decides how it resolves: one that is allowed as a text may lead to this machine a moment later.  So
callers resolve once, judge the result, and connect to exactly that.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable
from ipaddress import IPv4Address, IPv6Address

from yodel.errors import Unavailable

RESOLVE_TIMEOUT_S = 5.0
ADDRESSES_MAX = 8
"""The most addresses of one host: each that does not answer costs the time of a connection."""
METADATA = frozenset(
    map(
        ipaddress.ip_address,
        # Amazon and others (link-local anyway), Amazon and Google by IPv6, Alibaba, Oracle, Azure's wire server.
        ("169.254.169.254", "fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "192.0.0.192", "168.63.129.16"),
    )
)
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_COMPATIBLE = ipaddress.ip_network("::/96")
Address = IPv4Address | IPv6Address
Resolve = Callable[[str, int], Awaitable[list[str]]]


def plain_address(text: str) -> Address | None:
    """Return the plain form of an address, however it is wrapped in IPv6; None: it is not an address."""
    try:
        address = ipaddress.ip_address(text.strip("[]").partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, IPv4Address):
        return address
    inner = address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
    if inner is None and (address in _NAT64 or (address in _COMPATIBLE and int(address) > 1)):
        inner = IPv4Address(int(address) & 0xFFFFFFFF)
    return inner or address


def is_everybodys(address: Address) -> bool:
    """Return True if each machine has this address for itself, or a cloud has it for each machine."""
    return address.is_loopback or address.is_link_local or address in METADATA


async def resolved(host: str, port: int) -> list[str]:
    """A host's addresses, as the system finds them.

    Raises:
        Unavailable: there are none, or the answer takes too long.
    """
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(RESOLVE_TIMEOUT_S):
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, TimeoutError, UnicodeError) as error:
        raise Unavailable(f"The host {host[:200]} is not found: {error!r}") from error
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))
