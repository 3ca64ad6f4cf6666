from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

import pytest

from tests.support.playbook import World
from tests.support.records import a_container, a_container_id, a_node, an_application, an_attempt, an_attempt_id
from yodel.domain.container import Container
from yodel.domain.effects import CleanUpContainer, Tell
from yodel.domain.events import ContainerAcquired, ContainerEnded, KillRequested, NodeExpired, PodBound
from yodel.domain.ids import ContainerId, NodeId
from yodel.domain.states import ApplicationState, AttemptState, ContainerState, NodeState
from yodel.errors import (
    ApplicationAttemptNotFound,
    ApplicationNotFound,
    ContainerNotFound,
    IllegalTransition,
    NodeNotFound,
    Unavailable,
)
from yodel.ports.store import Commit, FencedOut, OutcomeUnknown, Row
from yodel.services.writer import engine as engine_module
from yodel.services.writer.engine import Engine
from yodel.services.writer.transaction import TOLD_AT_ONCE, Transaction
from yodel.store.memory_store import MemoryStore

NODE_ID = NodeId("node-1", 8041)


async def fill(world: World) -> None:
    """An application with an attempt, its AM and a task, on one node."""

    def work(tx: Transaction) -> None:
        tx.put(an_application(current_attempt=1))
        tx.put(an_attempt(state=AttemptState.RUNNING))
        tx.put(a_node(state=NodeState.RUNNING))
        for n in (2, 3):
            tx.put(a_container(container=n, state=ContainerState.RUNNING, node_id=NODE_ID))

    await world.run(world.rm.engine.do(work))


async def test_end_of_an_application_of_many_containers_is_decided_and_taken_over_in_slices(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of 20,000 kept the loop for 1.7 s: a second of it to take it over."""
    await fill(world)
    many = [a_container(container=n, state=ContainerState.RUNNING, node_id=NODE_ID) for n in range(4, 1004)]
    state, engine = world.rm.state, world.rm.engine

    def fill_more(tx: Transaction) -> None:
        for row in many:
            tx.put(row)

    await world.run(engine.do(fill_more))
    publish, ended = state.publish, list[ContainerId]()

    def noted(rows: Iterable[Row]) -> None:
        ended.extend(row.id for row in rows if isinstance(row, Container) and not row.is_live)
        publish(rows)

    monkeypatch.setattr(state, "publish", noted)
    kill = asyncio.ensure_future(engine.tell(Tell(an_application().id, KillRequested("enough", 0))))
    live, turns_before_commit = [len(list(state.live_containers()))], 0

    async def watch() -> None:
        nonlocal turns_before_commit
        while not kill.done():
            turns_before_commit += world.disk.containers[many[-1].id].is_live
            await asyncio.sleep(0)
            live.append(len(list(state.live_containers())))

    await world.run(_all([kill, watch()]))

    assert (live[0], live[-1]) == (1002, 0)
    assert turns_before_commit >= len(many) / TOLD_AT_ONCE
    most = max(before - after for before, after in pairwise(live))
    assert most == engine_module.TAKEN_OVER_AT_ONCE
    assert sorted(ended) == sorted(state.containers)  # each once
    assert all(row.state is ContainerState.COMPLETED for row in state.containers.values())
    assert state.containers == world.disk.containers
    assert not state.queue_use.by_queue


async def test_what_an_item_raises_is_its_callers_and_nothing_of_it_is_kept(world: World) -> None:
    def work(tx: Transaction) -> None:
        tx.put(an_application())
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await world.run(world.rm.engine.do(work))
    assert world.rm.state.applications == world.disk.applications == {}


async def test_items_that_wait_share_one_commit(world: World) -> None:
    engine = world.rm.engine
    world.steps.clear()
    works = [engine.do(lambda tx, n=n: tx.put(an_application(n))) for n in range(1, 51)]  # type: ignore[misc]
    await world.run(_all(works))

    assert world.steps == ["before commit", "after commit"]
    assert len(world.disk.applications) == 50


@pytest.mark.parametrize(("turns", "commits"), [(1, 1), (40, 3)])
async def test_items_that_come_in_the_loops_next_turns_share_a_commit(world: World, turns: int, commits: int) -> None:
    """A turn that brings nothing ends the gathering."""
    world.steps.clear()

    def put(number: int) -> asyncio.Future[None]:
        return asyncio.ensure_future(world.rm.engine.do(lambda tx: tx.put(an_application(number))))

    async def come() -> None:
        works = []
        for number in range(1, 4):
            works.append(put(number))
            for _ in range(turns):
                await asyncio.sleep(0)
        await asyncio.gather(*works)

    await world.run(come())
    assert world.steps == ["before commit", "after commit"] * commits


async def test_a_batch_has_a_maximum(world: World) -> None:
    world.steps.clear()
    works = [world.rm.engine.do(lambda tx: tx.put(an_application())) for _ in range(engine_module.BATCH_MAX + 1)]
    await world.run(_all(works))
    assert world.steps == ["before commit", "after commit"] * 2


async def test_item_sees_what_the_one_before_it_in_the_batch_did(world: World) -> None:
    engine = world.rm.engine
    seen: list[bool] = []
    first = engine.do(lambda tx: tx.put(an_application()))
    second = engine.do(lambda tx: seen.append(tx.has(an_application().id)))
    await world.run(_all([first, second]))
    assert seen == [True]


async def test_failing_item_does_not_spoil_its_batch(world: World) -> None:
    engine = world.rm.engine

    def bad(tx: Transaction) -> None:
        tx.put(an_application(9))
        raise KeyError

    results = await asyncio.gather(
        engine.do(lambda tx: tx.put(an_application(1))), engine.do(bad), return_exceptions=True
    )
    assert results[0] is None
    assert isinstance(results[1], KeyError)
    assert [a.sequence for a in world.disk.applications] == [1]


async def test_commit_that_fails_fails_all_its_items_and_publishes_nothing(world: World) -> None:
    engine = world.rm.engine
    world.commit_errors.append(Unavailable("away"))
    results = await asyncio.gather(
        *(engine.do(lambda tx, n=n: tx.put(an_application(n))) for n in (1, 2)),  # type: ignore[misc]
        return_exceptions=True,
    )
    assert [type(r) for r in results] == [Unavailable, Unavailable]
    assert world.rm.state.applications == {}


@pytest.mark.parametrize("silences", [0, 3])
async def test_answer_lost_of_a_commit_that_happened_is_found(world: World, silences: int) -> None:
    world.lost_answers.append(OutcomeUnknown("cut"))
    world.silences += [Unavailable("away")] * silences
    await world.run(world.rm.engine.do(lambda tx: tx.put(an_application())))
    assert [*world.rm.state.applications] == [*world.disk.applications] == [an_application().id]


async def test_effects_of_a_commit_whose_answer_was_lost_are_performed_once(world: World) -> None:
    await fill(world)
    seen: list[object] = []

    class Recorder:
        def perform(self, effect: object) -> None:
            seen.append(effect)

    world.rm.engine.perform_with(Recorder())
    world.lost_answers.append(OutcomeUnknown("cut"))
    await world.run(world.rm.engine.tell(Tell(a_container_id(1, 1, 2), ContainerEnded(0, "", 1))))
    assert seen
    assert len(seen) == len({*map(repr, seen)})


async def test_answer_lost_of_a_commit_that_did_not_happen_is_a_failure(world: World) -> None:
    world.commit_errors.append(OutcomeUnknown("cut"))
    with pytest.raises(Unavailable):
        await world.run(world.rm.engine.do(lambda tx: tx.put(an_application())))
    assert world.rm.state.applications == world.disk.applications == {}
    await world.run(world.rm.engine.do(lambda tx: tx.put(an_application(2))))
    assert [*world.disk.applications] == [an_application(2).id]


async def test_every_batch_has_a_number_of_its_own_across_failures_and_restarts(world: World) -> None:
    for n in (1, 2):
        await world.run(world.rm.engine.do(lambda tx, n=n: tx.put(an_application(n))))  # type: ignore[misc]
    world.commit_errors.append(Unavailable("full"))
    with pytest.raises(Unavailable):
        await world.run(world.rm.engine.do(lambda tx: tx.put(an_application(3))))
    await world.restart()
    world.commit_errors.append(OutcomeUnknown("cut"))  # the number that is there must not be taken for its own
    with pytest.raises(Unavailable):
        await world.run(world.rm.engine.do(lambda tx: tx.put(an_application(4))))
    assert sorted(a.sequence for a in world.disk.applications) == [1, 2]
    assert world.disk.identity is not None
    assert world.disk.identity.last_commit == 2


@pytest.mark.looptime
async def test_callers_are_refused_while_it_is_not_known_what_was_written(world: World) -> None:
    engine = Engine(world.rm.state, world.rm.engine._store, world.clock, ask_again_s=1)
    engine.perform_with(world.rm.performer)
    world.lost_answers.append(OutcomeUnknown("cut"))
    world.silences += [Unavailable("away")] * 3
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(engine.run())
        first = tasks.create_task(engine.do(lambda tx: tx.put(an_application(1))))
        await asyncio.sleep(0.5)
        with pytest.raises(Unavailable, match=r"does not answer.*away"):
            await engine.do(lambda tx: tx.put(an_application(2)))
        assert not first.done()
        await first
        assert asyncio.get_running_loop().time() == 3
        await engine.do(lambda tx: tx.put(an_application(3)))
        running.cancel()
    assert sorted(a.sequence for a in world.rm.state.applications) == [1, 3]


async def test_callers_who_wait_are_refused_when_the_store_falls_silent(world: World) -> None:
    """They are in the queue before the batch is sent: after the first silence they would be turned away at the door."""
    engine = world.rm.engine
    arrives = asyncio.Event()

    async def come_late() -> None:
        await arrives.wait()
        await engine.do(lambda tx: tx.put(an_application(2)))

    late = asyncio.create_task(come_late())
    store, commit = engine._store, engine._store.commit

    async def slow(written: Commit) -> None:
        store.commit = commit  # type: ignore[method-assign]
        arrives.set()
        while engine.waiting == 0:  # noqa: ASYNC110 - the queue tells nobody
            await asyncio.sleep(0)
        assert engine.doubt is None
        await commit(written)

    store.commit = slow  # type: ignore[method-assign]
    world.lost_answers.append(OutcomeUnknown("cut"))
    world.silences.append(Unavailable("away"))
    await world.run(engine.do(lambda tx: tx.put(an_application(1))))
    with pytest.raises(Unavailable, match="does not answer"):
        await late
    assert [a.sequence for a in world.disk.applications] == [1]


async def test_a_store_that_forgot_what_it_had_written_ends_the_writer(world: World) -> None:
    await fill(world)
    assert world.disk.identity is not None
    world.disk.identity = replace(world.disk.identity, last_commit=0)
    world.commit_errors.append(OutcomeUnknown("cut"))
    with pytest.raises(FencedOut, match="last commit is 0, ours were 1"):
        await world.run(world.rm.engine.do(lambda tx: tx.put(an_application(2))))


async def test_who_was_fenced_meanwhile_ends_instead_of_guessing(world: World) -> None:
    await MemoryStore(world.disk).open(now_ms=1, default_queues=())
    world.commit_errors.append(OutcomeUnknown("cut"))
    with pytest.raises(FencedOut):
        await world.run(world.rm.engine.do(lambda tx: tx.put(an_application())))


async def test_nothing_changed_is_nothing_written(world: World) -> None:
    await fill(world)
    world.steps.clear()
    await world.run(world.rm.engine.tell(Tell(a_container_id(1, 1, 2), PodBound(NODE_ID))))
    assert world.steps == []


async def test_one_event_reaches_everybody_it_concerns_in_one_transaction(world: World) -> None:
    await fill(world)
    application_id = an_application().id
    world.steps.clear()
    await world.run(world.rm.engine.tell(Tell(application_id, KillRequested("enough", 5))))

    assert world.steps == ["before commit", "after commit"]
    assert world.application(application_id).state is ApplicationState.KILLED
    assert world.attempt(an_attempt_id()).state is AttemptState.KILLED
    assert {c.exit_status for c in world.rm.state.containers.values()} == {-107}


async def test_stopping_a_nodes_containers_leaves_those_of_other_nodes(world: World) -> None:
    await fill(world)
    elsewhere = a_container(container=4, state=ContainerState.RUNNING, node_id=NodeId("node-2", 1))
    unbound = a_container(container=5)

    def work(tx: Transaction) -> None:
        tx.put(elsewhere)
        tx.put(unbound)
        tx.tell(NODE_ID, NodeExpired(1))

    await world.run(world.rm.engine.do(work))
    assert {c.id.sequence for c in world.rm.state.live_containers()} == {4, 5}


async def test_effects_are_performed_after_the_commit_and_before_the_caller_goes_on(world: World) -> None:
    await fill(world)
    seen: list[tuple[object, bool]] = []

    class Recorder:
        def perform(self, effect: object) -> None:
            ended = world.disk.containers[a_container_id(1, 1, 2)].state is ContainerState.COMPLETED
            seen.append((effect, ended))

    world.rm.engine.perform_with(Recorder())
    await world.run(world.rm.engine.tell(Tell(a_container_id(1, 1, 2), ContainerEnded(0, "", 1))))
    assert seen
    assert all(ended for _, ended in seen)
    assert not any(isinstance(effect, CleanUpContainer) for effect, _ in seen)


async def test_impossible_event_changes_nothing(world: World) -> None:
    await fill(world)
    with pytest.raises(IllegalTransition):
        await world.run(world.rm.engine.tell(Tell(a_container_id(1, 1, 2), ContainerAcquired())))
    assert world.container(a_container_id(1, 1, 2)).state is ContainerState.RUNNING


async def test_absent_entities_are_named(world: World) -> None:
    container_id = ContainerId.of(an_attempt_id(), 9)
    for wanted, error in (
        (lambda tx: tx.application(an_application().id), ApplicationNotFound),
        (lambda tx: tx.attempt(an_attempt_id()), ApplicationAttemptNotFound),
        (lambda tx: tx.container(container_id), ContainerNotFound),
        (lambda tx: tx.node(NODE_ID), NodeNotFound),
    ):
        with pytest.raises(error):
            await world.run(world.rm.engine.do(wanted))


async def test_late_word_on_what_is_gone_is_dropped_and_one_that_cannot_be_is_no_crash(world: World) -> None:
    await fill(world)
    world.rm.engine.tell_later(ContainerId.of(an_attempt_id(), 9), PodBound(NODE_ID))
    world.rm.engine.tell_later(a_container_id(1, 1, 2), ContainerAcquired())
    await world.settle()
    assert world.container(a_container_id(1, 1, 2)).state is ContainerState.RUNNING


async def test_full_queue_refuses_callers_and_drops_what_will_be_said_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "QUEUE_MAX", 1)
    engine = Engine(world.rm.state, world.rm.engine._store, world.clock)
    engine.tell_later(NODE_ID, NodeExpired(1))
    engine.tell_later(NODE_ID, NodeExpired(1))
    with pytest.raises(Unavailable):
        await engine.do(lambda _: None)


async def test_only_finished_applications_are_forgotten(world: World) -> None:
    await fill(world)
    application_id = an_application().id
    world.rm.engine.forget_application(application_id)
    await world.settle()
    assert application_id in world.disk.applications

    await world.run(world.rm.engine.tell(Tell(application_id, KillRequested("", 1))))
    world.rm.engine.forget_application(application_id)
    await world.settle()
    assert world.disk.applications == world.disk.attempts == world.disk.containers == {}


async def _all(works: list[object]) -> list[object]:
    return await asyncio.gather(*works)  # type: ignore[arg-type]


@pytest.mark.looptime
async def test_what_may_wait_is_written_at_once_and_then_in_company(world: World) -> None:
    engine = Engine(world.rm.state, world.rm.engine._store, world.clock, company_s=0.5)
    engine.perform_with(world.rm.performer)
    loop, written_s = asyncio.get_running_loop(), dict[int, float]()

    async def write(number: int, after_s: float, *, may_wait: bool = True) -> None:
        await asyncio.sleep(after_s)
        await engine.do(lambda tx: tx.put(an_application(number)), may_wait=may_wait)
        written_s[number] = loop.time()

    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(engine.run())
        await _all([write(1, 0.0), write(2, 0.1), write(3, 0.2), write(4, 0.8), write(5, 0.9, may_wait=False)])
        running.cancel()

    assert written_s == pytest.approx({1: 0.0, 2: 0.5, 3: 0.5, 4: 0.9, 5: 0.9}, abs=0.01)
