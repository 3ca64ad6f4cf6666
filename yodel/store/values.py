"""The parts of rows that several tables have: a resource is three columns, a node its text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from yodel.domain.ids import ContainerId, NodeId, dns_name
from yodel.domain.resource import Resource

Values = dict[str, Any]
"""A row to write: column name to value."""

Columns = Mapping[Any, Any]
"""A row that was read: column name to value (SQLAlchemy's RowMapping, whose keys may also be columns)."""


def resource_values(name: str, resource: Resource) -> Values:
    return {
        f"{name}_memory_mib": resource.memory_mib,
        f"{name}_vcores": resource.vcores,
        f"{name}_extras": [list(pair) for pair in resource.extras],
    }


def resource_from(name: str, row: Columns) -> Resource:
    extras: Sequence[tuple[str, int]] = row[f"{name}_extras"]
    return Resource(
        row[f"{name}_memory_mib"], row[f"{name}_vcores"], tuple((extra, amount) for extra, amount in extras)
    )


def node_id_from(text: str) -> NodeId:
    """Our own text comes back whole; ``NodeId.parse`` is for texts from outside and refuses more."""
    host, _, port = text.rpartition(":")
    return NodeId(host, int(port))


def pod_from(text: str | None, container_id: ContainerId) -> str:
    """A row that the release before wrote says nothing: there every pod is made for one container."""
    return text if text is not None else dns_name(container_id)
