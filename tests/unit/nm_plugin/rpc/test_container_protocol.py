"""ContainerManagementProtocol on a whole agent: who may do what, and Hadoop's words for what is refused."""

from __future__ import annotations

import asyncio
import os

import pytest
from google.protobuf.message import Message

from tests.support.fake_tracker import NM_KEY
from tests.support.node_agent import (
    APPLICATION,
    ATTEMPT,
    Rig,
    add_resource,
    container_id,
    context_of,
    eventually,
    start_request,
)
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId
from yodel.domain.resource import Resource
from yodel.domain.tokens import MasterKey, Token
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_pb import yarn_service_protos_pb2 as service_pb
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.pb_convert import ids, tokens
from yodel.ports.node_agents import AmStart
from yodel.rm_rpc.node_agents import RpcNodeAgents

SLEEP = "exec sleep 300"


async def update(rig: Rig, container: ContainerId, **changes: object) -> service_pb.ContainerUpdateResponseProto:
    """updateContainer with a token like ``start_request``'s."""
    client = rig.client(changes.pop("attempt", ATTEMPT))  # type: ignore[arg-type]
    context = pb.ContainerLaunchContextProto()
    token = start_request(rig.running.node_id, container, context, **changes).container_token  # type: ignore[arg-type]
    request = service_pb.ContainerUpdateRequestProto(update_container_token=[token])
    try:
        return await client.call("updateContainer", request, service_pb.ContainerUpdateResponseProto)
    finally:
        await client.close()


async def _refusal(rig: Rig, **changes: object) -> service_pb.ContainerExceptionMapProto:
    response = await rig.start(container_id(2), context_of("exit 0"), **changes)  # type: ignore[arg-type]
    assert not response.succeeded_requests
    return response.failed_requests[0]


async def test_smaller_limit_of_an_update_is_what_the_container_is_measured_by(rig: Rig) -> None:
    container = container_id(2)
    await rig.pod(container)
    hog = "exec python3 -c 'x = bytearray(64 << 20); import time; time.sleep(60)'"
    await rig.start(container, context_of(hog), resource=Resource(512, 1))
    await rig.tracker.until_running(container)
    assert len((await update(rig, container, resource=Resource(16, 1), version=1)).succeeded_requests) == 1
    record = (rig.root / "state/containers" / f"{container}.json").read_text()
    assert '"memory_mib": 16' in record
    status = await rig.tracker.until_complete(container)
    assert status.exit_status == -104
    assert " of 16 MB physical memory used; " in status.diagnostics


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"expiry_ms": 1},
            "Unauthorized request to increase container resource. \nThis token is expired. current time is",
        ),
        (
            {"attempt": ApplicationAttemptId(ApplicationId(1700000000000, 8), 1)},
            "was used for increasing resource of container with container token issued for application attempt : ",
        ),
        ({"rm_identifier": 1}, "rejected as it is allocated by a previous RM"),
        ({"node_id": NodeId("other", 8041)}, "Container token is for node other:8041"),
    ],
)
async def test_update_by_a_token_that_is_not_good_is_refused(rig: Rig, changes: dict[str, object], words: str) -> None:
    container = container_id(2)
    await rig.start(container, context_of(SLEEP))
    response = await update(rig, container, resource=Resource(4096, 4), version=1, **changes)
    assert words in response.failed_requests[0].exception.message
    unchanged = rig.running.manager.get(container)
    assert unchanged is not None
    assert unchanged.version == 0


async def test_update_of_what_is_unknown_or_over_is_refused(rig: Rig) -> None:
    container = container_id(2)
    answer = await update(rig, container, version=1)
    assert answer.failed_requests[0].exception.message == f"Container {container} is not handled by this NodeManager"
    await rig.start(container, context_of(SLEEP))
    await rig.stop(container)
    await rig.tracker.until(lambda: rig.running.manager.get(container) is None)
    answer = await update(rig, container, version=1)
    assert answer.failed_requests[0].exception.message.endswith("was recently stopped on node manager.")


async def test_older_name_of_an_update_works(rig: Rig) -> None:
    container = container_id(2)
    await rig.start(container, context_of(SLEEP))
    context = pb.ContainerLaunchContextProto()
    newer = start_request(rig.running.node_id, container, context, resource=Resource(1024, 2), version=3)
    request = service_pb.IncreaseContainersResourceRequestProto(increase_containers=[newer.container_token])
    client = rig.client()
    response = await client.call(
        "increaseContainersResource", request, service_pb.IncreaseContainersResourceResponseProto
    )
    await client.close()
    assert len(response.succeeded_requests) == 1
    updated = rig.running.manager.get(container)
    assert updated is not None
    assert (updated.resource, updated.version) == (Resource(1024, 2), 3)


async def test_larger_limit_of_an_update_is_in_force(rig: Rig) -> None:

    container = container_id(2)
    await rig.pod(container)
    await rig.start(container, context_of(SLEEP), resource=Resource(256, 1))
    await rig.tracker.until_running(container)
    context = pb.ContainerLaunchContextProto()
    node = rig.running.node_id
    newer = start_request(node, container, context, resource=Resource(1024, 2), version=1).container_token
    client = rig.client()
    request = service_pb.ContainerUpdateRequestProto(update_container_token=[newer])
    response = await client.call("updateContainer", request, service_pb.ContainerUpdateResponseProto)
    repeated = await client.call("updateContainer", request, service_pb.ContainerUpdateResponseProto)
    await client.close()
    assert len(response.succeeded_requests) == 1
    assert repeated.failed_requests[0].exception.message == (
        f"Container {container} has update version [1] >= requested version [1]"
    )
    updated = rig.running.manager.get(container)
    assert updated is not None
    assert (updated.resource, updated.version) == (Resource(1024, 2), 1)


async def test_expired_container_token_is_refused(rig: Rig) -> None:
    failed = await _refusal(rig, expiry_ms=1000)
    assert failed.exception.class_name == "org.apache.hadoop.yarn.exceptions.YarnException"
    assert "This token is expired. current time is " in failed.exception.message


async def test_container_token_of_a_previous_rm_is_refused(rig: Rig) -> None:
    failed = await _refusal(rig, rm_identifier=5)
    assert failed.exception.class_name == "org.apache.hadoop.yarn.exceptions.InvalidContainerException"
    assert "rejected as it is allocated by a previous RM" in failed.exception.message


async def test_container_token_for_another_node_is_refused(rig: Rig) -> None:
    failed = await _refusal(rig, node_id=NodeId("elsewhere", 1))
    assert "Container token is for node elsewhere:1" in failed.exception.message


async def test_container_is_not_started_twice(rig: Rig) -> None:
    await rig.start(container_id(2), context_of("exit 0"))
    failed = await _refusal(rig)
    assert "Attempt to relaunch the same container with id" in failed.exception.message


async def test_application_master_whose_start_was_answered_to_nobody_is_started(rig: Rig) -> None:
    """The ResourceManager asks again after a lost answer, or after its own restart, and it is there."""
    master, node_id = container_id(1), rig.running.node_id
    context, user = context_of("exec sleep 300"), "alice"
    for _ in range(2):
        asked = rig.request(master, context, user).container_token
        start = AmStart(
            node_id=node_id,
            container_id=master,
            user=user,
            launch_context=context.SerializeToString(),
            container_token=Token(
                identifier=asked.identifier, password=asked.password, kind=asked.kind, service=asked.service
            ),
            nm_token=tokens.nm_token(NM_KEY, master.attempt_id, node_id, user),
        )
        await RpcNodeAgents(lambda: os.urandom(16)).start_am(start)


async def test_forged_container_token_fails_the_whole_call(rig: Rig) -> None:
    with pytest.raises(RemoteFault) as refused:
        await rig.start(container_id(2), context_of("exit 0"), key=MasterKey(key_id=2, secret=b"x" * 32))
    assert refused.value.java_class == "org.apache.hadoop.security.token.SecretManager$InvalidToken"
    assert refused.value.message.startswith("Invalid container token used for starting container on : ")


async def test_master_of_another_application_gets_nothing(rig: Rig) -> None:
    other = ApplicationAttemptId(ApplicationId(1700000000000, 8), 1)
    container = container_id(2)
    await rig.start(container, context_of(SLEEP))
    client = rig.client(other)
    starting = service_pb.StartContainersRequestProto(
        start_container_request=[rig.request(container_id(3), context_of("exit 0"))]
    )
    started = await client.call("startContainers", starting, service_pb.StartContainersResponseProto)
    asking = service_pb.GetContainerStatusesRequestProto(container_id=[ids.container_id_pb(container)])
    asked = await client.call("getContainerStatuses", asking, service_pb.GetContainerStatusesResponseProto)
    stopping = service_pb.StopContainersRequestProto(container_id=[ids.container_id_pb(container)])
    stopped = await client.call("stopContainers", stopping, service_pb.StopContainersResponseProto)
    await client.close()
    assert "was used for starting container with container token issued for" in (
        started.failed_requests[0].exception.message
    )
    assert "attempted to get status for non-application container" in asked.failed_requests[0].exception.message
    assert "attempted to stop non-application container" in stopped.failed_requests[0].exception.message


async def test_later_attempt_of_the_application_may_stop(rig: Rig) -> None:
    container = container_id(2)
    await rig.start(container, context_of(SLEEP))
    client = rig.client(ApplicationAttemptId(APPLICATION, 2))
    request = service_pb.StopContainersRequestProto(container_id=[ids.container_id_pb(container)])
    response = await client.call("stopContainers", request, service_pb.StopContainersResponseProto)
    await client.close()
    assert len(response.succeeded_requests) == 1


@pytest.mark.parametrize("changes", [{"key": MasterKey(key_id=1, secret=b"x" * 32)}, {"node": NodeId("other", 8041)}])
async def test_forged_or_foreign_nm_token_does_not_connect(rig: Rig, changes: dict[str, object]) -> None:
    client = rig.client(**changes)  # type: ignore[arg-type]
    request = service_pb.GetContainerStatusesRequestProto()
    with pytest.raises(RemoteFault):
        await client.call("getContainerStatuses", request, service_pb.GetContainerStatusesResponseProto)
    await client.close()


async def test_missing_aux_service_is_named(rig: Rig) -> None:
    context = context_of("exit 0")
    context.service_data.add(key="spark_shuffle", value=b"")
    response = await rig.start(container_id(2), context)
    exception = response.failed_requests[0].exception
    assert exception.class_name == "org.apache.hadoop.yarn.exceptions.InvalidAuxServiceException"
    assert exception.message == "The auxService:spark_shuffle does not exist"


async def test_statuses_before_while_and_after(rig: Rig) -> None:
    container = container_id(2)
    client = rig.client()

    async def ask() -> service_pb.GetContainerStatusesResponseProto:
        request = service_pb.GetContainerStatusesRequestProto(container_id=[ids.container_id_pb(container)])
        return await client.call("getContainerStatuses", request, service_pb.GetContainerStatusesResponseProto)

    unknown = await ask()
    assert unknown.failed_requests[0].exception.message == f"Container {container} is not handled by this NodeManager"
    await rig.start(container, context_of(SLEEP))
    fresh = (await ask()).status[0]
    assert (fresh.state, fresh.exit_status) == (pb.C_RUNNING, -1000)
    await rig.pod(container)
    await rig.tracker.until_running(container)
    running = (await ask()).status[0]
    assert (running.state, running.exit_status, running.container_sub_state) == (pb.C_RUNNING, -1000, pb.CSS_RUNNING)
    rig.tracker.acknowledges = False
    await rig.stop(container)
    await rig.tracker.until_complete(container)
    await rig.tracker.until(lambda: not rig.tracker.heartbeats[-1].node_status.containersStatuses)
    ended = (await ask()).status[0]
    assert (ended.state, ended.exit_status, ended.container_sub_state) == (pb.C_COMPLETE, -105, pb.CSS_DONE)
    assert "Container killed by the ApplicationMaster." in ended.diagnostics
    assert len((await rig.stop(container)).succeeded_requests) == 1
    assert len((await update(rig, container, version=1)).succeeded_requests) == 1
    rig.tracker.acknowledges = True
    await rig.tracker.until(lambda: rig.running.manager.get(container) is None)
    after = await ask()
    assert after.failed_requests[0].exception.message.endswith("was recently stopped on node manager.")
    assert len((await rig.stop(container)).succeeded_requests) == 1
    await client.close()


async def test_signal_reaches_the_process(rig: Rig) -> None:
    container = container_id(2)
    await rig.pod(container)
    # Like a JVM, and unlike a shell, it installs its handler although a background job's SIGQUIT is ignored.
    program = (
        "import signal, sys, time; signal.signal(signal.SIGQUIT, lambda *_: sys.exit(4)); open('ready', 'w')\n"
        "while True: time.sleep(0.05)  # a signal that comes before a longer wait would not end it"
    )
    await rig.start(container, context_of(f"exec python3 -c '{program}'".replace("'ready', 'w'", r"\"ready\", \"w\"")))
    ready = rig.root / f"local/usercache/alice/appcache/{APPLICATION}/{container}/ready"
    await eventually(ready.exists)
    await rig.tracker.until_running(container)
    client = rig.client()
    request = service_pb.SignalContainerRequestProto(
        container_id=ids.container_id_pb(container), command=pb.OUTPUT_THREAD_DUMP
    )
    await client.call("signalToContainer", request, service_pb.SignalContainerResponseProto)
    await client.close()
    status = await rig.tracker.until_complete(container)
    assert status.exit_status == 4
    assert "Sent signal OUTPUT_THREAD_DUMP (SIGQUIT) to pid" in status.diagnostics


async def test_signal_from_another_application_is_refused_and_one_that_comes_late_is_no_error(rig: Rig) -> None:
    container = container_id(2)
    await rig.pod(container)
    await rig.start(container, context_of(SLEEP))
    await rig.tracker.until_running(container)
    request = service_pb.SignalContainerRequestProto(
        container_id=ids.container_id_pb(container), command=pb.FORCEFUL_SHUTDOWN
    )
    stranger = rig.client(ApplicationAttemptId(ApplicationId(1700000000000, 8), 1))
    with pytest.raises(RemoteFault) as refused:
        await stranger.call("signalToContainer", request, service_pb.SignalContainerResponseProto)
    await stranger.close()
    assert "attempted to signal non-application container" in refused.value.message
    owner = rig.client()
    await owner.call("signalToContainer", request, service_pb.SignalContainerResponseProto)
    status = await rig.tracker.until_complete(container)
    assert status.exit_status == 137
    assert "Killed by external signal" in status.diagnostics
    await owner.call("signalToContainer", request, service_pb.SignalContainerResponseProto)
    await owner.close()


async def ask_to_restart(rig: Rig, method: str, request: Message, response: type[Message]) -> None:
    client = rig.client()
    try:
        await client.call(method, request, response)
    finally:
        await client.close()


async def test_container_is_upgraded_rolled_back_and_its_upgrade_committed(rig: Rig) -> None:
    """The calls are those that YARN's service framework makes."""
    container, data = container_id(2), rig.root / "data.txt"
    data.write_text("data")
    data.chmod(0o644)
    await rig.pod(container)
    await rig.start(container, context_of("echo old >><LOG_DIR>/runs; exec sleep 600"))
    await rig.tracker.until_running(container)
    runs = rig.root / "logs" / str(container.application_id) / str(container) / "runs"
    await eventually(lambda: runs.exists() and bool(runs.read_text()))
    newer = context_of("cat data.txt >><LOG_DIR>/runs; echo >><LOG_DIR>/runs; exec sleep 600")
    add_resource(newer, "data.txt", data)
    upgrade = service_pb.ReInitializeContainerRequestProto(
        container_id=ids.container_id_pb(container), container_launch_context=newer, auto_commit=False
    )
    await ask_to_restart(rig, "reInitializeContainer", upgrade, service_pb.ReInitializeContainerResponseProto)
    await eventually(lambda: runs.exists() and runs.read_text() == "old\ndata\n")
    manager = rig.running.manager

    def is_running() -> bool:
        known = manager.get(container)
        return known is not None and known.state.value == "RUNNING"

    await eventually(is_running)
    back = ids.container_id_pb(container)
    await ask_to_restart(rig, "rollbackLastReInitialization", back, service_pb.RollbackResponseProto)
    await eventually(lambda: runs.read_text() == "old\ndata\nold\n" and is_running())
    with pytest.raises(RemoteFault) as refused:
        await ask_to_restart(rig, "commitLastReInitialization", back, service_pb.CommitResponseProto)
    assert refused.value.message == "Nothing to Commit !!"
    await ask_to_restart(rig, "reInitializeContainer", upgrade, service_pb.ReInitializeContainerResponseProto)
    await eventually(lambda: runs.read_text() == "old\ndata\nold\ndata\n" and is_running())
    await ask_to_restart(rig, "commitLastReInitialization", back, service_pb.CommitResponseProto)
    with pytest.raises(RemoteFault) as refused:
        await ask_to_restart(rig, "rollbackLastReInitialization", back, service_pb.RollbackResponseProto)
    assert refused.value.message == "Nothing to rollback to !!"
    assert "Container upgrade will be Rolled-back." in manager.get(container).diagnostics  # type: ignore[union-attr]


async def test_upgrade_that_fails_is_rolled_back_by_itself(rig: Rig) -> None:
    container = container_id(2)
    await rig.pod(container)
    await rig.start(container, context_of("echo old >><LOG_DIR>/runs; exec sleep 600"))
    await rig.tracker.until_running(container)
    runs = rig.root / "logs" / str(container.application_id) / str(container) / "runs"
    await eventually(lambda: runs.exists() and bool(runs.read_text()))
    broken = context_of("echo new >><LOG_DIR>/runs; exit 3")
    upgrade = service_pb.ReInitializeContainerRequestProto(
        container_id=ids.container_id_pb(container), container_launch_context=broken, auto_commit=False
    )
    await ask_to_restart(rig, "reInitializeContainer", upgrade, service_pb.ReInitializeContainerResponseProto)
    await eventually(lambda: runs.exists() and runs.read_text() == "old\nnew\nold\n")
    known = rig.running.manager.get(container)
    assert known is not None
    assert "Container Re-init Auto Rolled-Back." in known.diagnostics


@pytest.mark.parametrize(
    ("method", "request_message"),
    [
        ("restartContainer", pb.ContainerIdProto()),
        ("localize", service_pb.ResourceLocalizationRequestProto()),
        ("reInitializeContainer", service_pb.ReInitializeContainerRequestProto()),
        ("rollbackLastReInitialization", pb.ContainerIdProto()),
        ("commitLastReInitialization", pb.ContainerIdProto()),
    ],
)
async def test_nothing_is_restarted_that_is_not_the_callers(
    rig: Rig, method: str, request_message: pb.ContainerIdProto
) -> None:
    client = rig.client()
    with pytest.raises(RemoteFault) as refused:
        await client.call(method, request_message, service_pb.RestartContainerResponseProto)
    await client.close()
    assert refused.value.java_class == "org.apache.hadoop.yarn.exceptions.YarnException"
    assert refused.value.message.startswith("ApplicationMaster not authorized to perform [")


async def test_running_container_is_restarted_and_given_more_files(rig: Rig) -> None:
    """The calls are those that YARN's service framework makes."""
    container, more = container_id(2), rig.root / "more.txt"
    more.write_text("more")
    more.chmod(0o644)
    context = context_of("[ ! -e sub/more.txt ] || exit 6; echo run >><LOG_DIR>/runs; exec sleep 600")
    await rig.pod(container)
    await rig.start(container, context)
    await rig.tracker.until_running(container)
    runs = rig.root / "logs" / str(container.application_id) / str(container) / "runs"
    await eventually(runs.exists)
    client = rig.client()
    request = service_pb.ResourceLocalizationRequestProto(container_id=ids.container_id_pb(container))
    described = pb.ContainerLaunchContextProto()
    add_resource(described, "sub/more.txt", more)
    request.local_resources.extend(described.localResources)
    await client.call("localize", request, service_pb.ResourceLocalizationResponseProto)
    asked = service_pb.GetLocalizationStatusesRequestProto(container_id=[ids.container_id_pb(container)])
    async with asyncio.timeout(60):
        while True:
            answer = await client.call(
                "getLocalizationStatuses", asked, service_pb.GetLocalizationStatusesResponseProto
            )
            (told,) = answer.cntn_localization_statuses[0].localization_statuses
            if told.localization_state != service_pb.L_PENDING:
                break
            await asyncio.sleep(0.02)
    assert (told.resource_key, told.localization_state) == ("sub/more.txt", service_pb.L_COMPLETED)
    await client.call("restartContainer", ids.container_id_pb(container), service_pb.RestartContainerResponseProto)
    await client.close()
    assert (await rig.tracker.until_complete(container)).exit_status == 6
    assert runs.read_text() == "run\n"
