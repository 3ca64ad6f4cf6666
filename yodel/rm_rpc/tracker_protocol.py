"""ResourceTracker, port 8031 (ResourceTrackerService): node agents register and beat."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable
from typing import Any

from yodel.domain.states import ContainerExitStatus
from yodel.hadoop_pb import ResourceTracker_pb2 as service_pb
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_pb import yarn_server_common_protos_pb2 as common
from yodel.hadoop_pb import yarn_server_common_service_protos_pb2 as msg
from yodel.pb_convert import ids
from yodel.rm_rpc.methods import protocol
from yodel.rpc_io.dispatch import CallContext, Handler, RpcProtocol
from yodel.services.nodes import ContainerReport, Heartbeat, HeartbeatAnswer, NodeRegistration, NodeService
from yodel.services.tokens import TokenIssuer

NAME = "org.apache.hadoop.yarn.server.api.ResourceTrackerPB"


class TrackerProtocol:
    """Handlers by wire name.  ``heartbeat_interval_ms`` is what agents are told to wait between beats."""

    def __init__(self, nodes: NodeService, tokens: TokenIssuer, heartbeat_interval_ms: int, rm_version: str) -> None:
        self._nodes, self._tokens = nodes, tokens
        self._heartbeat_interval_ms, self._rm_version = heartbeat_interval_ms, rm_version

    def protocol(self) -> RpcProtocol:
        handlers: dict[str, Handler] = {
            "registerNodeManager": self.register,
            "nodeHeartbeat": self.heartbeat,
            "unRegisterNodeManager": self.unregister,
        }
        descriptor = service_pb.DESCRIPTOR.services_by_name["ResourceTrackerService"]
        return protocol(NAME, descriptor, handlers)

    async def register(
        self, _: CallContext, request: msg.RegisterNodeManagerRequestProto
    ) -> msg.RegisterNodeManagerResponseProto:
        node_id = ids.node_id(request.node_id)
        registration = NodeRegistration(
            node_id=node_id,
            http_port=request.http_port,
            capability=ids.resource(request.resource),
            # A genuine NodeManager does not say which Kubernetes node it is on: its host's name is the best guess.
            kubernetes_node_name=request.kubernetes_node_name or node_id.host,
            version=request.nm_version,
            containers=[_registered_report(status) for status in request.container_statuses],
        )
        await self._nodes.register(registration)
        response = msg.RegisterNodeManagerResponseProto(
            nodeAction=common.NODE_ACTION_NORMAL,
            rm_identifier=self._tokens.rm_identifier,
            rm_version=self._rm_version,
        )
        self._set_keys(response.container_token_master_key, response.nm_token_master_key)
        return response

    def heartbeat(
        self, _: CallContext, request: msg.NodeHeartbeatRequestProto
    ) -> msg.NodeHeartbeatResponseProto | Coroutine[Any, Any, msg.NodeHeartbeatResponseProto]:
        """Synchronous while it brings nothing new."""
        status = request.node_status
        health = status.nodeHealthStatus
        beat = Heartbeat(
            node_id=ids.node_id(status.node_id),
            response_id=status.response_id,
            is_healthy=health.is_node_healthy if status.HasField("nodeHealthStatus") else True,
            health_report=health.health_report,
            containers=_reports(status.containersStatuses),
        )
        answer = self._nodes.heartbeat(beat)
        return self._response(answer) if answer is not None else self._heartbeat_slow(beat)

    async def unregister(
        self, _: CallContext, request: msg.UnRegisterNodeManagerRequestProto
    ) -> msg.UnRegisterNodeManagerResponseProto:
        await self._nodes.unregister(ids.node_id(request.node_id))
        return msg.UnRegisterNodeManagerResponseProto()

    async def _heartbeat_slow(self, beat: Heartbeat) -> msg.NodeHeartbeatResponseProto:
        return self._response(await self._nodes.heartbeat_slow(beat))

    def _response(self, answer: HeartbeatAnswer) -> msg.NodeHeartbeatResponseProto:
        response = msg.NodeHeartbeatResponseProto(
            response_id=answer.response_id,
            nodeAction=common.NODE_ACTION_RESYNC if answer.must_resync else common.NODE_ACTION_NORMAL,
            nextHeartBeatInterval=self._heartbeat_interval_ms,
            containers_to_cleanup=[ids.container_id_pb(i) for i in answer.containers_to_clean_up],
            containers_to_be_removed_from_nm=[ids.container_id_pb(i) for i in answer.containers_to_forget],
            applications_to_cleanup=[ids.application_id_pb(i) for i in answer.applications_to_clean_up],
        )
        for container_id, command in answer.signals:
            signal = response.containers_to_signal.add()
            signal.container_id.CopyFrom(ids.container_id_pb(container_id))
            signal.command = pb.SignalContainerCommandProto.Name(command)  # type: ignore[assignment]
        return response

    def _set_keys(self, container_key: common.MasterKeyProto, nm_key: common.MasterKeyProto) -> None:
        for message, purpose in ((container_key, "container"), (nm_key, "nm")):
            key = self._tokens.current(purpose)
            message.key_id, message.bytes = key.key_id, key.secret


def _reports(statuses: Iterable[pb.ContainerStatusProto]) -> list[ContainerReport]:
    return [
        ContainerReport(
            container_id=ids.container_id(status.container_id),
            is_running=status.state == pb.C_RUNNING,
            is_complete=status.state == pb.C_COMPLETE,
            exit_status=status.exit_status,
            diagnostics=status.diagnostics,
        )
        for status in statuses
    ]


def _registered_report(status: msg.NMContainerStatusProto) -> ContainerReport:
    exit_status = status.container_exit_status if status.HasField("container_exit_status") else None
    return ContainerReport(
        container_id=ids.container_id(status.container_id),
        is_running=status.container_state == pb.C_RUNNING,
        is_complete=status.container_state == pb.C_COMPLETE,
        exit_status=exit_status if exit_status is not None else int(ContainerExitStatus.INVALID),
        diagnostics=status.diagnostics,
    )
