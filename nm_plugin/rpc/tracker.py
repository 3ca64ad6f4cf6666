"""The node's side of the ResourceTracker protocol registers, sends heartbeats and follows orders.

Follows ``NodeStatusUpdaterImpl``.  One conversation at a time: a registration, then heartbeats in the interval that the
RM names, and at once (coalesced over COALESCE_S) when a container changed in a way others wait for.  The end of a
container is repeated until a call that told it is answered, and told again with each registration.  It stays known, for
getContainerStatuses, until the RM lists it in ``containers_to_be_removed_from_nm``, as it does once the
ApplicationMaster has heard of the end; of more than ENDED_MAX the first that were told are forgotten.

When the RM is away the containers go on; the node tries for ever, quickly at first, so that a restarted RM has its
nodes back within a second or two.  RESYNC means register again, and keeps the containers.

Refuses: to go on after SHUTDOWN (``ShutdownOrdered``).
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Protocol, TypeVar

import structlog
from google.protobuf.message import Message

from nm_plugin.capacity.lender import Due, Lender
from nm_plugin.container import diagnostics
from nm_plugin.container.life import Container
from nm_plugin.container.manager import ContainerManager
from nm_plugin.container.signals import SIGNALS
from nm_plugin.container.statuses import container_status, registration_status
from nm_plugin.host.usage import MeasuredUse
from nm_plugin.keys.token_secrets import TokenSecrets
from nm_plugin.logs.uploading.aggregation import LogAggregator, LogReport
from nm_plugin.node.state import NodeReport
from yodel.domain.colocation.report import APART, RESOURCES
from yodel.domain.ids import ContainerId, NodeId
from yodel.domain.resource import Resource
from yodel.domain.shuffle.report import Report
from yodel.domain.states import ContainerExitStatus
from yodel.errors import InvalidValue, Refused, Unavailable, YodelError
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_pb import yarn_server_common_protos_pb2 as common_pb
from yodel.hadoop_pb import yarn_server_common_service_protos_pb2 as server_pb
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.pb_convert import colocation, ids
from yodel.pb_convert.shuffle_reports import reports_pb, shuffle_words

PROTOCOL_NAME = "org.apache.hadoop.yarn.server.api.ResourceTrackerPB"
COALESCE_S = 0.01
HEARTBEAT_MAX_S = 60.0  # whatever interval the RM names
UNREGISTER_TIMEOUT_S = 2.0
ENDED_MAX = 10_000
"""Ends that the RM knows and has not said may be forgotten: an ApplicationMaster may never ask again."""
HEALTH_REPORT_LENGTH_MAX = 10_000

M = TypeVar("M", bound=Message)


class ShutdownOrdered(YodelError):
    """The RM does not want this node; carries its diagnostics."""


class RmConnection(Protocol):
    """A connection to the RM (``yodel.rpc_io.client.RpcClient``)."""

    async def call(self, method: str, request: Message, response_type: type[M]) -> M:
        """Raises RemoteFault or Unavailable."""

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDescription:
    """Describes the node in its registration."""

    node_id: NodeId
    http_port: int
    resource: Resource
    version: str
    kubernetes_node_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackerSettings:
    """Times in seconds."""

    heartbeat_interval_s: float
    call_timeout_s: float
    reconnect_min_s: float
    reconnect_max_s: float


class Tracker:
    """Run ``run`` in a task; ``report`` asks for an early heartbeat."""

    def __init__(
        self,
        settings: TrackerSettings,
        node: NodeDescription,
        secrets: TokenSecrets,
        connect: Callable[[], RmConnection],
        state: Callable[[], NodeReport],
        keys_changed: Callable[[], Awaitable[None]],
        logs: LogAggregator,
        on_notice: Callable[[Collection[ContainerId]], None],
        lender: Lender,
    ) -> None:
        """``on_notice`` hears with each answer which containers are to go."""
        self._settings, self._node, self._secrets = settings, node, secrets
        self._connect, self._state, self._keys_changed = connect, state, keys_changed
        self._logs, self._on_notice, self._lender = logs, on_notice, lender
        self._manager: ContainerManager | None = None
        self._wake = asyncio.Event()
        self._response_id = 0
        self._interval_s = settings.heartbeat_interval_s
        self._told: dict[ContainerId, None] = {}
        """Ends that the RM knows."""
        self._told_shuffle: dict[ContainerId, Report] = {}
        """Shuffle reports that the RM has received since this agent registered with it."""
        self.registered = asyncio.Event()
        self._log = structlog.get_logger(__name__)

    def report(self) -> None:
        """Something happened that the RM should know soon."""
        self._wake.set()

    async def run(self, manager: ContainerManager) -> None:
        """Until cancelled.

        Raises:
            ShutdownOrdered: the RM said so.
        """
        self._manager = manager
        delay_s = self._settings.reconnect_min_s
        while True:
            connection = self._connect()
            try:
                await self._register(connection, manager)
                delay_s = self._settings.reconnect_min_s
                await self._beat(connection, manager)
                continue
            except (Unavailable, RemoteFault, TimeoutError, OSError) as error:
                self.registered.clear()
                self._log.warning("rm_unreachable", reason=f"{type(error).__name__}: {error}"[:500], retry_s=delay_s)
            finally:
                await connection.close()
            # Jitter, or a thousand nodes come back in the same millisecond.
            await asyncio.sleep(delay_s * random.uniform(0.75, 1.0))
            delay_s = min(delay_s * 1.5, self._settings.reconnect_max_s)

    async def unregister(self) -> None:
        """Say good-bye, if the RM is there to hear it."""
        connection = self._connect()
        request = server_pb.UnRegisterNodeManagerRequestProto(node_id=ids.node_id_pb(self._node.node_id))
        try:
            async with asyncio.timeout(UNREGISTER_TIMEOUT_S):
                await connection.call("unRegisterNodeManager", request, server_pb.UnRegisterNodeManagerResponseProto)
        except (Unavailable, RemoteFault, TimeoutError, OSError):
            self._log.info("not_unregistered")
        finally:
            await connection.close()

    async def _register(self, connection: RmConnection, manager: ContainerManager) -> None:
        node, containers = self._node, manager.all()
        request = server_pb.RegisterNodeManagerRequestProto(
            node_id=ids.node_id_pb(node.node_id),
            http_port=node.http_port,
            resource=ids.resource_pb(node.resource),
            nm_version=node.version,
            container_statuses=[registration_status(container) for container in containers],
            runningApplications=[ids.application_id_pb(a.application_id) for a in manager.applications()],
            kubernetes_node_name=node.kubernetes_node_name,
            can=(*RESOURCES, *shuffle_words()),
            log_aggregation_reports_for_apps=[_log_report(one) for one in self._logs.reports(is_first=True)],
        )
        async with asyncio.timeout(self._settings.call_timeout_s):
            response = await connection.call("registerNodeManager", request, server_pb.RegisterNodeManagerResponseProto)
        if response.nodeAction == common_pb.NODE_ACTION_SHUTDOWN:
            raise ShutdownOrdered(
                "Received SHUTDOWN signal from Resourcemanager, Registration of NodeManager failed, "
                f"Message from ResourceManager: {response.diagnostics_message}"
            )
        self._response_id = 0
        self._told_shuffle = {}
        await self._were_told(containers, manager)
        self._secrets.take_keys(response.nm_token_master_key, response.container_token_master_key)
        self._secrets.rm_identifier = response.rm_identifier
        await self._keys_changed()
        self._lender.registered(is_apart=APART in response.can)
        self.registered.set()
        self._wake.set()
        self._log.info("registered", node=str(node.node_id), rm_identifier=response.rm_identifier)

    async def _beat(self, connection: RmConnection, manager: ContainerManager) -> None:
        """Heartbeats until RESYNC."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._interval_s):
                    await self._wake.wait()
                    await asyncio.sleep(COALESCE_S)
            self._wake.clear()
            due = self._lender.due()
            known = manager.all()
            containers = [one for one in known if one.container_id not in self._told]
            shuffle = {one.container_id: one.shuffle_report for one in known if one.shuffle_report is not None}
            heartbeat, log_reports = self._heartbeat(containers, due), self._logs.reports()
            heartbeat.log_aggregation_reports_for_apps.extend(_log_report(one) for one in log_reports)
            news = {one: report for one, report in shuffle.items() if self._told_shuffle.get(one) != report}
            heartbeat.shuffle.extend(reports_pb(news))
            async with asyncio.timeout(self._settings.call_timeout_s):
                response = await connection.call("nodeHeartbeat", heartbeat, server_pb.NodeHeartbeatResponseProto)
            if response.nodeAction == common_pb.NODE_ACTION_SHUTDOWN:
                raise ShutdownOrdered(f"Received SHUTDOWN signal from Resourcemanager: {response.diagnostics_message}")
            if response.nodeAction == common_pb.NODE_ACTION_RESYNC:
                self._log.info("resync", reason=response.diagnostics_message)
                return
            await self._were_told(containers, manager)
            self._logs.reported(log_reports)
            self._told_shuffle = shuffle
            self._lender.told(due)
            self._response_id = response.response_id
            if response.nextHeartBeatInterval > 0:
                self._interval_s = min(response.nextHeartBeatInterval / 1000, HEARTBEAT_MAX_S)
            self._secrets.take_keys(response.nm_token_master_key, response.container_token_master_key)
            await self._keys_changed()
            await self._obey(response, manager)

    async def _were_told(self, containers: Iterable[Container], manager: ContainerManager) -> None:
        """The RM has answered to them: ends are not told again, and not kept beyond the maximum."""
        ended = (container.container_id for container in containers if container.state.is_complete)
        self._told |= dict.fromkeys(ended)
        self._told = {one: None for one in self._told if manager.get(one) is not None}
        excess = len(self._told) - ENDED_MAX
        await manager.acknowledge(list(islice(self._told, max(0, excess))))

    def _heartbeat(self, containers: Iterable[Container], due: Due) -> server_pb.NodeHeartbeatRequestProto:
        request = server_pb.NodeHeartbeatRequestProto()
        status = request.node_status
        status.node_id.CopyFrom(ids.node_id_pb(self._node.node_id))
        status.response_id = self._response_id
        status.containersStatuses.extend(map(container_status, containers))
        state = self._state()
        status.nodeHealthStatus.is_node_healthy = state.health.is_healthy
        status.nodeHealthStatus.health_report = state.health.report[:HEALTH_REPORT_LENGTH_MAX]
        status.nodeHealthStatus.last_health_report_time = state.health.checked_ms
        _fill(status.containers_utilization, state.containers)
        _fill(status.node_utilization, state.node)
        if self._secrets.nm_key_id is not None:
            request.last_known_nm_token_master_key.key_id = self._secrets.nm_key_id
        if self._secrets.container_key_id is not None:
            request.last_known_container_token_master_key.key_id = self._secrets.container_key_id
        if self._lender.policy_version:
            request.colocation_policy_version = self._lender.policy_version
        if self._lender.is_apart:
            if due.loan is not None:
                request.loan.CopyFrom(colocation.loan_report_pb(due.loan))
            if due.written is not None:
                request.written.CopyFrom(colocation.written_report_pb(due.written))
        elif due.loan is not None or due.written is not None:
            request.capacity.CopyFrom(colocation.capacity_report_pb(due.loan, due.written))
        emergency = self._lender.emergency()
        if emergency is not None:
            request.emergency.CopyFrom(colocation.emergency_pb(emergency))
        return request

    async def _obey(self, response: server_pb.NodeHeartbeatResponseProto, manager: ContainerManager) -> None:
        if response.HasField("resource"):
            # What counts is the RM's book; the node goes on registering with what it has.
            self._log.info("resource_set_by_rm", resource=str(ids.resource(response.resource)))
        await manager.acknowledge([ids.container_id(m) for m in response.containers_to_be_removed_from_nm])
        for message in response.containers_to_cleanup:
            await manager.kill(
                ids.container_id(message),
                ContainerExitStatus.KILLED_BY_RESOURCEMANAGER,
                diagnostics.KILLED_BY_RESOURCEMANAGER,
            )
        for application in response.applications_to_cleanup:
            application_id = ids.application_id(application)
            await manager.finish_application(application_id)
            self._secrets.forget_application(application_id)
        for signal in response.containers_to_signal:
            name = SIGNALS.get(signal.command)
            if name is not None:
                await manager.signal(ids.container_id(signal.container_id), name)
        self._on_notice([ids.container_id(message) for message in response.containers_on_notice])
        if response.HasField("colocation_policy"):
            self._take_policy(response.colocation_policy)
        self._take_allocatable(response)
        self._lender.rank([ids.container_id(message) for message in response.eviction_ranks])
        for pod in response.pods:
            await manager.name_pod(ids.container_id(pod.container_id), pod.uid)
        self._lender.answered()
        for update in (*response.containers_to_update, *response.containers_to_decrease):
            try:
                await manager.update(ids.container_id(update.id), ids.resource(update.resource), update.version)
            except Refused as error:
                self._log.info("update_ignored", reason=str(error))

    def _take_policy(self, message: server_pb.YodelPolicyProto) -> None:
        """One that this agent does not understand changes nothing: it goes on as before."""
        try:
            self._lender.obey(colocation.policy(message))
        except InvalidValue as error:
            self._log.warning("colocation_policy_refused", reason=str(error))

    def _take_allocatable(self, response: server_pb.NodeHeartbeatResponseProto) -> None:
        """Take over the allocatable amounts of a response; impossible ones are logged and ignored."""
        try:
            self._lender.hear_allocatable(colocation.allocatable(response.allocatable))
        except InvalidValue as error:
            self._log.warning("allocatable_refused", reason=str(error))


def _log_report(report: LogReport) -> server_pb.LogAggregationReportProto:
    message = server_pb.LogAggregationReportProto(
        log_aggregation_status=report.status.value, diagnostics=report.diagnostics
    )
    message.application_id.CopyFrom(ids.application_id_pb(report.application_id))
    return message


def _fill(message: pb.ResourceUtilizationProto, usage: MeasuredUse) -> None:
    message.pmem, message.vmem, message.cpu = usage.pmem_mib, usage.vmem_mib, usage.cpu_vcores
