"""Remote faults."""

from yodel.hadoop_pb.RpcHeader_pb2 import RpcResponseHeaderProto
from yodel.hadoop_rpc import faults
from yodel.hadoop_rpc.faults import RemoteFault, RpcErrorCode


def test_error_codes_are_hadoops() -> None:
    assert {code.name: code.value for code in RpcErrorCode} == dict(RpcResponseHeaderProto.RpcErrorCodeProto.items())


def test_fault_carries_its_facts() -> None:
    fault = RemoteFault(faults.YARN_EXCEPTION, "no")
    assert (fault.java_class, fault.message, fault.code, fault.fatal) == (
        "org.apache.hadoop.yarn.exceptions.YarnException",
        "no",
        RpcErrorCode.ERROR_APPLICATION,
        False,
    )


def test_refusals_of_a_connection_are_fatal() -> None:
    assert faults.invalid_header("x").fatal
    assert faults.unauthorized(faults.AUTHORIZATION, "x").code is RpcErrorCode.FATAL_UNAUTHORIZED
