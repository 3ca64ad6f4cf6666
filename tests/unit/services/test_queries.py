from __future__ import annotations

from typing import Any

import pytest

from tests.support.fakes import NODE
from tests.support.playbook import World, ask, complete
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId
from yodel.domain.resource import Resource
from yodel.domain.states import FinalApplicationStatus, NodeState, YarnApplicationState
from yodel.errors import ApplicationAttemptNotFound, ApplicationNotFound, ContainerNotFound, NodeNotFound
from yodel.services.views.application_pages import newest_first
from yodel.services.views.queries import ApplicationFilter

UNKNOWN = ApplicationId(1, 1)


async def test_view_of_a_running_application(world: World) -> None:
    am = await world.running_am()
    await am.obtain(2)
    await am.beat(ask(100), progress=0.25)
    world.clock.advance(10)
    view = world.rm.queries.application(am.application_id)

    assert (view.running_containers, view.used, view.progress) == (3, Resource(3072, 3), 0.25)
    assert (view.pending_containers, view.pending) == (100, Resource(102_400, 100))
    assert (view.memory_mib_s, view.vcore_s, view.elapsed_ms) == (30_720, 30, 10_000)
    assert view.cluster_share_percent == 100 * 3072 / 16_384
    assert view.am_container == am.container
    assert view.am_node is not None
    assert not view.has_ended


async def test_amounts_of_an_ended_application_stay(world: World) -> None:
    am = await world.running_am()
    world.clock.advance(10)
    await am.finish()
    await am.exit()
    world.clock.advance(100)
    view = world.rm.queries.application(am.application_id)
    assert (view.memory_mib_s, view.vcore_s, view.elapsed_ms, view.progress) == (10_240, 10, 10_000, 1.0)
    assert (view.running_containers, view.used, view.has_ended) == (0, Resource(0, 0), True)


async def test_absent_things_are_named(world: World) -> None:
    am = await world.running_am()
    queries = world.rm.queries
    attempt_id = ApplicationAttemptId(am.application_id, 9)
    for call, error in (
        (lambda: queries.application(UNKNOWN), ApplicationNotFound),
        (lambda: queries.attempts(UNKNOWN), ApplicationNotFound),
        (lambda: queries.attempt(ApplicationAttemptId(UNKNOWN, 1)), ApplicationNotFound),
        (lambda: queries.attempt(attempt_id), ApplicationAttemptNotFound),
        (lambda: queries.containers(attempt_id), ApplicationAttemptNotFound),
        (lambda: queries.container(ContainerId.of(am.attempt_id, 99)), ContainerNotFound),
        (lambda: queries.node(NodeId("nowhere", 1)), NodeNotFound),
    ):
        with pytest.raises(error):
            call()


async def test_containers_are_listed_while_they_live_and_have_a_node(world: World) -> None:
    am = await world.running_am()
    one, other = await am.obtain(2)
    await am.beat(ask(1))
    await world.settle()
    await world.beat(complete(one))
    assert [c.id for c in world.rm.queries.containers(am.attempt_id)] == [am.container.id, other]
    assert world.rm.queries.container(one).exit_status == 0
    log_url = f"http://node-1:8042/node/containerlogs/{other}/alice"
    assert world.rm.queries.log_url(world.container(other)) == log_url


@pytest.mark.parametrize(
    ("wanted", "numbers"),
    [
        ({}, [3, 2, 1]),
        ({"users": frozenset({"bob"})}, [2]),
        ({"states": frozenset({YarnApplicationState.FAILED})}, [3]),
        ({"final_status": FinalApplicationStatus.FAILED}, [3]),
        ({"tags": frozenset({"night"})}, [1]),
        ({"started_from_ms": 2**62}, []),
        ({"started_to_ms": 0}, []),
        ({"finished_to_ms": 0}, [2, 1]),
        ({"name": "pi", "users": frozenset({"alice"})}, [3, 1]),
    ],
)
async def test_list_is_newest_first_and_filtered(world: World, wanted: dict[str, Any], numbers: list[int]) -> None:
    await world.submit(tags=("night",))
    await world.submit(user="bob")
    await world.submit(queue="nowhere")
    rows, accepted = world.rm.queries.rows, ApplicationFilter(**wanted)
    found = [rows.application(application_id) for application_id in newest_first(rows, accepted)]
    assert [row.id.sequence for row in found if row is not None and accepted.accepts(row)] == numbers


async def test_metrics_count_applications_containers_and_nodes(world: World) -> None:
    am = await world.running_am()
    await am.obtain(1)
    await am.beat(ask(5))
    await world.submit()
    await world.submit(queue="nowhere")
    metrics = await world.rm.queries.metrics()
    assert (metrics.submitted, metrics.running, metrics.pending, metrics.failed) == (3, 1, 1, 1)
    assert (metrics.containers_allocated, metrics.containers_pending) == (2, 6), "the second's ApplicationMaster too"
    assert metrics.nodes_by_state == {NodeState.RUNNING: 1}
    assert metrics.used == Resource(2048, 2)


async def test_nodes_show_what_is_used_and_left(world: World) -> None:
    am = await world.running_am()
    await am.obtain(1)
    view = world.rm.queries.node(NODE)
    assert (view.containers, view.used, view.available) == (2, Resource(2048, 2), Resource(14_336, 14))
    assert world.rm.queries.nodes([NodeState.LOST]) == []


async def test_queue_tree_sums_its_leaves(world: World) -> None:
    await world.running_am()
    root = await world.rm.queries.queue("root")
    assert root is not None
    (leaf,) = root.children
    assert root.metrics.running == leaf.metrics.running == 1
    assert (leaf.users, leaf.used_share) == (["alice"], 1024 / 16_384)
    assert await world.rm.queries.queue("nowhere") is None
