from __future__ import annotations

import asyncio
import hashlib
import hmac
from dataclasses import replace
from typing import Any

import pytest

from tests.support.fakes import NODE
from tests.support.loans import POLICY, measured_report
from tests.support.playbook import World
from tests.support.rpc_calls import call, client_of, context, every_method, serving, tracker_protocol
from yodel.domain.colocation.emergency import MemoryEmergency
from yodel.domain.colocation.report import APART, CPU_MILLI, MEMORY_MIB, RESOURCES, WrittenReport
from yodel.domain.colocation.switch import OFF, ColocationSwitch
from yodel.domain.effects import Tell
from yodel.domain.events import IncreaseDecided, NodeCapabilityOrdered, PodResized
from yodel.domain.host_lists import HostLists
from yodel.domain.ids import ContainerId
from yodel.domain.notices import NoticeReason, PreemptionNotice, Teller
from yodel.domain.resource import NONE, Resource
from yodel.domain.shuffle.decision import MASTER_CLASS, Status
from yodel.domain.shuffle.report import Cause, LeftOut, Reason, Report, ShuffleOutcome
from yodel.domain.shuffle.word import ShuffleProperty
from yodel.domain.states import ContainerState, NodeState
from yodel.domain.tokens import Token
from yodel.errors import AccessDenied, InvalidValue
from yodel.hadoop_pb import ResourceTracker_pb2 as service_pb
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_pb import yarn_security_token_pb2 as token_pb
from yodel.hadoop_pb import yarn_server_common_protos_pb2 as common
from yodel.hadoop_pb import yarn_server_common_service_protos_pb2 as msg
from yodel.hadoop_rpc.server_policy import TokenGrant
from yodel.pb_convert import ids
from yodel.pb_convert.colocation import (
    allocatable,
    capacity_report_pb,
    emergency_pb,
    loan_report_pb,
    policy,
    written_report_pb,
)
from yodel.pb_convert.shuffle_reports import reports_pb
from yodel.ports.kube_nodes import NodeAddress, NodeObservation
from yodel.rm_rpc.tracker_protocol import NAME
from yodel.rpc_io.dispatch import CallContext, RpcProtocol
from yodel.rpc_io.server import ServerSecurity
from yodel.services.nodes.heartbeat import ALL_PODS_EVERY, HeartbeatAnswer
from yodel.serving.node_token import NODE_TOKEN_KIND
from yodel.serving.pieces import PIECE
from yodel.translator.dialects import dialect
from yodel.translator.pools import rules_of


@pytest.fixture
def protocol(world: World) -> RpcProtocol:
    return tracker_protocol(world)


def registration(**fields: object) -> msg.RegisterNodeManagerRequestProto:
    said = {"kubernetes_node_name": NODE.host, **fields}
    request = msg.RegisterNodeManagerRequestProto(http_port=8042, nm_version="3.5.0", **said)  # type: ignore[arg-type]
    request.node_id.CopyFrom(ids.node_id_pb(NODE))
    request.resource.CopyFrom(ids.resource_pb(Resource(8192, 8)))
    return request


def heartbeat(response_id: int = 0, *, is_healthy: bool = True) -> msg.NodeHeartbeatRequestProto:
    request = msg.NodeHeartbeatRequestProto()
    status = request.node_status
    status.node_id.CopyFrom(ids.node_id_pb(NODE))
    status.response_id = response_id
    status.nodeHealthStatus.is_node_healthy = is_healthy
    status.nodeHealthStatus.health_report = "" if is_healthy else "disk full"
    return request


def add_status(
    request: msg.NodeHeartbeatRequestProto, container_id: ContainerId, state: pb.ContainerStateProto, exit_status: int
) -> None:
    status = request.node_status.containersStatuses.add(state=state, exit_status=exit_status, diagnostics="words")
    status.container_id.CopyFrom(ids.container_id_pb(container_id))


async def test_node_that_registers_gets_the_keys(world: World, protocol: RpcProtocol) -> None:
    answer = await call(protocol, "registerNodeManager", context(), registration(kubernetes_node_name="k8s-1"))

    assert answer.nodeAction == common.NODE_ACTION_NORMAL
    assert answer.rm_identifier == world.rm.tokens.rm_identifier
    for purpose, key in (("container", answer.container_token_master_key), ("nm", answer.nm_token_master_key)):
        ours = world.rm.tokens.current(purpose)
        assert (key.key_id, key.bytes) == (ours.key_id, ours.secret)
    node = world.rm.state.nodes[NODE]
    assert (node.kubernetes_node_name, node.capability, node.version) == ("k8s-1", Resource(8192, 8), "3.5.0")


@pytest.mark.parametrize("fields", [{"kubernetes_node_name": "node-1"}, {"can": ["something"]}])
async def test_who_says_a_word_of_ours_is_an_agent(
    world: World, protocol: RpcProtocol, fields: dict[str, object]
) -> None:
    """Neither the name of its host nor its age matters."""
    request = registration(**fields)
    if "can" in fields:
        request.ClearField("kubernetes_node_name")
        with pytest.raises(InvalidValue, match="kubernetes_node_name"):
            await call(protocol, "registerNodeManager", context(), request)
        return
    await call(protocol, "registerNodeManager", context(), request)
    assert not world.rm.state.nodes[NODE].is_node_manager


async def test_who_says_none_is_a_node_manager_and_told_which_setting_refuses_it(
    world: World, protocol: RpcProtocol
) -> None:
    request = registration()
    request.ClearField("kubernetes_node_name")
    answer = await call(protocol, "registerNodeManager", context(), request)
    assert answer.nodeAction == common.NODE_ACTION_SHUTDOWN
    assert 'NodeManagers are refused (the setting node_managers = "refused")' in answer.diagnostics_message
    assert not answer.HasField("nm_token_master_key")
    assert not answer.HasField("container_token_master_key")
    assert NODE not in world.rm.state.nodes


async def test_labels_of_a_node_manager_are_accepted_or_refused_with_the_reason(
    protocol: RpcProtocol, world: World
) -> None:
    """ResourceTrackerService.registerNodeManager and nodeHeartbeat; a NodeManager logs the message."""
    labels = msg.NodeLabelsProto(nodeLabels=[pb.NodeLabelProto(name="gpu", isExclusive=True)])
    answer = await call(protocol, "registerNodeManager", context(), registration(nodeLabels=labels))
    assert answer.nodeAction == common.NODE_ACTION_NORMAL
    assert (answer.areNodeLabelsAcceptedByRM, answer.diagnostics_message) == (
        False,
        "node labels gpu are not used (the setting node_labels_enabled = false)",
    )
    beat = heartbeat()
    beat.nodeLabels.CopyFrom(labels)
    answer = await call(protocol, "nodeHeartbeat", context(), beat)
    assert (answer.areNodeLabelsAcceptedByRM, "node labels gpu" in answer.diagnostics_message) == (False, True)
    beat.nodeLabels.CopyFrom(msg.NodeLabelsProto())
    answer = await call(protocol, "nodeHeartbeat", context(), beat)
    assert (answer.areNodeLabelsAcceptedByRM, answer.diagnostics_message) == (True, "")
    answer = await call(protocol, "nodeHeartbeat", context(), heartbeat(1))
    assert not answer.HasField("areNodeLabelsAcceptedByRM")


async def test_node_with_less_than_nothing_is_refused(protocol: RpcProtocol) -> None:
    request = registration()
    request.resource.memory = -1
    with pytest.raises(InvalidValue):
        await call(protocol, "registerNodeManager", context(), request)


async def test_beat_of_an_unknown_node_asks_for_its_registration(protocol: RpcProtocol) -> None:
    answer = await call(protocol, "nodeHeartbeat", context(), heartbeat())
    assert answer.nodeAction == common.NODE_ACTION_RESYNC


async def test_beat_is_answered_with_its_number_and_the_pause(protocol: RpcProtocol) -> None:
    await call(protocol, "registerNodeManager", context(), registration())
    answers = [await call(protocol, "nodeHeartbeat", context(), heartbeat(n)) for n in range(3)]
    assert [a.response_id for a in answers] == [1, 2, 3]
    assert {a.nextHeartBeatInterval for a in answers} == {250}


async def test_orders_and_reports_of_containers(world: World, protocol: RpcProtocol) -> None:
    am = await world.running_am()
    one, other = await am.obtain(2)
    world.rm.nodes.signal(other, pb.FORCEFUL_SHUTDOWN)
    beat = heartbeat(1)
    add_status(beat, one, pb.C_RUNNING, -1000)
    answer = await call(protocol, "nodeHeartbeat", context(), beat)
    assert [(ids.container_id(s.container_id), s.command) for s in answer.containers_to_signal] == [
        (other, pb.FORCEFUL_SHUTDOWN)
    ]
    assert world.container(one).state is ContainerState.RUNNING
    assert not answer.containers_on_notice

    node_id = world.container(one).node_id
    assert node_id is not None
    world.rm.state.notices.tell(
        Teller.LOANS,
        {one: PreemptionNotice(node_id=node_id, reason=NoticeReason.LENT_CAPACITY, why="less is lent", given_s=0.0)},
    )
    answer = await call(protocol, "nodeHeartbeat", context(), heartbeat(answer.response_id))
    assert [ids.container_id(i) for i in answer.containers_on_notice] == [one]

    await am.beat(releases=[other])
    beat = heartbeat(answer.response_id)
    add_status(beat, one, pb.C_COMPLETE, 5)
    answer = await call(protocol, "nodeHeartbeat", context(), beat)
    assert [ids.container_id(i) for i in answer.containers_to_cleanup] == [other]
    assert not answer.containers_to_be_removed_from_nm
    assert (world.container(one).exit_status, world.container(one).diagnostics) == (5, "words")
    await am.beat()
    await am.acknowledge()
    answer = await call(protocol, "nodeHeartbeat", context(), heartbeat(answer.response_id))
    assert sorted(map(ids.container_id, answer.containers_to_be_removed_from_nm)) == [one, other]

    await world.run(world.rm.submission.kill(am.application_id, "alice"))
    answer = await call(protocol, "nodeHeartbeat", context(), heartbeat(answer.response_id))
    assert [ids.application_id(i) for i in answer.applications_to_cleanup] == [am.application_id]


async def test_health_is_kept(world: World, protocol: RpcProtocol) -> None:
    await call(protocol, "registerNodeManager", context(), registration())
    await call(protocol, "nodeHeartbeat", context(), heartbeat(is_healthy=False))
    await world.settle()
    assert world.rm.state.nodes[NODE].state is NodeState.UNHEALTHY
    assert world.rm.state.nodes[NODE].health_report == "disk full"


async def test_containers_named_at_registration_are_believed(world: World, protocol: RpcProtocol) -> None:
    am = await world.running_am()
    running_one, ended_one = await am.obtain(2)
    request = registration()
    for container_id, state in ((running_one, pb.C_RUNNING), (ended_one, pb.C_COMPLETE)):
        status = request.container_statuses.add(container_state=state, diagnostics="")
        status.container_id.CopyFrom(ids.container_id_pb(container_id))
    request.container_statuses[1].container_exit_status = 4
    await call(protocol, "registerNodeManager", context(), request)

    assert world.container(running_one).state is ContainerState.RUNNING
    assert world.container(ended_one).exit_status == 4


async def test_node_that_leaves_is_shut_down(world: World, protocol: RpcProtocol) -> None:
    await call(protocol, "registerNodeManager", context(), registration())
    request = msg.UnRegisterNodeManagerRequestProto(node_id=ids.node_id_pb(NODE))
    await call(protocol, "unRegisterNodeManager", context(), request)
    await world.settle()
    assert world.rm.state.nodes[NODE].state is NodeState.SHUTDOWN


async def test_every_method_answers_over_the_wire_to_who_has_the_secret(protocol: RpcProtocol) -> None:
    secret = b"a shared secret of the nodes"

    def grant(identifier: bytes) -> TokenGrant:
        password = hmac.new(secret, identifier, hashlib.sha1).digest()
        return TokenGrant(password=password, user=identifier.decode(), kind="YODEL_NODE_TOKEN")

    password = hmac.new(secret, b"node-1", hashlib.sha1).digest()
    token = Token(identifier=b"node-1", password=password, kind="YODEL_NODE_TOKEN", service="")
    async with serving(protocol, ServerSecurity(allow_simple=False, token_passwords=grant)) as port:
        answers = await every_method(client_of(NAME, port, token=token), service_pb, "ResourceTrackerService")

    assert answers.keys() == protocol.methods.keys()
    assert {*answers.values()} <= {None, "org.apache.hadoop.yarn.exceptions.YarnException"}


async def test_excluded_host_is_told_to_shut_down(world: World, protocol: RpcProtocol) -> None:
    await call(protocol, "registerNodeManager", context(), registration())
    world.rm.nodes.lists = HostLists(excluded={NODE.host: None})

    answer = await call(protocol, "nodeHeartbeat", context(), heartbeat())
    assert answer.nodeAction == common.NODE_ACTION_SHUTDOWN
    assert answer.diagnostics_message == f"Disallowed NodeManager nodeId: {NODE} hostname: {NODE.host}"

    refused = await call(protocol, "registerNodeManager", context(), registration())
    assert refused.nodeAction == common.NODE_ACTION_SHUTDOWN
    text = f"Disallowed NodeManager from  {NODE.host}, Sending SHUTDOWN signal to the NodeManager."
    assert refused.diagnostics_message == text
    assert not refused.HasField("nm_token_master_key"), "keys are for those who may"


async def test_unknown_node_is_told_why_it_has_to_register(protocol: RpcProtocol) -> None:
    answer = await call(protocol, "nodeHeartbeat", context(), heartbeat())
    assert answer.nodeAction == common.NODE_ACTION_RESYNC
    assert answer.diagnostics_message == f"Node not found resyncing {NODE}"


async def test_ordered_capability_is_told_at_the_next_heartbeat_and_at_registration(
    world: World, protocol: RpcProtocol
) -> None:
    first = await call(protocol, "registerNodeManager", context(), registration())
    assert not first.HasField("resource")
    await world.run(world.rm.engine.tell(Tell(NODE, NodeCapabilityOrdered(Resource(512, 1)))))

    told = await call(protocol, "nodeHeartbeat", context(), heartbeat())
    assert ids.resource(told.resource) == Resource(512, 1)
    assert not (await call(protocol, "nodeHeartbeat", context(), heartbeat(told.response_id))).HasField("resource")
    again = await call(protocol, "registerNodeManager", context(), registration())
    assert ids.resource(again.resource) == Resource(512, 1)


async def test_agent_that_says_what_keys_it_has_gets_those_it_lacks(world: World, protocol: RpcProtocol) -> None:
    await call(protocol, "registerNodeManager", context(), registration())
    request = heartbeat()
    request.last_known_nm_token_master_key.key_id = 4711
    request.last_known_container_token_master_key.key_id = world.rm.tokens.current("container").key_id

    answer = await call(protocol, "nodeHeartbeat", context(), request)
    current = world.rm.tokens.current("nm")
    assert (answer.nm_token_master_key.key_id, answer.nm_token_master_key.bytes) == (current.key_id, current.secret)
    assert not answer.HasField("container_token_master_key")
    assert not (await call(protocol, "nodeHeartbeat", context(), heartbeat(1))).HasField("nm_token_master_key")


async def test_state_of_log_aggregation_is_recorded(world: World, protocol: RpcProtocol) -> None:
    am = await world.running_am()
    request = heartbeat()
    report = request.log_aggregation_reports_for_apps.add(log_aggregation_status="LOG_RUNNING")
    report.application_id.CopyFrom(ids.application_id_pb(am.application_id))
    await call(protocol, "nodeHeartbeat", context(), request)
    assert NODE in world.rm.log_aggregation.nodes_of(am.application_id)


async def test_sizes_are_read_of_containers_that_have_grown(world: World, protocol: RpcProtocol) -> None:
    am = await world.running_am()
    (task,) = await am.obtain(1)
    larger = Resource(2048, 1)
    await world.run(world.rm.engine.tell(Tell(task, IncreaseDecided(larger)), Tell(task, PodResized(larger))))
    beat = heartbeat(world.response_ids[NODE])
    add_status(beat, task, pb.C_RUNNING, -1000)
    status = beat.node_status.containersStatuses[0]

    status.capability.CopyFrom(ids.resource_pb(Resource(1024, 1)))
    await world.run(call(protocol, "nodeHeartbeat", context(), beat))
    assert world.container(task).confirmed == Resource(1024, 1)

    beat.node_status.response_id += 1
    status.capability.CopyFrom(ids.resource_pb(larger))
    await world.run(call(protocol, "nodeHeartbeat", context(), beat))
    assert world.container(task).confirmed == NONE


async def test_node_that_registers_says_the_sizes_it_has(world: World, protocol: RpcProtocol) -> None:
    am = await world.running_am()
    (task,) = await am.obtain(1)
    larger = Resource(2048, 1)
    await world.run(world.rm.engine.tell(Tell(task, IncreaseDecided(larger)), Tell(task, PodResized(larger))))
    request = registration(kubernetes_node_name="node-1")
    status = request.container_statuses.add(container_state=pb.C_RUNNING)
    status.container_id.CopyFrom(ids.container_id_pb(task))
    status.resource.CopyFrom(ids.resource_pb(larger))
    await world.run(call(protocol, "registerNodeManager", context(), request))
    assert world.container(task).confirmed == NONE


async def test_long_report_means_what_a_short_one_does(world: World, protocol: RpcProtocol) -> None:
    """It is read in pieces, so that others are answered between."""
    am = await world.running_am()
    (one,) = await am.obtain(1)
    beat = heartbeat(1)
    for number in range(2 * PIECE):
        add_status(beat, ContainerId(am.attempt_id, 1000 + number), pb.C_NEW, -1000)
    add_status(beat, one, pb.C_RUNNING, -1000)
    await call(protocol, "nodeHeartbeat", context(), beat)
    assert world.container(one).state is ContainerState.RUNNING


def node_context(name: bytes) -> CallContext:
    """Return the context of a connection of an agent with a node's token."""
    return replace(context(), token_kind=NODE_TOKEN_KIND, token_identifier=name)


async def test_capacity_counts_for_the_node_that_the_token_names(world: World, protocol: RpcProtocol) -> None:
    """The policy goes one way and reports the other."""
    world.statuses.put("k8s-1")
    world.rm.lending.use(rules_of(dialect("koordinator"), {}, 1000))
    world.rm.use_colocation(ColocationSwitch(policy=POLICY))
    caller = node_context(b"k8s-1")
    await call(protocol, "registerNodeManager", caller, registration(kubernetes_node_name="k8s-1"))
    answer = await call(protocol, "nodeHeartbeat", caller, heartbeat())
    assert not answer.HasField("colocation_policy"), "it does not measure"

    able = registration(kubernetes_node_name="k8s-1", can=RESOURCES)
    await call(protocol, "registerNodeManager", caller, able)
    for number in range(2):
        answer = await call(protocol, "nodeHeartbeat", caller, heartbeat(number))
        assert policy(answer.colocation_policy) == POLICY, "until it says that it has it"

    said = measured_report(3_000, 4_000)
    for number, (name, expected) in enumerate(((b"k8s-2", None), (b"k8s-1", said)), 2):
        beat = heartbeat(number)
        beat.colocation_policy_version = POLICY.version
        beat.capacity.CopyFrom(capacity_report_pb(said, None))
        answer = await call(protocol, "nodeHeartbeat", node_context(name), beat)
        assert not answer.HasField("colocation_policy")
        facts = world.rm.facts.of("k8s-1")
        heard = facts.said if facts is not None else None
        assert (heard.report if heard is not None else None) == expected

    world.rm.use_colocation(OFF)
    beat = heartbeat(4)
    beat.colocation_policy_version = POLICY.version
    answer = await call(protocol, "nodeHeartbeat", caller, beat)
    assert answer.HasField("colocation_policy")
    assert policy(answer.colocation_policy) is None, "it is to stop"


async def test_what_is_allocatable_is_told_once_and_when_it_changes(world: World, protocol: RpcProtocol) -> None:
    world.rm.lending.use(rules_of(dialect("koordinator"), {}, 1000))
    machine = {"cpu": "16", "memory": "16Gi"}
    world.statuses.put(NODE.host, allocatable={"cpu": "15500m", "memory": "13Gi"}, capacity=machine)
    await world.settle()
    able = registration(kubernetes_node_name=NODE.host, can=RESOURCES)

    async def told(answered: int | None = None) -> dict[str, int]:
        beat = heartbeat(world.rm.nodes.runtimes[NODE].response_id if answered is None else answered)
        return allocatable((await call(protocol, "nodeHeartbeat", context(), beat)).allocatable)

    await call(protocol, "registerNodeManager", context(), able)
    assert await told() == {}, "nothing is lent"
    world.rm.use_colocation(ColocationSwitch(policy=POLICY))
    expected = {CPU_MILLI: 15_500, MEMORY_MIB: 13 * 1024}
    answered = world.rm.nodes.runtimes[NODE].response_id
    assert await told() == expected
    assert await told(answered) == expected, "that answer was lost"
    assert await told() == {}, "it was told"
    world.statuses.change(NODE.host, allocatable=machine)
    await world.settle()
    assert await told() == {CPU_MILLI: 16_000, MEMORY_MIB: 16_384}
    await call(protocol, "registerNodeManager", context(), able)
    assert await told() == {CPU_MILLI: 16_000, MEMORY_MIB: 16_384}, "it may have forgotten"
    world.rm.use_colocation(OFF)
    assert await told() == {}
    await call(protocol, "registerNodeManager", context(), registration(kubernetes_node_name=NODE.host))
    world.rm.use_colocation(ColocationSwitch(policy=POLICY))
    assert await told() == {}, "it does not measure"


# --- who may be which node -------------------------------------------------------------------------------------------


async def test_agent_registers_as_the_node_that_its_token_names(world: World, protocol: RpcProtocol) -> None:
    answer = await call(protocol, "registerNodeManager", node_context(b"node-1"), registration())
    assert answer.nodeAction == common.NODE_ACTION_NORMAL
    for name, said in ((b"node-9", "node-1"), (b"node-1", "node-9")):
        answer = await call(
            protocol, "registerNodeManager", node_context(name), registration(kubernetes_node_name=said)
        )
        assert answer.nodeAction == common.NODE_ACTION_SHUTDOWN
        assert answer.diagnostics_message == (
            f"Disallowed NodeManager node-1:8041: its node token belongs to {name.decode()}, but it registers as "
            f"{said}, Sending SHUTDOWN signal to the NodeManager."
        )
        assert not answer.HasField("nm_token_master_key")
        assert not answer.HasField("container_token_master_key")
    assert world.rm.state.nodes[NODE].kubernetes_node_name == "node-1"


async def test_agent_of_another_node_has_no_say_over_a_node_id(world: World, protocol: RpcProtocol) -> None:
    """Not by registering it for its own node, nor by beats, nor by leaving for it."""
    am = await world.running_am()
    (one,) = await am.obtain(1)
    mallory, before = node_context(b"node-9"), world.rm.state.nodes[NODE]
    answer = await call(protocol, "registerNodeManager", mallory, registration(kubernetes_node_name="node-9"))
    reason = "its node token belongs to node-9, but this id is registered for node-1"
    text = f"Disallowed NodeManager node-1:8041: {reason}, Sending SHUTDOWN signal to the NodeManager."
    assert (answer.nodeAction, answer.diagnostics_message) == (common.NODE_ACTION_SHUTDOWN, text)
    assert not answer.HasField("nm_token_master_key")

    beat = heartbeat(world.rm.nodes.runtimes[NODE].response_id, is_healthy=False)
    add_status(beat, one, pb.C_COMPLETE, 5)
    beat.last_known_nm_token_master_key.key_id = beat.last_known_container_token_master_key.key_id = -1
    beat.log_aggregation_reports_for_apps.add(
        application_id=ids.application_id_pb(am.application_id),
        log_aggregation_status="LOG_FAILED",
        diagnostics="false",
    )
    answer = await call(protocol, "nodeHeartbeat", mallory, beat)
    assert (answer.nodeAction, answer.diagnostics_message) == (common.NODE_ACTION_SHUTDOWN, text)
    assert not answer.HasField("nm_token_master_key")
    request = msg.UnRegisterNodeManagerRequestProto(node_id=ids.node_id_pb(NODE))
    with pytest.raises(AccessDenied, match=reason):
        await call(protocol, "unRegisterNodeManager", mallory, request)
    await world.settle()
    assert world.rm.state.nodes[NODE] == before
    assert world.container(one).is_live
    assert not world.rm.log_aggregation.nodes_of(am.application_id)

    await call(protocol, "unRegisterNodeManager", node_context(b"node-1"), request)
    await world.settle()
    assert world.rm.state.nodes[NODE].state is NodeState.SHUTDOWN
    answer = await call(protocol, "registerNodeManager", mallory, registration(kubernetes_node_name="node-9"))
    assert answer.nodeAction == common.NODE_ACTION_NORMAL, "nobody has it any more, nor anything there"


async def test_agent_does_not_call_itself_by_another_nodes_address(world: World, protocol: RpcProtocol) -> None:
    """ApplicationMasters would be sent to a node that knows nothing of them, and its own agent would be shut out."""
    address = NodeAddress(kind="InternalIP", address=NODE.host)
    victim = NodeObservation(name="victim", uid="1", resource_version="1", addresses=(address,))
    own = NodeObservation(name="node-9", uid="9", resource_version="1")
    world.rm.facts.nodes_listed([victim, own])
    mallory, request = node_context(b"node-9"), registration(kubernetes_node_name="node-9")
    answer = await call(protocol, "registerNodeManager", mallory, request)
    assert answer.nodeAction == common.NODE_ACTION_SHUTDOWN
    assert "its node token belongs to node-9, but node-1 is an address of victim" in answer.diagnostics_message
    assert NODE not in world.rm.state.nodes
    world.rm.facts.nodes_listed([victim, replace(own, addresses=(address,))])
    assert (await call(protocol, "registerNodeManager", mallory, request)).nodeAction == common.NODE_ACTION_NORMAL


async def test_node_id_is_free_once_its_kubernetes_node_is_gone(world: World, protocol: RpcProtocol) -> None:
    """Addresses are given anew when machines are replaced."""
    am = await world.running_am()
    new, request = node_context(b"node-9"), registration(kubernetes_node_name="node-9")
    facts = world.rm.facts
    there, fresh = (NodeObservation(name=name, uid=name, resource_version="1") for name in ("node-1", "node-9"))
    facts.nodes_listed([there, fresh])
    assert (await call(protocol, "registerNodeManager", new, request)).nodeAction == common.NODE_ACTION_SHUTDOWN
    facts.nodes_listed([fresh])
    assert (await call(protocol, "registerNodeManager", new, request)).nodeAction == common.NODE_ACTION_NORMAL
    await world.settle()
    assert world.rm.state.nodes[NODE].kubernetes_node_name == "node-9"
    assert not world.container(am.container.id).is_live, "it ran on the node that is gone"


async def test_where_no_secret_is_shared_no_token_is_asked_for(world: World, protocol: RpcProtocol) -> None:
    for said in ("node-1", "node-9"):
        answer = await call(protocol, "registerNodeManager", context(), registration(kubernetes_node_name=said))
        assert answer.nodeAction == common.NODE_ACTION_NORMAL
    assert world.rm.state.nodes[NODE].kubernetes_node_name == "node-9"


async def test_each_pod_is_named_once_to_an_agent_whether_or_not_anything_is_bounded(
    world: World, protocol: RpcProtocol
) -> None:
    am = await world.running_am()
    one, other = await am.obtain(2)
    observed = world.rm.reconciler.observed(one)
    assert observed is not None
    able = registration(kubernetes_node_name="node-1", can=RESOURCES)

    async def named(*containers: ContainerId, version: str = "") -> list[tuple[ContainerId, str]]:
        beat = heartbeat(world.rm.nodes.runtimes[NODE].response_id)
        beat.colocation_policy_version = version
        for container in containers:
            add_status(beat, container, pb.C_RUNNING, -1000)
        answer = await call(protocol, "nodeHeartbeat", context(), beat)
        return [(ids.container_id(pod.container_id), pod.uid) for pod in answer.pods]

    await call(protocol, "registerNodeManager", context(), able)
    assert await named(one) == [(one, observed.uid)]
    assert await named(one) == [], "it was told"
    assert [found for found, _ in await named(one, other)] == [other]
    world.rm.use_colocation(ColocationSwitch(policy=replace(POLICY, limits=True)))
    assert [found for found, _ in await named(one, other)] == [one, other], "an earlier release forgot them"
    assert await named(one, other, version=POLICY.version) == []
    world.rm.reconciler.pod_seen(replace(observed, uid="another"))
    news = [await named(one, version=POLICY.version) for _ in range(ALL_PODS_EVERY)]
    assert [told for told in news if told] == [[(one, "another")]], "its kubelet refused the first one"
    assert list(world.rm.nodes.runtimes[NODE].told.pods) == [one], "what has ended is forgotten"
    await call(protocol, "registerNodeManager", context(), able)
    assert [found for found, _ in await named(one, other)] == [one, other], "all, in a new life"
    await call(protocol, "registerNodeManager", context(), registration(kubernetes_node_name="node-1"))
    assert await named(one) == [], "it is no agent of ours"


async def test_a_container_s_token_names_its_pod(world: World) -> None:
    am = await world.running_am()
    (one,) = await am.obtain(1)
    observed, container = world.rm.reconciler.observed(one), world.rm.state.containers[one]
    assert observed is not None
    token = world.rm.tokens.container_token(container, now_ms=0)
    assert token_pb.ContainerTokenIdentifierProto.FromString(token.identifier).pod_uid == observed.uid
    world.rm.reconciler.pods_listed([])
    token = world.rm.tokens.container_token(container, now_ms=0)
    assert not token_pb.ContainerTokenIdentifierProto.FromString(token.identifier).HasField("pod_uid")


async def test_a_report_that_does_not_add_up_does_not_count_and_the_beat_does(
    world: World, protocol: RpcProtocol
) -> None:
    world.rm.lending.use(rules_of(dialect("koordinator"), {}, 1000))
    world.rm.use_colocation(ColocationSwitch(policy=POLICY))
    await call(protocol, "registerNodeManager", context(), registration())
    beat = heartbeat(0, is_healthy=False)
    beat.capacity.CopyFrom(capacity_report_pb(measured_report(3_000, 4_000), None))
    beat.capacity.loans[0].amount += 1
    await call(protocol, "nodeHeartbeat", node_context(NODE.host.encode()), beat)
    await world.settle()
    assert world.rm.state.nodes[NODE].state is NodeState.UNHEALTHY
    assert [one for one in world.rm.facts.all() if one.said] == []
    assert "capacity.loans" in world.rm.facts.refused[NODE]


async def test_agents_are_told_that_reports_are_read_apart_and_one_that_is_bad_costs_not_the_other(
    world: World, protocol: RpcProtocol
) -> None:
    world.rm.lending.use(rules_of(dialect("koordinator"), {}, 1000))
    world.rm.use_colocation(ColocationSwitch(policy=POLICY))
    answer = await call(protocol, "registerNodeManager", context(), registration())
    assert list(answer.can) == [APART]
    said, written = measured_report(3_000, 4_000), WrittenReport(policy_version=POLICY.version, groups=3)
    for number in range(3):
        beat = heartbeat(number)
        beat.loan.CopyFrom(loan_report_pb(replace(said, source=f"cgroup v{number}")))
        beat.written.CopyFrom(written_report_pb(replace(written, groups=number)))
        if number == 1:
            beat.written.best_effort = "kubepods/$(reboot)"
        if number == 2:
            beat.loan.loans[0].amount += 1
        await call(protocol, "nodeHeartbeat", node_context(NODE.host.encode()), beat)
        facts = world.rm.facts.of(NODE.host)
        assert facts is not None
        assert facts.said is not None
        assert facts.written is not None
        assert (facts.said.report.source, facts.written.report.groups) == [
            ("cgroup v0", 0),
            ("cgroup v1", 0),
            ("cgroup v1", 2),
        ][number]
    assert "capacity.loans" in world.rm.facts.refused[NODE]


async def test_a_bad_emergency_does_not_count_and_the_beat_does(world: World, protocol: RpcProtocol) -> None:
    world.rm.lending.use(rules_of(dialect("koordinator"), {}, 1000))
    world.rm.use_colocation(ColocationSwitch(policy=POLICY))
    await call(protocol, "registerNodeManager", context(), registration())
    for number, seconds in enumerate((60, 60_000)):
        beat = heartbeat(number, is_healthy=False)
        beat.emergency.CopyFrom(emergency_pb(MemoryEmergency(reason="node memory", cool_down_s=60)))
        beat.emergency.cool_down_s = seconds
        answer = await call(protocol, "nodeHeartbeat", node_context(NODE.host.encode()), beat)
        assert answer.response_id == number + 1
    declared = world.rm.facts.emergency_on(NODE.host)
    assert declared is not None
    assert (declared.reason, declared.cool_down_s) == ("node memory", 60)
    assert "emergency.cool_down_s" in world.rm.facts.refused[NODE]


async def test_report_of_remote_shuffle_that_is_malformed_does_not_cost_the_heartbeat(
    world: World, protocol: RpcProtocol
) -> None:
    words = (ShuffleProperty("service", "spark-decommission", "root.default"),)
    queue = world.rm.state.queues["root.default"]
    world.rm.state.queues["root.default"] = replace(queue, shuffle=words)
    command = pb.ApplicationSubmissionContextProto()
    command.am_container_spec.command.extend(["java", MASTER_CLASS])
    am = await world.running_am(context=command.SerializeToString())
    report = Report(ShuffleOutcome.ADDED, (LeftOut(("spark.decommission.enabled",), Cause(Reason.OVERRIDDEN)),))
    for keys_length, status in ((1_000, Status.DECIDED), (1, Status.ADDED)):
        beat = heartbeat(world.rm.nodes.runtimes[NODE].response_id)
        add_status(beat, am.container.id, pb.C_RUNNING, -1000)
        beat.shuffle.extend(reports_pb({am.container.id: report}))
        beat.shuffle[0].left_out[0].keys.append("k" * keys_length)
        await call(protocol, "nodeHeartbeat", context(), beat)
        decision = world.attempt(am.attempt_id).shuffle
        assert decision is not None
        assert decision.status is status


async def test_a_closed_connection_is_that_of_the_agent_that_spoke_on_it(world: World, protocol: RpcProtocol) -> None:
    closed = asyncio.Event()

    def over(*address: Any) -> None:
        protocol.closed(*address)
        closed.set()

    async with serving(replace(protocol, closed=over), ServerSecurity(allow_simple=True)) as port:
        client = client_of(NAME, port)
        await client.call("registerNodeManager", registration(), msg.RegisterNodeManagerResponseProto)
        await client.call("nodeHeartbeat", heartbeat(), msg.NodeHeartbeatResponseProto)
        assert not world.rm.nodes.runtimes[NODE].is_closed
        await client.close()
        await asyncio.wait_for(closed.wait(), 10)
        assert world.rm.nodes.runtimes[NODE].is_closed


async def test_every_list_of_an_answer_is_sent(
    world: World, protocol: RpcProtocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    am = await world.running_am()
    one, two = (ContainerId.of(am.attempt_id, number) for number in (7, 8))
    given = HeartbeatAnswer(
        containers_to_clean_up=[one],
        containers_to_forget=[two],
        applications_to_clean_up=[am.application_id],
        on_notice=[two, one],
        eviction_ranks=[one, two],
    )
    monkeypatch.setattr(world.rm.heartbeats, "take", lambda _: given)
    answer = await call(protocol, "nodeHeartbeat", context(), heartbeat())
    assert [ids.application_id(i) for i in answer.applications_to_cleanup] == [am.application_id]
    lists = (
        answer.containers_to_cleanup,
        answer.containers_to_be_removed_from_nm,
        answer.containers_on_notice,
        answer.eviction_ranks,
    )
    assert [[ids.container_id(i) for i in found] for found in lists] == [[one], [two], [two, one], [one, two]]
