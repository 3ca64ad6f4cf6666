"""Keeps what is left of containers that ended and were forgotten: what people may look up, and their usage.

An application's figures, and where it once ran, do not change when its containers leave memory: ``PastUsage`` has the
sums.  ``remembered`` is a container as it is shown afterwards; no decision reads it any more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from yodel.domain.container import Container
from yodel.domain.ids import ApplicationId, NodeId
from yodel.domain.states import ContainerExitStatus, ContainerState, ContainerType

REMEMBERED_DIAGNOSTICS_MAX = 4_096
"""Characters, the last ones: a hundred thousand rows are kept, and a row's text is whatever a process printed."""


@dataclass(frozen=True, slots=True)
class PastUsageId:
    """``node_id`` is None for containers that never had a node."""

    application_id: ApplicationId
    node_id: NodeId | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Preempted:
    """Sums the preempted containers (RMAppMetrics): number of ApplicationMasters and others, their sizes, and the
    integrals of memory and cores over their lives, in MiB and vcore seconds."""

    masters: int = 0
    others: int = 0
    memory_mib: int = 0
    vcores: int = 0
    memory_mib_s: int = 0
    vcore_s: int = 0

    def __add__(self, other: Preempted) -> Preempted:
        return Preempted(
            masters=self.masters + other.masters,
            others=self.others + other.others,
            memory_mib=self.memory_mib + other.memory_mib,
            vcores=self.vcores + other.vcores,
            memory_mib_s=self.memory_mib_s + other.memory_mib_s,
            vcore_s=self.vcore_s + other.vcore_s,
        )


NOTHING_PREEMPTED = Preempted()


@dataclass(frozen=True, slots=True, kw_only=True)
class PastUsage:
    """Counts containers, and sums the integrals of their memory and cores over their lives, in MiB and vcore
    seconds."""

    id: PastUsageId
    containers: int = 0
    memory_mib_s: int = 0
    vcore_s: int = 0
    preempted: Preempted = NOTHING_PREEMPTED

    def plus(self, container: Container) -> PastUsage:
        """Return the usage with one more container that has ended."""
        memory_mib_s, vcore_s = used_by(container)
        return replace(
            self,
            containers=self.containers + 1,
            memory_mib_s=self.memory_mib_s + memory_mib_s,
            vcore_s=self.vcore_s + vcore_s,
            preempted=self.preempted + preempted_of(container),
        )


def remembered(container: Container) -> Container:
    """Return an ended container as it is kept for reports, without its request and placement."""
    return Container(
        id=container.id,
        pod=container.pod,
        type=container.type,
        user=container.user,
        queue=container.queue,
        capability=container.capability,
        asked_capability=container.capability,
        priority=container.priority,
        allocation_request_id=container.allocation_request_id,
        allocation_tags=container.allocation_tags,
        state=ContainerState.COMPLETED,
        node_id=container.node_id,
        created_ms=container.created_ms,
        finished_ms=container.finished_ms,
        exit_status=container.exit_status,
        diagnostics=container.diagnostics[-REMEMBERED_DIAGNOSTICS_MAX:],
        is_acknowledged=True,
    )


def used_by(container: Container) -> tuple[int, int]:
    """The integrals of memory (MiB seconds) and cores (vcore seconds) of a container that has ended."""
    duration_s = max(0, container.finished_ms - container.created_ms) // 1000
    return container.capability.memory_mib * duration_s, container.capability.vcores * duration_s


def preempted_of(container: Container) -> Preempted:
    """Nothing, unless it ended as PREEMPTED (RMContainerImpl.updateAttemptMetrics)."""
    if container.exit_status != ContainerExitStatus.PREEMPTED:
        return NOTHING_PREEMPTED
    memory_mib_s, vcore_s = used_by(container)
    is_master = container.type is ContainerType.APPLICATION_MASTER
    return Preempted(
        masters=1 if is_master else 0,
        others=0 if is_master else 1,
        memory_mib=container.capability.memory_mib,
        vcores=container.capability.vcores,
        memory_mib_s=memory_mib_s,
        vcore_s=vcore_s,
    )


def newly_preempted(container: Container, before: Container | None) -> Preempted:
    """Return the addition of a row to the sums: that it ended as PREEMPTED may be reported after its end."""
    is_known = before is not None and before.exit_status == container.exit_status
    return NOTHING_PREEMPTED if is_known else preempted_of(container)
