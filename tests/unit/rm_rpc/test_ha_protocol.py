from __future__ import annotations

import pytest

from tests.support.admin import Administration
from tests.support.playbook import World
from tests.support.rpc_calls import call, context
from yodel.hadoop_pb import HAServiceProtocol_pb2 as pb
from yodel.hadoop_rpc import faults
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.rm_rpc.ha_protocol import SERVICE_FAILED, HaProtocol
from yodel.rpc_io.dispatch import RpcProtocol

ADMIN = context("admin")
BY_USER = pb.HAStateChangeRequestInfoProto(reqSource=pb.REQUEST_BY_USER)
BY_ZKFC = pb.HAStateChangeRequestInfoProto(reqSource=pb.REQUEST_BY_ZKFC)


@pytest.fixture
async def protocol(world: World) -> RpcProtocol:
    return HaProtocol(await Administration(world).service()).protocol()


async def test_the_only_one_is_active_and_well(protocol: RpcProtocol) -> None:
    status = await call(protocol, "getServiceStatus", ADMIN)
    assert (status.state, status.readyToBecomeActive, status.notReadyReason) == (pb.ACTIVE, True, "")
    assert (await call(protocol, "monitorHealth", ADMIN)).ByteSize() == 0


async def test_becoming_active_is_done_already(protocol: RpcProtocol) -> None:
    request = pb.TransitionToActiveRequestProto(reqInfo=BY_USER)
    assert (await call(protocol, "transitionToActive", context("alice"), request)).ByteSize() == 0


@pytest.mark.parametrize(
    ("method", "user", "request_", "java_class", "text"),
    [
        (
            "transitionToStandby",
            "admin",
            pb.TransitionToStandbyRequestProto(reqInfo=BY_USER),
            SERVICE_FAILED,
            "no request changes that",
        ),
        (
            "transitionToStandby",
            "admin",
            pb.TransitionToStandbyRequestProto(reqInfo=BY_ZKFC),
            faults.ACCESS_CONTROL,
            "Request from ZK failover controller at 10.0.0.9 denied since automatic failover is not enabled",
        ),
        (
            "transitionToStandby",
            "alice",
            pb.TransitionToStandbyRequestProto(reqInfo=BY_USER),
            faults.ACCESS_CONTROL,
            "User alice doesn't have permission to call 'transitionToStandby'",
        ),
        (
            "transitionToObserver",
            "admin",
            pb.TransitionToObserverRequestProto(reqInfo=BY_USER),
            SERVICE_FAILED,
            "Does not support transition to Observer",
        ),
        (
            "monitorHealth",
            "alice",
            pb.MonitorHealthRequestProto(),
            faults.ACCESS_CONTROL,
            "User alice doesn't have permission to call 'monitorHealth'",
        ),
        (
            "getServiceStatus",
            "alice",
            pb.GetServiceStatusRequestProto(),
            faults.ACCESS_CONTROL,
            "User alice doesn't have permission to call 'getServiceState'",
        ),
    ],
)
async def test_what_makes_no_sense_says_why(
    protocol: RpcProtocol, method: str, user: str, request_: object, java_class: str, text: str
) -> None:
    with pytest.raises(RemoteFault) as caught:
        await call(protocol, method, context(user), request_)
    assert caught.value.java_class == java_class
    assert text in caught.value.message
