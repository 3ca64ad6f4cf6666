"""Which addresses the web proxy connects to, judged after names are resolved and in every spelling.

A name is its owner's to resolve: one that is allowed as a text leads to this machine a moment later.  So the proxy
resolves once, judges what it got, and connects to just that.  What each machine has for itself (loopback, link-local,
where clouds keep credentials) is refused unless the cluster's own nodes are there, as on a laptop.
The ResourceManager's own ports are always refused: it would call itself from an address that it trusts.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

from yodel.errors import InvalidValue, Unavailable
from yodel.rm_api.proxy_source import is_ours

RESOLVE_TIMEOUT_S = 5.0
ADDRESSES_MAX = 8
"""Of one host: each that does not answer costs the time of a connection."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressRules:
    """``nodes`` are the hosts of registered nodes, ``trusted`` those of the settings, all in lower case.

    ``own_ports`` are all that this process listens on.
    """

    nodes: frozenset[str]
    trusted: frozenset[str] = frozenset()
    own_ports: frozenset[int] = frozenset()

    def allowed(self, host: str, addresses: Iterable[str], port: int) -> list[str]:
        """Those of a host's addresses that may be connected to at that port.

        Raises:
            InvalidValue: none may.
        """
        given = list(addresses)
        if port in self.own_ports and any(is_this_machine(text) for text in given):
            raise InvalidValue("tracking URL", f"{host}:{port}", "not the ResourceManager itself")
        found = [text for text in given if self._is_allowed(host, text)]
        if not found:
            shown = ", ".join(given)[:200] or "no address"
            raise InvalidValue("tracking URL", f"{host} ({shown})", "an address of this cluster's network")
        return found[:ADDRESSES_MAX]

    def _is_allowed(self, host: str, text: str) -> bool:
        address = plain_address(text)
        if address is None or address.is_unspecified or address.is_multicast:
            return False
        if not is_everybodys(address):
            return True
        if host in self.nodes:
            return True
        literal = {found for name in (*self.nodes, *self.trusted) if (found := plain_address(name)) is not None}
        if address.is_loopback:
            # All of loopback is one machine: where a node is on it, or a gateway of the settings, so are its AMs.
            return "localhost" in self.trusted | self.nodes or any(found.is_loopback for found in literal)
        return address in literal


def plain_address(text: str) -> Address | None:
    """What an address means, however it is wrapped in IPv6; None for what is none."""
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


def is_this_machine(text: str) -> bool:
    """Whether an address, in any spelling, is one of this machine's."""
    address = plain_address(text)
    return address is not None and (address.is_loopback or address.is_unspecified or is_ours(str(address)))


def is_everybodys(address: Address) -> bool:
    """Whether each machine has this address for itself, or a cloud has it for each machine."""
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
        raise Unavailable(f"The ApplicationMaster's host {host[:200]} is not found: {error!r}") from error
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))
