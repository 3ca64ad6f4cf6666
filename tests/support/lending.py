"""A world in which one node's agent may lend: what tests of lending have in common, and where they look at it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from tests.support.fakes import NODE
from tests.support.loans import POLICY, report
from tests.support.playbook import World
from tests.support.rm_options import Options
from yodel.domain.colocation.emergency import MemoryEmergency
from yodel.domain.colocation.node import CapacityState
from yodel.domain.colocation.properties import PREFIX
from yodel.domain.colocation.switch import ColocationSwitch
from yodel.domain.ids import NodeId
from yodel.domain.lent_limit import LentLimit
from yodel.domain.queues.queue import Queue
from yodel.domain.scheduler_conf import ConfUpdate
from yodel.ports.kube_nodes import NodeSink
from yodel.services.nodes.publisher import AT_ONCE, GROWTH_WAITS_S, PAUSE_S, Publisher
from yodel.translator.dialects import Measures
from yodel.translator.publishing import LentAmounts

__all__ = ["AT_ONCE", "GROWTH_WAITS_S", "PAUSE_S", "CapacityState"]

CPU, MEMORY = "kubernetes.io/batch-cpu", "kubernetes.io/batch-memory"
QUEUES = (
    Queue(path="root", is_leaf=False),
    Queue(path="root.day", capacity_percent=50.0, user_limit_factor=-1.0),
    Queue(path="root.batch", capacity_percent=50.0, user_limit_factor=-1.0),
)
ON = ColocationSwitch(policy=POLICY)
GIB = 1 << 30


@asynccontextmanager
async def lending_world(
    queues: Sequence[Queue] = QUEUES, lent_to: Sequence[str] = ("root.batch",)
) -> AsyncIterator[World]:
    """One node of sixteen cores, with an agent that has reported nothing."""
    async with World(Options(queues=queues, dialects=dict.fromkeys(lent_to, "koordinator"))) as world:
        world.statuses.put(NODE.host)
        await world.register_node()
        world.rm.use_colocation(ON)
        await world.settle()
        yield world


async def say(world: World, cores: int, node_id: NodeId = NODE, **changes: object) -> None:
    """The agent's next beat, and what comes of it."""
    fields = {"proved_name": node_id.host, "policy_version": "one", "capacity": report(cores), **changes}
    if (await world.beat(node_id=node_id, **fields)).must_resync:
        await world.register_node(node_id)
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


def words(**said: str | None) -> ConfUpdate:
    return ConfUpdate(overall={f"{PREFIX}{name.replace('_', '-')}": text for name, text in said.items()})


# --- where the ResourceManager keeps it -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class LentNode:
    """Holds a node's state for tests."""

    other: str
    has_yielded: bool
    problem: str
    ordered: LentLimit | None
    lent: LentAmounts | None


def known_node(world: World, name: str) -> LentNode | None:
    facts = world.rm.facts.of(name)
    if facts is None or facts.published is None:
        return None
    published = facts.published
    return LentNode(
        other=published.other,
        has_yielded=published.has_yielded,
        problem=published.problem,
        ordered=limit_of(world, name),
        lent=facts.judgement.lent,
    )


def limit_of(world: World, name: str) -> LentLimit | None:
    row = world.rm.state.node_index.speaker(name)
    return row.lent_limit if row is not None else None


def lent_node(world: World, name: str) -> LentNode:
    found = known_node(world, name)
    assert found is not None
    return found


def colocation(world: World) -> ColocationSwitch:
    return world.rm.facts.terms.colocation


def lends_as(world: World) -> Measures | None:
    return world.rm.facts.terms.measures


def refused(world: World) -> Mapping[NodeId, str]:
    return world.rm.facts.refused


def publisher(world: World) -> Publisher:
    return world.rm.publisher


def put_backs(world: World) -> int:
    return world.rm.facts.put_backs


def emergency_on(world: World, name: str) -> MemoryEmergency | None:
    return world.rm.facts.emergency_on(name)


def node_watch(world: World) -> NodeSink:
    return world.rm.facts
