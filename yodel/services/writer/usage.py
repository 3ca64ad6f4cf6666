"""What live containers hold, and what ended ones have used."""

from __future__ import annotations

from dataclasses import dataclass

from yodel.domain.resource import NONE, Resource


@dataclass(slots=True)
class Usage:
    """Live containers of an application, a node, a queue or the cluster."""

    resource: Resource = NONE
    containers: int = 0
    am_resource: Resource = NONE

    def add(self, other: Usage, sign: int) -> None:
        self.resource += other.resource * sign
        self.containers += other.containers * sign
        self.am_resource += other.am_resource * sign


@dataclass(slots=True)
class ResourceSeconds:
    """Integrals over completed containers; live ones are added when asked."""

    memory_mib_s: int = 0
    vcore_s: int = 0
