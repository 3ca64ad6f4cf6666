from __future__ import annotations

from tests.support.fakes import NODE
from tests.support.playbook import World
from yodel.domain.events import KillRequested
from yodel.domain.ids import ApplicationAttemptId, ApplicationId
from yodel.domain.states import AttemptState
from yodel.errors import Unavailable
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_rpc.writable import parse_credentials
from yodel.ports.node_agents import AmStart


async def bound(world: World) -> ApplicationAttemptId:
    """An attempt whose AM has a node and is not launched yet."""
    await world.register_node()
    application_id = await world.submit()
    await world.settle()
    world.agents.errors.append(Unavailable("not yet"))
    await world.bind_and_settle()
    return world.application(application_id).current_attempt_id


async def test_am_gets_its_token_and_the_environment_of_the_rm(world: World) -> None:
    am = await world.running_am()
    (start,) = world.agents.started
    context = pb.ContainerLaunchContextProto.FromString(start.launch_context)

    ((alias, token),) = parse_credentials(context.tokens).tokens
    assert alias == b""
    assert world.rm.tokens.amrm_password(token.identifier) == (am.attempt_id, token.password)
    environment = {e.key: e.value for e in context.environment}
    assert environment == {
        "APPLICATION_WEB_PROXY_BASE": f"/proxy/{am.application_id}",
        "APP_SUBMIT_TIME_ENV": str(world.application(am.application_id).submitted_ms),
    }
    assert (start.node_id, start.user) == (NODE, "alice")
    assert start.nm_token.service == start.container_token.service == str(NODE)


async def test_nothing_to_launch_is_success(world: World) -> None:
    am = await world.running_am()
    assert await world.run(world.rm.launcher.launch(am.attempt_id)) is None
    assert await world.run(world.rm.launcher.launch(ApplicationAttemptId(ApplicationId(1, 1), 1))) is None
    assert len(world.agents.started) == 1


async def test_agent_that_does_not_answer_is_asked_again_after_a_second(world: World) -> None:
    attempt_id = await bound(world)
    assert world.attempt(attempt_id).state is AttemptState.ALLOCATED
    await world.pass_time(1)
    assert world.attempt(attempt_id).state is AttemptState.LAUNCHED


async def test_application_forgotten_while_its_am_starts_is_no_error(world: World) -> None:
    attempt_id = await bound(world)
    application_id = attempt_id.application_id

    async def kill_meanwhile(start: AmStart) -> None:
        await world.rm.engine.do(lambda tx: tx.tell(application_id, KillRequested("enough", 1)))
        world.rm.engine.forget_application(application_id)
        await world.rm.engine.do(lambda _: None)

    world.agents.start_am = kill_meanwhile  # type: ignore[method-assign]
    assert await world.run(world.rm.launcher.launch(attempt_id)) is None
    assert application_id not in world.rm.state.applications
