"""Identifiers and resources between protobuf and domain (yarn_protos.proto).

A message from outside may lack any field: what YARN requires is checked here and refused with ``InvalidValue``.
"""

from __future__ import annotations

from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId
from yodel.domain.resource import MEMORY, VCORES, Resource
from yodel.errors import InvalidValue
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.pb_convert.texts import text
from yodel.pb_convert.widths import int32, int64

EXTRA_RESOURCE_TYPES_MAX = 64
TYPE_NAME_LENGTH_MAX = 317
"""The longest name of a resource type: as long as Kubernetes' (a prefix of 253 characters, a slash, a name of 63)."""
HOST_LENGTH_MAX = 253


def application_id(message: pb.ApplicationIdProto) -> ApplicationId:
    return ApplicationId(message.cluster_timestamp, message.id)


def application_id_pb(value: ApplicationId) -> pb.ApplicationIdProto:
    return pb.ApplicationIdProto(id=value.sequence, cluster_timestamp=value.cluster_timestamp_ms)


def fill_application_id(message: pb.ApplicationIdProto, value: ApplicationId) -> None:
    message.id, message.cluster_timestamp = value.sequence, value.cluster_timestamp_ms


def attempt_id(message: pb.ApplicationAttemptIdProto) -> ApplicationAttemptId:
    return ApplicationAttemptId(application_id(message.application_id), message.attemptId)


def attempt_id_pb(value: ApplicationAttemptId) -> pb.ApplicationAttemptIdProto:
    return pb.ApplicationAttemptIdProto(application_id=application_id_pb(value.application_id), attemptId=value.attempt)


def container_id(message: pb.ContainerIdProto) -> ContainerId:
    return ContainerId(attempt_id(message.app_attempt_id), message.id)


def container_id_pb(value: ContainerId) -> pb.ContainerIdProto:
    """``app_id`` is filled too: Hadoop 2 readers still look at it."""
    return pb.ContainerIdProto(
        app_id=application_id_pb(value.application_id), app_attempt_id=attempt_id_pb(value.attempt_id), id=value.number
    )


def node_id(message: pb.NodeIdProto) -> NodeId:
    """Raises InvalidValue."""
    host, port = message.host, message.port
    if not isinstance(host, str) or not host or len(host) > HOST_LENGTH_MAX or ":" in host:
        raise InvalidValue("NodeId.host", host[:HOST_LENGTH_MAX], "a host name or IPv4 address")
    if not 0 < port < 65536:
        raise InvalidValue("NodeId.port", port, "1 to 65535")
    return NodeId(host, port)


def node_id_pb(value: NodeId) -> pb.NodeIdProto:
    return pb.NodeIdProto(host=value.host, port=value.port)


def resource(message: pb.ResourceProto) -> Resource:
    """Fields 1 and 2 are memory and vcores; the map counts for other types only (ResourcePBImpl).

    Raises:
        InvalidValue: more than EXTRA_RESOURCE_TYPES_MAX types, or a name that is too long or no text.
    """
    if not message.resource_value_map:
        return Resource(message.memory, message.virtual_cores)
    if len(message.resource_value_map) > EXTRA_RESOURCE_TYPES_MAX:
        raise InvalidValue(
            "Resource", f"{len(message.resource_value_map)} types", f"at most {EXTRA_RESOURCE_TYPES_MAX} resource types"
        )
    named = ((text("Resource.key", e.key, TYPE_NAME_LENGTH_MAX), e.value) for e in message.resource_value_map)
    extras = {name: amount for name, amount in named if name not in (MEMORY, VCORES)}
    return Resource(message.memory, message.virtual_cores, tuple(sorted(extras.items())))


def resource_pb(value: Resource) -> pb.ResourceProto:
    message = pb.ResourceProto()
    fill_resource(message, value)
    return message


def fill_resource(message: pb.ResourceProto, value: Resource) -> None:
    """Sums too: what does not fit is the most that a field holds."""
    memory_mib, vcores = int64(value.memory_mib), int32(value.vcores)
    message.memory, message.virtual_cores = memory_mib, vcores
    message.resource_value_map.add(key=MEMORY, value=memory_mib, units="Mi", type=pb.COUNTABLE)
    message.resource_value_map.add(key=VCORES, value=vcores, units="", type=pb.COUNTABLE)
    for name, amount in value.extras:
        message.resource_value_map.add(key=name, value=int64(amount), units="", type=pb.COUNTABLE)
