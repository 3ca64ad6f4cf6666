"""What a node says of itself: its load and its health.  Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from nm_plugin.host.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """NodeHealthStatus: ``report`` says what is wrong, also while enough is well."""

    is_healthy: bool = True
    report: str = ""
    checked_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeState:
    """What every heartbeat says about the node."""

    containers: Usage = field(default_factory=Usage)
    node: Usage = field(default_factory=Usage)
    health: Health = field(default_factory=Health)
