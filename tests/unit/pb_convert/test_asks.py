from __future__ import annotations

import pytest

from tests.support.records import a_container, a_node
from yodel.domain.resource import Resource
from yodel.domain.states import ExecutionType
from yodel.domain.tokens import Token
from yodel.errors import InvalidValue
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.pb_convert import asks, ids

TOKEN = Token(identifier=b"id", password=b"pw", kind="ContainerToken", service="node-1:8041")


def test_ask_is_read_as_it_was_sent() -> None:
    message = pb.ResourceRequestProto(
        resource_name="host-a",
        num_containers=3,
        relax_locality=False,
        node_label_expression="gpu",
        allocation_request_id=7,
    )
    message.priority.priority = 20
    message.capability.CopyFrom(ids.resource_pb(Resource(1500, 1)))
    message.execution_type_request.execution_type = pb.OPPORTUNISTIC
    ask = asks.ask(message)

    assert (ask.resource_name, ask.count, ask.relax_locality, ask.node_label) == ("host-a", 3, False, "gpu")
    assert (ask.key.priority, ask.key.allocation_request_id) == (20, 7)
    assert (ask.key.capability, ask.key.execution_type) == (Resource(1500, 1), ExecutionType.OPPORTUNISTIC)


def test_ask_has_yarns_defaults() -> None:
    ask = asks.ask(pb.ResourceRequestProto(num_containers=1))
    assert (ask.resource_name, ask.relax_locality, ask.node_label) == ("*", True, "")
    assert ask.key.execution_type is ExecutionType.GUARANTEED
    assert ask.key.allocation_request_id == pb.ResourceRequestProto().allocation_request_id


def test_name_that_is_too_long_is_refused() -> None:
    with pytest.raises(InvalidValue):
        asks.ask(pb.ResourceRequestProto(resource_name="h" * 513))


def test_grant_has_every_field_that_java_dereferences() -> None:
    container = a_container(priority=0, allocation_request_id=7)
    message = asks.container_pb(container, a_node(http_port=8042), TOKEN)

    assert message.HasField("priority")  # absent ends Spark's AM: its default profile has priority 0
    assert message.priority.HasField("priority")
    assert message.node_http_address == "node-1:8042"  # without a port MapReduce's task launch fails
    assert ids.container_id(message.id) == container.id
    assert (message.nodeId.host, message.nodeId.port) == ("node-1", 8041)
    assert ids.resource(message.resource) == container.capability
    assert message.container_token.identifier == b"id"
    assert message.HasField("execution_type")
    assert (message.allocation_request_id, message.version) == (7, 0)
