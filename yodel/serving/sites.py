"""Callers are told apart by their network, so that nobody is many by having many addresses."""

from __future__ import annotations

import ipaddress

IPV6_SITE_BITS = 64
"""The network that one customer gets at least: he has all addresses of it."""


def site_of(address: str) -> str:
    """Return what callers are told apart by: an IPv4 address, or the network of 64 bits that an IPv6 one is in."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, IPV6_SITE_BITS), strict=False))
