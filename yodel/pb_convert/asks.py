"""ResourceRequestProto to asks, containers to ContainerProto (the allocate call's records)."""

from __future__ import annotations

from yodel.domain.ask_book import ANY, Ask, AskKey
from yodel.domain.container import Container
from yodel.domain.container_update import UpdateError, UpdateRequest
from yodel.domain.node import Node
from yodel.domain.resource import NONE
from yodel.domain.states import ContainerUpdateType, ExecutionType
from yodel.domain.tokens import Token
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_pb import yarn_service_protos_pb2 as msg
from yodel.pb_convert import ids
from yodel.pb_convert.texts import text
from yodel.pb_convert.tokens import token_to_pb

NAME_LENGTH_MAX = 512


def ask(message: pb.ResourceRequestProto) -> Ask:
    """Raises InvalidValue."""
    name = text("resource_name", message.resource_name, NAME_LENGTH_MAX) or ANY
    key = AskKey(
        message.priority.priority,
        message.allocation_request_id,
        ExecutionType(message.execution_type_request.execution_type),
        ids.resource(message.capability),
    )
    return Ask(
        key=key,
        resource_name=name,
        count=message.num_containers,
        relax_locality=message.relax_locality,
        node_label=text("node_label_expression", message.node_label_expression, NAME_LENGTH_MAX).strip(),
        is_execution_type_enforced=message.execution_type_request.enforce_execution_type,
    )


def update_request(message: msg.UpdateContainerRequestProto) -> UpdateRequest:
    """Raises InvalidValue."""
    return UpdateRequest(
        container_id=ids.container_id(message.container_id),
        version=message.container_version,
        type=ContainerUpdateType(message.update_type),
        capability=ids.resource(message.capability),
    )


def update_error_pb(error: UpdateError) -> msg.UpdateContainerErrorProto:
    """The request goes back as it was judged, so that the ApplicationMaster finds its own."""
    request = error.request
    message = msg.UpdateContainerErrorProto(
        reason=error.reason,
        current_container_version=error.current_version,
        update_request=msg.UpdateContainerRequestProto(
            container_version=request.version,
            container_id=ids.container_id_pb(request.container_id),
            update_type=request.type.name,
        ),
    )
    if request.capability != NONE:
        message.update_request.capability.CopyFrom(ids.resource_pb(request.capability))
    return message


def container_pb(container: Container, node: Node, token: Token) -> pb.ContainerProto:
    """A grant.  Priority is always present: Spark and Flink match containers by it, and null ends the AM."""
    message = pb.ContainerProto(
        id=ids.container_id_pb(container.id),
        nodeId=ids.node_id_pb(node.id),
        node_http_address=node.http_address,
        resource=ids.resource_pb(container.capability),
        container_token=token_to_pb(token),
        execution_type=container.execution_type.name,
        allocation_request_id=container.allocation_request_id,
    )
    message.priority.priority = container.priority
    message.allocation_tags.extend(container.allocation_tags)
    if container.version:
        message.version = container.version
    return message
