"""Measured capacity is lent: an agent's beat becomes a patch of node status, and a queue grows by it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.support.fakes import NODE
from tests.support.playbook import World, ask, complete
from tests.support.rm_options import SMALL, Options
from yodel.domain.colocation.policy import Formula, Policy, Shaping
from yodel.domain.colocation.report import CPU_MILLI, MEMORY_MIB, CapacityReport, Loan, Term
from yodel.domain.colocation.switch import Colocation
from yodel.domain.ids import NodeId
from yodel.domain.queues.queue import Queue

CPU, MEMORY = "kubernetes.io/batch-cpu", "kubernetes.io/batch-memory"
ROOT = Queue(path="root", is_leaf=False)
QUEUES = (
    ROOT,
    Queue(path="root.day", capacity_percent=50.0, user_limit_factor=-1.0),
    Queue(path="root.batch", capacity_percent=50.0, user_limit_factor=-1.0),
)
POLICY = Policy(version="one", preset="static", cpu=Formula(), memory=Formula(), shaping=Shaping())
ON = Colocation(policy=POLICY)
GIB = 1 << 30


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """One node of sixteen cores, with an agent that has reported nothing."""
    async with World(Options(queues=QUEUES, dialects={"root.batch": "koordinator"})) as world:
        world.statuses.put(NODE.host)
        await world.register_node()
        world.rm.use_colocation(ON)
        await world.settle()
        yield world


def report(cores: int, version: str = "one", age_ms: int = 0) -> CapacityReport:
    """Of so many small containers."""
    amounts = {CPU_MILLI: cores * 1000, MEMORY_MIB: cores * 1024}
    loans = tuple(
        Loan(resource=name, amount=amount, measured=(), terms=(Term(name="all", amount=amount, why=""),), steps=())
        for name, amount in amounts.items()
    )
    return CapacityReport(policy_version=version, source="cgroup v1", age_ms=age_ms, loans=loans)


async def say(world: World, cores: int, node_id: NodeId = NODE, **changes: object) -> None:
    """The agent's next beat, and what comes of it."""
    fields = {"proved_name": node_id.host, "policy_version": "one", "capacity": report(cores), **changes}
    await world.beat(node_id=node_id, **fields)
    await quiet(world)


async def quiet(world: World) -> None:
    await world.settle()
    await world.pass_time(1.0)  # what was to wait for its turn


def published(world: World, node: str = NODE.host) -> tuple[int, int] | None:
    """Cores and GiB; None: neither name is there."""
    found = world.statuses.nodes[node]
    assert {name: found.capacity.get(name) for name in (CPU, MEMORY)} == {
        name: found.allocatable.get(name) for name in (CPU, MEMORY)
    }
    if CPU not in found.capacity and MEMORY not in found.capacity:
        return None
    return int(found.capacity[CPU]) // 1000, int(found.capacity[MEMORY]) // GIB


def held(world: World) -> int:
    use = world.rm.state.queue_use.by_queue.get("root.batch")
    return use.resource.vcores if use is not None else 0


async def test_a_beat_becomes_a_patch_and_the_queue_grows(world: World) -> None:
    assert published(world) is None
    await say(world, 4)
    assert published(world) == (4, 4)
    am = await world.running_am(queue="batch")
    assert (await am.beat(ask(40))).headroom == SMALL * 3
    await world.settle()
    assert held(world) == 4
    await say(world, 9)
    assert published(world) == (9, 9)
    assert held(world) == 9, "grown by what came back by the watch"


async def test_an_agent_hears_the_policy_once(world: World) -> None:
    assert (await world.beat()).policy is None, "it does not measure"
    assert (await world.beat(policy_version="")).policy == POLICY
    assert (await world.beat(policy_version="one")).policy is None


async def test_published_is_never_below_what_the_pods_ask_for(world: World) -> None:
    await say(world, 6)
    am = await world.running_am(queue="batch")
    granted = await am.obtain(5)
    await say(world, 2)
    assert published(world) == (6, 6)
    assert world.rm.state.closed_for("root.batch") == {NODE.host}
    assert world.rm.state.closed_for("root.day") == frozenset(), "another pool"
    for left, one in enumerate(granted, 1):
        await am.beat(ask(3))
        await world.beat(complete(one))
        world.pods.finish(world.container(one).pod, 0)
        await quiet(world)
        assert published(world) == (max(2, 6 - left),) * 2
        assert held(world) == max(2, 6 - left), "nothing new while it is below"
    assert world.rm.state.closed_for("root.batch") == frozenset()
