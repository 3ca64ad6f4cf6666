"""Writes what node agents report of remote shuffle to the attempts' rows.

An agent repeats a report until it is answered, and after each registration, so it is answered once that is committed.
"""

from __future__ import annotations

from collections.abc import Mapping

from yodel.domain.events import ShuffleReported
from yodel.domain.ids import ApplicationAttemptId, ContainerId, NodeId
from yodel.domain.shuffle.report import Report
from yodel.services.writer.engine import Engine
from yodel.services.writer.state import ClusterState
from yodel.services.writer.transaction import Transaction

Reports = Mapping[ContainerId, Report]


def has_news(state: ClusterState, node_id: NodeId, reports: Reports) -> bool:
    """Return True if a row would change: not by a repeated report, nor by another node's agent."""
    return bool(reports) and bool(_news(state, node_id, reports))


async def take(engine: Engine, node_id: NodeId, reports: Reports) -> None:
    """Raises Unavailable: the store did not answer."""
    news = _news(engine.state, node_id, reports)

    def work(tx: Transaction) -> None:
        for attempt_id, report in news.items():
            if tx.has(attempt_id):
                tx.tell(attempt_id, ShuffleReported(report))

    if news:
        await engine.do(work)


def _news(state: ClusterState, node_id: NodeId, reports: Reports) -> dict[ApplicationAttemptId, Report]:
    found = {}
    for container_id, report in reports.items():
        container, attempt = state.containers.get(container_id), state.attempts.get(container_id.attempt_id)
        if container is None or container.node_id != node_id or attempt is None or attempt.shuffle is None:
            continue
        if attempt.am_container_id == container_id and attempt.shuffle.reported(report) != attempt.shuffle:
            found[attempt.id] = report
    return found
