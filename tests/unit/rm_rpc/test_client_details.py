from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from tests.support.playbook import Am, World, complete
from tests.support.rm_options import Options
from tests.support.rpc_calls import call, client_protocol, context, counting_turns
from yodel.domain.ids import ContainerId
from yodel.errors import ApplicationAttemptNotFound, ContainerNotFound, Refused
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_pb import yarn_service_protos_pb2 as msg
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.pb_convert import ids
from yodel.rpc_io.dispatch import RpcProtocol
from yodel.serving.pieces import REPORTS_PIECE


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """Access lists are on."""
    async with World(Options(acl_enable=True)) as world:
        yield world


@pytest.fixture
def protocol(world: World) -> RpcProtocol:
    return client_protocol(world).protocol()


def of_container(container_id: ContainerId) -> msg.GetContainerReportRequestProto:
    return msg.GetContainerReportRequestProto(container_id=ids.container_id_pb(container_id))


def of_attempt(am: Am, attempt: int = 1) -> dict[str, Any]:
    attempt_id = ids.attempt_id_pb(am.attempt_id)
    attempt_id.attemptId = attempt
    return {"application_attempt_id": attempt_id}


async def test_container_that_has_ended_is_not_found_as_without_a_timeline_server(
    world: World, protocol: RpcProtocol
) -> None:
    am = await world.running_am()
    (task,) = await am.obtain(1)
    assert await call(protocol, "getContainerReport", context(), of_container(task))
    await world.beat(complete(task))
    await world.settle()

    with pytest.raises(ContainerNotFound, match="doesn't exist in RM"):
        await call(protocol, "getContainerReport", context(), of_container(task))
    listed = await call(protocol, "getContainers", context(), msg.GetContainersRequestProto(**of_attempt(am)))
    assert [ids.container_id(c.container_id) for c in listed.containers] == [am.container.id]


async def test_others_have_a_turn_while_many_containers_are_told_of(world: World, protocol: RpcProtocol) -> None:
    am = await world.running_am()
    count = 3 * REPORTS_PIECE
    rows = [replace(am.container, id=ContainerId.of(am.attempt_id, n), pod=f"pod-{n}") for n in range(2, count + 2)]
    world.rm.state.publish(rows)
    request = msg.GetContainersRequestProto(**of_attempt(am))
    listed, turns = await counting_turns(call(protocol, "getContainers", context(), request))
    assert [ids.container_id(c.container_id) for c in listed.containers] == [am.container.id, *(row.id for row in rows)]
    assert turns >= count // REPORTS_PIECE


async def test_attempts_of_an_application_that_has_ended_are_still_told(world: World, protocol: RpcProtocol) -> None:
    am = await world.running_am()
    await am.finish()
    await am.exit()
    request = msg.GetApplicationAttemptsRequestProto(application_id=ids.application_id_pb(am.application_id))
    (attempt,) = (await call(protocol, "getApplicationAttempts", context(), request)).application_attempts
    assert attempt.yarn_application_attempt_state == pb.APP_ATTEMPT_FINISHED
    assert attempt.tracking_url == f"http://rm:8088/proxy/{am.application_id}/"
    listed = await call(protocol, "getContainers", context(), msg.GetContainersRequestProto(**of_attempt(am)))
    assert not listed.containers


async def test_attempt_that_never_was_is_not_found(world: World, protocol: RpcProtocol) -> None:
    am = await world.running_am()
    for method in ("getApplicationAttemptReport", "getContainers", "failApplicationAttempt"):
        request = protocol.methods[method].request_type(**of_attempt(am, 9))
        with pytest.raises(ApplicationAttemptNotFound):
            await world.run(call(protocol, method, context(), request))


async def test_attempt_is_not_failed_twice(world: World, protocol: RpcProtocol) -> None:
    am = await world.running_am()
    await am.finish()
    await am.exit()
    request = msg.FailApplicationAttemptRequestProto(**of_attempt(am))
    assert await world.run(call(protocol, "failApplicationAttempt", context(), request)) is not None
    assert world.attempt(am.attempt_id).diagnostics == ""


async def test_stranger_is_told_what_he_may_not_see(world: World, protocol: RpcProtocol) -> None:
    am = await world.running_am()
    application = f"User mallory does not have privilege to see this application {am.application_id}"
    attempt = f"User mallory does not have privilege to see this attempt {am.attempt_id}"
    for method, request, words in (
        ("getApplicationAttemptReport", msg.GetApplicationAttemptReportRequestProto(**of_attempt(am)), attempt),
        ("getContainers", msg.GetContainersRequestProto(**of_attempt(am)), application),
        ("getContainerReport", of_container(am.container.id), application),
    ):
        with pytest.raises(Refused, match=words):
            await call(protocol, method, context("mallory"), request)


async def test_container_without_an_id_is_not_found(protocol: RpcProtocol) -> None:
    with pytest.raises(RemoteFault, match="Invalid container id: null"):
        await call(protocol, "getContainerReport", context())


@pytest.mark.parametrize("number", [1, 99])
async def test_absent_container_gets_no_signal(world: World, protocol: RpcProtocol, number: int) -> None:
    am = await world.running_am()
    await am.finish()
    await am.exit()
    container_id = ContainerId.of(am.attempt_id, number)
    request = msg.SignalContainerRequestProto(
        container_id=ids.container_id_pb(container_id), command=pb.FORCEFUL_SHUTDOWN
    )
    with pytest.raises(Refused, match=f"Trying to signal an absent container {container_id}"):
        await call(protocol, "signalToContainer", context(), request)
