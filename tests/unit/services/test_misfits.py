from __future__ import annotations

from dataclasses import replace

from tests.support.playbook import Am, World, ask, key
from tests.support.rm_options import LIMITS, Options
from yodel.domain.allocation.demands import Misfit
from yodel.domain.ask_book import SchedulingAsk
from yodel.domain.constraints import Single, TagTarget
from yodel.domain.ids import NodeId
from yodel.domain.resource import Resource
from yodel.services.scheduling.misfits import REJECT_AFTER_S

WITH_ZK = Single(minimum=1, targets=(TagTarget("zk"),))


def strict(count: int) -> tuple[object, ...]:
    return ask(count, "nowhere"), ask(count, relax_locality=False)


async def hear(world: World) -> list[Misfit]:
    heard: list[Misfit] = []
    world.rm.misfits.tell = heard.append
    return heard


async def beat_and_settle(am: Am, *asks: object, **changes: object) -> None:
    await am.beat(*asks, **changes)  # type: ignore[arg-type]
    await am.world.settle()


async def test_misfit_is_told_once_and_forgotten_when_nobody_wants_it(world: World) -> None:
    am, heard = await world.running_am(), await hear(world)
    await beat_and_settle(am, *strict(2))
    await beat_and_settle(am, ask(1, priority=9))  # ticks again
    assert [(misfit.count, misfit.attempt_id) for misfit in heard] == [(2, am.attempt_id)]
    assert len(world.rm.state.reasons.misfits) == 1
    assert not [c for c in world.live_tasks() if c.placement.is_strict]

    await beat_and_settle(am, ask(0))
    assert world.rm.state.reasons.misfits == {}


async def test_misfit_of_an_attempt_that_ends_is_forgotten(world: World) -> None:
    am = await world.running_am()
    await beat_and_settle(am, *strict(1))
    await world.run(world.rm.submission.kill(am.application_id, "alice"))
    await world.settle()
    assert world.rm.state.reasons.misfits == {}


async def test_misfit_is_served_as_soon_as_a_node_fits(world: World) -> None:
    am = await world.running_am()
    await beat_and_settle(am, *strict(1))
    await world.register_node(NodeId("nowhere", 1))
    await world.settle()
    assert world.rm.state.reasons.misfits == {}
    assert [c.placement.hosts for c in world.live_tasks()] == [("nowhere",)]


def request(**changes: object) -> SchedulingAsk:
    fields = {"key": key(), "count": 1, "tags": ("hbase",), "constraint": WITH_ZK, "message": b"m", **changes}
    return SchedulingAsk(**fields)  # type: ignore[arg-type]


async def test_placement_processor_gives_requests_back_after_a_while() -> None:
    async with World(Options(constraints_handler="placement-processor")) as world:
        am = await world.running_am()
        await beat_and_settle(am, scheduling_asks=[request()])
        assert world.rm.scheduler.again_in_s == REJECT_AFTER_S
        assert (await am.beat()).rejected == ()

        await world.pass_time(REJECT_AFTER_S)
        world.rm.scheduler.wake()
        await world.settle()
        answer = await am.beat()
        assert [(r.message, r.is_for_constraint) for r in answer.rejected] == [(b"m", True)]
        assert (answer.pending_count, world.rm.state.reasons.misfits) == (0, {})
        assert (await am.beat()).rejected == ()


async def test_request_that_is_too_large_is_given_back_for_its_size() -> None:
    allocation = replace(LIMITS, maximum_follows_nodes=False)
    async with World(Options(constraints_handler="placement-processor", allocation=allocation)) as world:
        await world.register_node(capability=Resource(2048, 2))
        am = await world.running_am()
        asked = request(key=key(capability=Resource(4096, 1)), constraint=None)
        await beat_and_settle(am, scheduling_asks=[asked])
        await world.pass_time(REJECT_AFTER_S)
        world.rm.scheduler.wake()
        await world.settle()
        assert [r.is_for_constraint for r in (await am.beat()).rejected] == [False]


async def test_scheduler_lets_requests_wait_and_never_gives_plain_asks_back(world: World) -> None:
    am = await world.running_am()
    await beat_and_settle(am, *strict(1), scheduling_asks=[request(key=key(allocation_request_id=5))])
    await world.pass_time(60)
    world.rm.scheduler.wake()
    await world.settle()
    assert (await am.beat()).rejected == ()
    assert len(world.rm.state.reasons.misfits) == 2
