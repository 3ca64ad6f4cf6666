"""Processes agents' reports of containers: finds what has changed, and updates their rows."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from yodel.domain.container import Container
from yodel.domain.events import ContainerEnded, ContainerStarted, SizeReported, StopRequested
from yodel.domain.ids import ContainerId, NodeId
from yodel.domain.node import LOST_CONTAINER
from yodel.domain.resource import NONE, Resource
from yodel.domain.states import ContainerExitStatus, ContainerState
from yodel.services.writer.engine import Engine
from yodel.services.writer.transaction import Transaction
from yodel.translator import pod_events

UNSTARTED = (ContainerState.ALLOCATED, ContainerState.ACQUIRED)
HANDED_OUT = (ContainerState.ACQUIRED, ContainerState.RUNNING)
ORDERED_ENDS = (ContainerExitStatus.KILLED_BY_RESOURCEMANAGER, ContainerExitStatus.KILLED_AFTER_APP_COMPLETION)
"""The statuses an agent tells of a container told to end, which say nothing of one whose pod had ended before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerReport:
    """Holds an agent's report of one container; ``exit_status`` counts when ``is_complete``.

    ``capability`` is the size it works with, set for those of ``Heartbeats.grown`` at least.
    """

    container_id: ContainerId
    is_running: bool
    is_complete: bool
    exit_status: int = 0
    diagnostics: str = ""
    capability: Resource | None = None


class ContainerReports:
    def __init__(
        self, engine: Engine, end_from_outside: Callable[[ContainerId, int], Awaitable[pod_events.End | None]]
    ) -> None:
        self._engine, self._end_from_outside = engine, end_from_outside
        self.preempted_count = 0
        """Containers that agents ended in emergencies."""

    def is_news(self, report: ContainerReport) -> bool:
        container = self._engine.state.containers.get(report.container_id)
        if report.is_complete:
            return container is not None and (container.is_live or container.awaits_agent)
        if not report.is_running or container is None:
            return False
        return container.state in UNSTARTED or (report.capability is not None and _has_grown(container, report))

    async def take(self, node_id: NodeId, reports: Sequence[ContainerReport]) -> None:
        news = [report for report in reports if self.is_news(report)]
        if not news:
            return
        ended = [report for report in news if report.is_complete]
        states = self._engine.state.containers
        self.preempted_count += sum(
            report.exit_status == ContainerExitStatus.PREEMPTED
            and (container := states.get(report.container_id)) is not None
            and (container.is_live or container.awaits_agent)
            and container.node_id == node_id
            for report in ended
        )
        ends = dict(zip((r.container_id for r in ended), await asyncio.gather(*map(self._end_of, ended)), strict=True))

        def work(tx: Transaction) -> None:
            for report in news:
                container_id = report.container_id
                # A token names the node: another node's word on a container is worth nothing.
                if not tx.has(container_id) or tx.container(container_id).node_id != node_id:
                    continue
                if report.is_complete:
                    end = ends[container_id]
                    tx.tell(container_id, ContainerEnded(end.exit_status, end.diagnostics, tx.now_ms))
                    continue
                tx.tell(container_id, ContainerStarted())
                if _has_grown(tx.container(container_id), report):
                    assert report.capability is not None
                    tx.tell(container_id, SizeReported(report.capability))

        await self._engine.do(work)

    async def lose_missing(self, node_id: NodeId, reports: Sequence[ContainerReport]) -> None:
        """End what a NodeManager does not know of that registers again: it was restarted without what ran there
        (RMNodeImpl.ReconnectNodeTransition).  Of pods Kubernetes tells."""
        there = self._engine.state.container_index.on_node(node_id)
        missing = set(there) - {report.container_id for report in reports}

        def work(tx: Transaction) -> None:
            for container_id in missing:
                if tx.has(container_id) and tx.container(container_id).state in HANDED_OUT:
                    tx.tell(container_id, StopRequested(ContainerExitStatus.ABORTED, LOST_CONTAINER, tx.now_ms))

        if missing:
            await self._engine.do(work)

    async def _end_of(self, report: ContainerReport) -> pod_events.End:
        """A process that died of a signal we did not send may have lost its pod to somebody.  Of one whose pod has
        ended the row says what Kubernetes saw, and an end that was ordered after it explains nothing."""
        container = self._engine.state.containers.get(report.container_id)
        is_by_signal = pod_events.is_by_signal(report.exit_status)
        if container is not None and container.awaits_agent:
            is_known_better = is_by_signal and report.exit_status != container.exit_status
            if is_known_better or report.exit_status in ORDERED_ENDS:
                return pod_events.End(container.exit_status, container.diagnostics)
        elif container is not None and container.is_live and is_by_signal:
            end = await self._end_from_outside(report.container_id, report.exit_status)
            if end is not None:
                return end
        return pod_events.End(report.exit_status, report.diagnostics)


def _has_grown(container: Container, report: ContainerReport) -> bool:
    """The agent heard of an increase; what it works with until then is no news."""
    is_awaited = report.capability is not None and container.confirmed != NONE
    return is_awaited and report.capability != container.confirmed
