"""Two agents name one Kubernetes node: who keeps it, who is refused, and when the other may have it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.support.fakes import NODE
from tests.support.lending import ON, lending_world, limit_of, published, refused, say
from tests.support.playbook import World
from yodel.domain.ids import NodeId
from yodel.domain.lent_limit import LentLimit
from yodel.domain.states import NodeState
from yodel.errors import Unavailable
from yodel.services.nodes.agents import KEPT_S
from yodel.translator.publishing import LentAmounts

SECOND = NodeId(NODE.host, 9999)
FIRST_PEER, SECOND_PEER = ("10.0.0.1", 40_000), ("10.0.0.1", 50_000)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with lending_world() as made:
        await register(made, NODE, FIRST_PEER)
        await say(made, 4, peer=FIRST_PEER)
        yield made


async def register(world: World, node_id: NodeId, peer: tuple[str, int] = SECOND_PEER) -> str:
    """Register a second agent and return why it was refused; empty: it was not."""
    refusal = await world.register_node(node_id, peer=peer, proved_name=NODE.host)
    await world.settle()
    return refusal


def counts(world: World) -> NodeId | None:
    row = world.rm.state.node_index.of_kubernetes(NODE.host)
    return row.id if row is not None else None


async def test_the_second_is_refused_and_leaves_nothing_behind(world: World) -> None:
    am = await world.running_am(queue="day")
    refusal = await register(world, SECOND)
    assert "node node-1 has another agent, node-1:8041, which registered first" in refusal
    assert SECOND not in world.rm.state.nodes
    assert (await world.beat(node_id=SECOND)).must_resync
    assert (counts(world), world.container(am.container.id).is_live) == (NODE, True)
    assert list(refused(world)) == [SECOND], "it is shown"
    for port in range(100):
        await register(world, NodeId(NODE.host, port + 1))
    assert len(refused(world)) == 1, "however many there are"


async def test_a_closed_connection_gives_the_node_up(world: World) -> None:
    am = await world.running_am(queue="day")
    await world.beat(peer=FIRST_PEER)
    world.rm.heartbeats.closed(NODE, FIRST_PEER)
    assert counts(world) == NODE, "nobody else wants it"
    assert await register(world, SECOND) == ""
    assert (counts(world), world.rm.state.nodes[NODE].state) == (SECOND, NodeState.LOST)
    assert not world.container(am.container.id).is_live, "what ran behind the first cannot be reached"
    assert refused(world) == {}
    assert (await world.beat(peer=FIRST_PEER)).must_resync
    assert "has another agent, node-1:9999" in await register(world, NODE, FIRST_PEER)
    await say(world, 7, SECOND)
    assert published(world) == (7, 7)


async def test_an_agent_that_is_heard_again_keeps_the_node(world: World) -> None:
    world.rm.heartbeats.closed(NODE, FIRST_PEER)
    await world.beat(peer=("10.0.0.1", 41_000))
    assert await register(world, SECOND)
    world.rm.heartbeats.closed(NODE, FIRST_PEER)
    assert await register(world, SECOND), "an earlier connection"


async def test_silence_gives_the_node_up(world: World) -> None:
    await world.pass_time(KEPT_S - 2)
    assert await register(world, SECOND)
    await world.pass_time(2)
    assert await register(world, SECOND) == ""


async def test_a_new_life_waits_for_the_first(world: World) -> None:
    await world.restart()
    world.rm.use_colocation(ON)
    with pytest.raises(Unavailable, match="30 s from the start to come back"):
        await register(world, SECOND)
    assert await register(world, NODE, FIRST_PEER) == ""
    assert "has another agent" in await register(world, SECOND)
    await world.restart()
    await world.pass_time(KEPT_S)
    assert await register(world, SECOND) == ""


async def test_an_order_to_lend_less_is_of_the_node_and_not_of_its_agent(world: World) -> None:
    left = LentAmounts(cpu_milli=2_000, memory_mib=2_048)
    await world.run(world.rm.taking_back.evict("admin", NODE, left, is_dry_run=False))
    world.rm.heartbeats.closed(NODE, FIRST_PEER)
    await register(world, SECOND)
    await say(world, 9, SECOND)
    assert (limit_of(world, NODE.host), published(world)) == (LentLimit(cpu_milli=2_000, memory_mib=2_048), (2, 2))
    await world.run(world.rm.registration.unregister(SECOND))
    await world.settle()
    await register(world, NODE, FIRST_PEER)
    assert limit_of(world, NODE.host) == LentLimit(cpu_milli=2_000, memory_mib=2_048), "also of one that had left"
    assert world.rm.state.nodes[SECOND].lent_limit is None
