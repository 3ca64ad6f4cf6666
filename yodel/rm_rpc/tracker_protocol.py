"""ResourceTracker, port 8031 (ResourceTrackerService): node agents register and beat."""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import structlog

from yodel.domain.colocation.report import APART, RESOURCES, LoanReport, WrittenReport
from yodel.domain.ids import ContainerId, NodeId
from yodel.domain.shuffle.report import Report
from yodel.domain.states import ContainerExitStatus
from yodel.errors import InvalidValue
from yodel.hadoop_pb import ResourceTracker_pb2 as service_pb
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_pb import yarn_server_common_protos_pb2 as common
from yodel.hadoop_pb import yarn_server_common_service_protos_pb2 as msg
from yodel.pb_convert import ids
from yodel.pb_convert.colocation import (
    NAME_LENGTH_MAX,
    allocatable_pb,
    capacity_report,
    emergency,
    loan_report,
    policy_pb,
    written_report,
)
from yodel.pb_convert.node_loads import load_of
from yodel.pb_convert.shuffle_reports import reports_of, shuffle_clients
from yodel.pb_convert.texts import text
from yodel.pb_convert.tokens import token_to_pb
from yodel.rm_rpc.methods import protocol
from yodel.rpc_io.dispatch import CallContext, Handler, RpcProtocol
from yodel.services.applications.log_aggregation import (
    LogAggregationReport,
    LogAggregationReports,
    LogAggregationStatus,
)
from yodel.services.keys.masters import MasterKeys
from yodel.services.keys.tokens import TokenIssuer
from yodel.services.nodes.container_reports import ContainerReport
from yodel.services.nodes.heartbeat import Heartbeat, HeartbeatAnswer, Heartbeats
from yodel.services.nodes.registration import NodeRegistration, Registration
from yodel.serving.node_token import NODE_TOKEN_KIND
from yodel.serving.pieces import PIECE, in_pieces

NAME = "org.apache.hadoop.yarn.server.api.ResourceTrackerPB"
log = structlog.get_logger("yodel.nodes")
MessageT = TypeVar("MessageT")
ValueT = TypeVar("ValueT")
LOG_REPORTS_MAX = 1_000
"""The most reports of one heartbeat; an agent repeats what was not taken."""


class TrackerProtocol:
    """Handlers by wire name.  ``heartbeat_interval_ms`` is what agents are told to wait between beats."""

    def __init__(
        self,
        registration: Registration,
        heartbeats: Heartbeats,
        tokens: TokenIssuer,
        heartbeat_interval_ms: int,
        rm_version: str,
        *,
        master_keys: MasterKeys,
        log_aggregation: LogAggregationReports,
    ) -> None:
        self._registration, self._heartbeats, self._tokens = registration, heartbeats, tokens
        self._heartbeat_interval_ms, self._rm_version = heartbeat_interval_ms, rm_version
        self._master_keys, self._log_aggregation = master_keys, log_aggregation
        self._agents: dict[tuple[str, int], NodeId] = {}
        """Agents by the first heartbeat on each open connection, by the address of its other end."""

    def protocol(self) -> RpcProtocol:
        handlers: dict[str, Handler] = {
            "registerNodeManager": self.register,
            "nodeHeartbeat": self.heartbeat,
            "unRegisterNodeManager": self.unregister,
        }
        descriptor = service_pb.DESCRIPTOR.services_by_name["ResourceTrackerService"]
        return replace(protocol(NAME, descriptor, handlers), closed=self.closed)

    def closed(self, remote_host: str, remote_port: int) -> None:
        """Note the end of a connection: its agent gives up its claim to the node until its next heartbeat."""
        node_id = self._agents.pop((remote_host, remote_port), None)
        if node_id is not None:
            self._heartbeats.closed(node_id, (remote_host, remote_port))

    async def register(
        self, context: CallContext, request: msg.RegisterNodeManagerRequestProto
    ) -> msg.RegisterNodeManagerResponseProto:
        node_id = ids.node_id(request.node_id)
        is_agent = request.HasField("kubernetes_node_name") or len(request.can) > 0
        registration = NodeRegistration(
            node_id=node_id,
            peer=_peer(context),
            http_port=request.http_port,
            capability=ids.resource(request.resource),
            kubernetes_node_name=request.kubernetes_node_name,
            is_node_manager=not is_agent,
            version=request.nm_version,
            proved_name=_proved_name(context),
            can_measure=set(RESOURCES).issubset(request.can),
            shuffle_clients=shuffle_clients(request.can),
            containers=await in_pieces(_registered_report, request.container_statuses),
            labels=_labels(request.nodeLabels),
        )
        registered = await self._registration.register(registration)
        if registered.refusal:
            return msg.RegisterNodeManagerResponseProto(
                nodeAction=common.NODE_ACTION_SHUTDOWN, diagnostics_message=registered.refusal
            )
        self._log_aggregation.record(node_id, _log_reports(request.log_aggregation_reports_for_apps))
        response = msg.RegisterNodeManagerResponseProto(
            nodeAction=common.NODE_ACTION_NORMAL,
            rm_identifier=self._tokens.rm_identifier,
            rm_version=self._rm_version,
            can=[APART],
            diagnostics_message=registered.labels_refusal or None,
            areNodeLabelsAcceptedByRM=request.HasField("nodeLabels") and not registered.labels_refusal,
        )
        for purpose, message in (
            ("container", response.container_token_master_key),
            ("nm", response.nm_token_master_key),
        ):
            key = self._tokens.current(purpose)
            message.key_id, message.bytes = key.key_id, key.secret
        if registered.capability is not None:
            response.resource.CopyFrom(ids.resource_pb(registered.capability))
        return response

    def heartbeat(
        self, context: CallContext, request: msg.NodeHeartbeatRequestProto
    ) -> msg.NodeHeartbeatResponseProto | Coroutine[Any, Any, msg.NodeHeartbeatResponseProto]:
        """Synchronous while it brings nothing new."""
        # Here the connection is still open, so that its end takes this away again.
        if (peer := _peer(context)) not in self._agents:
            self._agents[peer] = ids.node_id(request.node_status.node_id)
        statuses = request.node_status.containersStatuses
        if len(statuses) > PIECE:
            return self._heartbeat_large(context, request)
        return self._heartbeat(context, request, _reports(statuses, self._heartbeats.grown))

    async def _heartbeat_large(
        self, context: CallContext, request: msg.NodeHeartbeatRequestProto
    ) -> msg.NodeHeartbeatResponseProto:
        statuses, grown = request.node_status.containersStatuses, self._heartbeats.grown
        reports = await in_pieces(lambda status: _reports([status], grown)[0], statuses)
        answer = self._heartbeat(context, request, reports)
        return answer if isinstance(answer, msg.NodeHeartbeatResponseProto) else await answer

    def _heartbeat(
        self, context: CallContext, request: msg.NodeHeartbeatRequestProto, reports: Sequence[ContainerReport]
    ) -> msg.NodeHeartbeatResponseProto | Coroutine[Any, Any, msg.NodeHeartbeatResponseProto]:
        status = request.node_status
        health = status.nodeHealthStatus
        loan, written, problem = _capacity(request)
        emergency_said = request.HasField("emergency")
        said_emergency, emergency_problem = _read(emergency, request.emergency) if emergency_said else (None, "")
        beat = Heartbeat(
            node_id=ids.node_id(status.node_id),
            peer=_peer(context),
            response_id=status.response_id,
            is_healthy=health.is_node_healthy if status.HasField("nodeHealthStatus") else True,
            health_report=health.health_report,
            containers=reports,
            load=load_of(status.containers_utilization, status.node_utilization, health.last_health_report_time),
            proved_name=_proved_name(context),
            capacity=loan,
            written=written,
            capacity_problem=problem,
            emergency=said_emergency,
            emergency_problem=emergency_problem,
            policy_version=text("colocation_policy_version", request.colocation_policy_version, NAME_LENGTH_MAX),
            shuffle=_shuffle(request),
            labels=_labels(request.nodeLabels) if request.HasField("nodeLabels") else None,
        )
        reports_of_logs = request.log_aggregation_reports_for_apps
        if reports_of_logs and self._heartbeats.is_own(beat):
            self._log_aggregation.record(beat.node_id, _log_reports(reports_of_logs))
        answer = self._heartbeats.take(beat)
        return self._response(request, answer) if answer is not None else self._heartbeat_slow(request, beat)

    async def unregister(
        self, context: CallContext, request: msg.UnRegisterNodeManagerRequestProto
    ) -> msg.UnRegisterNodeManagerResponseProto:
        await self._registration.unregister(ids.node_id(request.node_id), _proved_name(context), _peer(context))
        return msg.UnRegisterNodeManagerResponseProto()

    async def _heartbeat_slow(
        self, request: msg.NodeHeartbeatRequestProto, beat: Heartbeat
    ) -> msg.NodeHeartbeatResponseProto:
        return self._response(request, await self._heartbeats.slow(beat))

    def _response(
        self, request: msg.NodeHeartbeatRequestProto, answer: HeartbeatAnswer
    ) -> msg.NodeHeartbeatResponseProto:
        response = msg.NodeHeartbeatResponseProto(
            response_id=answer.response_id,
            nodeAction=_action(answer),
            nextHeartBeatInterval=self._heartbeat_interval_ms,
        )
        # An empty list costs as much as a full one, and most are empty.
        if answer.containers_to_clean_up:
            response.containers_to_cleanup.extend(map(ids.container_id_pb, answer.containers_to_clean_up))
        if answer.containers_to_forget:
            response.containers_to_be_removed_from_nm.extend(map(ids.container_id_pb, answer.containers_to_forget))
        if answer.applications_to_clean_up:
            response.applications_to_cleanup.extend(map(ids.application_id_pb, answer.applications_to_clean_up))
        if answer.diagnostics:
            response.diagnostics_message = answer.diagnostics
        if answer.must_resync or answer.must_shut_down:
            return response
        if answer.capability is not None:
            response.resource.CopyFrom(ids.resource_pb(answer.capability))
        if request.HasField("nodeLabels"):
            reason = self._heartbeats.why_labels_refused(_labels(request.nodeLabels))
            response.areNodeLabelsAcceptedByRM = not reason
            response.diagnostics_message = reason
        self._add_new_keys(request, response)
        for container_id, command in answer.signals:
            signal = response.containers_to_signal.add()
            signal.container_id.CopyFrom(ids.container_id_pb(container_id))
            signal.command = pb.SignalContainerCommandProto.Name(command)  # type: ignore[assignment]
        if answer.is_policy_news:
            response.colocation_policy.CopyFrom(policy_pb(answer.policy))
        for container_id, uid in answer.pods:
            response.pods.add(container_id=ids.container_id_pb(container_id), uid=uid)
        if answer.eviction_ranks:
            response.eviction_ranks.extend(map(ids.container_id_pb, answer.eviction_ranks))
        if answer.allocatable is not None:
            response.allocatable.extend(allocatable_pb(answer.allocatable.by_type))
        if answer.on_notice:
            response.containers_on_notice.extend(map(ids.container_id_pb, answer.on_notice))
        for container, at_ms in answer.updates:
            assert container.node_id is not None, "it runs on this node"
            update = response.containers_to_update.add(
                id=ids.container_id_pb(container.id),
                nodeId=ids.node_id_pb(container.node_id),
                resource=ids.resource_pb(container.capability),
                version=container.version,
                execution_type=container.execution_type.name,
            )
            update.priority.priority = container.priority
            update.container_token.CopyFrom(token_to_pb(self._tokens.container_token(container, at_ms)))
        return response

    def _add_new_keys(self, request: msg.NodeHeartbeatRequestProto, response: msg.NodeHeartbeatResponseProto) -> None:
        """ResourceTrackerService.populateKeys.  An agent that does not say what it knows is not asked to learn."""
        if request.HasField("last_known_nm_token_master_key"):
            key = self._master_keys.key_for("nm", request.last_known_nm_token_master_key.key_id)
            if key is not None:
                response.nm_token_master_key.key_id, response.nm_token_master_key.bytes = key.key_id, key.secret
        if request.HasField("last_known_container_token_master_key"):
            key = self._master_keys.key_for("container", request.last_known_container_token_master_key.key_id)
            if key is not None:
                message = response.container_token_master_key
                message.key_id, message.bytes = key.key_id, key.secret


def _action(answer: HeartbeatAnswer) -> common.NodeActionProto:
    if answer.must_shut_down:
        return common.NODE_ACTION_SHUTDOWN
    return common.NODE_ACTION_RESYNC if answer.must_resync else common.NODE_ACTION_NORMAL


def _capacity(
    request: msg.NodeHeartbeatRequestProto,
) -> tuple[LoanReport | None, WrittenReport | None, str]:
    """Return both reports, and why one could not be read."""
    if request.HasField("capacity"):  # of an agent that was not told yet that they are read apart
        both, problem = _read(capacity_report, request.capacity)
        return (*both, problem) if both is not None else (None, None, problem)
    loan, problem = _read(loan_report, request.loan) if request.HasField("loan") else (None, "")
    written, other = _read(written_report, request.written) if request.HasField("written") else (None, "")
    return loan, written, problem or other


def _read(convert: Callable[[MessageT], ValueT], message: MessageT) -> tuple[ValueT | None, str]:
    """Return the decoded message, or the error: a wrong measurement is no reason to lose the containers of a node."""
    try:
        return convert(message), ""
    except InvalidValue as error:
        return None, str(error)


def _shuffle(request: msg.NodeHeartbeatRequestProto) -> Mapping[ContainerId, Report]:
    """Return the shuffle reports; none of them, if one is malformed."""
    try:
        return reports_of(request.shuffle)
    except InvalidValue as error:
        log.warning("report of remote shuffle refused", reason=str(error))
        return {}


def _peer(context: CallContext) -> tuple[str, int]:
    return context.remote_host, context.remote_port


def _proved_name(context: CallContext) -> str:
    """Return the node that the connection's token names (``yodel.serving.node_token``)."""
    is_of_node = context.token_kind == NODE_TOKEN_KIND and context.token_identifier is not None
    return (context.token_identifier or b"").decode("utf-8", "replace") if is_of_node else ""


def _labels(message: msg.NodeLabelsProto) -> tuple[str, ...]:
    return tuple(label.name for label in message.nodeLabels if label.name)


def _log_reports(reports: Sequence[msg.LogAggregationReportProto]) -> list[LogAggregationReport]:
    return [
        LogAggregationReport(
            application_id=ids.application_id(report.application_id),
            status=LogAggregationStatus(report.log_aggregation_status),
            diagnostics=report.diagnostics,
        )
        for report in reports[:LOG_REPORTS_MAX]
    ]


def _reports(statuses: Sequence[pb.ContainerStatusProto], grown: Collection[ContainerId] = ()) -> list[ContainerReport]:
    """Sizes are read of those in ``grown`` only: a heartbeat says them of every container, always."""
    found = [
        ContainerReport(
            container_id=ids.container_id(status.container_id),
            is_running=status.state == pb.C_RUNNING,
            is_complete=status.state == pb.C_COMPLETE,
            exit_status=status.exit_status,
            diagnostics=status.diagnostics,
        )
        for status in statuses
    ]
    if not grown:
        return found
    return [
        _sized(report, status) if report.container_id in grown else report
        for report, status in zip(found, statuses, strict=True)
    ]


def _sized(report: ContainerReport, status: pb.ContainerStatusProto) -> ContainerReport:
    return replace(report, capability=ids.resource(status.capability)) if status.HasField("capability") else report


def _registered_report(status: msg.NMContainerStatusProto) -> ContainerReport:
    exit_status = status.container_exit_status if status.HasField("container_exit_status") else None
    return ContainerReport(
        container_id=ids.container_id(status.container_id),
        is_running=status.container_state == pb.C_RUNNING,
        is_complete=status.container_state == pb.C_COMPLETE,
        exit_status=exit_status if exit_status is not None else int(ContainerExitStatus.INVALID),
        diagnostics=status.diagnostics,
        capability=ids.resource(status.resource) if status.HasField("resource") else None,
    )
