"""A node lends less than is held there: who is told, who ends and how, and what is left alone."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.support.fakes import NODE
from tests.support.lending import held, lending_world, published, say
from tests.support.playbook import Am, World, running
from yodel.domain.ids import ContainerId
from yodel.domain.notices import NoticeReason, Teller
from yodel.domain.states import ContainerExitStatus


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with lending_world() as made:
        yield made


async def a_job(world: World, tasks: int, lent: int = 9) -> tuple[Am, list[ContainerId]]:
    await say(world, lent)
    am = await world.running_am(queue="batch")
    found = await am.obtain(tasks)
    await world.beat(*map(running, found), running(am.container.id))
    return am, found


async def go_on(world: World, seconds: int, lent: int) -> None:
    """The agent says the same of its loan with each beat, and of what lives."""
    for _ in range(seconds):
        await say(world, lent)


def on_notice(world: World) -> list[ContainerId]:
    return sorted(world.rm.state.notices.of_teller(Teller.LOANS))


def ended(world: World, tasks: list[ContainerId]) -> list[ContainerId]:
    return [one for one in tasks if not world.container(one).is_live]


async def test_a_shrink_is_told_and_what_does_not_fit_ends_at_the_deadline(world: World) -> None:
    am, tasks = await a_job(world, 5)
    await say(world, 4)
    assert on_notice(world) == tasks[-2:], "six are held: the newest two, and nobody else"
    notice = world.rm.state.notices.of(tasks[-1])
    assert notice is not None
    assert (notice.reason, notice.why) == (
        NoticeReason.LOAN,
        "node node-1 lends less than is held there (4000 of 6000 cpu_milli, 4096 of 6144 memory_mib)",
    )
    assert [container.id for container in (await am.beat()).preempted] == tasks[:-3:-1]
    assert set((await world.beat()).on_notice) == set(tasks[-2:])
    assert world.rm.state.closed_for("root.batch") == {NODE.host}
    await go_on(world, 27, 4)
    assert not ended(world, tasks)
    await go_on(world, 3, 4)
    assert ended(world, tasks) == tasks[-2:]
    gone = world.container(tasks[-1])
    assert gone.exit_status == ContainerExitStatus.PREEMPTED
    assert gone.diagnostics == f"Container preempted by scheduler: {notice.why}"
    await go_on(world, 2, 4)
    assert (published(world), held(world)) == ((4, 4), 4)
    assert not on_notice(world)
