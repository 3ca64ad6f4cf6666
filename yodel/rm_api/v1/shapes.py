"""Rows and views as the models of ``/api/v1``.  Pure: what is not in the arguments is not in the answer."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from yodel.domain.application import Application
from yodel.domain.attempt import Attempt
from yodel.domain.container import Container
from yodel.domain.node import NOT_ORDERED, Node
from yodel.domain.node_load import NodeLoad, Utilization
from yodel.domain.pod import PodObservation
from yodel.domain.queues.properties import capacity_text, maximum_text
from yodel.domain.queues.queue import applications_max, shown_state
from yodel.domain.queues.removal import mark_of
from yodel.domain.resource import NONE, Resource
from yodel.domain.shuffle.decision import ShuffleDecision
from yodel.domain.shuffle.words import MARKER
from yodel.domain.states import ApplicationState, NodeState
from yodel.pb_convert.reports import diagnostics_of
from yodel.rm_api.hadoop.wire.apps import tracking_url
from yodel.rm_api.v1 import models
from yodel.services.applications.log_aggregation import LogAggregationStatus
from yodel.services.views.noticed import NoticeView
from yodel.services.views.pools import PoolView
from yodel.services.views.queries import ApplicationView, NodeView
from yodel.services.views.queue_views import QueueUserView, QueueView
from yodel.services.views.transitions import Transition


def amount(value: Resource) -> models.Amount:
    return models.Amount(memory_mib=value.memory_mib, vcores=value.vcores, others=dict(value.extras))


# --- applications ---------------------------------------------------------------------------------------------------


def application_summary(view: ApplicationView, web_address: str) -> models.ApplicationSummary:
    return models.ApplicationSummary(**_summary(view, web_address))


def application(
    view: ApplicationView,
    web_address: str,
    attempts: Sequence[Attempt],
    log_aggregation: LogAggregationStatus,
) -> models.Application:
    row, submission = view.application, view.application.submission
    return models.Application(
        **_summary(view, web_address),
        diagnostics=diagnostics_of(row, view.attempt),
        pending=amount(view.pending),
        starting=amount(view.starting),
        reserved=amount(view.reserved),
        memory_mib_seconds=view.memory_mib_s,
        vcore_seconds=view.vcore_s,
        preempted_containers=view.preempted.masters + view.preempted.others,
        preempted=amount(Resource(view.preempted.memory_mib, view.preempted.vcores)),
        is_unmanaged=submission.is_unmanaged,
        max_attempts=submission.max_attempts,
        node_label=submission.node_label,
        am_node_label=submission.am_node_label,
        expires_ms=row.expires_ms or None,
        log_aggregation=models.LogAggregation(log_aggregation.name),
        attempt_list=[attempt(found) for found in attempts],
    )


def _summary(view: ApplicationView, web_address: str) -> models.JsonObject:
    row, submission = view.application, view.application.submission
    has_pages = view.attempt is not None and row.state is not ApplicationState.ACCEPTED
    return {
        "id": str(row.id),
        "name": submission.name,
        "user": submission.user,
        "queue": submission.queue,
        "type": submission.application_type,
        "tags": list(submission.tags),
        "priority": submission.priority,
        "state": row.state,
        "final_status": models.FinalStatus(row.final_status.name),
        "progress_percent": round(view.progress * 100.0, 2),
        "submitted_ms": row.submitted_ms,
        "launched_ms": row.launched_ms or None,
        "finished_ms": row.finished_ms or None,
        "elapsed_ms": view.elapsed_ms,
        "attempts": row.current_attempt,
        "used": amount(view.used),
        "running_containers": view.running_containers,
        "starting_containers": view.starting_containers,
        "pending_containers": view.pending_containers,
        "tracking_url": tracking_url(row, web_address) if has_pages else None,
    }


def attempt(row: Attempt) -> models.Attempt:
    has_registered = row.rpc_port >= 0
    return models.Attempt(
        id=str(row.id),
        number=row.id.attempt,
        state=row.state,
        final_status=models.FinalStatus(row.final_status.name),
        am_container_id=str(row.am_container_id) if row.am_container_id is not None else None,
        am_host=row.host if has_registered else None,
        am_rpc_port=row.rpc_port if has_registered else None,
        tracking_url=row.tracking_url or None,
        started_ms=row.started_ms,
        finished_ms=row.finished_ms or None,
        diagnostics=row.diagnostics,
        shuffle=_shuffle(row.shuffle) if row.shuffle is not None else None,
    )


def _shuffle(decision: ShuffleDecision) -> models.Shuffle:
    return models.Shuffle(
        service=decision.service,
        queue=decision.queue,
        status=decision.status,
        added=[
            models.ShuffleLine(key=line.key, value=line.value, why=line.why, source=line.source)
            for line in decision.added
        ],
        left_out=[
            models.ShuffleLeftOut(key=key, reason=one.cause.reason, why=str(one.cause))
            for one in decision.left_out
            for key in one.keys
        ],
        left_alone_because=(decision.left_out_because or None) if not decision.added else None,
    )


def killed(row: Application, *, had_ended: bool) -> models.Killed:
    return models.Killed(id=str(row.id), state=row.state, has_ended=row.state.is_final, had_ended=had_ended)


# --- containers -----------------------------------------------------------------------------------------------------


def container(
    row: Container,
    found: models.Logs | None,
    observed: PodObservation | None,
    namespace: str,
    wait: str,
    notice: NoticeView | None,
) -> models.Container:
    """``observed`` is its pod as last seen, ``wait`` why it does not run yet, ``notice`` its preemption notice."""
    return models.Container(
        id=str(row.id),
        application_id=str(row.id.application_id),
        attempt=row.id.attempt_id.attempt,
        is_am=row.is_am,
        state=row.state,
        capability=amount(row.capability),
        priority=row.priority,
        allocation_tags=list(row.allocation_tags),
        node_id=str(row.node_id) if row.node_id is not None else None,
        created_ms=row.created_ms,
        finished_ms=row.finished_ms or None,
        exit_status=None if row.is_live else row.exit_status,
        diagnostics=row.diagnostics,
        waits_for=wait or None,
        notice=on_notice(notice) if notice is not None else None,
        pod=_pod(row, observed, namespace) if row.pod else None,
        logs=found,
    )


def on_notice(view: NoticeView) -> models.Notice:
    return models.Notice(
        cause=view.reason,
        reason=models.FORMER_REASONS.get(view.reason, view.reason),
        text=view.text,
        containers=view.containers,
        left_s=view.left_s,
    )


def logs(row: Container, node: Node | None, reader: Node | None) -> models.Logs | None:
    """Return the URLs of its logs; None while no node agent has them.  ``reader`` is a node that is up, preferably its
    own."""
    holder = node if node is not None and node.http_port > 0 else reader
    if row.node_id is None or holder is None:
        return None
    base, user = f"http://{holder.http_address}", quote(row.user, safe="")
    aggregated = None
    if reader is not None:
        path = f"ws/v1/history/containers/{row.id}/logs?user={user}&nm.id={quote(str(row.node_id), safe=':')}"
        aggregated = f"http://{reader.http_address}/{path}"
    return models.Logs(
        page_url=f"{base}/node/containerlogs/{row.id}/{user}",
        files_url=f"{base}/ws/v1/node/containers/{row.id}/logs",
        aggregated_url=aggregated,
    )


def container_logs(row: Container, found: models.Logs) -> models.ContainerLogs:
    return models.ContainerLogs(
        container_id=str(row.id),
        is_am=row.is_am,
        is_live=row.is_live,
        user=row.user,
        node_id=str(row.node_id),
        logs=found,
    )


def _pod(row: Container, observed: PodObservation | None, namespace: str) -> models.Pod:
    if observed is None:
        return models.Pod(
            name=row.pod,
            namespace=namespace,
            phase=None,
            kubernetes_node=None,
            is_ready=None,
            reason=None,
            message=None,
        )
    reason = observed.reason or observed.waiting_reason or observed.terminated_reason
    message = observed.message or observed.waiting_message or observed.terminated_message
    return models.Pod(
        name=observed.name,
        namespace=namespace,
        phase=observed.phase.value,
        kubernetes_node=observed.node_name,
        is_ready=observed.is_ready,
        reason=reason or None,
        message=message or observed.unschedulable_message or None,
    )


# --- queues and nodes -----------------------------------------------------------------------------------------------


def queue(view: QueueView) -> models.Queue:
    row, metrics = view.share.queue, view.metrics
    mark = mark_of(row)
    return models.Queue(
        path=row.path,
        name=row.name,
        parent=row.parent_path,
        is_leaf=row.is_leaf,
        children=len(view.children),
        state=models.QueueStatus(shown_state(row, is_used=bool(view.users)).name),
        to_be_removed=models.Removal(version=mark.version, author=mark.author) if mark is not None else None,
        capacity_percent=row.capacity_percent,
        maximum_capacity_percent=row.maximum_capacity_percent,
        weight=row.weight,
        capacity=capacity_text(view.queue),
        maximum_capacity=maximum_text(view.queue),
        guaranteed=amount(view.share.guaranteed),
        maximum=amount(view.share.maximum),
        enforcement=models.Enforcement.LIMIT if view.is_enforced else models.Enforcement.OBSERVE,
        is_preemptable=view.gives_back,
        is_intra_queue_preemptable=view.gives_back_within,
        is_over_maximum=not (metrics.used + metrics.starting).fits_in(view.share.maximum),
        user_limit_factor=row.user_limit_factor if row.is_leaf else None,
        minimum_user_limit_percent=row.minimum_user_limit_percent if row.is_leaf else None,
        maximum_applications=applications_max(row, view.share.capacity) if row.is_leaf else None,
        priority=row.priority,
        ordering_policy=row.ordering_policy,
        maximum_parallel_applications=row.maximum_parallel_applications,
        used=amount(metrics.used),
        used_percent=round(view.used_share * 100.0, 2),
        starting=amount(metrics.starting),
        pending=amount(metrics.pending_resource),
        reserved=amount(metrics.reserved),
        running_applications=metrics.running,
        pending_applications=metrics.pending,
        containers=metrics.containers_allocated,
        starting_containers=metrics.containers_starting,
        pending_containers=metrics.containers_pending,
        users=list(view.users),
        maximum_lifetime_seconds=row.maximum_lifetime_s if row.maximum_lifetime_s > 0 else None,
        default_lifetime_seconds=row.usual_lifetime_s if row.usual_lifetime_s > 0 else None,
        shuffle=[
            models.ShuffleWord(property=MARKER + word.name, value=word.text, queue=word.path) for word in row.shuffle
        ],
        shuffle_endpoints=[
            models.ShuffleEndpoint(address=address, state=models.EndpointState(presence.value))
            for address, presence in view.endpoints
        ],
    )


def queue_user(view: QueueUserView) -> models.QueueUser:
    load = view.load
    return models.QueueUser(
        user=view.user,
        used=amount(load.used),
        starting=amount(load.starting),
        pending=amount(load.wanted),
        reserved=amount(load.reserved),
        limit=amount(view.limit) if view.limit is not None else None,
        am_used=amount(load.am_used),
        am_limit=amount(view.am_limit) if view.am_limit is not None else None,
        containers=load.containers,
        starting_containers=load.starting_containers,
        pending_containers=load.waiting,
        running_applications=load.running,
        pending_applications=load.pending,
    )


def pool(view: PoolView) -> models.Pool:
    return models.Pool(
        name=view.name,
        dialects=list(view.dialects),
        resources=list(view.resources),
        size=amount(view.size),
        used=amount(view.used),
        free=amount(view.free),
        nodes=view.nodes,
        queues=sorted(view.queues),
    )


def node(view: NodeView, load: NodeLoad | None, last_heartbeat_ms: int) -> models.Node:
    return models.Node(**_node(view, load, last_heartbeat_ms))


def node_details(
    view: NodeView, load: NodeLoad | None, last_heartbeat_ms: int, containers: Sequence[Container]
) -> models.NodeDetails:
    """``containers`` are those that the caller may see."""
    shown = [_node_container(row) for row in containers]
    return models.NodeDetails(**_node(view, load, last_heartbeat_ms), container_list=shown)


def allocation(view: NodeView) -> models.Allocation:
    """Return the node's present capacity for containers, and the source of the figure."""
    row, is_ordered = view.node, view.node.ordered_capability != NOT_ORDERED
    if row.state is NodeState.RUNNING:
        total, source = row.capability, _source(view, is_ordered=is_ordered)
    elif row.state is NodeState.DECOMMISSIONING:
        total, source = view.used, "decommissioning: running containers may finish, no new containers"
    else:
        total, source = NONE, f"none: the node is {row.state.name}"
    if row.health_report and row.state is not NodeState.RUNNING:
        source = f"{source} ({row.health_report})"
    return models.Allocation(
        allocatable=amount(total),
        used=amount(view.used),
        free=amount((total - view.used).at_least_zero()),
        decided_by=_decided_by(view, is_ordered=is_ordered),
        source=source,
    )


def _decided_by(view: NodeView, *, is_ordered: bool) -> models.DecidedBy:
    if is_ordered:
        return models.DecidedBy.ADMINISTRATOR
    if view.node.is_node_manager:
        return models.DecidedBy.NODE_MANAGER
    return models.DecidedBy.KUBERNETES_NODE if view.published else models.DecidedBy.NODE_AGENT


def _source(view: NodeView, *, is_ordered: bool) -> str:
    if view.node.is_node_manager:
        return "set by an administrator" if is_ordered else "registered by NodeManager"
    published = f"published by its Kubernetes node: {', '.join(view.published)}"
    if not is_ordered:
        return published if view.published else "registered by node agent"
    most = f", at most {published}" if view.published else ""
    return f"set by an administrator{most}"


def _node(view: NodeView, load: NodeLoad | None, last_heartbeat_ms: int) -> models.JsonObject:
    row, found = view.node, allocation(view)
    return {
        "id": str(row.id),
        "host": row.id.host,
        "kind": models.NodeKind.NODE_MANAGER if row.is_node_manager else models.NodeKind.AGENT,
        "state": models.NodeStatus(row.state.name),
        "rack": row.rack,
        "labels": sorted(row.labels),
        "kubernetes_node": row.kubernetes_node_name or None,
        "http_address": row.http_address if row.http_port > 0 else None,
        "version": row.version,
        "health_report": row.health_report,
        "last_health_ms": row.last_health_ms or None,
        "last_heartbeat_ms": last_heartbeat_ms or None,
        "containers": view.containers,
        "capacity": amount(row.capability),
        "allocation": found,
        "lending": models.Lending(
            lent=found.allocatable,
            used=found.used,
            free=found.free,
            decided_by=found.decided_by,
            why=found.source,
        ),
        "measured": _measured(load) if load is not None else None,
    }


def _measured(load: NodeLoad) -> models.Measured:
    return models.Measured(containers=_load(load.containers), node=_load(load.node))


def _load(found: Utilization) -> models.Load:
    return models.Load(memory_mib=found.physical_mib, cpu_cores=round(found.cpu_cores, 3))


def _node_container(row: Container) -> models.NodeContainer:
    return models.NodeContainer(
        id=str(row.id),
        application_id=str(row.id.application_id),
        user=row.user,
        queue=row.queue,
        is_am=row.is_am,
        state=row.state,
        capability=amount(row.capability),
        pod_name=row.pod or None,
    )


# --- events ---------------------------------------------------------------------------------------------------------


def event(step: Transition, epoch: int) -> models.Event:
    application = step.application
    return models.Event(
        id=f"{epoch}-{step.sequence}",
        at_ms=step.at_ms,
        kind=models.EventKind(step.kind.value),
        subject=step.subject,
        before=step.before,
        after=step.after,
        application_id=str(application.id) if application is not None else None,
        user=application.submission.user if application is not None else None,
        queue=application.submission.queue if application is not None else None,
        node_id=str(step.node_id) if step.node_id is not None else None,
        exit_status=step.exit_status,
        reason=step.reason,
    )
