"""Bars of queues, pools and nodes."""

from __future__ import annotations

from tests.support.records import a_container, a_node, an_application, an_attempt
from tests.support.rest_world import rest_world
from yodel.domain.queues.queue import Queue
from yodel.domain.resource import Resource
from yodel.domain.states import ApplicationState, AttemptState, ContainerState, NodeState
from yodel.rm_api.ui.bars import Part, queue_bars, usage_bars

HALF = (
    Queue(path="root", is_leaf=False),
    Queue(path="root.default", is_leaf=True, capacity_percent=50.0, maximum_capacity_percent=75.0),
    Queue(path="root.other", is_leaf=True, capacity_percent=50.0),
)


async def test_parts_of_a_queue_follow_each_other_and_marks_are_its_limits() -> None:
    async with rest_world(queues=HALF) as world:
        row = an_application(1, state=ApplicationState.RUNNING, current_attempt=1)
        node = a_node(state=NodeState.RUNNING, capability=Resource(8192, 8))
        used = a_container(container=1, state=ContainerState.RUNNING, node_id=node.id, capability=Resource(2048, 1))
        planned = a_container(container=2, capability=Resource(1024, 4))
        await world.put(node, row, an_attempt(1, state=AttemptState.RUNNING), used, planned)
        view = await world.rm.queries.queue("root.default")
    assert view is not None
    memory, vcores = queue_bars(view)
    assert memory.parts == (Part("used", 0, 25.0), Part("scheduling", 25.0, 12.5))
    assert vcores.parts == (Part("used", 0, 12.5), Part("scheduling", 12.5, 50.0))
    assert memory.marks == (Part("guaranteed", 50.0, 0), Part("maximum", 75.0, 0))
    assert memory.text == "memory: 2 GiB used, 1 GiB scheduling, 4 GiB guaranteed, 6 GiB maximum"
    assert vcores.text == "vcores: 1 vcore used, 4 vcores scheduling, 4 vcores guaranteed, 6 vcores maximum"
    assert vcores.fields == "used.vcores starting.vcores guaranteed.vcores maximum.vcores"


def test_bar_ends_where_the_whole_ends() -> None:
    (memory, vcores) = usage_bars(Resource(3000, 1), Resource(2000, 2), {})
    assert (memory.parts, vcores.parts) == ((Part("used", 0, 100.0),), (Part("used", 0, 50.0),))


def test_bar_of_nothing_is_empty_and_says_so() -> None:
    (memory, _) = usage_bars(Resource(0, 0), Resource(0, 0), {})
    assert (memory.parts, memory.text) == ((), "memory: 0 MiB used")


def test_further_types_have_bars_of_their_own() -> None:
    (*_, gpu) = usage_bars(Resource(0, 0, (("nvidia.com/gpu", 1),)), Resource(10, 1, (("nvidia.com/gpu", 4),)), {})
    assert (gpu.name, gpu.parts) == ("nvidia.com/gpu", (Part("used", 0, 25.0),))
    assert gpu.text == "nvidia.com/gpu: 1 used, 4 capacity"
