"""Keeps what node agents have written to the control groups of batch pods and not undone, as far as they said it.

A node whose agent is silent is not assumed to be clean: what its agent said last stands until the agent says otherwise,
or Kubernetes does not know the node any more.  An agent confirms by a report of nothing left, made while nothing is
bounded; what it said before, or by the numbers of an earlier policy, confirms nothing.

It is not kept over a restart: agents that are there say it again, and of others it is said that nobody knows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

import structlog

from yodel.domain.colocation.report import WrittenReport
from yodel.domain.colocation.switch import ColocationSwitch
from yodel.domain.ids import NodeId
from yodel.ports.clock import Clock
from yodel.services.nodes.facts import Facts, NodeFacts, Written
from yodel.services.nodes.judgement import STALE_S
from yodel.services.writer.changes import Changes
from yodel.services.writer.state import ClusterState
from yodel.translator.undo_lines import undo_lines

log = structlog.get_logger("yodel.colocation")


class LimitsState(StrEnum):
    """Lists the known states of a node's limits."""

    ENFORCED = "ENFORCED"
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
    LimitsState.ENFORCED: "enforced by the node agent",
    LimitsState.UNDOING: "cleanup not confirmed by the node agent yet",
    LimitsState.UNDONE: "cleaned up",
    LimitsState.SILENT: "no report from the node agent: cgroup limits may remain",
    LimitsState.UNKNOWN: "unknown: no report since the ResourceManager restarted; cgroup limits may remain",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenNodeLimits:
    """``groups``: how many have what was written, when its agent spoke last; None: not known.  ``confirmed_ms``: when
    that was said to be none (epoch milliseconds).  ``undo_lines``: for the node's own shell, where no agent answers."""

    kubernetes_node: str
    state: LimitsState
    why: str
    groups: int | None
    confirmed_ms: int | None
    undo_lines: Sequence[str] = ()


class Heard(Protocol):
    """Describes a registered agent: its last heartbeat (monotonic seconds), and whether it measures at all."""

    @property
    def last_seen_s(self) -> float: ...

    @property
    def can_measure(self) -> bool: ...


class WrittenLimits:
    """A node that Kubernetes does not know is forgotten with its record."""

    def __init__(self, state: ClusterState, clock: Clock, facts: Facts) -> None:
        self._state, self._clock, self._facts = state, clock, facts

    # --- what is told ----------------------------------------------------------------------------------------------

    def told(self, changes: Changes) -> None:
        """Follow changes: where pods are limited, an earlier confirmation does not count."""
        if _bounds(self._facts.terms.colocation):
            for facts in (self._facts.of(name) for name in changes.nodes):
                if facts is not None and facts.written is not None and facts.written.confirmed_ms is not None:
                    facts.written = replace(facts.written, confirmed_ms=None)

    def hear(self, node_id: NodeId, proved_name: str, report: WrittenReport) -> None:
        """A report of the agent whose token is of the node of this name.  Who does not speak for the node
        confirms nothing, and says neither what stands there nor where."""
        if self._state.node_index.may_not_speak(node_id, proved_name):
            return
        facts, colocation = self._facts.at(proved_name), self._facts.terms.colocation
        before, version = facts.written, colocation.policy.version if colocation.policy is not None else ""
        confirmed_ms = before.confirmed_ms if before is not None and before.node_id == node_id else None
        if report.groups is None and before is not None:  # it has not looked yet: what was said before stands
            report = replace(report, groups=before.report.groups, best_effort=before.report.best_effort)
        if report.groups:
            confirmed_ms, facts.was_written = None, True
        elif (
            report.groups == 0 and confirmed_ms is None and not _bounds(colocation) and report.policy_version == version
        ):
            confirmed_ms = self._clock.now_ms()
            if facts.was_written:
                log.info("limits removed", node=proved_name, node_id=str(node_id))
        facts.written = Written(node_id=node_id, report=report, confirmed_ms=confirmed_ms)

    # --- what is asked ---------------------------------------------------------------------------------------------

    def nodes(self, runtimes: Mapping[NodeId, Heard]) -> list[WrittenNodeLimits]:
        """Nodes where something was written, or may have been; those that have not confirmed first, then by name.

        None where nothing was ever to be bounded, as far as this life and the scheduler's properties tell.
        """
        agents: dict[str, list[NodeId]] = {}
        for row in self._state.nodes.values():
            agents.setdefault(row.kubernetes_node_name, []).append(row.id)
        bounded = agents.keys() if self._facts.terms.colocation.is_bounding else set()
        asked = (facts for facts in self._facts.all() if facts.was_written or facts.name in bounded)
        found = (self._node(facts, agents.get(facts.name, ()), runtimes) for facts in asked)
        return sorted(
            (one for one in found if one is not None),
            key=lambda one: (one.state.is_confirmed, one.kubernetes_node),
        )

    def _node(
        self, facts: NodeFacts, rows: Collection[NodeId], runtimes: Mapping[NodeId, Heard]
    ) -> WrittenNodeLimits | None:
        written = facts.written if facts.written is not None and facts.written.report.groups is not None else None
        heard = [runtimes[row] for row in rows if row in runtimes]
        if written is None and heard and not any(one.can_measure for one in heard):
            return None  # a genuine NodeManager writes nothing
        state = self._state_of(written, runtimes.get(written.node_id) if written is not None else None)
        report = written.report if written is not None else WrittenReport()
        groups, problem = report.groups, report.problems[-1] if report.problems else ""
        return WrittenNodeLimits(
            kubernetes_node=facts.name,
            state=state,
            why=": ".join(filter(None, (_WHY[state], problem if groups else ""))),
            groups=groups,
            confirmed_ms=written.confirmed_ms if written is not None else None,
            undo_lines=undo_lines(report.best_effort) if state.may_be_left else (),
        )

    def _state_of(self, said: Written | None, speaker: Heard | None) -> LimitsState:
        if said is None:
            return LimitsState.UNKNOWN
        if said.confirmed_ms is not None:
            return LimitsState.UNDONE
        if speaker is None or self._clock.monotonic_s() - speaker.last_seen_s >= STALE_S:
            return LimitsState.SILENT
        return LimitsState.ENFORCED if _bounds(self._facts.terms.colocation) else LimitsState.UNDOING


def _bounds(colocation: ColocationSwitch) -> bool:
    """Return True if agents limit pods now."""
    return colocation.policy is not None and colocation.policy.bounds
