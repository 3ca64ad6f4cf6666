"""Holds a node's report: its load and its health.  Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from nm_plugin.host.usage import MeasuredUse


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """NodeHealthStatus: ``report`` says what is wrong, also while enough is well."""

    is_healthy: bool = True
    report: str = ""
    checked_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeReport:
    """Holds the report of every heartbeat about the node."""

    containers: MeasuredUse = field(default_factory=MeasuredUse)
    node: MeasuredUse = field(default_factory=MeasuredUse)
    health: Health = field(default_factory=Health)
