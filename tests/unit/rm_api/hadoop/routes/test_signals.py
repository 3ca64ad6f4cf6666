"""Signals to containers."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.support.records import a_container, a_node, an_application, an_attempt
from tests.support.rest_world import RestWorld, rest_world
from yodel.domain.acl import AccessRules, Acl
from yodel.domain.states import ApplicationState, AttemptState, ContainerState, NodeState
from yodel.services.nodes.agents import NodeRuntime

NODE = a_node(state=NodeState.RUNNING)
APP = an_application(1, state=ApplicationState.RUNNING, current_attempt=1)
CONTAINER = a_container(1, state=ContainerState.RUNNING, node_id=NODE.id)
PATH = f"/ws/v1/cluster/containers/{CONTAINER.id}/signal"


@pytest.fixture
async def running() -> AsyncIterator[RestWorld]:
    async with rest_world(rules=AccessRules(admin_acl=Acl.parse("admin"), is_view_checked=True)) as world:
        await world.put(NODE, APP, an_attempt(1, state=AttemptState.RUNNING), CONTAINER)
        world.rm.nodes.runtimes[NODE.id] = NodeRuntime(0.0)
        yield world


async def test_signal_goes_to_the_node(running: RestWorld) -> None:
    answer = await running.client.post(f"{PATH}/graceful_shutdown?user.name=alice")
    assert (answer.status_code, answer.text) == (200, "signal success")
    assert running.rm.nodes.runtimes[NODE.id].outbox.signals == [(CONTAINER.id, 2)]


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        (f"{PATH}/DANCE?user.name=alice", 400, "Invalid command: DANCE"),
        (
            f"{PATH}/FORCEFUL_SHUTDOWN?user.name=mallory",
            500,
            f"User mallory cannot perform operation MODIFY_APP on {APP.id}",
        ),
        (f"{PATH}/FORCEFUL_SHUTDOWN", 401, "user not authenticated"),
        (f"{PATH.replace('_000002', '_000009')}/FORCEFUL_SHUTDOWN?user.name=alice", 500, "absent container"),
        (
            "/ws/v1/cluster/containers/nonsense/signal/FORCEFUL_SHUTDOWN?user.name=alice",
            500,
            "Invalid ContainerId prefix: nonsense",
        ),
    ],
)
async def test_what_cannot_be_signalled_is_said(running: RestWorld, path: str, status: int, text: str) -> None:
    answer = await running.client.post(path)
    assert answer.status_code == status
    assert text in answer.text
    assert running.rm.nodes.runtimes[NODE.id].outbox.signals == []
