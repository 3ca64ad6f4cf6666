"""Tracks the log aggregation of each application, from its nodes' reports (RMAppLogAggregation).

It is kept in memory, as in Hadoop: a node agent repeats what was not acknowledged.  Each node has one status, from
which the application's is derived.  Once that is final nothing changes it, and the nodes' are dropped.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum

from yodel.domain.application import Application
from yodel.domain.ids import ApplicationId, NodeId
from yodel.ports.clock import Clock
from yodel.services.writer.state import ClusterState

DIAGNOSTICS_MAX = 10  # yarn.resourcemanager.max-log-aggregation-diagnostics-in-memory
DIAGNOSTICS_LENGTH_MAX = 4_096
STATUS_TIMEOUT_S = 600.0  # yarn.log-aggregation-status.time-out.ms


class LogAggregationStatus(IntEnum):
    """LogAggregationStatusProto without its ``LOG_`` prefix."""

    DISABLED = 1
    NOT_START = 2
    RUNNING = 3
    SUCCEEDED = 4
    FAILED = 5
    TIME_OUT = 6
    RUNNING_WITH_FAILURE = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class LogAggregationReport:
    """Holds a node's report of one application (LogAggregationReportProto)."""

    application_id: ApplicationId
    status: LogAggregationStatus
    diagnostics: str = ""


@dataclass(slots=True)
class NodeLogAggregation:
    """Holds the state of one node.  ``diagnostics`` and ``failures`` have the last few messages, oldest first."""

    status: LogAggregationStatus
    diagnostics: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


_S = LogAggregationStatus
_FINAL = (_S.SUCCEEDED, _S.FAILED, _S.TIME_OUT)


class LogAggregationReports:
    """One instance for the process.  ``is_enabled`` is yarn.log-aggregation-enable of the RM."""

    def __init__(self, state: ClusterState, clock: Clock, *, is_enabled: bool) -> None:
        self._state, self._clock, self._is_enabled = state, clock, is_enabled
        self._nodes: dict[ApplicationId, dict[NodeId, NodeLogAggregation]] = {}
        self._final: dict[ApplicationId, LogAggregationStatus] = {}

    def record(self, node_id: NodeId, reports: Iterable[LogAggregationReport]) -> None:
        """Take over what a heartbeat brought; reports of applications that are not known are dropped."""
        if not self._is_enabled:
            return
        for report in reports:
            application = self._state.applications.get(report.application_id)
            if application is not None and application.id not in self._final:
                self._record(node_id, report)
                self._state.touch(application.id)
        self._forget_gone()

    def status_of(self, application: Application) -> LogAggregationStatus:
        if not self._is_enabled:
            return _S.DISABLED
        if (final := self._final.get(application.id)) is not None:
            return final
        nodes = self._nodes.get(application.id)
        if not nodes:
            return _S.NOT_START
        self._time_out(application, nodes)
        status = _combined([node.status for node in nodes.values()], application.state.is_final)
        if application.state.is_final and status in _FINAL:
            self._final[application.id] = status
            if status is _S.SUCCEEDED:
                del self._nodes[application.id]
        return status

    def is_settled(self, application: Application) -> bool:
        """Return True if only a node's report, and not time, can change ``status_of`` this ended application."""
        return self.status_of(application) in (_S.DISABLED, *_FINAL) or application.id not in self._nodes

    def nodes_of(self, application_id: ApplicationId) -> dict[NodeId, NodeLogAggregation]:
        """Return reports by node, for those who ask where it failed; empty when there was none or all went well."""
        return dict(self._nodes.get(application_id, {}))

    def _record(self, node_id: NodeId, report: LogAggregationReport) -> None:
        nodes = self._nodes.setdefault(report.application_id, {})
        node = nodes.get(node_id)
        if node is None:
            node = nodes[node_id] = NodeLogAggregation(report.status)
        elif not (report.status is _S.RUNNING and node.status is _S.RUNNING_WITH_FAILURE):
            was_late = node.status is _S.TIME_OUT and report.status is _S.RUNNING and bool(node.failures)
            node.status = _S.RUNNING_WITH_FAILURE if was_late else report.status
        if report.diagnostics:
            _remember(node, report)

    def _time_out(self, application: Application, nodes: dict[NodeId, NodeLogAggregation]) -> None:
        """A node that says nothing more after the end is not waited for."""
        deadline_ms = application.finished_ms + STATUS_TIMEOUT_S * 1000
        if not application.state.is_final or self._clock.now_ms() <= deadline_ms:
            return
        for node in nodes.values():
            if node.status not in _FINAL:
                node.status = _S.TIME_OUT

    def _forget_gone(self) -> None:
        """Applications leave the state when they are too many."""
        known = self._state.applications
        for table in (self._nodes, self._final):
            if len(table) > len(known):
                for application_id in table.keys() - known.keys():
                    del table[application_id]


def _combined(statuses: list[LogAggregationStatus], is_over: bool) -> LogAggregationStatus:
    """getLogAggregationStatusForAppReport: one node that failed makes the whole failed, once all have ended."""
    if all(status is _S.NOT_START for status in statuses):
        return _S.NOT_START
    if all(status in _FINAL for status in statuses):
        if _S.FAILED in statuses and is_over:
            return _S.FAILED
        if _S.TIME_OUT in statuses:
            return _S.TIME_OUT
        return _S.SUCCEEDED if is_over else _S.RUNNING
    return _S.RUNNING_WITH_FAILURE if _S.RUNNING_WITH_FAILURE in statuses else _S.RUNNING


def _remember(node: NodeLogAggregation, report: LogAggregationReport) -> None:
    kept = {_S.RUNNING: node.diagnostics, _S.RUNNING_WITH_FAILURE: node.failures}.get(report.status)
    if kept is not None:
        kept.append(report.diagnostics[:DIAGNOSTICS_LENGTH_MAX])
        del kept[:-DIAGNOSTICS_MAX]
