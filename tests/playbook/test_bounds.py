"""Rows, memory and secrets of what has ended are kept for a while and stay as many as the settings allow."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.playbook import World
from tests.support.rm_options import Options
from yodel.services.applications.submission import SubmissionLimits

APPLICATIONS = 500
COMPLETED_MAX = 250
DAYS = 40
DAY_S = 86_400.0


def kept(world: World) -> dict[str, int]:
    """Everything that has an entry for an application."""
    state = world.rm.state
    tables: dict[str, Any] = {
        "applications": state.applications,
        "attempts": state.attempts,
        "containers": state.containers,
        "usage": state.usage.by_application,
        "seconds": state.usage.seconds,
        "runtimes": state.masters.runtimes,
        "grown": state.container_index.unconfirmed,
        "applications on disk": world.disk.applications,
        "attempts on disk": world.disk.attempts,
        "containers on disk": world.disk.containers,
        "pods": world.pods.pods,
    }
    return {name: len(table) for name, table in tables.items()}


@pytest.fixture
async def small() -> AsyncIterator[World]:
    async with World(Options(submission=SubmissionLimits(completed_max=COMPLETED_MAX))) as world:
        yield world


async def test_finished_applications_stay_bounded_in_memory_and_on_disk(small: World) -> None:
    world = small
    await world.register_node()
    for number in range(APPLICATIONS):
        application_id = await world.submit()
        if number % 20 == 0:  # some have come as far as to have a container
            await world.settle()
            await world.bind_and_settle()
        await world.run(world.rm.submission.kill(application_id, "alice"))
    await world.settle()
    await world.submit()
    await world.settle()

    counted = kept(world)
    assert counted["applications"] == COMPLETED_MAX + 1
    assert max(counted.values()) <= COMPLETED_MAX + 1, counted
    assert counted["runtimes"] == 1
    assert world.rm.state.masters.awaited == 1
    await world.restart()
    assert kept(world)["applications"] == COMPLETED_MAX + 1


async def test_the_youngest_are_kept(small: World) -> None:
    world = small
    for _ in range(COMPLETED_MAX + 5):
        application_id = await world.submit()
        await world.run(world.rm.submission.kill(application_id, "alice"))
        world.clock.advance(1)
    await world.submit()
    await world.settle()
    finished = [a for a in world.rm.state.applications.values() if a.state.is_final]
    assert min(a.id.sequence for a in finished) == 6


async def test_expired_tokens_and_their_keys_are_gone_in_the_end(world: World) -> None:
    tokens = world.rm.delegation_tokens
    for _ in range(DAYS):
        for owner in range(20):
            await world.run(tokens.issue(f"user-{owner}", "yarn"))
        world.clock.advance(DAY_S)
        await world.run(tokens.look())
    assert len(world.disk.delegation_tokens) <= 20 * 2  # nobody renews: each lives a day
    assert sum(1 for purpose, _ in world.disk.master_keys if purpose == "delegation") <= 3
