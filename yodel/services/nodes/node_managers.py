"""Decides which NodeManagers may register: nodes that launch containers themselves, without an agent of Yodel's.

Whoever registers gets the keys that container tokens and NM tokens are signed with, as on YARN without Kerberos.  So
they are refused unless the operator vouches for the network: then a host may that the include list names, from an
address that its name resolves to.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from yodel.domain.host_lists import HostLists

NodeManagersAllowed = Literal["refused", "network"]
NETWORK_IS_TRUSTED = (
    "NodeManagers register by host name and address, without a secret: whoever can use the address of a listed host "
    "gets the keys that open all nodes"
)
LABEL_LENGTH_MAX = 255  # NodeLabelUtil.MAX_LABEL_LENGTH
_LABEL = re.compile(rf"[A-Za-z0-9][A-Za-z0-9_-]{{0,{LABEL_LENGTH_MAX - 1}}}")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeManagerRules:
    """Says who may register; with ``are_first``, NodeManagers come before the pods that draw on their pool too."""

    allowed: NodeManagersAllowed = "refused"
    are_first: bool = False


class NodeManagerAdmission:
    """``addresses_of`` resolves a host name; it blocks, and raises OSError."""

    def __init__(
        self,
        allowed: NodeManagersAllowed,
        addresses_of: Callable[[str], Collection[str]],
        *,
        are_labels_enabled: bool = False,
    ) -> None:
        self._allowed, self._addresses_of = allowed, addresses_of
        self._are_labels_enabled = are_labels_enabled

    def why_labels_refused(self, labels: Sequence[str]) -> str:
        """Return why a NodeManager's labels do not count (CommonNodeLabelsManager.checkAddLabelsToNode), or nothing."""
        if labels and not self._are_labels_enabled:
            return f"node labels {_listed(labels)} are not used (the setting node_labels_enabled = false)"
        if len(labels) > 1 or not all(_LABEL.fullmatch(label) for label in labels):
            expected = f"at most one label of letters, digits, _ and -, of {LABEL_LENGTH_MAX} characters at most"
            return f"node labels {_listed(labels)} are refused: expected {expected}"
        return ""

    async def why_refused(self, host: str, peer_address: str, lists: HostLists) -> str:
        """Return why a NodeManager on this host may not register over a connection from this address; empty: it may."""
        if self._allowed == "refused":
            return 'NodeManagers are refused (the setting node_managers = "refused")'
        if host not in lists.included or not lists.allow((host,)):
            return 'node_managers = "network" lets in hosts that the file in nodes_include_path names, this is none'
        try:
            addresses = await asyncio.to_thread(self._addresses_of, host)
        except OSError as error:
            return f'node_managers = "network" compares addresses, but the name of this host does not resolve: {error}'
        if peer_address not in addresses:
            return f'node_managers = "network" compares addresses, and {peer_address} is none of this host'
        return ""


def _listed(labels: Sequence[str]) -> str:
    return ", ".join(label[:LABEL_LENGTH_MAX] for label in labels[:2])
