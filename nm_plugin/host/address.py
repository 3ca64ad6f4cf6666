"""Chooses the node's address if the machine has several and a network is configured instead of a host.

YARN knows a node by one name, the host of its NodeId, and everybody dials it: ApplicationMasters, clients, reducers.
One settings file for many nodes cannot name it, but the network that it is in can be named.

Refuses: to guess.  No address in the network is an error; of several the numerically lowest is taken, the same at each
start.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable

import psutil

from yodel.errors import InvalidValue


def address_in(network: str, addresses: Iterable[str] | None = None) -> str:
    """This machine's address in ``network`` (CIDR); ``addresses`` None asks the machine.

    Raises:
        InvalidValue: the machine has none.
    """
    wanted = ipaddress.ip_network(network, strict=False)
    known = [ipaddress.ip_address(text) for text in (machine_addresses() if addresses is None else addresses)]
    inside = [address for address in known if address.version == wanted.version and address in wanted]
    if not inside:
        found = ", ".join(sorted(map(str, known))) or "none"
        raise InvalidValue("host_cidr", network, f"a network in which this machine has an address; it has {found}")
    return str(min(inside, key=int))


def machine_addresses() -> list[str]:
    """IPv4 and IPv6 addresses of all interfaces, without scopes."""
    families = (socket.AF_INET, socket.AF_INET6)
    entries = [entry for interface in psutil.net_if_addrs().values() for entry in interface]
    return [entry.address.partition("%")[0] for entry in entries if entry.family in families]
