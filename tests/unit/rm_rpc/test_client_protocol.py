from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support.fakes import NODE
from tests.support.playbook import World, running
from tests.support.rpc_calls import call, client_of, client_protocol, context, every_method, is_hadoops, serving
from yodel.domain.ids import ApplicationId
from yodel.errors import AccessDenied, ApplicationNotFound
from yodel.hadoop_pb import applicationclient_protocol_pb2 as service_pb
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_pb import yarn_service_protos_pb2 as msg
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.pb_convert import ids
from yodel.rm_rpc.client_protocol import NAME
from yodel.rpc_io.dispatch import RpcProtocol
from yodel.rpc_io.server import ServerSecurity


@pytest.fixture
def protocol(world: World) -> RpcProtocol:
    return client_protocol(world).protocol()


def submission(application_id: ApplicationId, **fields: Any) -> msg.SubmitApplicationRequestProto:
    request = msg.SubmitApplicationRequestProto()
    context_pb = request.application_submission_context
    context_pb.application_id.CopyFrom(ids.application_id_pb(application_id))
    context_pb.application_name = "pi"
    context_pb.am_container_spec.command.append("java Main")
    for name, value in fields.items():
        setattr(context_pb, name, value)
    return request


async def report_of(protocol: RpcProtocol, application_id: ApplicationId, user: str = "alice") -> Any:
    request = msg.GetApplicationReportRequestProto(application_id=ids.application_id_pb(application_id))
    return (await call(protocol, "getApplicationReport", context(user), request)).application_report


def test_protocol_is_named_as_hadoop_names_it() -> None:
    assert NAME == "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"


async def test_new_application_has_an_id_and_the_maximum(protocol: RpcProtocol) -> None:
    answer = await call(protocol, "getNewApplication", context())
    assert answer.application_id.id == 1
    assert (answer.maximumCapability.memory, answer.maximumCapability.virtual_cores) == (8192, 4)


async def test_report_is_there_before_the_submission_is_answered(world: World, protocol: RpcProtocol) -> None:
    application_id = ids.application_id((await call(protocol, "getNewApplication", context())).application_id)
    await world.run(call(protocol, "submitApplication", context(), submission(application_id)))
    report = await report_of(protocol, application_id)

    assert (report.user, report.queue, report.yarn_application_state) == ("alice", "root.default", pb.ACCEPTED)
    assert report.final_application_status == pb.APP_UNDEFINED
    assert (report.host, report.rpc_port, report.originalTrackingUrl) == ("N/A", -1, "N/A")
    assert report.trackingUrl == f"http://rm:8088/proxy/{application_id}/"


async def test_id_is_for_who_was_given_it_on_this_port_too(world: World, protocol: RpcProtocol) -> None:
    application_id = ids.application_id((await call(protocol, "getNewApplication", context())).application_id)
    with pytest.raises(AccessDenied, match=f"{application_id} was issued to another caller, not to bob"):
        await world.run(call(protocol, "submitApplication", context("bob"), submission(application_id)))
    made_up = ApplicationId(application_id.cluster_timestamp_ms, application_id.sequence + 1)
    with pytest.raises(AccessDenied, match=f"{made_up} was not issued to alice"):
        await world.run(call(protocol, "submitApplication", context(), submission(made_up)))
    await world.run(call(protocol, "submitApplication", context(), submission(application_id)))
    assert {*world.rm.state.applications} == {application_id}


async def test_client_that_comes_back_by_another_connection_uses_its_id_and_repeats_itself(
    world: World, protocol: RpcProtocol
) -> None:
    application_id = ids.application_id((await call(protocol, "getNewApplication", context())).application_id)
    elsewhere = replace(context(), remote_host="10.0.0.10", remote_port=2)
    for _ in range(2):
        await world.run(call(protocol, "submitApplication", elsewhere, submission(application_id)))
    assert world.application(application_id).submission.user == "alice"


async def test_id_of_before_a_restart_is_taken_after_it(world: World, protocol: RpcProtocol) -> None:
    application_id = ids.application_id((await call(protocol, "getNewApplication", context())).application_id)
    await world.restart()
    after = client_protocol(world).protocol()
    await world.run(call(after, "submitApplication", context(), submission(application_id)))
    assert world.application(application_id).submission.user == "alice"


async def test_submission_without_an_id_is_refused_with_hadoops_class(protocol: RpcProtocol) -> None:
    with pytest.raises(RemoteFault) as raised:
        await call(protocol, "submitApplication", context())
    assert raised.value.java_class.endswith("ApplicationIdNotProvidedException")


async def test_unknown_application_is_not_found_in_hadoops_words(protocol: RpcProtocol) -> None:
    with pytest.raises(ApplicationNotFound, match=r"doesn't exist in RM\. Please check that the job submission"):
        await report_of(protocol, ApplicationId(1, 1))


async def test_tracking_url_is_proxied_while_an_am_is_there_and_the_rms_own_after_a_kill(
    world: World, protocol: RpcProtocol
) -> None:
    am = await world.running_am()
    assert (await report_of(protocol, am.application_id)).trackingUrl == f"http://rm:8088/proxy/{am.application_id}/"

    request = msg.KillApplicationRequestProto(application_id=ids.application_id_pb(am.application_id))
    await call(protocol, "forceKillApplication", context(), request)
    assert (await call(protocol, "forceKillApplication", context(), request)).is_kill_completed
    killed = await report_of(protocol, am.application_id)
    assert killed.trackingUrl == f"http://rm:8088/cluster/app/{am.application_id}"
    assert killed.diagnostics == f"Application {am.application_id} was killed by user alice at 10.0.0.9"


async def test_stranger_may_neither_kill_nor_signal(world: World, protocol: RpcProtocol) -> None:
    am = await world.running_am()
    kill = msg.KillApplicationRequestProto(application_id=ids.application_id_pb(am.application_id))
    signal = msg.SignalContainerRequestProto(
        container_id=ids.container_id_pb(am.container.id), command=pb.FORCEFUL_SHUTDOWN
    )
    for method, request in (("forceKillApplication", kill), ("signalToContainer", signal)):
        with pytest.raises(AccessDenied):
            await call(protocol, method, context("mallory"), request)


async def test_signal_goes_to_the_node(world: World, protocol: RpcProtocol) -> None:
    am = await world.running_am()
    container_id = ids.container_id_pb(am.container.id)
    request = msg.SignalContainerRequestProto(container_id=container_id, command=pb.OUTPUT_THREAD_DUMP)
    await call(protocol, "signalToContainer", context(), request)
    assert (await world.beat()).signals == ((am.container.id, pb.OUTPUT_THREAD_DUMP),)


async def test_attempts_and_containers_are_reported(world: World, protocol: RpcProtocol) -> None:
    am = await world.running_am()
    (task,) = await am.obtain(1)
    attempt = ids.attempt_id_pb(am.attempt_id)

    one = await call(
        protocol,
        "getApplicationAttemptReport",
        context(),
        msg.GetApplicationAttemptReportRequestProto(application_attempt_id=attempt),
    )
    assert one.application_attempt_report.yarn_application_attempt_state == pb.APP_ATTEMPT_RUNNING
    several = await call(
        protocol,
        "getApplicationAttempts",
        context(),
        msg.GetApplicationAttemptsRequestProto(application_id=ids.application_id_pb(am.application_id)),
    )
    assert len(several.application_attempts) == 1
    containers = await call(
        protocol, "getContainers", context(), msg.GetContainersRequestProto(application_attempt_id=attempt)
    )
    assert [ids.container_id(c.container_id) for c in containers.containers] == [am.container.id, task]
    report = await call(
        protocol,
        "getContainerReport",
        context(),
        msg.GetContainerReportRequestProto(container_id=ids.container_id_pb(task)),
    )
    assert report.container_report.log_url == f"http://node-1:8042/node/containerlogs/{task}/alice"


async def test_failed_attempt_is_followed_by_another(world: World, protocol: RpcProtocol) -> None:
    am = await world.running_am()
    attempt = ids.attempt_id_pb(am.attempt_id)
    request = msg.FailApplicationAttemptRequestProto(application_attempt_id=attempt)
    await call(protocol, "failApplicationAttempt", context(), request)
    assert world.application(am.application_id).current_attempt == 2


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({}, 2),
        ({"users": ["alice"]}, 1),
        ({"application_states": [pb.ACCEPTED]}, 1),
        ({"application_types": ["yarn"]}, 2),
        ({"applicationTags": ["NIGHT"]}, 1),
        ({"queues": ["default"]}, 2),
        ({"queues": ["other"]}, 0),
        ({"limit": 1}, 1),
        ({"scope": msg.OWN}, 1),
        ({"scope": msg.VIEWABLE}, 2),
        ({"name": "pi"}, 2),
        ({"name": "p"}, 0),
        ({"start_begin": 2**62}, 0),
    ],
)
async def test_filters_of_the_application_list(
    world: World, protocol: RpcProtocol, fields: dict[str, Any], found: int
) -> None:
    await world.running_am(tags=("night",))
    await world.submit(user="bob")
    answer = await call(protocol, "getApplications", context(), msg.GetApplicationsRequestProto(**fields))
    assert len(answer.applications) == found


async def test_cluster_and_its_nodes(world: World, protocol: RpcProtocol) -> None:
    am = await world.running_am()
    await world.beat(running(am.container.id))
    metrics = (await call(protocol, "getClusterMetrics", context())).cluster_metrics
    assert (metrics.num_node_managers, metrics.num_active_nms, metrics.num_lost_nms) == (1, 1, 0)

    (node,) = (await call(protocol, "getClusterNodes", context())).nodeReports
    assert ids.node_id(node.nodeId) == NODE
    assert (node.used.memory, node.numContainers, node.capability.memory) == (1024, 1, 16_384)
    lost = msg.GetClusterNodesRequestProto(nodeStates=[pb.NS_LOST])
    assert not (await call(protocol, "getClusterNodes", context(), lost)).nodeReports


async def test_queues_by_name_and_path_and_none_for_an_unknown_one(world: World, protocol: RpcProtocol) -> None:
    await world.running_am()
    for name in ("default", "root.default"):
        request = msg.GetQueueInfoRequestProto(queueName=name, includeApplications=True)
        info = (await call(protocol, "getQueueInfo", context(), request)).queueInfo
        assert (info.queueName, info.queuePath, info.state) == ("default", "root.default", pb.Q_RUNNING)
        assert len(info.applications) == 1
    root = msg.GetQueueInfoRequestProto(queueName="root", includeChildQueues=True, recursive=True)
    info = (await call(protocol, "getQueueInfo", context(), root)).queueInfo
    assert [child.queueName for child in info.childQueues] == ["default"]
    unknown = msg.GetQueueInfoRequestProto(queueName="nowhere")
    assert not (await call(protocol, "getQueueInfo", context(), unknown)).HasField("queueInfo")


async def test_profiles_answer_with_exactly_the_class_the_distributed_shell_waits_for(protocol: RpcProtocol) -> None:
    for method in ("getResourceProfiles", "getResourceProfile"):
        with pytest.raises(RemoteFault) as raised:
            await call(protocol, method, context(), object())
        assert raised.value.java_class == "org.apache.hadoop.yarn.exceptions.YARNFeatureNotEnabledException"


def test_every_method_of_hadoops_service_is_served(world: World) -> None:
    service = service_pb.DESCRIPTOR.services_by_name["ApplicationClientProtocolService"]
    served = {name for part in client_protocol(world)._parts for name in part.handlers()}
    assert served == {method.name for method in service.methods}


async def test_every_method_answers_over_the_wire(protocol: RpcProtocol) -> None:
    async with serving(protocol, ServerSecurity(allow_simple=True)) as port:
        answers = await every_method(client_of(NAME, port), service_pb, "ApplicationClientProtocolService")

    assert answers.keys() == protocol.methods.keys()
    assert all(is_hadoops(answer) for answer in answers.values()), answers
    assert {name for name, answer in answers.items() if answer is None} >= {
        "getNewApplication",
        "getApplications",
        "getClusterMetrics",
        "getClusterNodes",
        "getQueueInfo",
        "getQueueUserAcls",
        "getResourceTypeInfo",
        "getClusterNodeLabels",
    }
