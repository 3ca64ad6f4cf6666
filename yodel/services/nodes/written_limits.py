"""Keeps what node agents have written to the control groups of batch pods and not undone, as far as they said it.

A node whose agent is silent is not assumed to be clean: what its agent said last stands until the agent says otherwise,
or Kubernetes does not know the node any more.  An agent confirms by a report of nothing left, made while nothing is
bounded; what it said before, or by the numbers of an earlier policy, confirms nothing.

It is not kept over a restart: agents that are there say it again, and of others it is said that nobody knows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

import structlog

from yodel.domain.colocation.report import CapacityReport
from yodel.domain.colocation.switch import Colocation
from yodel.domain.ids import NodeId
from yodel.domain.node import Node
from yodel.ports.clock import Clock
from yodel.ports.kube_nodes import NodeObservation
from yodel.services.nodes.publishing import STALE_S, Publishing
from yodel.services.writer.state import ClusterState
from yodel.translator.undo_lines import undo_lines

log = structlog.get_logger("yodel.colocation")


class LimitsState(StrEnum):
    """What is known of a node."""

    HELD = "HELD"
    UNDOING = "UNDOING"
    UNDONE = "UNDONE"
    SILENT = "SILENT"
    UNKNOWN = "UNKNOWN"

    @property
    def is_confirmed(self) -> bool:
        return self is LimitsState.UNDONE

    @property
    def may_be_left(self) -> bool:
        """No agent answers for what stands there."""
        return self in (LimitsState.UNDOING, LimitsState.SILENT, LimitsState.UNKNOWN)


_WHY: Mapping[LimitsState, str] = {
    LimitsState.HELD: "enforced by the node agent",
    LimitsState.UNDOING: "cleanup not confirmed by the node agent yet",
    LimitsState.UNDONE: "cleaned up",
    LimitsState.SILENT: "no report from the node agent: cgroup limits may remain",
    LimitsState.UNKNOWN: "unknown: no report since the ResourceManager restarted; cgroup limits may remain",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLimits:
    """``groups``: how many have what was written, when its agent spoke last; None: not known.  ``confirmed_ms``: when
    that was said to be none (epoch milliseconds).  ``undo_lines``: for the node's own shell, where no agent answers."""

    kubernetes_node: str
    state: LimitsState
    why: str
    groups: int | None
    confirmed_ms: int | None
    undo_lines: Sequence[str] = ()


class Heard(Protocol):
    """Of an agent that is registered: when it was heard last (monotonic seconds), and whether it measures at all."""

    @property
    def last_seen_s(self) -> float: ...

    @property
    def can_measure(self) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    node_id: NodeId
    groups: int
    best_effort: str
    confirmed_ms: int | None
    problem: str
    """Why it cannot be undone, or what else the agent's reader should know."""


class WrittenLimits:
    """A ``NodeSink``: a node that Kubernetes does not know is forgotten."""

    def __init__(self, state: ClusterState, clock: Clock, publishing: Publishing) -> None:
        self._state, self._clock, self._publishing = state, clock, publishing
        self._said: dict[str, _Said] = {}
        """By Kubernetes' name of the node, at most one for each row of a node.  An agent that is off says it once,
        perhaps before the nodes are listed."""
        self._was_written: set[str] = set()
        """Nodes of which an agent has said in this life that something was written there."""
        self._there: set[str] = set()

    # --- what is told ----------------------------------------------------------------------------------------------

    def use(self, colocation: Colocation) -> None:
        """From now on.  Where pods are bounded, what was confirmed before does not count."""
        if _bounds(colocation):
            self._said = {name: replace(said, confirmed_ms=None) for name, said in self._said.items()}

    def hear(self, node_id: NodeId, proved_name: str, report: CapacityReport) -> None:
        """A report of the agent whose token is of the node of this name.  Who does not speak for the node
        confirms nothing, and says neither what stands there nor where."""
        groups, name = report.written_groups, proved_name
        if groups is None or self._state.node_index.may_not_speak(node_id, proved_name):
            return
        before, colocation = self._said.get(name), self._publishing.colocation
        version = colocation.policy.version if colocation.policy is not None else ""
        confirmed_ms = before.confirmed_ms if before is not None and before.node_id == node_id else None
        if groups:
            confirmed_ms = None
            self._was_written.add(name)
        elif confirmed_ms is None and not _bounds(colocation) and report.policy_version == version:
            confirmed_ms = self._clock.now_ms()
            if name in self._was_written:
                log.info("limits removed", node=name, node_id=str(node_id))
        self._said[name] = _Said(
            node_id=node_id,
            groups=groups,
            best_effort=report.best_effort,
            confirmed_ms=confirmed_ms,
            problem=report.problems[-1] if report.problems else "",
        )

    def nodes_listed(self, nodes: Sequence[NodeObservation]) -> None:
        there = {node.name for node in nodes}
        for name in self._said.keys() - there:
            self._forget(name)
        self._there = there

    def node_seen(self, node: NodeObservation) -> None:
        self._there.add(node.name)

    def node_gone(self, node: NodeObservation) -> None:
        self._forget(node.name)

    # --- what is asked ---------------------------------------------------------------------------------------------

    def nodes(self, runtimes: Mapping[NodeId, Heard]) -> list[NodeLimits]:
        """Nodes where something was written, or may have been; those that have not confirmed first, then by name.

        None where nothing was ever to be bounded, as far as this life and the scheduler's properties tell.
        """
        rows: dict[str, list[Node]] = {}
        for row in self._state.nodes.values():
            if row.kubernetes_node_name in self._there:
                rows.setdefault(row.kubernetes_node_name, []).append(row)
        found = (self._node(name, rows.get(name, ()), runtimes) for name in self._names(rows))
        return sorted(
            (one for one in found if one is not None),
            key=lambda one: (one.state.is_confirmed, one.kubernetes_node),
        )

    def _names(self, rows: Mapping[str, Sequence[Node]]) -> Iterator[str]:
        yield from self._was_written & self._there
        if self._publishing.colocation.is_bounding:
            yield from rows.keys() - self._was_written

    def _node(self, name: str, rows: Collection[Node], runtimes: Mapping[NodeId, Heard]) -> NodeLimits | None:
        said = self._said.get(name)
        heard = [runtimes[row.id] for row in rows if row.id in runtimes]
        if said is None and heard and not any(one.can_measure for one in heard):
            return None  # a genuine NodeManager writes nothing
        speaker = runtimes.get(said.node_id) if said is not None else None
        state, groups = self._state_of(said, speaker), said.groups if said is not None else None
        return NodeLimits(
            kubernetes_node=name,
            state=state,
            why=": ".join(filter(None, (_WHY[state], said.problem if said is not None and groups else ""))),
            groups=groups,
            confirmed_ms=said.confirmed_ms if said is not None else None,
            undo_lines=undo_lines(said.best_effort if said is not None else "") if state.may_be_left else (),
        )

    def _state_of(self, said: _Said | None, speaker: Heard | None) -> LimitsState:
        if said is None:
            return LimitsState.UNKNOWN
        if said.confirmed_ms is not None:
            return LimitsState.UNDONE
        if speaker is None or self._clock.monotonic_s() - speaker.last_seen_s >= STALE_S:
            return LimitsState.SILENT
        return LimitsState.HELD if _bounds(self._publishing.colocation) else LimitsState.UNDOING

    def _forget(self, name: str) -> None:
        self._said.pop(name, None)
        self._was_written.discard(name)
        self._there.discard(name)


def _bounds(colocation: Colocation) -> bool:
    """Whether agents bound pods now."""
    return colocation.policy is not None and colocation.policy.bounds
