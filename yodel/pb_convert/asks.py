"""ResourceRequestProto to asks, containers to ContainerProto (the allocate call's records)."""

from __future__ import annotations

from yodel.domain.ask_book import ANY, Ask, AskKey
from yodel.domain.container import Container
from yodel.domain.node import Node
from yodel.domain.states import ExecutionType
from yodel.domain.tokens import Token
from yodel.hadoop_pb import yarn_protos_pb2 as pb
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
        node_label=text("node_label_expression", message.node_label_expression, NAME_LENGTH_MAX),
    )


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
        version=0,
    )
    message.priority.priority = container.priority
    return message
