"""ContainerManagementProtocol: what ApplicationMasters (and the RM, for masters) ask of this node.

Follows ``ContainerManagerImpl``: the texts of refusals are its own, because clients and users look for them.  A refused
container is an entry of ``failed_requests``; only a container token with a wrong signature fails a whole call.

Refuses: re-initialisation, restart and localization of running containers (YarnException); no framework calls them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.protobuf.message import Message

from nm_plugin import diagnostics
from nm_plugin.aux_services import AuxServiceMissing, AuxServices
from nm_plugin.container_manager import ContainerManager
from nm_plugin.containers import Container
from nm_plugin.statuses import container_status
from nm_plugin.token_secrets import ContainerGrant, InvalidToken, NmIdentity, TokenSecrets
from yodel.domain.ids import ContainerId
from yodel.domain.states import ContainerExitStatus
from yodel.errors import InvalidValue, Refused, YodelError
from yodel.hadoop_pb import Security_pb2 as security_pb
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_pb import yarn_service_protos_pb2 as service_pb
from yodel.hadoop_rpc import faults
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.pb_convert import ids

PROTOCOL_NAME = "org.apache.hadoop.yarn.api.ContainerManagementProtocolPB"
REQUESTS_PER_CALL_MAX = 10_000
SIGNALS = {pb.OUTPUT_THREAD_DUMP: "QUIT", pb.GRACEFUL_SHUTDOWN: "TERM", pb.FORCEFUL_SHUTDOWN: "KILL"}


class InvalidContainer(Refused):
    """InvalidContainerException: the token is of a previous RM."""


class ContainerService:
    """The handlers; ``identity`` is who the connection's NM token names."""

    def __init__(
        self, manager: ContainerManager, secrets: TokenSecrets, aux: AuxServices, now_ms: Callable[[], int]
    ) -> None:
        self._manager, self._secrets, self._aux, self._now_ms = manager, secrets, aux, now_ms

    async def start_containers(
        self, identity: NmIdentity, request: service_pb.StartContainersRequestProto
    ) -> service_pb.StartContainersResponseProto:
        """Accept or refuse each; localization and launch happen after the answer.

        Raises:
            RemoteFault: the node has not registered, or a container token is forged.
        """
        if not self._secrets.is_ready:
            raise RemoteFault(
                faults.NM_NOT_YET_READY,
                "Rejecting new containers as NodeManager has not yet connected with ResourceManager",
            )
        _bounded(len(request.start_container_request))
        response = service_pb.StartContainersResponseProto()
        for entry in request.start_container_request:
            try:
                container_id = await self._start(identity, entry)
            except InvalidToken as error:
                raise RemoteFault(faults.INVALID_TOKEN, str(error)) from error
            except _Unstarted as refused:
                _failed(response.failed_requests.add(), refused.container_id, refused.cause)
            else:
                response.succeeded_requests.append(ids.container_id_pb(container_id))
        for name, metadata in self._aux.metadata().items():
            response.services_meta_data.add(key=name, value=metadata)
        return response

    async def _start(self, identity: NmIdentity, entry: service_pb.StartContainerRequestProto) -> ContainerId:
        grant = self._verified(entry.container_token)
        try:
            self._authorize(identity, grant, "start container.")
            if grant.rm_identifier != self._secrets.rm_identifier:
                raise InvalidContainer(f"\nContainer {grant.container_id} rejected as it is allocated by a previous RM")
            data = {e.key: e.value for e in entry.container_launch_context.service_data}
            self._aux.check(data)
            await self._manager.start(_container(grant, entry.container_launch_context))
            self._secrets.keep_key_of(identity)
            await self._aux.application_started(grant.container_id.application_id, grant.user, data)
        except YodelError as error:
            raise _Unstarted(grant.container_id, error) from error
        return grant.container_id

    def _verified(self, token: security_pb.TokenProto) -> ContainerGrant:
        """Raises InvalidToken also for what cannot be read: there is no id to report a failure for."""
        try:
            return self._secrets.container_grant(token)
        except InvalidValue as error:
            raise InvalidToken(f"Invalid ContainerToken: {error}") from error

    def _authorize(self, identity: NmIdentity, grant: ContainerGrant, what: str) -> None:
        """Raises Refused with ``authorizeStartAndResourceIncreaseRequest``'s words."""
        reason = ""
        container_id = grant.container_id
        known = self._manager.get(container_id) is not None or self._manager.was_stopped_recently(container_id)
        if identity.attempt_id.application_id != container_id.application_id:
            reason = (
                f"\nNMToken for application attempt : {identity.attempt_id} was used for starting container with "
                f"container token issued for application attempt : {container_id.attempt_id}"
            )
        elif grant.node != str(self._secrets.node_id):
            reason = f"\nContainer token is for node {grant.node}, this is {self._secrets.node_id}"
        elif what.startswith("start") and known:
            reason = f"\n Attempt to relaunch the same container with id {container_id}."
        elif grant.expiry_ms < self._now_ms():
            reason = (
                f"\nThis token is expired. current time is {self._now_ms()} found {grant.expiry_ms}\n"
                "Note: System times on machines may be out of sync. Check system time and time zones."
            )
        if reason:
            raise Refused(f"Unauthorized request to {what} {reason}")

    async def stop_containers(
        self, identity: NmIdentity, request: service_pb.StopContainersRequestProto
    ) -> service_pb.StopContainersResponseProto:
        """Kills with KILLED_BY_APPMASTER; a container that ended a while ago is a success."""
        _bounded(len(request.container_id))
        response = service_pb.StopContainersResponseProto()
        for message in request.container_id:
            container_id = ids.container_id(message)
            try:
                self._own(identity, container_id, "stop")
                if self._manager.get(container_id) is not None:
                    await self._manager.kill(
                        container_id, ContainerExitStatus.KILLED_BY_APPMASTER, diagnostics.KILLED_BY_APPMASTER
                    )
                elif not self._manager.was_stopped_recently(container_id):
                    raise Refused(f"Container {container_id} is not handled by this NodeManager")
            except Refused as error:
                _failed(response.failed_requests.add(), container_id, error)
            else:
                response.succeeded_requests.append(message)
        return response

    async def get_container_statuses(
        self, identity: NmIdentity, request: service_pb.GetContainerStatusesRequestProto
    ) -> service_pb.GetContainerStatusesResponseProto:
        _bounded(len(request.container_id))
        response = service_pb.GetContainerStatusesResponseProto()
        for message in request.container_id:
            container_id = ids.container_id(message)
            try:
                self._own(identity, container_id, "get status for")
                container = self._manager.get(container_id)
                if container is None:
                    recently = self._manager.was_stopped_recently(container_id)
                    end = "was recently stopped on node manager." if recently else "is not handled by this NodeManager"
                    raise Refused(f"Container {container_id} {end}")
            except Refused as error:
                _failed(response.failed_requests.add(), container_id, error)
            else:
                response.status.append(container_status(container, self._attributes()))
        return response

    async def signal_to_container(
        self, identity: NmIdentity, request: service_pb.SignalContainerRequestProto
    ) -> service_pb.SignalContainerResponseProto:
        """Raises RemoteFault when the container is not the caller's or not running."""
        container_id = ids.container_id(request.container_id)
        name = SIGNALS.get(request.command)
        try:
            self._own(identity, container_id, "signal")
        except Refused as error:
            raise RemoteFault(faults.YARN_EXCEPTION, str(error)) from error
        if name is None or not await self._manager.signal(container_id, name):
            raise RemoteFault(faults.YARN_EXCEPTION, f"Container {container_id} is not handled by this NodeManager")
        return service_pb.SignalContainerResponseProto()

    async def update_container(
        self, identity: NmIdentity, request: service_pb.ContainerUpdateRequestProto
    ) -> service_pb.ContainerUpdateResponseProto:
        """New sizes, by container tokens with a higher version."""
        response = service_pb.ContainerUpdateResponseProto()
        await self._update(identity, request.update_container_token, response)
        return response

    async def increase_containers_resource(
        self, identity: NmIdentity, request: service_pb.IncreaseContainersResourceRequestProto
    ) -> service_pb.IncreaseContainersResourceResponseProto:
        """The older name of update_container."""
        response = service_pb.IncreaseContainersResourceResponseProto()
        await self._update(identity, request.increase_containers, response)
        return response

    async def _update(self, identity: NmIdentity, tokens: Any, response: Any) -> None:
        _bounded(len(tokens))
        for token in tokens:
            try:
                grant = self._verified(token)
            except InvalidToken as error:
                raise RemoteFault(faults.INVALID_TOKEN, str(error)) from error
            try:
                self._authorize(identity, grant, "increase container resource.")
                await self._manager.update(grant.container_id, grant.resource, grant.version)
            except Refused as error:
                _failed(response.failed_requests.add(), grant.container_id, error)
            else:
                response.succeeded_requests.append(ids.container_id_pb(grant.container_id))

    async def not_supported(self, identity: NmIdentity, request: Message) -> Message:
        """Raises RemoteFault always."""
        raise RemoteFault(faults.YARN_EXCEPTION, f"{type(request).__name__} is not supported by this NodeManager")

    def _own(self, identity: NmIdentity, container_id: ContainerId, what: str) -> None:
        """Any attempt of the container's application may; raises Refused."""
        if identity.attempt_id.application_id != container_id.application_id:
            raise Refused(f"{identity.attempt_id} attempted to {what} non-application container : {container_id}")

    def _attributes(self) -> dict[str, str]:
        node_id = self._secrets.node_id
        return {"HOST": node_id.host} if node_id is not None else {}


class _Unstarted(YodelError):
    """One container of a startContainers call was refused."""

    def __init__(self, container_id: ContainerId, cause: YodelError) -> None:
        self.container_id, self.cause = container_id, cause
        super().__init__(str(cause))


def _container(grant: ContainerGrant, context: pb.ContainerLaunchContextProto) -> Container:
    return Container(
        container_id=grant.container_id,
        user=grant.user,
        resource=grant.resource,
        priority=grant.priority,
        version=grant.version,
        creation_ms=grant.creation_ms,
        allocation_request_id=grant.allocation_request_id,
        execution_type=grant.execution_type,
        launch_context=context.SerializeToString(),
    )


def _failed(entry: service_pb.ContainerExceptionMapProto, container_id: ContainerId, error: YodelError) -> None:
    java_class = faults.YARN_EXCEPTION
    if isinstance(error, AuxServiceMissing):
        java_class = faults.INVALID_AUX_SERVICE
    elif isinstance(error, InvalidContainer):
        java_class = faults.INVALID_CONTAINER
    entry.container_id.CopyFrom(ids.container_id_pb(container_id))
    entry.exception.message = str(error)
    entry.exception.class_name = java_class


def _bounded(count: int) -> None:
    if count > REQUESTS_PER_CALL_MAX:
        raise RemoteFault(faults.YARN_EXCEPTION, f"{count} containers in one call; at most {REQUESTS_PER_CALL_MAX}")
