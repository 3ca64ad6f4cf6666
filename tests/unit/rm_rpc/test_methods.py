from __future__ import annotations

import pytest

from tests.support.rpc_calls import call, context
from yodel.hadoop_pb import applicationclient_protocol_pb2 as service_pb
from yodel.hadoop_pb import yarn_service_protos_pb2 as msg
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.rm_rpc.methods import protocol

SERVICE = service_pb.DESCRIPTOR.services_by_name["ApplicationClientProtocolService"]


async def test_method_without_a_handler_answers_that_it_is_not_supported() -> None:
    made = protocol("P", SERVICE, {})
    assert made.methods.keys() == {method.name for method in SERVICE.methods}
    with pytest.raises(RemoteFault) as raised:
        await call(made, "getNewApplication", context())
    assert raised.value.java_class == "java.lang.UnsupportedOperationException"
    assert raised.value.message == "getNewApplication is not supported by this ResourceManager"


def test_handler_for_a_method_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="has no method makeTea"):
        protocol("P", SERVICE, {"makeTea": lambda _, __: msg.GetNewApplicationResponseProto()})


def test_requests_and_repeats_are_as_listed() -> None:
    made = protocol("P", SERVICE, {}, at_most_once=("getNewApplication",), version=3)
    assert made.version == 3
    assert made.methods["getNewApplication"].request_type is msg.GetNewApplicationRequestProto
    assert [name for name, method in made.methods.items() if method.at_most_once] == ["getNewApplication"]
