"""Domain records to table rows and back: pure, field by field, without loss.

Kinds are listed parents first, which is the order in which foreign keys let them be written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Table

from yodel.domain.application import Application, Submission
from yodel.domain.attempt import Attempt
from yodel.domain.constraints import Scope, TagRule
from yodel.domain.container import Container, Placement
from yodel.domain.delegation_token import DelegationToken
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId
from yodel.domain.lent_limit import LentLimit
from yodel.domain.node import Node
from yodel.domain.past import PastUsage
from yodel.domain.queues.queue import Queue
from yodel.domain.scheduler_conf import SchedulerConf
from yodel.domain.shuffle.decision import AddedSetting, ShuffleDecision
from yodel.domain.shuffle.report import from_plain, to_plain
from yodel.domain.states import (
    ApplicationState,
    AttemptState,
    ContainerState,
    ContainerType,
    ContainerUpdateType,
    ExecutionType,
    FinalApplicationStatus,
    NodeState,
)
from yodel.domain.tokens import MasterKey
from yodel.ports.store import Row
from yodel.store import tables
from yodel.store.ended_rows import past_usage_from, past_usage_values
from yodel.store.queue_rows import queue_from, queue_values, scheduler_conf_from, scheduler_conf_values
from yodel.store.values import Columns, Values, node_id_from, pod_from, resource_from, resource_values


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordKind:
    """Describes how one type of record is stored."""

    record: type[Row]
    table: Table[Any]
    to_values: Callable[[Any], Values]
    from_columns: Callable[[Columns], Any]


def node_values(node: Node) -> Values:
    return {
        "id": str(node.id),
        "state": node.state.name,
        "http_port": node.http_port,
        **resource_values("capability", node.capability),
        "rack": node.rack,
        "labels": list(node.labels),
        "kubernetes_node_name": node.kubernetes_node_name,
        "version": node.version,
        "health_report": node.health_report,
        "last_health_ms": node.last_health_ms,
        "decommissioning_since_ms": node.decommissioning_since_ms,
        "decommissioning_timeout_s": node.decommissioning_timeout_s,
        "is_node_manager": node.is_node_manager,
        "shuffle_clients": None if node.shuffle_clients is None else list(node.shuffle_clients),
        **resource_values("ordered_capability", node.ordered_capability),
        "lent_limit_cpu_milli": node.lent_limit.cpu_milli if node.lent_limit is not None else None,
        "lent_limit_memory_mib": node.lent_limit.memory_mib if node.lent_limit is not None else None,
    }


def node_from(row: Columns) -> Node:
    return Node(
        id=node_id_from(row["id"]),
        state=NodeState[row["state"]],
        http_port=row["http_port"],
        capability=resource_from("capability", row),
        rack=row["rack"],
        labels=tuple(row["labels"]),
        kubernetes_node_name=row["kubernetes_node_name"],
        version=row["version"],
        health_report=row["health_report"],
        last_health_ms=row["last_health_ms"],
        decommissioning_since_ms=row["decommissioning_since_ms"],
        decommissioning_timeout_s=row["decommissioning_timeout_s"],
        is_node_manager=row["is_node_manager"],
        shuffle_clients=None if row["shuffle_clients"] is None else tuple(row["shuffle_clients"]),
        ordered_capability=resource_from("ordered_capability", row),
        lent_limit=_lent_limit(row["lent_limit_cpu_milli"], row["lent_limit_memory_mib"]),
    )


def _lent_limit(cpu_milli: int | None, memory_mib: int | None) -> LentLimit | None:
    return (
        LentLimit(cpu_milli=cpu_milli, memory_mib=memory_mib)
        if cpu_milli is not None and memory_mib is not None
        else None
    )


def application_values(application: Application) -> Values:
    return {
        "id": str(application.id),
        "sequence": application.id.sequence,
        **_submission_values(application.submission),
        "state": application.state.name,
        "final_status": application.final_status.name,
        "diagnostics": application.diagnostics,
        "current_attempt": application.current_attempt,
        "failure_times_ms": list(application.failure_times_ms),
        "submitted_ms": application.submitted_ms,
        "launched_ms": application.launched_ms,
        "finished_ms": application.finished_ms,
        "expires_ms": application.expires_ms,
    }


def application_from(row: Columns) -> Application:
    return Application(
        id=ApplicationId.parse(row["id"]),
        submission=_submission(row),
        state=ApplicationState[row["state"]],
        final_status=FinalApplicationStatus[row["final_status"]],
        diagnostics=row["diagnostics"],
        current_attempt=row["current_attempt"],
        failure_times_ms=tuple(row["failure_times_ms"]),
        submitted_ms=row["submitted_ms"],
        launched_ms=row["launched_ms"],
        finished_ms=row["finished_ms"],
        expires_ms=row["expires_ms"],
    )


def _submission_values(submission: Submission) -> Values:
    return {
        "name": submission.name,
        "user": submission.user,
        "queue": submission.queue,
        "application_type": submission.application_type,
        "tags": list(submission.tags),
        "priority": submission.priority,
        "max_attempts": submission.max_attempts,
        "global_max_attempts": submission.global_max_attempts,
        "attempt_failures_validity_interval_ms": submission.attempt_failures_validity_interval_ms,
        "keep_containers_across_attempts": submission.keep_containers_across_attempts,
        "is_unmanaged": submission.is_unmanaged,
        **resource_values("am_capability", submission.am_capability),
        **resource_values("am_asked_capability", submission.am_asked_capability),
        "am_node_label": submission.am_node_label,
        "node_label": submission.node_label,
        "view_acl": submission.view_acl,
        "modify_acl": submission.modify_acl,
        "lifetime_s": submission.lifetime_s,
        "context": submission.context,
    }


def _submission(row: Columns) -> Submission:
    return Submission(
        name=row["name"],
        user=row["user"],
        queue=row["queue"],
        application_type=row["application_type"],
        tags=tuple(row["tags"]),
        priority=row["priority"],
        max_attempts=row["max_attempts"],
        global_max_attempts=row["global_max_attempts"],
        attempt_failures_validity_interval_ms=row["attempt_failures_validity_interval_ms"],
        keep_containers_across_attempts=row["keep_containers_across_attempts"],
        is_unmanaged=row["is_unmanaged"],
        am_capability=resource_from("am_capability", row),
        am_asked_capability=resource_from("am_asked_capability", row),
        am_node_label=row["am_node_label"],
        node_label=row["node_label"],
        view_acl=row["view_acl"],
        modify_acl=row["modify_acl"],
        lifetime_s=row["lifetime_s"],
        context=row["context"],
    )


def attempt_values(attempt: Attempt) -> Values:
    return {
        "id": str(attempt.id),
        "application_id": str(attempt.id.application_id),
        "attempt": attempt.id.attempt,
        "state": attempt.state.name,
        "am_container_id": None if attempt.am_container_id is None else str(attempt.am_container_id),
        "host": attempt.host,
        "rpc_port": attempt.rpc_port,
        "tracking_url": attempt.tracking_url,
        "final_status": attempt.final_status.name,
        "diagnostics": attempt.diagnostics,
        "started_ms": attempt.started_ms,
        "finished_ms": attempt.finished_ms,
        "container_sequence": 1,
        "keeps_containers": attempt.keeps_containers,
        "shuffle": _shuffle_values(attempt.shuffle),
        "awaits_agent": attempt.awaits_agent,
        "client_key": attempt.client_key or None,
    }


def attempt_from(row: Columns) -> Attempt:
    am_container_id = row["am_container_id"]
    return Attempt(
        id=ApplicationAttemptId.parse(row["id"]),
        state=AttemptState[row["state"]],
        am_container_id=None if am_container_id is None else ContainerId.parse(am_container_id),
        host=row["host"],
        rpc_port=row["rpc_port"],
        tracking_url=row["tracking_url"],
        final_status=FinalApplicationStatus[row["final_status"]],
        diagnostics=row["diagnostics"],
        started_ms=row["started_ms"],
        finished_ms=row["finished_ms"],
        keeps_containers=row["keeps_containers"],
        shuffle=_shuffle(row["shuffle"]),
        awaits_agent=row["awaits_agent"],
        client_key=row["client_key"] or b"",
    )


def _shuffle_values(decision: ShuffleDecision | None) -> Values | None:
    if decision is None:
        return None
    return {
        "service": decision.service,
        "queue": decision.queue,
        "lines": [[line.key, line.value, line.why, line.source] for line in decision.lines],
        "told": [list(pair) for pair in decision.told],
        "reason": decision.reason,
        "is_refused": decision.is_refused,
        "report": to_plain(decision.report),
    }


def _shuffle(values: Columns | None) -> ShuffleDecision | None:
    if values is None:
        return None
    return ShuffleDecision(
        service=values["service"],
        queue=values["queue"],
        lines=tuple(AddedSetting(*line) for line in values["lines"]),
        told=tuple((name, text) for name, text in values["told"]),
        reason=values["reason"],
        is_refused=values.get("is_refused", False),
        report=from_plain(values.get("report")),
    )


def container_values(container: Container) -> Values:
    placement = container.placement
    return {
        "id": str(container.id),
        "pod": container.pod,
        "attempt_id": str(container.id.attempt_id),
        "number": container.id.number,
        "type": container.type.name,
        "user": container.user,
        "queue": container.queue,
        **resource_values("capability", container.capability),
        **resource_values("asked_capability", container.asked_capability),
        "priority": container.priority,
        "allocation_request_id": container.allocation_request_id,
        "execution_type": container.execution_type.name,
        "asked_execution_type": container.asked_execution_type.name,
        "placement_hosts": list(placement.hosts),
        "placement_racks": list(placement.racks),
        "placement_is_strict": placement.is_strict,
        "placement_avoid": list(placement.avoid),
        "placement_node_label": placement.node_label,
        "placement_nodes": list(placement.nodes),
        "placement_rules": [_rule_values(rule) for rule in placement.rules],
        "allocation_tags": list(container.allocation_tags),
        "state": container.state.name,
        "target": "RUN" if container.is_live else "STOP",  # read by releases before 0006 only
        "node_id": None if container.node_id is None else str(container.node_id),
        "created_ms": container.created_ms,
        "finished_ms": container.finished_ms,
        "exit_status": int(container.exit_status),
        "diagnostics": container.diagnostics,
        "is_acknowledged": container.is_acknowledged,
        "awaits_agent": container.awaits_agent,
        "version": container.version,
        **resource_values("resize_to", container.resize_to),
        "update_type": None if container.update_type is None else container.update_type.name,
        **resource_values("confirmed", container.confirmed),
    }


def container_from(row: Columns) -> Container:
    container_id, node_id = ContainerId.parse(row["id"]), row["node_id"]
    return Container(
        id=container_id,
        pod=pod_from(row["pod"], container_id),
        type=ContainerType[row["type"]],
        user=row["user"],
        queue=row["queue"],
        capability=resource_from("capability", row),
        asked_capability=resource_from("asked_capability", row),
        priority=row["priority"],
        allocation_request_id=row["allocation_request_id"],
        execution_type=ExecutionType[row["execution_type"]],
        asked_execution_type=ExecutionType[row["asked_execution_type"]],
        placement=_placement(row),
        allocation_tags=tuple(row["allocation_tags"]),
        state=ContainerState[row["state"]],
        node_id=None if node_id is None else node_id_from(node_id),
        created_ms=row["created_ms"],
        finished_ms=row["finished_ms"],
        exit_status=row["exit_status"],
        diagnostics=row["diagnostics"],
        is_acknowledged=row["is_acknowledged"],
        awaits_agent=row["awaits_agent"],
        version=row["version"],
        resize_to=resource_from("resize_to", row),
        update_type=None if row["update_type"] is None else ContainerUpdateType[row["update_type"]],
        confirmed=resource_from("confirmed", row),
    )


def _placement(row: Columns) -> Placement:
    return Placement(
        hosts=tuple(row["placement_hosts"]),
        racks=tuple(row["placement_racks"]),
        is_strict=row["placement_is_strict"],
        avoid=tuple(row["placement_avoid"]),
        node_label=row["placement_node_label"],
        nodes=tuple(row["placement_nodes"]),
        rules=tuple(_rule(values) for values in row["placement_rules"]),
    )


def _rule_values(rule: TagRule) -> Values:
    return {
        "is_apart": rule.is_apart,
        "scope": rule.scope.name,
        "tag": rule.tag,
        "applications": list(rule.applications),
        "are_excluded": rule.are_excluded,
        "slots": rule.slots,
        "slot": rule.slot,
    }


def _rule(values: Columns) -> TagRule:
    return TagRule(
        is_apart=values["is_apart"],
        scope=Scope[values["scope"]],
        tag=values["tag"],
        applications=tuple(values["applications"]),
        are_excluded=values["are_excluded"],
        slots=values["slots"],
        slot=values["slot"],
    )


def master_key_from(row: Columns) -> tuple[str, MasterKey]:
    return row["purpose"], MasterKey(key_id=row["key_id"], secret=row["secret"])


def delegation_token_values(token: DelegationToken) -> Values:
    return {"sequence": token.sequence, "identifier": token.identifier, "expires_ms": token.expires_ms}


def delegation_token_from(row: Columns) -> DelegationToken:
    return DelegationToken(sequence=row["sequence"], identifier=row["identifier"], expires_ms=row["expires_ms"])


QUEUES = RecordKind(record=Queue, table=tables.queues, to_values=queue_values, from_columns=queue_from)
NODES = RecordKind(record=Node, table=tables.nodes, to_values=node_values, from_columns=node_from)
APPLICATIONS = RecordKind(
    record=Application, table=tables.applications, to_values=application_values, from_columns=application_from
)
ATTEMPTS = RecordKind(record=Attempt, table=tables.attempts, to_values=attempt_values, from_columns=attempt_from)
CONTAINERS = RecordKind(
    record=Container, table=tables.containers, to_values=container_values, from_columns=container_from
)

DELEGATION_TOKENS = RecordKind(
    record=DelegationToken,
    table=tables.delegation_tokens,
    to_values=delegation_token_values,
    from_columns=delegation_token_from,
)

SCHEDULER_CONF = RecordKind(
    record=SchedulerConf,
    table=tables.scheduler_conf,
    to_values=scheduler_conf_values,
    from_columns=scheduler_conf_from,
)

PAST_USAGE = RecordKind(
    record=PastUsage, table=tables.past_usage, to_values=past_usage_values, from_columns=past_usage_from
)

KINDS = (QUEUES, NODES, APPLICATIONS, ATTEMPTS, CONTAINERS, DELEGATION_TOKENS, SCHEDULER_CONF, PAST_USAGE)


def by_kind(rows: Iterable[Row]) -> Iterator[tuple[RecordKind, list[Row]]]:
    """Yield the kinds that there are rows of, parents first, with their rows in their order: when one comes twice, the
    last wins."""
    of_type: dict[type[Row], list[Row]] = {}
    for row in rows:
        of_type.setdefault(type(row), []).append(row)
    return ((kind, of_type[kind.record]) for kind in KINDS if kind.record in of_type)
