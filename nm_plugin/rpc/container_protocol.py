"""ContainerManagementProtocol: what ApplicationMasters (and the RM, for masters) ask of this node.

Follows ``ContainerManagerImpl``: the texts of refusals are its own, because clients and users look for them.  A refused
container is an entry of ``failed_requests``; only a container token with a wrong signature fails a whole call.

A running container can be restarted with its own launch context or another one, and given more resources.

Refuses: to signal another application's container, which ``ContainerManagerImpl`` would do.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import structlog
from google.protobuf.message import Message

from nm_plugin.aux.services import AuxServiceMissing, AuxServices
from nm_plugin.container import diagnostics
from nm_plugin.container.life import Container, LifeState
from nm_plugin.container.manager import ContainerManager
from nm_plugin.container.resources import Localization
from nm_plugin.container.retry import retry_of
from nm_plugin.container.signals import SIGNALS
from nm_plugin.container.statuses import container_status
from nm_plugin.keys.token_secrets import ContainerGrant, NmIdentity, TokenSecrets, nm_identity
from nm_plugin.localization.plan import wanted_in_turns
from yodel.domain.ids import ContainerId
from yodel.domain.states import ContainerExitStatus
from yodel.domain.tokens import NM_TOKEN_KIND
from yodel.errors import InvalidToken, InvalidValue, Refused, YodelError, system_reason
from yodel.hadoop_pb import Security_pb2 as security_pb
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_pb import yarn_service_protos_pb2 as service_pb
from yodel.hadoop_rpc import faults
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.pb_convert import ids
from yodel.rpc_io.dispatch import CallContext, RpcMethod, RpcProtocol
from yodel.serving.pieces import CONTAINERS_PIECE, PIECE, taking_turns

PROTOCOL_NAME = "org.apache.hadoop.yarn.api.ContainerManagementProtocolPB"
REQUESTS_PER_CALL_MAX = 10_000
ACLS_MAX = 10  # there are two kinds
log = structlog.get_logger(__name__)


class InvalidContainer(Refused):
    """InvalidContainerException: the token is of a previous RM."""


class ContainerService:
    """The handlers; ``identity`` is who the connection's NM token names."""

    def __init__(
        self,
        manager: ContainerManager,
        secrets: TokenSecrets,
        aux: AuxServices,
        keys_changed: Callable[[], Awaitable[None]],
        now_ms: Callable[[], int],
    ) -> None:
        self._manager, self._secrets, self._aux = manager, secrets, aux
        self._keys_changed, self._now_ms = keys_changed, now_ms

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
        async for entry in taking_turns(request.start_container_request, CONTAINERS_PIECE):
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
            self._of_this_rm(grant)
            data = {e.key: e.value for e in entry.container_launch_context.service_data}
            self._aux.check(data)
            acls = _acls(entry.container_launch_context)
            await self._manager.start(_container(grant, entry.container_launch_context), acls)
            self._secrets.keep_key_of(identity)
            await self._keys_changed()
            await self._aux.application_started(grant.container_id.application_id, grant.user, data)
        except (YodelError, OSError) as error:
            raise _Unstarted(grant.container_id, error) from error
        return grant.container_id

    def _of_this_rm(self, grant: ContainerGrant) -> None:
        """Raises InvalidContainer."""
        if grant.rm_identifier != self._secrets.rm_identifier:
            raise InvalidContainer(f"\nContainer {grant.container_id} rejected as it is allocated by a previous RM")

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
        doing = "starting " if what.startswith("start") else "increasing resource of "
        known = self._manager.get(container_id) is not None or self._manager.was_stopped_recently(container_id)
        if identity.attempt_id.application_id != container_id.application_id:
            reason = (
                f"\nNMToken for application attempt : {identity.attempt_id} was used for {doing}container with "
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
        async for message in taking_turns(request.container_id, CONTAINERS_PIECE):
            container_id = ids.container_id(message)
            try:
                self._own(identity, container_id, "stop")
                if self._manager.get(container_id) is not None:
                    await self._manager.kill(
                        container_id, ContainerExitStatus.KILLED_BY_APPMASTER, diagnostics.KILLED_BY_APPMASTER
                    )
                elif not self._manager.was_stopped_recently(container_id):
                    raise Refused(f"Container {container_id} is not handled by this NodeManager")
            except (Refused, OSError) as error:
                _failed(response.failed_requests.add(), container_id, error)
            else:
                response.succeeded_requests.append(message)
        return response

    async def get_container_statuses(
        self, identity: NmIdentity, request: service_pb.GetContainerStatusesRequestProto
    ) -> service_pb.GetContainerStatusesResponseProto:
        _bounded(len(request.container_id))
        response = service_pb.GetContainerStatusesResponseProto()
        async for message in taking_turns(request.container_id, CONTAINERS_PIECE):
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
        """A container that is gone, or not there yet, is no error.  Raises RemoteFault when it is not the caller's."""
        container_id = ids.container_id(request.container_id)
        name = SIGNALS.get(request.command)
        try:
            self._own(identity, container_id, "signal")
        except Refused as error:
            raise RemoteFault(faults.YARN_EXCEPTION, str(error)) from error
        if name is not None:
            await self._manager.signal(container_id, name)
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
        async for token in taking_turns(tokens, CONTAINERS_PIECE):
            try:
                grant = self._verified(token)
            except InvalidToken as error:
                raise RemoteFault(faults.INVALID_TOKEN, str(error)) from error
            try:
                self._authorize(identity, grant, "increase container resource.")
                self._of_this_rm(grant)
                self._secrets.keep_key_of(identity)
                await self._keys_changed()
                await self._manager.update(grant.container_id, grant.resource, grant.version)
            except (Refused, OSError) as error:
                _failed(response.failed_requests.add(), grant.container_id, error)
            else:
                response.succeeded_requests.append(ids.container_id_pb(grant.container_id))

    async def localize(
        self, identity: NmIdentity, request: service_pb.ResourceLocalizationRequestProto
    ) -> service_pb.ResourceLocalizationResponseProto:
        """Links in the work directory of a running container; getLocalizationStatuses tells when they are there."""
        container_id = self._running(identity, request.container_id, "LOCALIZE")
        try:
            self._manager.localize(container_id, await wanted_in_turns(request.local_resources))
        except YodelError as error:
            raise RemoteFault(faults.YARN_EXCEPTION, str(error)) from error
        return service_pb.ResourceLocalizationResponseProto()

    async def restart_container(
        self, identity: NmIdentity, request: pb.ContainerIdProto
    ) -> service_pb.RestartContainerResponseProto:
        """Ends its script and starts it again, in the same directory and pod."""
        await self._manager.restart(self._running(identity, request, "RE_INIT"))
        return service_pb.RestartContainerResponseProto()

    async def reinitialize_container(
        self, identity: NmIdentity, request: service_pb.ReInitializeContainerRequestProto
    ) -> service_pb.ReInitializeContainerResponseProto:
        """Restarts it with another launch context, which can be rolled back until it is committed."""
        container_id = self._running(identity, request.container_id, "RE_INIT")
        if not request.HasField("container_launch_context"):
            await self._manager.restart(container_id)
            return service_pb.ReInitializeContainerResponseProto()
        try:
            await wanted_in_turns(request.container_launch_context.localResources)
        except YodelError as error:
            raise RemoteFault(faults.YARN_EXCEPTION, str(error)) from error
        context = request.container_launch_context.SerializeToString()
        await self._manager.upgrade(container_id, context, request.auto_commit)
        return service_pb.ReInitializeContainerResponseProto()

    async def roll_back(self, identity: NmIdentity, request: pb.ContainerIdProto) -> service_pb.RollbackResponseProto:
        """Restarts it with the launch context before the last upgrade."""
        container_id = self._running(identity, request, "ROLLBACK")
        try:
            await self._manager.roll_back(container_id)
        except Refused as error:
            raise RemoteFault(faults.YARN_EXCEPTION, str(error)) from error
        return service_pb.RollbackResponseProto()

    async def commit(self, identity: NmIdentity, request: pb.ContainerIdProto) -> service_pb.CommitResponseProto:
        """The last upgrade cannot be rolled back any more."""
        container_id = self._running(identity, request, "COMMIT")
        try:
            await self._manager.commit(container_id)
        except Refused as error:
            raise RemoteFault(faults.YARN_EXCEPTION, str(error)) from error
        return service_pb.CommitResponseProto()

    async def get_localization_statuses(
        self, identity: NmIdentity, request: service_pb.GetLocalizationStatusesRequestProto
    ) -> service_pb.GetLocalizationStatusesResponseProto:
        """Each resource of each container, by its link's name.  A container that is named twice is answered once: it
        may have thousands."""
        _bounded(len(request.container_id))
        response = service_pb.GetLocalizationStatusesResponseProto()
        named = set[ContainerId]()
        async for message in taking_turns(request.container_id, 1):
            container_id = ids.container_id(message)
            if container_id in named:
                continue
            named.add(container_id)
            try:
                self._own(identity, container_id, "get localization status for")
                if self._manager.get(container_id) is None:
                    raise Refused(f"Container {container_id} is not handled by this NodeManager")
            except Refused as error:
                _failed(response.failed_requests.add(), container_id, error)
                continue
            entry = response.cntn_localization_statuses.add()
            entry.container_id.CopyFrom(message)
            async for name, state, text in taking_turns(self._manager.localization_of(container_id), PIECE):
                entry.localization_statuses.add(
                    resource_key=name, localization_state=_LOCALIZATION_STATES[state], diagnostics=text
                )
        return response

    def _running(self, identity: NmIdentity, message: pb.ContainerIdProto, what: str) -> ContainerId:
        """Raises RemoteFault with ``ContainerManagerImpl.preReInitializeOrLocalizeCheck``'s words."""
        container_id = ids.container_id(message)
        if identity.attempt_id.application_id != container_id.application_id:
            text = f"ApplicationMaster not authorized to perform [{what}] on Container [{container_id}]!!"
            raise RemoteFault(faults.YARN_EXCEPTION, text)
        container = self._manager.get(container_id)
        if container is None:
            raise RemoteFault(faults.YARN_EXCEPTION, f"Specified {container_id} does not exist!")
        if container.state is not LifeState.RUNNING:
            is_restarting = str(container.state is LifeState.REINITIALIZING).lower()
            text = (
                f"Cannot perform {what} on [{container_id}]. Current state is [{container.state.value}, "
                f"isReInitializing={is_restarting}]. Container Execution Type is [{container.execution_type.name}]."
            )
            raise RemoteFault(faults.YARN_EXCEPTION, text)
        return container_id

    def _own(self, identity: NmIdentity, container_id: ContainerId, what: str) -> None:
        """Any attempt of the container's application may; raises Refused."""
        if identity.attempt_id.application_id != container_id.application_id:
            raise Refused(f"{identity.attempt_id} attempted to {what} non-application container : {container_id}")

    def _attributes(self) -> dict[str, str]:
        node_id = self._secrets.node_id
        return {"HOST": node_id.host} if node_id is not None else {}


def container_management(service: ContainerService) -> RpcProtocol:
    """The protocol's methods; the caller's identity is its NM token's."""

    def method(name: str, request_type: type[Message], handle: Callable[..., Awaitable[Message]]) -> RpcMethod:
        async def handler(context: CallContext, request: Message) -> Message:
            if context.token_kind != NM_TOKEN_KIND or context.token_identifier is None:
                raise RemoteFault(faults.YARN_EXCEPTION, "Invalid NMToken")
            return await handle(nm_identity(context.token_identifier), request)

        return RpcMethod(name=name, request_type=request_type, handler=handler)

    listed = (
        method("startContainers", service_pb.StartContainersRequestProto, service.start_containers),
        method("stopContainers", service_pb.StopContainersRequestProto, service.stop_containers),
        method("getContainerStatuses", service_pb.GetContainerStatusesRequestProto, service.get_container_statuses),
        method("signalToContainer", service_pb.SignalContainerRequestProto, service.signal_to_container),
        method("updateContainer", service_pb.ContainerUpdateRequestProto, service.update_container),
        method(
            "increaseContainersResource",
            service_pb.IncreaseContainersResourceRequestProto,
            service.increase_containers_resource,
        ),
        method("localize", service_pb.ResourceLocalizationRequestProto, service.localize),
        method("reInitializeContainer", service_pb.ReInitializeContainerRequestProto, service.reinitialize_container),
        method("restartContainer", pb.ContainerIdProto, service.restart_container),
        method("rollbackLastReInitialization", pb.ContainerIdProto, service.roll_back),
        method("commitLastReInitialization", pb.ContainerIdProto, service.commit),
        method(
            "getLocalizationStatuses",
            service_pb.GetLocalizationStatusesRequestProto,
            service.get_localization_statuses,
        ),
    )
    return RpcProtocol(name=PROTOCOL_NAME, version=1, methods={m.name: m for m in listed})


class _Unstarted(YodelError):
    """One container of a startContainers call was refused."""

    def __init__(self, container_id: ContainerId, cause: YodelError | OSError) -> None:
        self.container_id, self.cause = container_id, cause
        super().__init__(str(cause))


def _container(grant: ContainerGrant, context: pb.ContainerLaunchContextProto) -> Container:
    return Container(
        container_id=grant.container_id,
        user=grant.user,
        pod_uid=grant.pod_uid,
        resource=grant.resource,
        priority=grant.priority,
        version=grant.version,
        creation_ms=grant.creation_ms,
        allocation_request_id=grant.allocation_request_id,
        execution_type=grant.execution_type,
        launch_context=context.SerializeToString(),
        retry=retry_of(context),
        log_aggregation=grant.log_aggregation,
        is_master=grant.is_master,
        shuffle=grant.shuffle,
    )


def _acls(context: pb.ContainerLaunchContextProto) -> dict[str, str]:
    """Return the ACLs by Hadoop's names of the access types."""
    return {
        pb.ApplicationAccessTypeProto.Name(entry.accessType).removeprefix("APPACCESS_"): entry.acl
        for entry in context.application_ACLs[:ACLS_MAX]
    }


def _failed(
    entry: service_pb.ContainerExceptionMapProto, container_id: ContainerId, error: YodelError | OSError
) -> None:
    java_class, text = faults.YARN_EXCEPTION, str(error)
    if isinstance(error, AuxServiceMissing):
        java_class = faults.INVALID_AUX_SERVICE
    elif isinstance(error, InvalidContainer):
        java_class = faults.INVALID_CONTAINER
    elif isinstance(error, OSError):
        log.error("container_call_failed", container=str(container_id), exc_info=error)
        java_class, text = faults.IO_EXCEPTION, system_reason(error) or f"Internal error ({type(error).__name__})"
    entry.container_id.CopyFrom(ids.container_id_pb(container_id))
    entry.exception.message = text
    entry.exception.class_name = java_class


def _bounded(count: int) -> None:
    if count > REQUESTS_PER_CALL_MAX:
        raise RemoteFault(faults.YARN_EXCEPTION, f"{count} containers in one call; at most {REQUESTS_PER_CALL_MAX}")


_LOCALIZATION_STATES = {
    Localization.PENDING: service_pb.L_PENDING,
    Localization.COMPLETED: service_pb.L_COMPLETED,
    Localization.FAILED: service_pb.L_FAILED,
}
