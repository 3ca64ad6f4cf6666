"""A container of this node as the three protobuf messages that speak about it.  Pure."""

from __future__ import annotations

from nm_plugin.container.life import Container, LifeState
from yodel.domain.states import ContainerExitStatus
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_pb import yarn_server_common_service_protos_pb2 as server_pb
from yodel.pb_convert import ids

_SUB_STATES = {
    LifeState.NEW: pb.CSS_SCHEDULED,
    LifeState.LOCALIZING: pb.CSS_SCHEDULED,
    LifeState.SCHEDULED: pb.CSS_SCHEDULED,
    LifeState.RUNNING: pb.CSS_RUNNING,
    LifeState.REINITIALIZING: pb.CSS_RUNNING,
    LifeState.RELAUNCHING: pb.CSS_RUNNING,
    LifeState.KILLING: pb.CSS_COMPLETING,
    LifeState.LOCALIZATION_FAILED: pb.CSS_DONE,
    LifeState.EXITED_WITH_SUCCESS: pb.CSS_DONE,
    LifeState.EXITED_WITH_FAILURE: pb.CSS_DONE,
    LifeState.DONE: pb.CSS_DONE,
}


def public_state(container: Container) -> pb.ContainerStateProto:
    """C_RUNNING from the start, localizing included, until the exit status is final (ContainerImpl.getCurrentState)."""
    return pb.C_COMPLETE if container.state.is_complete else pb.C_RUNNING


def exit_status(container: Container) -> int:
    """−1000 until complete, even while a kill's status is already fixed."""
    return int(container.exit_status) if container.state.is_complete else int(ContainerExitStatus.INVALID)


def container_status(container: Container, attributes: dict[str, str] | None = None) -> pb.ContainerStatusProto:
    """Return the status for heartbeats and getContainerStatuses."""
    message = pb.ContainerStatusProto(
        container_id=ids.container_id_pb(container.container_id),
        state=public_state(container),
        diagnostics=container.diagnostics,
        exit_status=exit_status(container),
        capability=ids.resource_pb(container.resource),
        executionType=container.execution_type.name,
        container_sub_state=_SUB_STATES[container.state],
    )
    for name, value in (attributes or {}).items():
        message.container_attributes.add(key=name, value=value)
    return message


def registration_status(container: Container) -> server_pb.NMContainerStatusProto:
    """Return the status for registerNodeManager, from which a restarted RM recovers the containers of each node."""
    message = server_pb.NMContainerStatusProto(
        container_id=ids.container_id_pb(container.container_id),
        container_state=public_state(container),
        resource=ids.resource_pb(container.resource),
        diagnostics=container.diagnostics,
        container_exit_status=exit_status(container),
        creation_time=container.creation_ms,
        version=container.version,
        executionType=container.execution_type.name,
        allocation_request_id=container.allocation_request_id,
    )
    message.priority.priority = container.priority
    return message
