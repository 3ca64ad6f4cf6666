"""Queues that draw on what Kubernetes' nodes publish: it comes, dips and comes back while containers run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.support.fakes import NODE
from tests.support.playbook import World, ask
from tests.support.rm_options import NODE_SIZE, SMALL, Options
from yodel.domain.ids import NodeId
from yodel.domain.queues.queue import LimitEnforcement, Queue
from yodel.domain.resource import NONE, Resource
from yodel.domain.scheduler_conf import ConfUpdate, QueueUpdate
from yodel.domain.states import ApplicationState
from yodel.errors import InvalidQueues, InvalidValue
from yodel.ports.kube_nodes import NodeObservation
from yodel.ports.pods import PodHolding
from yodel.translator.pools import PoolRules

CPU, MEMORY = "kubernetes.io/batch-cpu", "kubernetes.io/batch-memory"
ROOT = Queue(path="root", is_leaf=False)
DAY = Queue(path="root.day", capacity_percent=50.0, user_limit_factor=-1.0)
BATCH = Queue(path="root.batch", capacity_percent=50.0, user_limit_factor=-1.0)
QUEUES = (ROOT, DAY, BATCH)
OTHER = NodeId("node-2", 1)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """One node of sixteen small containers, which publishes whatever ``publish`` says."""
    async with World(Options(queues=QUEUES, dialects={"root.batch": "koordinator"})) as world:
        yield world


def publish(world: World, small: int | None, node: str = NODE.host) -> None:
    """So many small containers of batch resources; None: the node publishes none at all."""
    batch = {CPU: str(small * 1000), MEMORY: str(small << 30)} if small is not None else {}
    allocatable = {"cpu": "16", "memory": "16Gi", **batch}
    seen = NodeObservation(name=node, uid=node, resource_version="1", ready=True, allocatable=allocatable)
    world.rm.facts.node_seen(seen)


def held(world: World, path: str) -> int:
    use = world.rm.state.queue_use.by_queue.get(path)
    return use.resource.vcores if use is not None else 0


async def test_each_queue_is_given_of_its_own_pool(world: World) -> None:
    publish(world, 8)
    day = await world.running_am(queue="day")
    batch = await world.running_am(queue="batch")
    assert (await day.beat(ask(40))).headroom == SMALL * 15
    assert (await batch.beat(ask(40))).headroom == SMALL * 7
    await world.settle()
    assert (held(world, "root.day"), held(world, "root.batch")) == (16, 8)
    assert (await batch.beat()).headroom == NONE
    tree = world.rm.quotas.tree
    assert [tree.shares[path].guaranteed for path in ("root", "root.day", "root.batch")] == [
        SMALL * 24,
        SMALL * 8,
        SMALL * 4,
    ]


async def test_less_is_lent_than_is_held_and_nothing_starts_and_nothing_ends(world: World) -> None:
    publish(world, 8)
    day = await world.running_am(queue="day")
    am = await world.running_am(queue="batch")
    granted = await am.obtain(5)
    assert held(world, "root.batch") == 6

    publish(world, 2)
    answer = await am.beat(ask(4))
    assert answer.headroom == NONE
    await world.settle()
    assert held(world, "root.batch") == 6, "nothing starts, nothing is killed"
    assert all(world.rm.state.containers[one].is_live for one in granted)
    assert world.rm.quotas.tree.shares["root.day"].guaranteed == SMALL * 8, "the other pool knows nothing of it"
    assert (await day.beat(ask(1))).headroom == SMALL * 15
    text = world.rm.queries.application(am.application_id).application.diagnostics
    assert text == (
        f"Pool koordinator ({CPU}, {MEMORY}) has too little free capacity: free 0 MiB, 0 vcores of 6 GiB, 6 vcores; "
        "requested 1 GiB, 1 vcore."
    )
    assert world.rm.state.reasons.misfits == {}, "a dip is no misfit"

    publish(world, 8)
    await world.settle()
    assert held(world, "root.batch") == 8, "what comes back is used at once"


async def test_a_dip_of_one_node_takes_nothing_from_another(world: World) -> None:
    publish(world, 4)
    am = await world.running_am(queue="batch")
    await am.obtain(3)
    await world.register_node(OTHER)
    publish(world, 4, OTHER.host)
    publish(world, 0)
    assert (await am.beat(ask(9))).headroom == SMALL * 4
    await world.settle()
    assert held(world, "root.batch") == 8


async def test_nothing_is_lent_and_nothing_starts_until_something_is(world: World) -> None:
    await world.register_node()
    publish(world, 0)
    application_id = await world.submit(queue="batch")
    await world.settle()
    assert held(world, "root.batch") == 0
    found = world.rm.queries.application(application_id).application
    assert found.state is ApplicationState.ACCEPTED
    assert (
        f"AM. Pool koordinator ({CPU}, {MEMORY}) has too little free capacity: free 0 MiB, 0 vcores of "
        in found.diagnostics
    )
    assert world.rm.state.reasons.misfits == {}
    publish(world, 1)
    await world.settle()
    assert held(world, "root.batch") == 1


async def test_more_than_any_node_has_is_more_than_it_ever_lent_or_has_itself(world: World) -> None:
    publish(world, 0)
    am = await world.running_am(queue="day")
    await am.beat()
    pools = world.rm.state.pools
    lent = pools.of_queue("root.batch").lent(NODE)
    assert lent is not None
    assert (lent.now, lent.ever) == (NONE, SMALL * 16)
    publish(world, 40)
    publish(world, 3)
    lent = pools.of_queue("root.batch").lent(NODE)
    assert lent is not None
    assert (lent.now, lent.ever) == (SMALL * 3, SMALL * 40)


async def test_node_that_publishes_nothing_is_in_no_such_pool(world: World) -> None:
    publish(world, None)
    await world.submit(queue="batch")
    await world.register_node()
    await world.settle()
    (misfit,) = world.rm.state.reasons.misfits.values()
    assert misfit.reason == f"no node offers capacity in pool koordinator ({CPU}, {MEMORY})"


async def test_order_of_an_administrator_is_the_most_that_is_lent(world: World) -> None:
    await world.register_node()
    publish(world, 8)
    await world.run(world.rm.admin.update_node_resource({NODE: Resource(4096, 12)}))
    await world.settle()
    pools = world.rm.state.pools
    assert pools.of_queue("root.batch").size == Resource(4096, 8)
    assert pools.of_queue("root.day").size == Resource(4096, 12)


async def test_figures_of_agents_count_where_nobody_watches_nodes() -> None:
    options = Options(queues=QUEUES, dialects={"root": "koordinator"}, are_nodes_watched=False)
    async with World(options) as world:
        am = await world.running_am(queue="batch")
        assert (await am.beat(ask(9))).headroom == SMALL * 15


async def test_what_was_published_before_the_agent_came_counts(world: World) -> None:
    publish(world, 5)
    await world.register_node()
    assert world.rm.state.pools.of_queue("root.batch").size == SMALL * 5
    world.rm.facts.nodes_listed([])
    assert world.rm.state.pools.of_queue("root.batch").size == NONE
    assert world.rm.state.pools.of_queue("root.day").size == NONE, "no pod is ever on a node that Kubernetes has not"


async def test_pools_of_changed_settings_hold_what_runs(world: World) -> None:
    publish(world, 8)
    am = await world.running_am(queue="batch")
    await am.obtain(3)
    options = Options(queues=QUEUES, dialects={"root.day": "volcano", "root.batch": "koordinator"})
    world.rm.lending.use(options.limits().pod_profiles.pool_rules())
    pools = world.rm.state.pools
    assert pools.drawn_on == ("koordinator+volcano",)
    assert (pools.size, pools.total, world.rm.state.usage.cluster.resource) == (SMALL * 8, SMALL * 8, SMALL * 4)
    assert pools.used(pools.drawn_on[0]).resource == SMALL * 4
    assert pools.of_queue("root.day").free_on(NODE) == SMALL * 4


async def test_pools_are_kept_apart_where_limits_are_only_observed() -> None:
    root = Queue(path="root", is_leaf=False, enforcement=LimitEnforcement.OBSERVE)
    async with World(Options(queues=(root, DAY, BATCH), dialects={"root.batch": "koordinator"})) as world:
        publish(world, 8)
        am = await world.running_am(queue="batch")
        assert (await am.beat(ask(40))).headroom == SMALL * 7
        await world.settle()
        assert held(world, "root.batch") == 8


async def test_ordinary_capacity_is_less_what_pods_of_others_ask_where_they_are_seen() -> None:
    """Three and a half cores and a GiB and a byte are four vcores and 1025 MiB."""
    async with World(Options(is_binding=True)) as world:
        await world.register_node()
        pools = world.rm.state.pools
        amounts = {"cpu": 3500, "memory": ((1 << 30) + 1) * 1000, "pods": 1000}
        holding = PodHolding(
            namespace="web", name="shop", uid="u", resource_version="9", node_name=NODE.host, amounts=amounts
        )
        world.rm.binder.holding_seen(replace(holding, name="ours", application="application_1_0001"))
        assert pools.size == NODE_SIZE, "our own are counted as what they were granted"
        world.rm.binder.holding_seen(holding)
        assert pools.size == Resource(NODE_SIZE.memory_mib - 1025, NODE_SIZE.vcores - 4)
        lent = pools.of_queue("root.default").lent(NODE)
        assert lent is not None
        assert lent.ever == NODE_SIZE, "what others ask today says nothing of what can never start"
        assert world.rm.queries.node(NODE).node.capability == pools.size
        world.rm.binder.holding_seen(replace(holding, amounts={"cpu": 99_000, "pods": 1000}))
        assert pools.size == Resource(NODE_SIZE.memory_mib, 0), "never less than nothing"
        world.rm.binder.holdings_listed([])
        assert pools.size == NODE_SIZE
        world.rm.binder.holding_seen(holding)
        world.rm.binder.holding_gone(holding)
        assert pools.size == NODE_SIZE


async def test_node_may_register_with_nothing_to_lend(world: World) -> None:
    """Nothing starts there, of its own figure, and nobody is told that it never will."""
    await world.register_node(capability=NONE)
    publish(world, 8)
    day = await world.submit(queue="day")
    await world.settle()
    assert (held(world, "root.day"), world.rm.state.reasons.misfits) == (0, {})
    assert world.application(day).state is ApplicationState.ACCEPTED
    batch = await world.running_am(queue="batch")
    assert (await batch.beat(ask(40))).headroom == SMALL * 7
    await world.register_node()
    await world.settle()
    assert held(world, "root.day") == 1
    with pytest.raises(InvalidValue, match="memory and vcores of at least 0"):
        await world.register_node(capability=Resource(1024, -1))


async def test_change_is_judged_by_pool() -> None:
    async with World(Options(queues=QUEUES, dialects={"root.batch": "koordinator"})) as world:
        whole = {path: QueueUpdate(path=path, properties={"capacity": "100"}) for path in ("root.day", "root.batch")}
        with pytest.raises(InvalidQueues, match=r"Illegal capacity sum of 0\.5 .* of root.batch, which share one pool"):
            await world.run(world.rm.scheduler_conf.update("admin", ConfUpdate(updated=[whole["root.day"]])))
        await world.run(world.rm.scheduler_conf.update("admin", ConfUpdate(updated=list(whole.values()))))
        assert [world.rm.state.queues[path].capacity_percent for path in whole] == [100.0, 100.0]


async def test_refreshed_queues_that_draw_on_the_same_pools_are_not_counted_anew(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new count visits all nodes and containers, which takes 150 ms where there are many."""
    publish(world, 8)
    counted = list[object]()
    use = world.rm.state.use_pools

    def counting(rules: PoolRules, *, are_nodes_watched: bool) -> None:
        counted.append(rules)
        use(rules, are_nodes_watched=are_nodes_watched)

    monkeypatch.setattr(world.rm.state, "use_pools", counting)
    options = Options(queues=QUEUES, dialects={"root.batch": "koordinator"})
    world.rm.lending.use(options.limits().pod_profiles.pool_rules())
    assert counted == []
    others = Options(queues=QUEUES, dialects={"root.day": "koordinator"})
    world.rm.lending.use(others.limits().pod_profiles.pool_rules())
    assert len(counted) == 1
