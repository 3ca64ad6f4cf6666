"""Decides from which hosts the web proxy fetches: the cluster's nodes, and the host that an application's AM
registered.

That host is the AM's own claim, so it allows only an ordinary address: never this machine's loopback or a link-local
address (where clouds keep credentials), unless the cluster's own nodes have them, as on a laptop.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

NOWHERE = frozenset({"", "N/A", "null"})


def allowed_hosts(node_hosts: Iterable[str], registered_host: str) -> frozenset[str]:
    """Return the hosts in lower case, as URLs' hosts are compared."""
    found = {host.lower() for host in node_hosts}
    registered = registered_host.strip().lower()
    if registered_host not in NOWHERE and (not _is_private(registered) or any(map(_is_private, found))):
        found.add(registered)
    return frozenset(found)


def _is_private(host: str) -> bool:
    """Return True for an address that each machine has for itself."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        # inet_aton also knows 0x7f000001, 2130706433 and 127.1; no node registers like that.
        return host[:2] == "0x" or host.replace(".", "").isdecimal()
    mapped = getattr(address, "ipv4_mapped", None) or address
    return any((mapped.is_loopback, mapped.is_link_local, mapped.is_unspecified, mapped.is_multicast))
