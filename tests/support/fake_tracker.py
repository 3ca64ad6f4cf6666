"""A ResourceTracker that answers as a test tells it to, behind the real RPC server."""

from __future__ import annotations

import asyncio
import base64
import os
from collections.abc import Callable

from yodel.domain.colocation.policy import Policy
from yodel.domain.ids import ApplicationId, ContainerId
from yodel.domain.shuffle.report import Report
from yodel.domain.tokens import MasterKey
from yodel.errors import Unavailable
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_pb import yarn_server_common_protos_pb2 as common_pb
from yodel.hadoop_pb import yarn_server_common_service_protos_pb2 as server_pb
from yodel.hadoop_rpc import faults
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.pb_convert import colocation, ids
from yodel.pb_convert.shuffle_reports import reports_of
from yodel.rpc_io.dispatch import CallContext, Dispatcher, RpcMethod, RpcProtocol
from yodel.rpc_io.server import RpcServer, ServerSecurity, TokenGrant

NM_KEY = MasterKey(key_id=1, secret=b"n" * 32)
CONTAINER_KEY = MasterKey(key_id=2, secret=b"c" * 32)
RM_IDENTIFIER = 1700000000000


class FakeTracker:
    """Remembers every request; orders are given to the next heartbeat."""

    def __init__(self, token_passwords: Callable[[bytes], TokenGrant | None] | None = None) -> None:
        self.registrations: list[server_pb.RegisterNodeManagerRequestProto] = []
        self.heartbeats: list[server_pb.NodeHeartbeatRequestProto] = []
        self.callers: list[CallContext] = []
        self.next_action: common_pb.NodeActionProto = common_pb.NODE_ACTION_NORMAL
        self.acknowledges = True
        """It says at once that what has ended may be forgotten."""
        self._ended: dict[ContainerId, None] = {}
        self.on_notice: list[ContainerId] = []
        self.policy: Policy | None = None
        self.can: list[str] = []
        self.pods: dict[ContainerId, str] = {}
        self.ranks: list[ContainerId] = []
        self.allocatable: dict[str, int] = {}
        self._named: set[ContainerId] = set()
        self.heartbeat_interval_ms = 200
        self._orders = server_pb.NodeHeartbeatResponseProto()
        self._changed = asyncio.Condition()
        self._token_passwords = token_passwords
        self._server: RpcServer | None = None
        self.port = 0

    async def start(self, port: int = 0) -> None:
        methods = (
            RpcMethod(
                name="registerNodeManager",
                request_type=server_pb.RegisterNodeManagerRequestProto,
                handler=self._register,
            ),
            RpcMethod(name="nodeHeartbeat", request_type=server_pb.NodeHeartbeatRequestProto, handler=self._heartbeat),
        )
        protocol = RpcProtocol(
            name="org.apache.hadoop.yarn.server.api.ResourceTrackerPB", methods={m.name: m for m in methods}
        )
        self._server = RpcServer(
            name="tracker",
            dispatcher=Dispatcher([protocol], fault_for=_fault, retry_cache=None),
            security=ServerSecurity(allow_simple=self._token_passwords is None, token_passwords=self._token_passwords),
            nonce=lambda: base64.b64encode(os.urandom(30)).decode(),
        )
        _, self.port = await self._server.start("127.0.0.1", port)

    async def stop(self) -> None:
        if self._server is not None:
            await self._server.stop()

    def kill(self, container_id: ContainerId) -> None:
        self._orders.containers_to_cleanup.append(ids.container_id_pb(container_id))

    def finish(self, application_id: ApplicationId) -> None:
        self._orders.applications_to_cleanup.append(ids.application_id_pb(application_id))

    async def until(self, condition: Callable[[], bool], timeout_s: float = 60.0) -> None:
        """Wait until a request made the condition true."""
        async with asyncio.timeout(timeout_s), self._changed:
            await self._changed.wait_for(condition)

    def last_status(self, container_id: ContainerId) -> pb.ContainerStatusProto | None:
        """The newest report about a container."""
        for heartbeat in reversed(self.heartbeats):
            for status in heartbeat.node_status.containersStatuses:
                if ids.container_id(status.container_id) == container_id:
                    return status
        return None

    async def until_complete(self, container_id: ContainerId, timeout_s: float = 60.0) -> pb.ContainerStatusProto:
        def complete() -> bool:
            status = self.last_status(container_id)
            return status is not None and status.state == pb.C_COMPLETE

        await self.until(complete, timeout_s)
        status = self.last_status(container_id)
        assert status is not None
        return status

    async def until_reported(self, container_id: ContainerId) -> Report:
        """Return what the node agent did for an ApplicationMaster, by the newest heartbeat that reports it."""

        def newest() -> list[Report]:
            said = (reports_of(heartbeat.shuffle) for heartbeat in self.heartbeats)
            return [reports[container_id] for reports in said if container_id in reports]

        await self.until(lambda: bool(newest()))
        return newest()[-1]

    async def until_running(self, container_id: ContainerId) -> None:
        """Until its script runs: the state alone is C_RUNNING while it is still localized."""

        def running() -> bool:
            status = self.last_status(container_id)
            return status is not None and status.container_sub_state == pb.CSS_RUNNING

        await self.until(running)

    async def _register(
        self, context: CallContext, request: server_pb.RegisterNodeManagerRequestProto
    ) -> server_pb.RegisterNodeManagerResponseProto:
        self.registrations.append(request)
        ended = (s for s in request.container_statuses if s.container_state == pb.C_COMPLETE)
        self._ended = {ids.container_id(s.container_id): None for s in ended}
        self._named.clear()
        self.callers.append(context)
        await self._notify()
        response = server_pb.RegisterNodeManagerResponseProto(
            nodeAction=common_pb.NODE_ACTION_NORMAL, rm_identifier=RM_IDENTIFIER, can=self.can
        )
        response.nm_token_master_key.key_id, response.nm_token_master_key.bytes = NM_KEY.key_id, NM_KEY.secret
        key = response.container_token_master_key
        key.key_id, key.bytes = CONTAINER_KEY.key_id, CONTAINER_KEY.secret
        return response

    async def _heartbeat(
        self, context: CallContext, request: server_pb.NodeHeartbeatRequestProto
    ) -> server_pb.NodeHeartbeatResponseProto:
        self.heartbeats.append(request)
        await self._notify()
        response, self._orders = self._orders, server_pb.NodeHeartbeatResponseProto()
        response.response_id = request.node_status.response_id + 1
        response.nextHeartBeatInterval = self.heartbeat_interval_ms
        response.nodeAction, self.next_action = self.next_action, common_pb.NODE_ACTION_NORMAL
        if request.colocation_policy_version != (self.policy.version if self.policy is not None else ""):
            response.colocation_policy.CopyFrom(colocation.policy_pb(self.policy))
        reported = {ids.container_id(s.container_id) for s in request.node_status.containersStatuses}
        for container_id in reported & self.pods.keys() - self._named:
            response.pods.add(container_id=ids.container_id_pb(container_id), uid=self.pods[container_id])
            self._named.add(container_id)
        response.eviction_ranks.extend(ids.container_id_pb(one) for one in self.ranks)
        response.allocatable.extend(colocation.allocatable_pb(self.allocatable))
        response.containers_on_notice.extend(ids.container_id_pb(one) for one in self.on_notice)
        statuses = request.node_status.containersStatuses
        self._ended |= {ids.container_id(s.container_id): None for s in statuses if s.state == pb.C_COMPLETE}
        if self.acknowledges:
            response.containers_to_be_removed_from_nm.extend(map(ids.container_id_pb, self._ended))
            self._ended.clear()
        return response

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()


def _fault(error: Exception) -> RemoteFault:
    assert not isinstance(error, Unavailable)
    return RemoteFault(faults.YARN_EXCEPTION, str(error))
