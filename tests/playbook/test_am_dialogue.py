"""An ApplicationMaster speaks in a fixed order, and hears what it needs after the ResourceManager was away."""

from __future__ import annotations

import pytest

from tests.support.playbook import Am, World, ask, complete, key, running
from tests.support.rm_options import SMALL, Options
from yodel.domain.allocation.demands import AllocationLimits
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId
from yodel.domain.resource import Resource
from yodel.domain.states import (
    ApplicationState,
    AttemptState,
    ContainerExitStatus,
    ContainerState,
    FinalApplicationStatus,
)
from yodel.errors import (
    AlreadyRegistered,
    ApplicationAttemptNotFound,
    InvalidResourceRequest,
    InvalidResponseId,
    InvalidValue,
    NotRegistered,
    Unavailable,
    UnknownToCache,
)
from yodel.services.masters.allocate import AllocateRequest
from yodel.services.masters.service import RESPONSE_ID_MASK

# --- registration and response ids ---------------------------------------------------------------------------------


async def test_am_registers_once(world: World) -> None:
    am = await world.running_am()
    with pytest.raises(AlreadyRegistered, match=f"Application Master is already registered : {am.application_id}"):
        await am.register()


async def test_unknown_attempt_is_refused(world: World) -> None:
    stranger = Am(world, ApplicationAttemptId(ApplicationId(1, 1), 1))
    for call in (stranger.register, stranger.finish):
        with pytest.raises(UnknownToCache, match=f"^Application doesn't exist in cache {stranger.attempt_id}$"):
            await call()
    text = f"^Application attempt {stranger.attempt_id} doesn't exist in ApplicationMasterService cache.$"
    with pytest.raises(ApplicationAttemptNotFound, match=text):
        await stranger.beat()


async def test_am_that_has_not_registered_is_told_to(world: World) -> None:
    await world.register_node()
    application_id = await world.submit()
    await world.settle()
    await world.bind_and_settle()
    am = Am(world, world.application(application_id).current_attempt_id)

    with pytest.raises(NotRegistered, match="AM is not registered for known application attempt"):
        await am.beat()
    with pytest.raises(NotRegistered, match="trying to unregister before registering"):
        await am.finish()


async def test_repeated_beat_gets_the_stored_answer_and_does_nothing(world: World) -> None:
    am = await world.running_am()
    await am.beat(ask(1))
    await world.settle()
    await world.bind_and_settle()

    first = await am.allocate(AllocateRequest(response_id=1))
    again = await am.allocate(AllocateRequest(response_id=1, asks=[ask(9)]))

    assert len(first.granted) == 1
    assert again is first
    assert (await am.allocate(AllocateRequest(response_id=2))).pending_count == 0


@pytest.mark.parametrize("response_id", [0, 3, 4, -1, RESPONSE_ID_MASK])
async def test_other_response_ids_are_refused(world: World, response_id: int) -> None:
    am = await world.running_am()
    await am.beat()
    await am.beat()

    with pytest.raises(InvalidResponseId, match=f"expect responseId to be 2, but get {response_id}"):
        await am.allocate(AllocateRequest(response_id=response_id))


async def test_response_ids_wrap_at_31_bits(world: World) -> None:
    am = await world.running_am()
    world.rm.state.masters.runtimes[am.attempt_id].dialogue.response_id = am.response_id = RESPONSE_ID_MASK

    last = await am.beat()
    assert last.response_id == 0
    assert await am.allocate(AllocateRequest(response_id=RESPONSE_ID_MASK)) is last


async def test_two_beats_at_once_are_taken_one_after_another(world: World) -> None:
    import asyncio

    am = await world.running_am()
    (container_id,) = await am.obtain(1)
    request = AllocateRequest(response_id=am.response_id, releases=[container_id])

    first, second = await asyncio.gather(am.allocate(request), am.allocate(request))

    assert first is second
    assert [c.id for c in first.completed] == [container_id]


async def test_unregistering_says_false_and_then_true(world: World) -> None:
    am = await world.running_am()
    assert [await am.finish(FinalApplicationStatus.FAILED, "bad day") for _ in range(3)] == [False, True, True]

    application = world.application(am.application_id)
    assert application.state is ApplicationState.FINISHING
    assert (application.final_status, application.diagnostics) == (FinalApplicationStatus.FAILED, "bad day")
    await am.exit(0)
    assert await am.finish() is True


async def test_tracking_url_can_change(world: World) -> None:
    am = await world.running_am()
    await am.beat(tracking_url="http://elsewhere:1")
    assert world.attempt(am.attempt_id).tracking_url == "http://elsewhere:1"
    assert world.disk.attempts[am.attempt_id].tracking_url == "http://elsewhere:1"


async def test_texts_of_an_am_have_a_limit(world: World) -> None:
    await world.register_node()
    application_id = await world.submit()
    await world.settle()
    await world.bind_and_settle()
    attempt_id = world.application(application_id).current_attempt_id

    with pytest.raises(InvalidValue):
        await world.run(world.rm.master.register(attempt_id, "h" * 5000, 1, ""))


@pytest.mark.parametrize(("said", "kept"), [(float("nan"), 0.0), (-1.0, 0.0), (0.25, 0.25), (7.0, 1.0)])
async def test_progress_is_between_nothing_and_all(world: World, said: float, kept: float) -> None:
    am = await world.running_am()
    await am.beat(progress=said)
    assert world.rm.queries.application(am.application_id).progress == kept


# --- asks ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [ask(-1), ask(1, capability=Resource(8193, 1)), ask(1, capability=Resource(1, -1))])
async def test_beat_with_an_impossible_ask_changes_nothing(world: World, bad: object) -> None:
    am = await world.running_am()
    with pytest.raises(InvalidResourceRequest):
        await am.beat(ask(5), bad)  # type: ignore[arg-type]

    assert (await am.beat()).pending_count == 0
    assert am.response_id == 1


async def test_asks_are_absolute(world: World) -> None:
    am = await world.running_am()
    for count in (2, 2, 3):
        await am.beat(ask(count))
        await world.settle()

    assert len(world.live_tasks()) == 3
    await am.beat(ask(1))
    await world.settle()
    assert len(world.live_tasks()) == 1


async def test_more_than_fits_waits_for_room() -> None:
    async with World(Options(allocation=AllocationLimits(minimum=SMALL, maximum=Resource(8192, 4)))) as world:
        await world.register_node(capability=Resource(3 * 1024, 8))
        am = await world.running_am()
        await am.beat(ask(5))
        await world.settle()
        assert len(world.live_tasks()) == 2  # one is the AM's

        await world.bind_and_settle()
        result = await am.beat()
        assert (len(result.granted), result.headroom.memory_mib, result.pending_count) == (2, 0, 3)

        await world.beat(complete(result.granted[0].container.id))
        await world.settle()
        assert len(world.live_tasks()) == 2


async def test_blacklisted_hosts_are_avoided(world: World) -> None:
    am = await world.running_am()
    await am.beat(ask(1), blacklist_additions=["bad-1", "bad-2"])
    await am.beat(blacklist_removals=["bad-1"])
    await world.settle()

    (container,) = world.live_tasks()
    assert container.placement.avoid == ("bad-2",)


async def test_lower_priority_number_is_served_first() -> None:
    async with World(Options(allocation=AllocationLimits(minimum=SMALL, maximum=Resource(8192, 4)))) as world:
        await world.register_node(capability=Resource(2 * 1024, 8))
        am = await world.running_am()
        await am.beat(ask(1, priority=20), ask(1, priority=5))
        await world.settle()

        assert [c.priority for c in world.live_tasks()] == [5]


async def test_second_am_waits_while_ams_hold_their_share() -> None:
    options = Options(allocation=AllocationLimits(minimum=SMALL, maximum=Resource(8192, 4), am_share=0.5))
    async with World(options) as world:
        await world.register_node(capability=Resource(4 * 1024, 8))
        first = await world.running_am(am_capability=Resource(2048, 1), am_asked_capability=Resource(2048, 1))
        second = await world.submit()
        await world.settle()
        assert world.rm.state.containers.keys() == {first.container.id}

        await first.finish()
        await first.exit()
        await world.settle()
        assert any(i.application_id == second for i in world.rm.state.containers)


# --- restarts ------------------------------------------------------------------------------------------------------


async def test_am_registers_again_after_a_restart_and_keeps_its_containers(world: World) -> None:
    am = await world.running_am()
    kept = await am.obtain(2)
    await world.beat(*(running(i) for i in kept))

    await world.restart()

    with pytest.raises(NotRegistered):
        await am.beat()
    assert (await world.beat()).must_resync
    await world.register_node(containers=[running(i) for i in (am.container.id, *kept)])
    await am.register()
    result = await am.beat(ask(0))
    await world.settle()

    assert not result.completed
    assert {c.id for c in world.live_tasks()} == {*kept}
    assert {c.state for c in world.live_tasks()} == {ContainerState.RUNNING}
    assert (await world.beat()).containers_to_clean_up == ()
    assert len(world.agents.started) == 1  # the AM was not launched again


async def test_container_ids_of_another_life_never_collide(world: World) -> None:
    am = await world.running_am()
    before = await am.obtain(2)
    await world.restart()
    await world.register_node()
    await am.register()
    after = await am.obtain(2)

    assert not {*before} & {*after}
    assert [i.epoch for i in (*before, *after)] == [0, 0, 1, 1]


async def test_containers_never_handed_out_are_given_back_at_a_restart(world: World) -> None:
    am = await world.running_am()
    await am.beat(ask(2))
    await world.settle()
    first, second = sorted(c.id for c in world.live_tasks())
    world.pods.change(world.pods.created[-1], node_name="node-1")
    await world.settle()

    await world.restart()
    await world.settle()

    assert world.live_tasks() == []
    assert not world.has_pod(first)
    assert not world.has_pod(second)
    await am.register()
    assert not (await am.beat()).completed  # it never knew of them


async def test_launch_under_way_is_repeated_after_a_restart(world: World) -> None:
    await world.register_node()
    application_id = await world.submit()
    await world.settle()
    world.agents.errors.append(Unavailable("the RM dies before it hears the answer"))
    await world.bind_and_settle()
    attempt_id = world.application(application_id).current_attempt_id
    assert world.attempt(attempt_id).state is AttemptState.ALLOCATED

    await world.restart()
    await world.settle()

    assert world.attempt(attempt_id).state is AttemptState.LAUNCHED
    assert [s.container_id for s in world.agents.started] == [ContainerId.of(attempt_id, 1)]


async def test_submission_that_was_answered_survives_a_restart(world: World) -> None:
    application_id = await world.submit()
    await world.restart()
    await world.register_node()
    await world.settle()

    assert world.application(application_id).state is ApplicationState.ACCEPTED
    assert len(world.pods.created) == 1


async def test_token_of_a_running_am_is_good_after_a_restart(world: World) -> None:
    am = await world.running_am()
    token = world.rm.tokens.amrm_token(am.attempt_id)
    await world.restart()

    assert world.rm.tokens.amrm_password(token.identifier) == (am.attempt_id, token.password)


async def test_am_that_ended_while_the_rm_was_away_is_noticed(world: World) -> None:
    am = await world.running_am()
    await world.restart()
    await world.register_node(containers=[complete(am.container.id, 1, "gone meanwhile")])
    await world.settle()

    assert world.attempt(am.attempt_id).state is AttemptState.FAILED
    assert world.application(am.application_id).current_attempt == 2


async def test_pod_deleted_while_the_rm_was_away_is_noticed(world: World) -> None:
    am = await world.running_am()
    (container_id,) = await am.obtain(1)
    await world.beat(running(container_id))
    await world.stop()
    world.pods.remove(world.pods.created[-1])
    await world.start()
    await world.settle()
    await am.register()

    assert [(c.id, c.exit_status) for c in (await am.beat()).completed] == [(container_id, -100)]


async def test_restart_keeps_the_two_ends_of_an_unregistering_am(world: World) -> None:
    am = await world.running_am()
    await am.finish()
    await world.restart()

    assert await am.finish() is True
    await world.register_node(containers=[complete(am.container.id)])
    assert world.application(am.application_id).state is ApplicationState.FINISHED


async def test_ask_of_another_size_is_another_wish(world: World) -> None:
    am = await world.running_am()
    await am.beat(ask(1), ask(1, capability=Resource(2048, 1)), ask(1, allocation_request_id=7))
    await world.settle()

    book = world.rm.state.masters.runtimes[am.attempt_id].wishes.asks
    assert [book.count(k) for k in (key(), key(capability=Resource(2048, 1)), key(allocation_request_id=7))] == [1] * 3
    assert len(world.live_tasks()) == 3


async def test_node_that_registers_again_does_not_count_twice(world: World) -> None:
    await world.register_node()
    await world.register_node()
    await world.register_node(NodeId("node-2", 8041), capability=Resource(1024, 1))
    assert world.rm.state.node_index.usable_count == 2
    assert world.rm.state.usable_resource == Resource(16_384 + 1024, 17)


async def test_word_of_another_node_on_a_container_is_worth_nothing(world: World) -> None:
    """A container that has no node yet is covered too: who runs it was given its token, which names the node."""
    elsewhere = NodeId("node-9", 8041)
    await world.register_node(elsewhere)
    am = await world.running_am()
    (granted,) = await am.obtain(1)
    await am.beat(ask(1))
    await world.settle()
    (planned,) = (one.id for one in world.rm.state.live_containers() if one.state is ContainerState.PLANNED)
    ends = [complete(one, ContainerExitStatus.PREEMPTED) for one in (am.container.id, granted, planned)]
    answer = await world.beat(*ends, node_id=elsewhere)
    assert {*answer.containers_to_forget} == {am.container.id, granted, planned}, "it need not say it again"
    assert all(world.container(one).is_live for one in answer.containers_to_forget)
    assert world.rm.reports.preempted_count == 0


async def test_container_that_could_not_be_given_back_at_a_restart_is_not_granted_on_top(world: World) -> None:
    am = await world.running_am()
    await am.beat(ask(1))
    await world.settle()
    (left_over,) = world.live_tasks()

    await world.stop()
    await world.start()
    world.commit_errors.append(Unavailable("the database is away"))
    await world.settle()
    assert world.container(left_over.id).is_live
    await world.register_node()
    await am.register()
    await am.beat(ask(1))
    await world.settle()
    await world.bind_and_settle()

    granted = [g.container.id for _ in range(3) for g in (await am.beat()).granted]
    assert len(granted) == 1
    assert left_over.id not in granted
    world.rm.liveness.look()
    await world.beat(*(running(i) for i in (am.container.id, *granted)))
    world.clock.advance(590)
    await am.beat()
    await world.beat()
    await world.pass_time(11)
    assert not world.container(left_over.id).is_live
