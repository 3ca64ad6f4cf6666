"""Decides which addresses the web proxy connects to, after names are resolved and in every spelling.

Addresses that each machine has for itself (loopback, link-local, where clouds keep credentials) are refused unless the
cluster's own nodes have them, as on a laptop.  The ResourceManager's own ports are always refused: it would call itself
from an address that it trusts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from yodel.errors import InvalidValue
from yodel.hadoop_http.addresses import ADDRESSES_MAX, is_everybodys, plain_address
from yodel.rm_api.proxy.source import is_ours


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressRules:
    """``nodes`` are the hosts of registered nodes, ``trusted`` those of the settings, all in lower case.

    ``own_ports`` are all that this process listens on.
    """

    nodes: frozenset[str]
    trusted: frozenset[str] = frozenset()
    own_ports: frozenset[int] = frozenset()

    def allowed(self, host: str, addresses: Iterable[str], port: int) -> list[str]:
        """Return a host's addresses to which it may connect at that port.

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


def is_this_machine(text: str) -> bool:
    """Return True if an address, in any spelling, is one of this machine's."""
    address = plain_address(text)
    return address is not None and (address.is_loopback or address.is_unspecified or is_ours(str(address)))
