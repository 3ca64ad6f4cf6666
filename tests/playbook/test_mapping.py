"""Mapping rules where applications are submitted: the queue, the refusals, and what a restart makes of them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest

from tests.support.playbook import World
from tests.support.rm_options import Options
from yodel.domain.ids import ApplicationId
from yodel.domain.queues.mapping_properties import FORMAT, JSON, LEGACY
from yodel.domain.queues.queue import Queue
from yodel.domain.scheduler_conf import ConfUpdate, QueueUpdate
from yodel.domain.states import ApplicationState
from yodel.errors import AccessDenied, InvalidQueues, Refused

QUEUES = (
    Queue(path="root", is_leaf=False),
    Queue(path="root.default", capacity_percent=40.0),
    Queue(path="root.etl", capacity_percent=20.0),
    Queue(path="root.users", is_leaf=False, capacity_percent=40.0),
    Queue(path="root.users.alice", capacity_percent=50.0),
    Queue(path="root.users.bob", capacity_percent=50.0),
)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with World(Options(queues=QUEUES)) as world:
        yield world


async def use(world: World, **said: str) -> None:
    await world.run(world.rm.scheduler_conf.update("admin", ConfUpdate(overall=said)))


def queue_of(world: World, application_id: ApplicationId) -> str:
    return world.application(application_id).submission.queue


async def test_nobody_who_has_no_rules_notices_any(world: World) -> None:
    assert queue_of(world, await world.submit(queue="default")) == "root.default"
    assert queue_of(world, await world.submit(queue="bob")) == "root.users.bob"


async def test_application_goes_where_its_user_is_mapped_to(world: World) -> None:
    await use(world, **{LEGACY: "u:%user:root.users.%user"})
    assert queue_of(world, await world.submit(queue="default", user="bob")) == "root.users.bob"
    assert queue_of(world, await world.submit(queue="etl", user="bob")) == "root.etl"
    assert queue_of(world, await world.submit(queue="default", user="carol")) == "root.default"


async def test_application_that_is_there_already_stays(world: World) -> None:
    application_id = await world.submit(queue="default", user="bob")
    await use(world, **{LEGACY: "u:%user:root.users.%user"})
    again = world.application(application_id).submission
    await world.run(world.rm.submission.submit(application_id, again))
    assert queue_of(world, application_id) == "root.default"


async def test_rule_refuses_and_nothing_is_kept(world: World) -> None:
    rules = {"rules": [{"type": "user", "matches": "bob", "policy": "reject"}]}
    await use(world, **{FORMAT: "json", JSON: json.dumps(rules)})
    before = len(world.rm.state.applications)
    with pytest.raises(Refused, match="rejected by a mapping rule"):
        await world.submit(queue="default", user="bob")
    assert len(world.rm.state.applications) == before
    assert queue_of(world, await world.submit(queue="default", user="alice")) == "root.default"


async def test_rules_count_after_a_restart_and_until_they_are_taken_away(world: World) -> None:
    await use(world, **{LEGACY: "u:bob:etl"})
    await world.restart()
    assert queue_of(world, await world.submit(queue="default", user="bob")) == "root.etl"
    await use(world, **{LEGACY: ""})
    assert queue_of(world, await world.submit(queue="default", user="bob")) == "root.default"


async def test_queue_that_a_rule_names_does_not_go(world: World) -> None:
    await use(world, **{LEGACY: "u:bob:etl"})
    gone = ConfUpdate(
        removed=["root.etl"],
        updated=[QueueUpdate(path="root.default", properties={"capacity": "60"})],
    )
    stopped = ConfUpdate(updated=[QueueUpdate(path="root.etl", properties={"state": "STOPPED"})])
    await world.run(world.rm.scheduler_conf.update("admin", stopped))
    with pytest.raises(InvalidQueues, match="rule 1: queue 'etl' does not exist"):
        await world.run(world.rm.scheduler_conf.update("admin", gone))
    application_id = await world.submit(queue="default", user="bob")
    assert world.application(application_id).state is ApplicationState.FAILED, "as for who names a stopped queue"


async def test_rights_are_those_of_the_queue_that_was_found() -> None:
    queues = (
        Queue(path="root", is_leaf=False, submit_acl=" ", administer_acl=" "),
        Queue(path="root.default", capacity_percent=50.0, submit_acl="*"),
        Queue(path="root.etl", capacity_percent=50.0, submit_acl="alice"),
    )
    async with World(Options(queues=queues, acl_enable=True)) as world:
        await use(world, **{LEGACY: "u:%user:etl"})
        assert queue_of(world, await world.submit(queue="default", user="alice")) == "root.etl"
        with pytest.raises(AccessDenied, match=r"to queue root\.etl"):
            await world.submit(queue="default", user="bob")
