"""Asks a container back and ends it: what all who give notice have in common."""

from __future__ import annotations

from collections.abc import Iterable

from yodel.domain.events import StopRequested
from yodel.domain.ids import ContainerId
from yodel.domain.states import ContainerExitStatus
from yodel.services.writer.state import ClusterState
from yodel.services.writer.transaction import Transaction

PREEMPTED_CONTAINER = "Container preempted by scheduler"  # SchedulerUtils.PREEMPTED_CONTAINER


def tell_masters(state: ClusterState, containers: Iterable[ContainerId]) -> None:
    """PreemptionMessage in the next heartbeat of each ApplicationMaster.  The attempt that lives hears of containers
    that it has from the one before."""
    for container_id in containers:
        application = state.applications.get(container_id.application_id)
        attempt_id = application.current_attempt_id if application is not None else container_id.attempt_id
        runtime = state.masters.runtimes.get(attempt_id)
        if runtime is not None:
            runtime.outbox.preempt(container_id)


def preempt(tx: Transaction, container_id: ContainerId, why: str) -> bool:
    """End it with exit status PREEMPTED, which is nobody's failure; False: it has ended."""
    if not tx.has(container_id) or not tx.container(container_id).is_live:
        return False
    text = f"{PREEMPTED_CONTAINER}: {why}"
    tx.tell(container_id, StopRequested(ContainerExitStatus.PREEMPTED, text, tx.now_ms))
    return True
