"""Holds a node agent's measurements (ResourceUtilization), which are shown to users and not used in decisions; memory
only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Utilization:
    """``cpu_cores`` is a number of cores in use; Hadoop's CLI calls them VCores."""

    physical_mib: int = 0
    virtual_mib: int = 0
    cpu_cores: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLoad:
    """Holds the use of all containers, of the whole node, and the time of its last health check (epoch ms)."""

    containers: Utilization = Utilization()
    node: Utilization = Utilization()
    health_ms: int = 0
