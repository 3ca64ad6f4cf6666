"""What a node's agent measures (ResourceUtilization): not decided on, only shown to users; memory only."""

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
    """Of all containers of the node, of the whole node, and when its health was last looked at (epoch ms)."""

    containers: Utilization = Utilization()
    node: Utilization = Utilization()
    health_ms: int = 0
