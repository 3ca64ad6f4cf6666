"""Windows of queues: what starts, what is given back and when, and what the clock, a restart, a change does to that."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace

import pytest

from tests.support.fakes import NODE
from tests.support.playbook import SMALL, Am, Options, World, ask, running
from yodel.domain.ids import ContainerId
from yodel.domain.preemption.rules import PreemptionRules
from yodel.domain.queues.queue import LimitEnforcement, Queue
from yodel.domain.queues.window import Window
from yodel.domain.resource import NONE
from yodel.domain.scheduler_conf import ConfUpdate, QueueUpdate
from yodel.domain.states import AttemptState, ContainerExitStatus
from yodel.domain.waiting_words import Cause
from yodel.services.scheduling.configuration import assembling

ROOT = Queue(path="root", is_leaf=False)
WINDOW = Window(name="day", cron="15 22 * * *", duration_s=600, maximum_percent=25.0)
"""It opens 100 s after the world begins, at 22:13:20."""
BEGIN_S, END_S = 100, 700
A = Queue(path="root.a", capacity_percent=50.0, user_limit_factor=-1.0, windows=(WINDOW,))
B = Queue(path="root.b", capacity_percent=50.0, user_limit_factor=-1.0)
RULES = PreemptionRules(max_wait_before_kill_s=15, monitoring_interval_s=3)
STAGE_S = 18


def options(*queues: Queue, rules: PreemptionRules = RULES) -> Options:
    """Sixteen small containers; of them four are left to ``a`` in its window."""
    return Options(queues=(ROOT, *(queues or (A, B))), preemption=rules)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with World(options()) as world:
        yield world


def held(world: World, path: str = "root.a") -> int:
    use = world.rm.state.queue_use.by_queue.get(path)
    return use.resource.vcores if use is not None else 0


async def full(world: World, count: int = 15, queue: str = "a") -> tuple[Am, list[ContainerId]]:
    am = await world.running_am(queue=queue)
    tasks = await am.obtain(count)
    await alive(world)
    return am, tasks


async def alive(world: World) -> None:
    live = [one for one in world.rm.state.live_containers() if one.node_id == NODE]
    await world.beat(*[running(one.id) for one in live])


async def go_on(world: World, seconds: float, step: float = 3.0) -> None:
    """Time goes by in rounds; what lives says so."""
    passed = 0.0
    while passed < seconds:
        await world.pass_time(min(step, seconds - passed))
        passed += step
        await alive(world)


def last_text(world: World, am: Am) -> str:
    return world.rm.queries.application(am.application_id).application.diagnostics


async def test_nothing_starts_above_the_windows_maximum_and_all_does_when_it_is_over(world: World) -> None:
    am, _ = await full(world, 1)
    await go_on(world, BEGIN_S)
    await am.beat(ask(9))
    await world.settle()
    assert held(world) == 4
    why = world.rm.queries.why.of(world.application(am.application_id))
    link = why.asks[0].chain[0]
    assert (link.cause, link.queue, link.limit, link.used) == (Cause.WINDOW, "root.a", SMALL * 4, SMALL * 4)
    assert "in window day of root.a until 2023-11-14T22:25+00:00" in link.text
    assert last_text(world, am) == link.text
    assert link.change.startswith("the window ends")
    await go_on(world, END_S - BEGIN_S - 3, 60)
    assert held(world) == 4
    await go_on(world, 3)
    assert held(world) == 11


async def test_what_is_above_goes_in_stages_with_notice_and_nothing_more(world: World) -> None:
    am, tasks = await full(world)
    await go_on(world, BEGIN_S, 50)
    told = {one.id for one in (await am.beat()).preempted}
    assert told == set(tasks[-3:]), "a quarter of the twelve that are above, the newest"
    counts = []
    for _ in range(4):
        await go_on(world, STAGE_S)
        counts.append(held(world))
    assert counts == [13, 10, 7, 4]
    ended = [world.container(task) for task in tasks if not world.container(task).is_live]
    assert {one.exit_status for one in ended} == {ContainerExitStatus.PREEMPTED}
    assert world.container(am.container.id).is_live
    await go_on(world, 120, 20)
    assert held(world) == 4
    assert not world.rm.preemption.notices


async def test_window_that_asks_nothing_back_only_keeps_new_ones_out() -> None:
    async with World(options(replace(A, windows=(replace(WINDOW, stages=0),)), B)) as world:
        am, tasks = await full(world, 9)
        await go_on(world, BEGIN_S + 200, 20)
        assert held(world) == 10
        await am.beat(releases=tasks[:7])
        await am.beat(ask(3))
        await world.settle()
        assert held(world) == 4


async def test_no_container_starts_just_before_it_and_nobody_gives_for_one() -> None:
    near = replace(A, windows=(replace(WINDOW, stop_new_before_s=60),))
    rules = replace(RULES, is_enabled=True, total_per_round=1.0, natural_termination_factor=1.0)
    async with World(options(near, B, rules=rules)) as world:
        am, _ = await full(world, 1)
        _, others = await full(world, 13, "b")
        await go_on(world, BEGIN_S - 60 - 1, 39)
        await go_on(world, 1)
        await am.beat(ask(2))
        await world.settle()
        assert held(world) == 2
        link = world.rm.queries.why.of(world.application(am.application_id)).asks[0].chain[0]
        assert (link.cause, link.text) == (
            Cause.WINDOW,
            "Window day of queue root.a begins at 2023-11-14T22:15+00:00: "
            "no new containers start in root.a before that.",
        )
        assert world.rm.quotas.headroom("root.a", "alice") == NONE
        await go_on(world, 57)
        assert held(world) == 2
        assert all(world.container(one).is_live for one in others)
        await go_on(world, 24)
        assert held(world) == 4, "within the window it has what that leaves it, and b gives what it borrowed"


async def test_restart_within_a_window_is_nothing_but_another_notice(world: World) -> None:
    await full(world)
    await go_on(world, BEGIN_S + 10, 10)
    await world.restart()
    await go_on(world, 5 * STAGE_S)
    assert held(world) == 4
    await world.restart()
    assert world.rm.quotas.tree.shares["root.a"].maximum == SMALL * 4
    await go_on(world, END_S, 60)
    assert not world.rm.quotas.windows.holds


async def test_clock_that_jumps_over_an_edge_and_back(world: World) -> None:
    am, _ = await full(world, 1)
    world.clock.skew_ms = BEGIN_S * 1000
    await am.beat(ask(9))
    await world.settle()
    assert held(world) == 4, "whoever decides looks at the clock, though nobody woke him"
    world.clock.skew_ms = 0
    await go_on(world, 3)
    assert held(world) == 11
    world.clock.skew_ms = 86_400_000
    await go_on(world, BEGIN_S, 25)
    assert world.rm.quotas.tree.shares["root.a"].maximum == SMALL * 4


async def test_row_that_changes_while_it_is_open(world: World) -> None:
    await full(world)
    await go_on(world, BEGIN_S + 4 * STAGE_S + 21)
    assert held(world) == 4
    lower = replace(A, windows=(replace(WINDOW, maximum_percent=12.5),))
    await world.run(world.rm.engine.do(lambda tx: tx.queues.rows.append(lower)))
    await go_on(world, 6)
    assert len(world.rm.preemption.notices) == 1, "stages begin anew"
    await go_on(world, 6 * STAGE_S)
    assert held(world) == 2
    gone = replace(A, windows=())
    await world.run(world.rm.engine.do(lambda tx: tx.queues.rows.append(gone)))
    assert world.rm.quotas.tree.shares["root.a"].maximum == SMALL * 16


async def test_notices_are_forgotten_when_it_ends_before_their_time() -> None:
    short = replace(A, windows=(replace(WINDOW, duration_s=60, stages=1),))
    async with World(options(short, B, rules=replace(RULES, max_wait_before_kill_s=90))) as world:
        am, _ = await full(world)
        await go_on(world, BEGIN_S, 50)
        assert len((await am.beat()).preempted) == 12
        await go_on(world, 300, 20)
        assert held(world) == 16


async def test_nothing_left_ends_masters_too_and_is_nobodys_failure() -> None:
    none = replace(A, windows=(replace(WINDOW, maximum_percent=0.0, stages=2),))
    async with World(options(none, B)) as world:
        am, _ = await full(world, 3)
        waiting = await world.submit(queue="a")
        await world.settle()
        await go_on(world, BEGIN_S + 4 * STAGE_S + 33)
        assert held(world) == 0
        application = world.application(am.application_id)
        assert not application.state.is_final
        assert world.rm.state.attempts[application.current_attempt_id].state is AttemptState.SCHEDULED
        assert not world.application(waiting).state.is_final
        await world.submit(queue="a")  # it is taken, and waits
        await go_on(world, END_S, 60)
        await world.bind_and_settle()
        assert held(world) == 3


async def test_what_is_below_a_queue_shares_what_a_window_leaves() -> None:
    parent = replace(A, is_leaf=False, user_limit_factor=1.0)
    below = [Queue(path=f"root.a.{n}", capacity_percent=50.0, user_limit_factor=-1.0) for n in ("x", "y")]
    rules = replace(RULES, is_enabled=True, total_per_round=1.0, natural_termination_factor=1.0)
    async with World(options(parent, *below, B, rules=rules)) as world:
        am, _ = await full(world, 11, "x")
        await go_on(world, BEGIN_S + 5 * STAGE_S)
        assert (held(world), held(world, "root.a.x")) == (4, 4)
        shares = world.rm.quotas.tree.shares
        assert [shares[path].guaranteed for path in ("root.a", "root.a.x")] == [SMALL * 4, SMALL * 2]
        await am.beat(ask(1))
        await world.settle()
        assert "Queue root.a.x is at its maximum capacity in window day of root.a" in last_text(world, am)


async def test_limits_that_are_only_observed_end_nothing() -> None:
    observed = Options(queues=(replace(ROOT, enforcement=LimitEnforcement.OBSERVE), A, B), preemption=RULES)
    async with World(observed) as world:
        await full(world)
        await go_on(world, BEGIN_S + 100, 20)
        assert held(world) == 16


def changing(said: Mapping[str, str | None]) -> ConfUpdate:
    named = {f"window.day.{kind}": text for kind, text in said.items()}
    return ConfUpdate(updated=[QueueUpdate(path="root.a", properties=named)])


async def test_window_is_said_changed_and_taken_away_while_it_is_open() -> None:
    async with World(options(replace(A, windows=()), B)) as world:
        am, _ = await full(world, 11)
        await go_on(world, BEGIN_S, 50)
        words = {"cron": "15 22 * * *", "duration-s": "600", "maximum-capacity": "50", "give-back-stages": "1"}

        async def say(said: Mapping[str, str | None]) -> None:
            await world.run(world.rm.scheduler_conf.change("admin", assembling(changing(said))))
            await world.settle()

        update = changing(words)
        plan = await world.rm.scheduler_conf.planned("admin", assembling(update))
        assert world.rm.quotas.over_maximum(plan.queues) == [("root.a", SMALL * 12, SMALL * 8)], "a dry run tells"
        await say(words)
        assert world.rm.quotas.tree.shares["root.a"].maximum == SMALL * 8
        await go_on(world, STAGE_S + 3)
        assert held(world) == 8
        await am.beat(ask(4))
        await say({"maximum-capacity": "62.5"})
        assert held(world) == 10
        await say(dict.fromkeys(words))
        assert held(world) == 12
