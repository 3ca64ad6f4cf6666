"""Decides which hosts may be nodes, by the include and the exclude list, and in which rack a NodeManager is.

Follows NodesListManager and HostsFileReader: without an include list every host may, a listed one only when it is not
excluded too.  A list is plain text (host names separated by white space, ``#`` begins a comment) or, under a name that
ends in ``.xml``, ``<hosts><host><name>a,b</name><timeout>123</timeout></host></hosts>`` with seconds for a graceful
leave.  A host is meant by the name it registered with or by the name of its Kubernetes node.

Racks are a table of two columns, hosts and racks, as TableMapping reads it.  Kubernetes knows those of nodes with pods.

Refuses: lists longer than ``HOSTS_MAX``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from xml.etree import ElementTree

from yodel.domain.node import DEFAULT_RACK, Node
from yodel.errors import InvalidValue

HOSTS_MAX = 100_000
RACK_LENGTH_MAX = 255
_RACK = re.compile(rf"/[!-~]{{1,{RACK_LENGTH_MAX - 1}}}")


@dataclass(frozen=True, slots=True, kw_only=True)
class HostLists:
    """``excluded`` maps a host to its own timeout in seconds, or None; ``racks`` one with a NodeManager to its rack."""

    included: frozenset[str] = frozenset()
    excluded: Mapping[str, int | None] = field(default_factory=lambda: MappingProxyType({}))
    racks: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def allow(self, names: Collection[str]) -> bool:
        """NodesListManager.isValidNode for a host with these names."""
        is_included = not self.included or any(name in self.included for name in names)
        return is_included and not any(name in self.excluded for name in names)

    def are_silent_on(self, names: Collection[str]) -> bool:
        """Neither listed nor excluded, while there is an include list (NodesListManager.isUntrackedNode)."""
        known = self.included | self.excluded.keys()
        return bool(self.included) and not any(name in known for name in names)

    def timeout_s(self, names: Collection[str]) -> int | None:
        """Return the seconds that the exclude list gives this host to leave; None: it sets none."""
        return next((self.excluded[name] for name in names if self.excluded.get(name) is not None), None)

    def rack_of(self, host: str) -> str:
        """Return the rack of a NodeManager's host; one that is not listed is in Hadoop's default rack."""
        return self.racks.get(host, DEFAULT_RACK)


def names_of(node: Node) -> tuple[str, ...]:
    """Return the names that a list may use for this node."""
    return tuple(dict.fromkeys((node.id.host, node.kubernetes_node_name)))


def parse(text: str, *, is_xml: bool) -> dict[str, int | None]:
    """Hosts with their timeouts.

    Raises:
        InvalidValue: not XML, a timeout that is no number, or too many hosts.
    """
    hosts = _from_xml(text) if is_xml else _from_text(text)
    if len(hosts) > HOSTS_MAX:
        raise InvalidValue("hosts list", f"{len(hosts)} hosts", f"at most {HOSTS_MAX}")
    return hosts


def parse_racks(text: str) -> dict[str, str]:
    """Racks by host.

    Raises:
        InvalidValue: a line that is not a host and a rack, or too many hosts.
    """
    racks: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if len(words) != 2 or not _RACK.fullmatch(words[1]):
            raise InvalidValue(
                f"racks, line {number}", line[:RACK_LENGTH_MAX], "a host and its rack, as in: host-1 /rack-1"
            )
        racks[words[0]] = words[1]
    if len(racks) > HOSTS_MAX:
        raise InvalidValue("racks", f"{len(racks)} hosts", f"at most {HOSTS_MAX}")
    return racks


def _from_text(text: str) -> dict[str, int | None]:
    hosts: dict[str, int | None] = {}
    for line in text.splitlines():
        for word in line.split():
            if word.startswith("#"):
                break
            hosts[word] = None
    return hosts


def _from_xml(text: str) -> dict[str, int | None]:
    """The operator's own file: nothing in it comes from a user."""
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise InvalidValue("hosts list", str(error), "<hosts><host><name>…</name></host></hosts>") from error
    hosts: dict[str, int | None] = {}
    for host in root.iter("host"):
        names, timeout = host.findtext("name", ""), host.findtext("timeout", "").strip()
        try:
            timeout_s = int(timeout) if timeout else None
        except ValueError:
            raise InvalidValue("timeout", timeout, "a number of seconds") from None
        hosts.update(dict.fromkeys(filter(None, (name.strip() for name in names.split(","))), timeout_s))
    return hosts
