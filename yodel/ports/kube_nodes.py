"""Kubernetes nodes as the services see them: names, addresses, readiness and what a node offers.

These are the machines of the cluster, not YARN's nodes: a YARN node exists when its node agent registers.  Quantities
stay Kubernetes' own text (``"3920m"``, ``"15Gi"``); reading them is the translator's business.  As with pods, the watch
is a hint and the list is the truth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeAddress:
    """One of a node's addresses; ``kind`` is ``InternalIP``, ``ExternalIP``, ``Hostname``, …"""

    kind: str
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeObservation:
    """Holds the relevant state of one node, as last seen.  A node may carry several addresses of one kind (dual
    stack)."""

    name: str
    uid: str
    resource_version: str
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    addresses: Sequence[NodeAddress] = ()
    ready: bool = False
    unschedulable: bool = False
    taints: Sequence[Mapping[str, Any]] = ()
    """As Kubernetes writes them: ``key``, ``value``, ``effect``."""
    allocatable: Mapping[str, str] = field(default_factory=dict)
    capacity: Mapping[str, str] = field(default_factory=dict)
    capacity_managers: Mapping[str, str] = field(default_factory=dict)
    """Who wrote each name of ``capacity`` last, where the API server says so (``metadata.managedFields``)."""


class NodeStatuses(Protocol):
    """Writes what nodes lend into their status."""

    async def publish(self, node: str, amounts: Mapping[str, int | None]) -> str:
        """Write amounts by resource name into capacity and allocatable alike, for the kubelet makes the one from the
        other; None takes a name away.  The names that are left are said in the annotation ``PUBLISHED`` (see
        ``yodel.translator.names``).  A node that is gone is success.

        Returns the node's resource version after that; empty for a node that is gone.

        Raises: Refused (without the right to patch nodes/status), Unavailable.
        """

    async def missing_rights(self) -> Sequence[str]:
        """Return the rights that publishing needs and the ResourceManager lacks, each by the name of the chart's value
        that grants it and in words; empty also if the API server does not report them.

        Raises: Unavailable.
        """


class NodeSink(Protocol):
    """Receives the observations of an adapter.  All methods return at once."""

    def nodes_listed(self, nodes: Sequence[NodeObservation]) -> None:
        """The whole truth: every selected node that exists now.  Nodes not in it are gone."""

    def node_seen(self, node: NodeObservation) -> None:
        """A node was added or changed."""

    def node_gone(self, node: NodeObservation) -> None:
        """A node object was removed or is no longer selected; ``node`` is its last state."""
