"""A reader who asked is told once; one who did not costs nothing; what is kept is bounded."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.fakes import NODE
from tests.support.playbook import World, ask
from yodel.domain.activities import ActivityState, Look
from yodel.domain.ids import ApplicationId, NodeId
from yodel.domain.resource import Resource
from yodel.services.scheduling import activities as module
from yodel.services.scheduling.activities import Activities, of_node


def of(world: World) -> Activities:
    return world.rm.scheduler.activities


async def tick(world: World) -> None:
    await world.run(world.rm.scheduler.tick())


def said(look: Look | None) -> list[str]:
    assert look is not None
    return [request.diagnostic for application in look.applications for request in application.requests]


async def test_tick_that_nobody_asked_about_is_not_told(world: World) -> None:
    am = await world.running_am()
    await am.beat(ask(1000))
    await tick(world)
    assert of(world).last() is None
    assert of(world).of_application(am.application_id) is None


async def test_asking_wakes_the_scheduler_and_the_next_tick_answers_once(world: World) -> None:
    am = await world.running_am()
    await am.beat(ask(1000))
    woken: list[bool] = []
    of(world).wake = lambda: woken.append(True)
    of(world).arm()
    assert woken == [True]
    await tick(world)
    look = of(world).last()
    assert look is not None
    assert [a.application_id for a in look.applications] == [am.application_id]
    assert look.node_ids == (NODE,)
    world.clock.elapsed_ms += 5
    await tick(world)
    assert of(world).last() is look


@pytest.mark.looptime
async def test_readers_do_not_set_the_schedulers_pace(world: World) -> None:
    woken: list[bool] = []
    of(world).wake = lambda: woken.append(True)
    for _ in range(50):
        of(world).arm()
    assert len(woken) == 1
    await asyncio.sleep(module.WAKE_INTERVAL_S + 0.01)
    assert len(woken) == 2
    await asyncio.sleep(10)
    assert len(woken) == 2
    of(world).arm()
    assert len(woken) == 3


async def test_container_that_was_planned_is_named(world: World) -> None:
    am = await world.running_am()
    await am.beat(ask(1))
    of(world).arm()
    await tick(world)
    (task,) = world.live_tasks()
    look = of(world).last()
    assert look is not None
    (request,) = look.applications[0].requests
    assert (request.state, request.container_ids) == (ActivityState.ALLOCATED, (task.id,))


async def test_what_kubernetes_says_of_a_pod_is_said(world: World) -> None:
    am = await world.running_am()
    await am.beat(ask(1))
    await tick(world)
    (task,) = world.live_tasks()
    world.rm.state.reasons.explain_wait(task.id, "0/1 nodes are available: 1 Insufficient cpu.")
    of(world).arm()
    await tick(world)
    assert said(of(world).last()) == ["0/1 nodes are available: 1 Insufficient cpu."]


async def test_master_that_waits_for_a_node_is_said_too(world: World) -> None:
    await world.register_node()
    application_id = await world.submit()
    await tick(world)
    of(world).watch(application_id, 3)
    await tick(world)
    (look,) = of(world).of_application(application_id) or []
    assert said(look) == ["Pod is not scheduled yet"]


async def test_application_without_a_wish_says_so(world: World) -> None:
    am = await world.running_am()
    of(world).watch(am.application_id, 3)
    await tick(world)
    (look,) = of(world).of_application(am.application_id) or []
    assert look.applications[0].diagnostic == "Application does not need more resource"


async def test_application_is_told_of_as_long_as_it_was_asked_for(world: World) -> None:
    am = await world.running_am()
    await am.beat(ask(1000))
    of(world).watch(am.application_id, 2)
    for _ in range(3):
        await tick(world)
        world.clock.elapsed_ms += 1500
    assert len(of(world).of_application(am.application_id) or []) == 2


async def test_node_is_told_of_when_it_was_asked_about(world: World) -> None:
    other = NodeId("other", 1)
    await world.register_node(other, Resource(512, 1))
    am = await world.running_am()
    await am.beat(ask(1000))
    of(world).arm(NODE)
    assert of(world).last(NODE) is None
    await tick(world)
    look = of(world).last(NODE)
    assert look is not None
    assert of(world).last(other) is None
    nodes = {n.node_id for r in of_node(look, NODE).applications[0].requests for n in r.nodes}
    assert nodes <= {NODE}


async def test_what_is_old_is_not_shown(world: World) -> None:
    am = await world.running_am()
    of(world).arm()
    of(world).watch(am.application_id, 1)
    await tick(world)
    world.clock.elapsed_ms += module.TTL_MS
    assert of(world).last() is None
    assert of(world).of_application(am.application_id) == []


async def test_next_look_is_waited_for(world: World) -> None:
    await world.register_node()
    waiting = asyncio.create_task(of(world).next(5))
    await asyncio.sleep(0)
    await tick(world)
    assert await waiting == of(world).last()


async def test_scheduler_that_does_not_look_is_not_waited_for(world: World) -> None:
    assert await of(world).next(0) is None


async def test_asked_while_a_tick_is_written_is_for_the_next_one(world: World) -> None:
    am = await world.running_am()
    await am.beat(ask(1))
    of(world).watch(am.application_id, 3)
    writing = asyncio.create_task(world.rm.scheduler.tick())
    await asyncio.sleep(0)
    of(world).arm()
    await writing
    assert of(world).last() is None
    await tick(world)
    assert of(world).last() is not None


async def test_applications_watched_are_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WATCHED_MAX", 2)
    ams = [await world.running_am() for _ in range(3)]
    for am in ams:
        of(world).watch(am.application_id, 3)
    await tick(world)
    kept = [of(world).of_application(am.application_id) is not None for am in ams]
    assert kept == [False, True, True]


async def test_looks_and_lines_kept_are_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOKS_MAX", 3)
    am = await world.running_am()
    await am.beat(ask(1000))
    of(world).watch(am.application_id, 3)
    for _ in range(5):
        await tick(world)
    assert len(of(world).of_application(am.application_id) or []) == 3

    monkeypatch.setattr(module, "LINES_MAX", 7)
    await tick(world)
    assert len(of(world).of_application(am.application_id) or []) == 2


async def test_application_that_is_gone_is_told_of_no_more(world: World) -> None:
    gone = ApplicationId(1, 1)
    of(world).watch(gone, 3)
    await tick(world)
    assert of(world).of_application(gone) is None
