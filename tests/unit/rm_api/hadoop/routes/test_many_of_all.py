"""A large cluster is told of in pieces: whoever asks for all of it is no reason for others to wait."""

from __future__ import annotations

from types import ModuleType

import pytest

from tests.support.records import a_container, a_node, a_submission, an_application, an_attempt
from tests.support.rest_world import rest_world
from yodel.domain.container import Container
from yodel.domain.queues.queue import Queue
from yodel.domain.resource import Resource
from yodel.domain.states import ApplicationState, AttemptState, ContainerState, NodeState
from yodel.hadoop_http import long_answers
from yodel.rm_api.hadoop.routes import jmx
from yodel.rm_api.hadoop.wire.scheduler import USERS_TOGETHER
from yodel.rm_api.ui import frame
from yodel.rm_api.v1.container_pages import container_page
from yodel.services.views import queue_views
from yodel.serving.turns import Turns, standing

COUNT = 60
TREE = (
    Queue(path="root", is_leaf=False),
    *(Queue(path=f"root.q{n}", capacity_percent=100.0 / COUNT) for n in range(COUNT)),
)
ATTEMPT = "/apps/application_1700000000000_0001/appattempts/appattempt_1700000000000_0001_000001"
LEAST = {
    "/ws/v1/cluster/nodes": COUNT,
    f"/ws/v1/cluster{ATTEMPT}/containers": COUNT,
    "/ws/v1/cluster/get-node-labels": COUNT,
    "/ws/v1/cluster/get-rm-node-labels": COUNT,
    "/ws/v1/cluster/get-node-to-labels": COUNT,
    "/ws/v1/cluster/label-mappings": COUNT,
    "/ws/v1/cluster/scheduler": COUNT + COUNT // USERS_TOGETHER,  # as many users as queues
    "/ws/v1/cluster/scheduler-conf": COUNT,
    "/jmx": COUNT,
    "/prom": COUNT,  # families of metrics; the beans of queues are read in pieces as well
}


class Counted(Turns):
    """Counts how often others came first."""

    count = 0

    async def next_turn(self, caller: str) -> None:
        self.count += 1
        await super().next_turn(caller)


@pytest.mark.parametrize("accept", ["application/json", "application/xml"])
@pytest.mark.parametrize(("path", "least"), LEAST.items())
async def test_others_have_a_turn_between_elements(
    monkeypatch: pytest.MonkeyPatch, path: str, least: int, accept: str
) -> None:
    """Others have a turn for each element where an element takes as long as a piece may."""
    monkeypatch.setattr(long_answers, "PIECE_S", -1.0)
    nodes = [
        a_node(f"node-{n}", state=NodeState.RUNNING, capability=Resource(8192, 8), labels=(f"label-{n}",))
        for n in range(COUNT)
    ]
    async with rest_world(queues=TREE) as world:
        for n in range(1, COUNT + 1):
            submission = a_submission(queue="root.q1", user=f"user{n}")
            app = an_application(n, submission=submission, state=ApplicationState.RUNNING, current_attempt=1)
            row = a_container(container=n + 1, state=ContainerState.RUNNING, node_id=nodes[0].id, queue="root.q1")
            await world.put(app, an_attempt(n, state=AttemptState.RUNNING), row)
        await world.put(*nodes)
        turns = Counted()
        with standing(turns, "alice"):
            answer = await world.client.get(path, headers={"accept": accept})
    assert answer.status_code == 200, answer.text
    assert turns.count >= least


async def test_others_have_a_turn_between_queues(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_views, "QUEUES_PIECE", 1)
    async with rest_world(queues=TREE) as world:
        turns = Counted()
        with standing(turns, "alice"):
            answer = await world.client.get("/api/v1/queues")
    assert answer.status_code == 200, answer.text
    assert turns.count >= COUNT


@pytest.mark.parametrize(
    ("path", "piece"),
    [("/jmx?qry=*:name=RMNMInfo,*", (jmx, "NODES_PIECE")), ("/cluster/nodes", (frame, "PARTS_PIECE"))],
)
async def test_others_have_a_turn_between_nodes(
    monkeypatch: pytest.MonkeyPatch, path: str, piece: tuple[ModuleType, str]
) -> None:
    """All nodes are told of once each, as they are written in one go."""
    nodes = [a_node(f"node-{n}", state=NodeState.RUNNING) for n in range(COUNT)]
    async with rest_world() as world:
        await world.put(*nodes)
        turns, whole = Counted(), await world.client.get(path)
        monkeypatch.setattr(*piece, 1)
        with standing(turns, "alice"):
            answer = await world.client.get(path)
    assert (answer.status_code, answer.content) == (200, whole.content)
    assert answer.text.count("node-") >= COUNT
    assert turns.count >= COUNT


async def test_page_of_containers_looks_at_no_more_than_it_shows() -> None:
    """And at one more, which tells whether there is another page."""
    looked = list[int]()

    def is_wanted(row: Container) -> bool:
        looked.append(row.id.sequence)
        return True

    async with rest_world() as world:
        owner = an_application(state=ApplicationState.RUNNING, current_attempt=1)
        rows = [a_container(container=n, state=ContainerState.RUNNING) for n in range(COUNT, 1, -1)]
        await world.put(owner, an_attempt(state=AttemptState.RUNNING), *rows)
        source = world.app.state.v1.containers
        first, cursor = await container_page(source, owner, is_wanted, 5, None)
        second, _ = await container_page(source, owner, is_wanted, 5, cursor)
    assert [row.id.sequence for row in (*first, *second)] == list(range(2, 12))
    assert looked == [*range(2, 8), *range(7, 13)]
