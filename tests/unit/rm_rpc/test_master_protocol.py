from __future__ import annotations

from typing import Any

import pytest

from tests.support.fakes import NODE
from tests.support.playbook import Am, World, complete
from tests.support.rm_options import Options
from tests.support.rpc_calls import call, client_of, context, every_method, serving
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, NodeId
from yodel.domain.resource import Resource
from yodel.domain.tokens import MasterKey, Token
from yodel.errors import (
    ApplicationAttemptNotFound,
    InvalidBlacklistRequest,
    InvalidResourceRequest,
    InvalidResponseId,
    InvalidValue,
)
from yodel.hadoop_pb import applicationmaster_protocol_pb2 as service_pb
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_pb import yarn_service_protos_pb2 as msg
from yodel.hadoop_rpc import faults
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.pb_convert import ids
from yodel.rm_rpc.master_protocol import NAME, MasterProtocol
from yodel.rpc_io.dispatch import RpcProtocol
from yodel.rpc_io.server import ServerSecurity
from yodel.services.writer.outbox import RejectedAsk
from yodel.serving.pieces import PIECE
from yodel.telemetry.limits import REFUSALS


@pytest.fixture
def master(world: World) -> MasterProtocol:
    return MasterProtocol(world.rm.master, world.rm.queries, world.rm.tokens)


@pytest.fixture
def protocol(master: MasterProtocol) -> RpcProtocol:
    return master.protocol()


async def launched(world: World) -> Am:
    await world.register_node()
    context = pb.ApplicationSubmissionContextProto()
    context.am_container_spec.command.append("run the AM")
    context.am_container_spec.application_ACLs.add(accessType=pb.APPACCESS_VIEW_APP, acl="bob")
    application_id = await world.submit(view_acl="bob", context=context.SerializeToString())
    await world.settle()
    await world.bind_and_settle()
    return Am(world, world.application(application_id).current_attempt_id)


def allocate(response_id: int, count: int | None = None, **fields: Any) -> msg.AllocateRequestProto:
    request = msg.AllocateRequestProto(response_id=response_id, progress=0.5, **fields)
    if count is not None:
        ask = request.ask.add(resource_name="*", num_containers=count, allocation_request_id=-1)
        ask.priority.priority = 0
        ask.capability.CopyFrom(ids.resource_pb(Resource(1024, 1)))
    return request


async def test_master_gets_the_key_of_its_clients_tokens_and_the_same_after_a_restart() -> None:
    """An attempt has its own key, in its row: drawn when it starts, so that a takeover changes nothing."""
    async with World(Options(is_secured=True)) as world:
        other, am = await launched(world), await launched(world)
        keys = []
        for _ in range(2):
            protocol = MasterProtocol(world.rm.master, world.rm.queries, world.rm.tokens).protocol()
            request = msg.RegisterApplicationMasterRequestProto(host="h", rpc_port=1)
            caller = context(attempt_id=am.attempt_id, world=world)
            registered = await call(protocol, "registerApplicationMaster", caller, request)
            keys.append(registered.client_to_am_token_master_key)
            await world.restart()
        assert [len(key) for key in keys] == [20, 20]
        assert keys[0] == keys[1] != world.rm.state.attempts[other.attempt_id].client_key
        assert repr(keys[0]) not in repr(world.rm.state.attempts[am.attempt_id])


async def test_master_gets_no_key_without_security(world: World, protocol: RpcProtocol) -> None:
    am = await launched(world)
    request = msg.RegisterApplicationMasterRequestProto(host="h", rpc_port=1)
    caller = context(attempt_id=am.attempt_id, world=world)
    registered = await call(protocol, "registerApplicationMaster", caller, request)
    assert not registered.HasField("client_to_am_token_master_key")


async def test_dialogue_of_an_am_in_protobuf(world: World, protocol: RpcProtocol) -> None:
    am = await launched(world)
    caller = context(attempt_id=am.attempt_id, world=world)

    registered = await call(
        protocol,
        "registerApplicationMaster",
        caller,
        msg.RegisterApplicationMasterRequestProto(host="h", rpc_port=1, tracking_url="http://h:1"),
    )
    assert registered.maximumCapability.memory == 8192  # absent ends MapReduce's and Flink's AM
    assert registered.queue == "root.default"
    assert {a.accessType: a.acl for a in registered.application_ACLs} == {pb.APPACCESS_VIEW_APP: "bob"}
    assert [t.name for t in registered.resource_types] == ["memory-mb", "vcores"]

    idle = await call(protocol, "allocate", caller, allocate(0, 1))
    assert (idle.response_id, idle.num_cluster_nodes) == (1, 1)
    for name in ("limit", "application_priority", "enhanced_headroom"):
        assert idle.HasField(name), name
    await world.settle()
    await world.bind_and_settle()

    answer = await call(protocol, "allocate", caller, allocate(1))
    (granted,) = answer.allocated_containers
    (nm_token,) = answer.nm_tokens
    assert granted.nodeId == nm_token.nodeId == ids.node_id_pb(NODE)
    assert granted.priority.HasField("priority")
    container_id = ids.container_id(granted.id)

    await world.beat(complete(container_id, 3, "boom"))
    (status,) = (await call(protocol, "allocate", caller, allocate(2))).completed_container_statuses
    assert (ids.container_id(status.container_id), status.exit_status, status.diagnostics) == (container_id, 3, "boom")

    finish = msg.FinishApplicationMasterRequestProto(final_application_status=pb.APP_SUCCEEDED)
    first = await call(protocol, "finishApplicationMaster", caller, finish)
    second = await call(protocol, "finishApplicationMaster", caller, finish)
    assert [first.isUnregistered, second.isUnregistered] == [False, True]


async def test_releases_and_nodes_that_come_and_go(world: World, protocol: RpcProtocol) -> None:
    am = await world.running_am()
    (container_id,) = await am.obtain(1)
    caller = context(attempt_id=am.attempt_id, world=world)
    await world.run(world.rm.registration.unregister(NODE))
    await world.settle()

    request = allocate(am.response_id, release=[ids.container_id_pb(container_id)])
    with pytest.raises(ApplicationAttemptNotFound):  # its own container was on that node
        await call(protocol, "allocate", caller, request)


async def test_node_update_says_whether_it_is_usable(world: World, protocol: RpcProtocol) -> None:
    am = await world.running_am()
    other = NodeId("node-2", 8041)
    await world.register_node(other)
    await am.beat()
    await world.beat(node_id=other, is_healthy=False, health_report="disk full")
    await world.settle()
    caller = context(attempt_id=am.attempt_id, world=world)

    (node,) = (await call(protocol, "allocate", caller, allocate(am.response_id))).updated_nodes
    assert (node.node_state, node.node_update_type) == (pb.NS_UNHEALTHY, pb.NODE_UNUSABLE)
    assert node.health_report == "disk full"


async def test_ask_over_the_maximum_refuses_the_beat(world: World, protocol: RpcProtocol) -> None:
    am = await world.running_am()
    request = allocate(0, 1)
    request.ask[0].capability.memory = 8193
    with pytest.raises(InvalidResourceRequest):
        await call(protocol, "allocate", context(attempt_id=am.attempt_id, world=world), request)


async def test_scheduling_requests_are_refused_as_with_the_handler_disabled(
    world: World, protocol: RpcProtocol
) -> None:
    am = await world.running_am()
    request = allocate(0)
    request.scheduling_requests.add(allocationRequestId=1)
    caller = context(attempt_id=am.attempt_id, world=world)
    with pytest.raises(RemoteFault, match=f"^{faults.YARN_EXCEPTION}: Found non empty SchedulingRequest in Allo"):
        await call(protocol, "allocate", caller, request)
    with pytest.raises(InvalidResponseId):  # who calls, and when, is looked at first
        await call(protocol, "allocate", caller, allocate(7, scheduling_requests=request.scheduling_requests))

    answer = await call(protocol, "allocate", caller, allocate(0))
    assert await call(protocol, "allocate", caller, request) == answer  # a repeat: nobody looks what is in it


async def test_placement_constraints_are_refused_before_anything_is_registered(
    world: World, protocol: RpcProtocol
) -> None:
    am = await launched(world)
    caller = context(attempt_id=am.attempt_id, world=world)
    request = msg.RegisterApplicationMasterRequestProto(host="h")
    request.placement_constraints.add(allocation_tags=["hbase"])
    with pytest.raises(RemoteFault, match="Rejecting this registerApplicationMaster operation"):
        await call(protocol, "registerApplicationMaster", caller, request)
    assert not world.rm.state.masters.runtimes[am.attempt_id].dialogue.is_registered


async def test_more_constraints_than_may_be_registered_are_refused_and_none_is_left_out(world: World) -> None:
    am = await launched(world)
    rm, caller = world.rm, context(attempt_id=am.attempt_id, world=world)
    taking = MasterProtocol(rm.master, rm.queries, rm.tokens, are_constraints_taken=True).protocol()
    register = msg.RegisterApplicationMasterRequestProto(host="h")
    for number in range(1001):
        entry = register.placement_constraints.add(allocation_tags=[f"t{number}"])
        simple = entry.placement_constraint.simpleConstraint
        simple.scope, simple.minCardinality, simple.maxCardinality = "node", 0, 0
        simple.targetExpressions.add(targetType="ALLOCATION_TAG", targetKey="self", targetValues=["zk"])
    before = REFUSALS.counts()["constraints_registered"]
    with pytest.raises(InvalidResourceRequest, match="constraints_registered is 1001, where at most 1000 are"):
        await call(taking, "registerApplicationMaster", caller, register)
    assert REFUSALS.counts()["constraints_registered"] == before + 1
    assert not world.rm.state.masters.runtimes[am.attempt_id].dialogue.is_registered
    del register.placement_constraints[-1]
    await call(taking, "registerApplicationMaster", caller, register)
    assert len(world.rm.state.masters.runtimes[am.attempt_id].dialogue.constraints) == 1000


async def test_constraints_and_scheduling_requests_are_taken_where_a_handler_is_configured(world: World) -> None:
    am = await launched(world)
    rm, caller = world.rm, context(attempt_id=am.attempt_id, world=world)
    taking = MasterProtocol(rm.master, rm.queries, rm.tokens, are_constraints_taken=True).protocol()
    register = msg.RegisterApplicationMasterRequestProto(host="h")
    entry = register.placement_constraints.add(allocation_tags=["zk"])
    simple = entry.placement_constraint.simpleConstraint
    simple.scope, simple.minCardinality, simple.maxCardinality = "node", 0, 0
    simple.targetExpressions.add(targetType="ALLOCATION_TAG", targetKey="self", targetValues=["zk"])
    await call(taking, "registerApplicationMaster", caller, register)

    request = allocate(0)
    sizing = pb.ResourceSizingProto(numAllocations=2, resources=ids.resource_pb(Resource(1024, 1)))
    asked = request.scheduling_requests.add(allocationRequestId=5, allocationTags=["zk"], resourceSizing=sizing)
    await call(taking, "allocate", caller, request)
    await world.settle()
    await world.bind_and_settle()
    answer = await call(taking, "allocate", caller, allocate(1))
    (granted,) = answer.allocated_containers
    assert (list(granted.allocation_tags), granted.allocation_request_id) == (["zk"], 5)

    rm.state.masters.runtimes[am.attempt_id].outbox.reject(RejectedAsk(asked.SerializeToString(), True))
    (rejected,) = (await call(taking, "allocate", caller, allocate(2))).rejected_scheduling_requests
    assert (rejected.reason, rejected.request) == (pb.RRP_COULD_NOT_PLACE_ON_NODE, asked)


async def test_am_gets_a_new_token_when_the_master_key_was_rolled(world: World, protocol: RpcProtocol) -> None:
    am = await world.running_am()
    caller = context(attempt_id=am.attempt_id, world=world)
    assert not (await call(protocol, "allocate", caller, allocate(0))).HasField("am_rm_token")

    world.rm.tokens.roll("amrm", MasterKey(key_id=77, secret=b"n" * 32))
    for response_id in (1, 2):  # until it comes with the new one
        answer = await call(protocol, "allocate", caller, allocate(response_id))
        assert world.rm.tokens.amrm_password(answer.am_rm_token.identifier) == (
            am.attempt_id,
            answer.am_rm_token.password,
        )
    renewed = context(attempt_id=am.attempt_id, world=world)
    assert not (await call(protocol, "allocate", renewed, allocate(3))).HasField("am_rm_token")


async def test_resize_in_protobuf(world: World, protocol: RpcProtocol) -> None:
    am = await world.running_am()
    (task,) = await am.obtain(1)
    caller = context(attempt_id=am.attempt_id, world=world)
    request = allocate(am.response_id)
    for version, memory in ((0, 2048), (9, 4096)):
        request.update_requests.add(
            container_version=version,
            container_id=ids.container_id_pb(task),
            update_type=msg.INCREASE_RESOURCE,
            capability=ids.resource_pb(Resource(memory, 1)),
        )
    answer = await call(protocol, "allocate", caller, request)
    (error,) = answer.update_errors
    assert (error.reason, error.current_container_version) == ("INCORRECT_CONTAINER_VERSION_ERROR", 0)
    assert error.update_request == request.update_requests[1]
    await world.settle()

    (updated,) = (await call(protocol, "allocate", caller, allocate(am.response_id + 1))).updated_containers
    assert updated.update_type == msg.INCREASE_RESOURCE
    assert (updated.container.version, updated.container.resource.memory) == (1, 2048)
    assert ids.container_id(updated.container.id) == task


async def test_caller_without_an_am_token_is_nobody(protocol: RpcProtocol) -> None:
    for method in protocol.methods:
        with pytest.raises(RemoteFault) as raised:
            await call(protocol, method, context("alice"))
        assert raised.value.java_class == "org.apache.hadoop.security.AccessControlException"


def test_token_that_is_not_ours_gets_no_password(master: MasterProtocol) -> None:
    assert master.token_grant(b"garbage") is None


async def test_every_method_answers_over_the_wire_to_who_has_the_token(world: World, master: MasterProtocol) -> None:
    am = await launched(world)
    token = world.rm.tokens.amrm_token(am.attempt_id)
    security = ServerSecurity(allow_simple=False, token_passwords=master.token_grant)
    async with serving(master.protocol(), security) as port:
        answers = await every_method(
            client_of(NAME, port, user=str(am.attempt_id), token=token), service_pb, "ApplicationMasterProtocolService"
        )
        assert answers == dict.fromkeys(("registerApplicationMaster", "finishApplicationMaster", "allocate"))

        forged = Token(identifier=token.identifier, password=b"x" * 20, kind=token.kind, service="")
        for bad in (client_of(NAME, port, token=forged), client_of(NAME, port)):
            refused = await every_method(bad, service_pb, "ApplicationMasterProtocolService")
            assert {*refused.values()} <= {faults.SASL, faults.ACCESS_CONTROL, faults.INVALID_TOKEN}


async def test_last_words_that_are_not_utf_8_are_refused_by_name(world: World, protocol: RpcProtocol) -> None:
    am = await world.running_am()
    request = msg.FinishApplicationMasterRequestProto.FromString(b"\x0a\x02\xe2\x83\x18\x01")
    with pytest.raises(InvalidValue, match="diagnostics"):
        await call(protocol, "finishApplicationMaster", context(attempt_id=am.attempt_id, world=world), request)


async def test_long_request_means_what_a_short_one_does(world: World, protocol: RpcProtocol) -> None:
    """It is read in pieces, so that others are answered between."""
    am = await world.running_am()
    caller = context(attempt_id=am.attempt_id, world=world)
    request = allocate(am.response_id)
    for number in range(2 * PIECE + 1):
        ask = request.ask.add(resource_name="*", num_containers=2)
        ask.priority.priority = 100 + number
        ask.capability.memory, ask.capability.virtual_cores = 8192, 4
    request.blacklist_request.blacklist_additions.append("node-7")
    await call(protocol, "allocate", caller, request)
    runtime = world.rm.state.masters.runtimes[am.attempt_id]
    priorities = {ask.key.priority for ask in runtime.wishes.asks.lines() if ask.key.priority >= 100}
    assert priorities == set(range(100, 100 + 2 * PIECE + 1))
    assert "node-7" in runtime.wishes.blacklist


async def test_long_request_is_refused_as_a_short_one_is(world: World, protocol: RpcProtocol) -> None:
    am = await world.running_am()
    request = allocate(am.response_id)
    for number in range(PIECE + 1):
        request.ask.add(resource_name="x" * (600 if number == PIECE else 1), num_containers=1)
    with pytest.raises(InvalidValue, match="resource_name"):
        await call(protocol, "allocate", context(attempt_id=am.attempt_id, world=world), request)


@pytest.mark.parametrize("count", [100_001, 2**31 - 1])
async def test_too_many_containers_are_refused_in_hadoops_words_and_counted(
    world: World, protocol: RpcProtocol, count: int
) -> None:
    am, victim = await world.running_am(), await world.running_am(user="bob")
    caller, before = context(attempt_id=am.attempt_id, world=world), REFUSALS.counts()["asked_containers_per_key"]
    scheduling = msg.AllocateRequestProto(response_id=0)
    asked = scheduling.scheduling_requests.add()
    asked.resourceSizing.numAllocations = count
    asked.resourceSizing.resources.memory = 1024
    with pytest.raises(
        InvalidResourceRequest, match=rf"Too many containers requested: {count}; at most 100000 .*per_key_max"
    ):
        await call(protocol, "allocate", caller, allocate(0, count))
    taking = MasterProtocol(world.rm.master, world.rm.queries, world.rm.tokens, are_constraints_taken=True).protocol()
    with pytest.raises(InvalidResourceRequest, match="Too many containers requested"):
        await call(taking, "allocate", caller, scheduling)
    assert REFUSALS.counts()["asked_containers_per_key"] == before + 2
    assert world.rm.state.masters.wanted.count == 0
    others = context(attempt_id=victim.attempt_id, world=world)
    assert (await call(protocol, "allocate", others, allocate(0))).enhanced_headroom.total_pending_count == 0
    assert (await call(protocol, "allocate", caller, allocate(0, 100_000))).response_id == 1  # so many are taken


async def test_refusal_of_a_beat_that_writes_is_counted_and_changes_nothing(
    world: World, protocol: RpcProtocol
) -> None:
    am = await world.running_am()
    caller, before = context(attempt_id=am.attempt_id, world=world), REFUSALS.counts()["asked_containers"]
    request = allocate(0, tracking_url="http://elsewhere")
    for priority in range(11):
        ask = request.ask.add(resource_name="*", num_containers=100_000)
        ask.priority.priority = priority
        ask.capability.memory = 1024
    with pytest.raises(InvalidResourceRequest, match=r"1100000 in total; one .* 1000000 .asked_containers_max"):
        await call(protocol, "allocate", caller, request)
    assert REFUSALS.counts()["asked_containers"] == before + 1
    assert world.rm.state.masters.wanted.count == 0
    assert world.attempt(am.attempt_id).tracking_url != "http://elsewhere"


async def test_names_beyond_the_blacklist_and_amounts_beyond_a_type_are_refused_and_counted(
    world: World, protocol: RpcProtocol
) -> None:
    am, before = await world.running_am(), REFUSALS.counts()
    caller = context(attempt_id=am.attempt_id, world=world)
    names = msg.AllocateRequestProto(response_id=0)
    names.blacklist_request.blacklist_additions.extend(f"node-{n}" for n in range(10_000))
    await call(protocol, "allocate", caller, names)
    names.response_id = 1
    names.blacklist_request.blacklist_additions[0] = "another"
    with pytest.raises(InvalidBlacklistRequest, match=r"10001 names .* at most 10000"):
        await call(protocol, "allocate", caller, names)
    request = allocate(1, 1)
    request.ask[0].capability.resource_value_map.add(key="gpu", value=2**31)
    with pytest.raises(InvalidResourceRequest, match=r"Requested resource type=\[gpu\]"):
        await call(protocol, "allocate", caller, request)
    counts = REFUSALS.counts()
    told = ("blacklist_names", "extra_resource_amount")
    assert [counts[name] - before[name] for name in told] == [1, 1]


async def test_what_all_wait_for_fits_the_answer_however_much_it_is(world: World, protocol: RpcProtocol) -> None:
    am = await world.running_am()
    world.rm.state.masters.wanted.count = 2**40  # of more ApplicationMasters than a test has
    answer = await call(protocol, "allocate", context(attempt_id=am.attempt_id, world=world), allocate(0))
    assert answer.enhanced_headroom.total_pending_count == 2**31 - 1


async def test_counts_of_an_answer_are_of_its_own_moment_and_its_news_are_in_no_other(
    world: World, protocol: RpcProtocol
) -> None:
    am = await world.running_am()
    caller = context(attempt_id=am.attempt_id, world=world)
    found = []
    for count in (0, 5, 5, 0):
        world.rm.state.masters.wanted.count = count  # of other ApplicationMasters
        answer = await call(protocol, "allocate", caller, allocate(len(found)))
        found.append(
            (answer.response_id, answer.enhanced_headroom.total_pending_count, len(answer.allocated_containers))
        )
        answer.allocated_containers.add()
    assert found == [(1, 0, 0), (2, 5, 0), (3, 5, 0), (4, 0, 0)]


async def test_blacklist_over_the_wire_adds_and_removes_and_a_bad_name_is_refused_by_its_field(
    world: World, protocol: RpcProtocol
) -> None:
    am = await world.running_am()
    caller, wishes = (
        context(attempt_id=am.attempt_id, world=world),
        world.rm.state.masters.runtimes[am.attempt_id].wishes,
    )
    found = []
    for number, (added, removed) in enumerate(((["a", "b"], []), ([], []), (["c"], ["a"]))):
        names = pb.ResourceBlacklistRequestProto(blacklist_additions=added, blacklist_removals=removed)
        await call(protocol, "allocate", caller, allocate(number, blacklist_request=names))
        found.append(wishes.blacklist)
    assert found == [{"a", "b"}, {"a", "b"}, {"b", "c"}]
    not_utf8 = pb.ResourceBlacklistRequestProto.FromString(b"\x12\x01\xff")
    with pytest.raises(InvalidValue, match="blacklist_removals"):
        await call(protocol, "allocate", caller, allocate(3, blacklist_request=not_utf8))
    assert wishes.blacklist == {"b", "c"}


async def test_heartbeat_looks_its_attempt_up_without_comparing_ids(
    world: World, protocol: RpcProtocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dictionary compares a key only if it is another object."""
    am = await world.running_am()
    caller, compared = context(attempt_id=am.attempt_id, world=world), list[object]()
    for kind in (ApplicationAttemptId, ApplicationId):
        monkeypatch.setattr(kind, "__eq__", lambda one, _: compared.append(one) or True)
    await call(protocol, "allocate", caller, allocate(0))
    assert compared  # the first reads the token
    compared.clear()
    await call(protocol, "allocate", caller, allocate(1))
    assert not compared
