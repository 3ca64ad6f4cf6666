"""Smaller things that an ApplicationMaster asks for or is told: labels, execution types, tokens, launches."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.fakes import NODE
from tests.support.playbook import Am, World, ask, running
from tests.support.rm_options import Options
from yodel.domain.ids import NodeId
from yodel.domain.states import ApplicationState, AttemptState, ExecutionType, FinalApplicationStatus
from yodel.domain.tokens import MasterKey
from yodel.errors import InvalidBlacklistRequest, InvalidLabelRequest, Refused
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_pb import yarn_security_token_pb2 as token_pb
from yodel.services.liveness import LivenessSettings

OTHER = NodeId("node-2", 8041)


async def test_opportunistic_ask_is_answered_with_a_guaranteed_container_and_counted_off(world: World) -> None:
    am = await world.running_am()
    plain = ask(2)
    wanted = replace(plain, key=replace(plain.key, execution_type=ExecutionType.OPPORTUNISTIC))
    await am.beat(wanted)
    await world.settle()
    await world.bind_and_settle()
    answer = await am.beat()

    assert [g.container.execution_type for g in answer.granted] == [ExecutionType.GUARANTEED] * 2
    for granted in answer.granted:
        identifier = token_pb.ContainerTokenIdentifierProto.FromString(granted.token.identifier)
        assert identifier.executionType == pb.GUARANTEED
    assert answer.pending_count == 0
    await world.settle()
    assert len(world.live_tasks()) == 2


async def test_label_that_is_not_enabled_refuses_the_beat(world: World) -> None:
    am = await world.running_am()
    with pytest.raises(InvalidLabelRequest):
        await am.beat(replace(ask(1), node_label="gpu"))
    assert (await am.beat()).pending_count == 0


async def test_everywhere_cannot_be_blacklisted(world: World) -> None:
    am = await world.running_am()
    with pytest.raises(InvalidBlacklistRequest):
        await am.beat(blacklist_additions=["*"])


async def test_strict_locality_means_the_hosts_and_not_their_rack(world: World) -> None:
    """AMRMClient names the rack of each host, with relaxLocality false: it opens nothing."""
    am = await world.running_am()
    await am.beat(ask(1, "node-1"), ask(1, "/default-rack", relax_locality=False), ask(1, relax_locality=False))
    await world.settle()
    (task,) = world.live_tasks()
    assert (task.placement.hosts, task.placement.racks, task.placement.is_strict) == (("node-1",), (), True)


async def test_nm_token_is_given_again_after_its_key_was_changed(world: World) -> None:
    am = await world.running_am()
    await am.obtain(1)
    for expected in (0, 1):
        await am.beat(ask(1))
        await world.settle()
        await world.bind_and_settle()
        answer = await am.beat()
        assert len(answer.granted) == 1
        assert len(answer.nm_tokens) == expected
        world.rm.tokens.activate("nm", MasterKey(key_id=50, secret=b"n" * 32))


async def test_nm_token_is_given_again_after_its_agent_registered_anew(world: World) -> None:
    am = await world.running_am()
    (task,) = await am.obtain(1)
    await world.register_node(containers=[running(am.container.id), running(task)])
    await am.beat(ask(1))
    await world.settle()
    await world.bind_and_settle()
    assert [node_id for node_id, _ in (await am.beat()).nm_tokens] == [NODE]


async def test_every_container_token_carries_the_log_aggregation_context(world: World) -> None:
    context = pb.ApplicationSubmissionContextProto()
    context.am_container_spec.command.append("run the AM")
    context.log_aggregation_context.include_pattern = "std.*"
    am = await world.running_am(context=context.SerializeToString())
    await am.beat(ask(1))
    await world.settle()
    await world.bind_and_settle()
    (granted,) = (await am.beat()).granted

    (start,) = world.agents.started
    for token in (start.container_token, granted.token):
        identifier = token_pb.ContainerTokenIdentifierProto.FromString(token.identifier)
        assert identifier.logAggregationContext.include_pattern == "std.*"


async def test_finishing_am_gets_nothing_more(world: World) -> None:
    am = await world.running_am()
    await am.beat(ask(1))
    await world.settle()
    await world.bind_and_settle()
    await am.finish()

    answer = await am.beat(ask(7))
    await world.settle()

    assert not answer.granted
    assert world.live_tasks() == []  # what it was not told of is taken back
    assert (await am.beat()).response_id == answer.response_id + 1
    await am.exit(0)
    assert world.live_tasks() == []


async def test_node_that_comes_goes_sick_and_is_lost_is_told_each_time() -> None:
    async with World(Options(liveness=LivenessSettings(node_expiry_s=60))) as world:
        am = await world.running_am()
        await am.beat()
        seen = []
        await world.register_node(OTHER)
        seen += [(n.id.host, n.state.name) for n in (await am.beat()).changed_nodes]
        await world.beat(node_id=OTHER, is_healthy=False, health_report="disk full")
        await world.settle()
        seen += [(n.id.host, n.state.name) for n in (await am.beat()).changed_nodes]
        assert (await am.beat()).node_count == 1
        for _ in range(4):
            await world.beat(running(am.container.id))
            await am.beat()
            await world.pass_time(20)
        seen += [(n.id.host, n.state.name) for n in (await am.beat()).changed_nodes]
        assert seen == [("node-2", "RUNNING"), ("node-2", "UNHEALTHY"), ("node-2", "LOST")]


async def test_refused_launch_fails_the_attempt_in_amlaunchers_words(world: World) -> None:
    await world.register_node()
    application_id = await world.submit(max_attempts=1)
    await world.settle()
    world.agents.errors.append(Refused("org.apache.hadoop.yarn.exceptions.YarnException: no jar"))
    await world.bind_and_settle()

    attempt_id = world.application(application_id).current_attempt_id
    attempt = world.attempt(attempt_id)
    assert attempt.state is AttemptState.FAILED
    assert attempt.diagnostics == (
        f"Error launching {attempt_id}. Got exception: org.apache.hadoop.yarn.exceptions.YarnException: no jar"
    )
    application = world.application(application_id)
    assert application.state is ApplicationState.FAILED
    assert attempt.diagnostics in application.diagnostics
    assert list(world.rm.state.live_containers()) == []
    assert world.pods.pods == {}


# --- unmanaged ApplicationMasters ------------------------------------------------------------------------------------


async def unmanaged(world: World, **changes: object) -> Am:
    await world.register_node()
    application_id = await world.submit(is_unmanaged=True, **changes)
    await world.settle()
    return Am(world, world.application(application_id).current_attempt_id)


async def test_unmanaged_am_needs_no_pod_and_only_its_owner_gets_its_token(world: World) -> None:
    am = await unmanaged(world)
    assert world.attempt(am.attempt_id).state is AttemptState.LAUNCHED
    assert world.pods.pods == {}
    queries = world.rm.queries
    assert queries.application(am.application_id, "mallory").amrm_token is None
    token = queries.application(am.application_id, "alice").amrm_token
    assert token is not None
    assert world.rm.tokens.amrm_password(token.identifier) == (am.attempt_id, token.password)

    await am.register()
    (task,) = await am.obtain(1)
    assert await am.finish(FinalApplicationStatus.SUCCEEDED) is True
    await world.settle()
    assert world.application(am.application_id).state.is_final
    assert not world.container(task).is_live


async def test_unmanaged_am_that_never_registers_expires() -> None:
    async with World(Options(liveness=LivenessSettings(am_expiry_s=60, node_expiry_s=1e6))) as world:
        am = await unmanaged(world, max_attempts=5)
        await world.pass_time(61)
        application = world.application(am.application_id)
        assert application.state.is_final
        assert application.current_attempt == 1
        assert application.diagnostics.startswith(f"Unmanaged application {am.application_id} failed due to ")


async def test_unmanaged_am_that_keeps_containers_may_register_again_and_gets_them_back(world: World) -> None:
    am = await unmanaged(world, keep_containers_across_attempts=True)
    await am.register()
    tasks = await am.obtain(2)

    again = await am.register()

    assert {g.container.id for g in again.previous_containers} == {*tasks}
    assert [node_id for node_id, _ in again.nm_tokens] == [NODE]
    assert (await am.beat()).response_id == 1
