"""A queue under its guarantee gets large containers where small ones come and go: nodes are held, claims are whole."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from tests.support.playbook import World, ask, complete
from tests.support.rm_options import NODE_SIZE
from tests.support.two_sizes import DEFAULTS, GIB, TwoSizes, options
from yodel.domain.allocation.holds import HoldRules
from yodel.domain.preemption.rules import PreemptionRules
from yodel.domain.queues.queue import Queue
from yodel.domain.resource import Resource
from yodel.domain.waiting_words import Cause
from yodel.translator.node_fit import required_terms

LARGE = GIB * 8
STEPS_S = 3
"""A round, a pod that is placed, a heartbeat that takes it: a second each."""
BOUND_S = DEFAULTS.max_wait_before_kill_s + STEPS_S


async def wait_for(cluster: TwoSizes, count: int, at_most_s: float) -> list[int]:
    """After how many seconds each of so many large containers was granted, since they were asked for."""
    asked_s, before = cluster.now_s, len(cluster.granted)
    while len(cluster.granted) - before < count and cluster.now_s - asked_s < at_most_s:
        await cluster.second()
    return [at_s - asked_s for at_s, _ in cluster.granted[before:]]


@pytest.mark.parametrize("is_binding", [False, True])
@pytest.mark.parametrize("seed", range(3))
async def test_large_containers_within_the_guarantee_are_granted_in_time_and_few_are_ended(
    seed: int, is_binding: bool
) -> None:
    async with World(options(DEFAULTS, is_binding=is_binding)) as world:
        cluster = TwoSizes(world, life_s=30, lives=Random(seed))
        await cluster.begin()
        assert len(world.live_tasks()) == 30
        await cluster.large.beat(ask(1, capability=LARGE))
        first = await wait_for(cluster, 1, 170)
        assert first
        assert first[0] <= BOUND_S
        assert cluster.killed <= 8 + 1
        await cluster.large.beat(ask(1, capability=GIB * 7))
        second = await wait_for(cluster, 1, 170)
        assert second
        assert second[0] <= BOUND_S
        assert cluster.killed <= 8 + 7 + 2


@pytest.mark.parametrize("is_binding", [False, True])
async def test_without_giving_back_the_longest_task_is_waited_for_and_nothing_is_ended(is_binding: bool) -> None:
    async with World(options(PreemptionRules(), is_binding=is_binding)) as world:
        cluster = TwoSizes(world, life_s=40)
        await cluster.begin()
        await cluster.large.beat(ask(1, capability=LARGE))
        granted = await wait_for(cluster, 1, 300)
        assert granted
        assert granted[0] <= cluster.life_s + STEPS_S
        assert cluster.killed == 0
        assert len(world.live_tasks()) + 7 >= 30 - 8, "others ran where nothing is held"


async def test_tasks_that_never_end_are_ended_in_one_go() -> None:
    async with World(options(DEFAULTS)) as world:
        cluster = TwoSizes(world, life_s=10_000)
        await cluster.begin()
        await cluster.large.beat(ask(1, capability=LARGE))
        await cluster.second()
        await cluster.second()
        notices = world.rm.preemption.notices
        assert len({notice.claim for notice in notices.values()}) == 1
        assert len({notice.given_s for notice in notices.values()}) == 1
        assert 7 <= len(notices) <= 8
        granted = await wait_for(cluster, 1, BOUND_S)
        assert granted
        assert cluster.killed == len(notices)


async def test_what_is_free_on_a_held_node_is_reserved_and_told() -> None:
    async with World(options(PreemptionRules())) as world:
        cluster = TwoSizes(world, life_s=30)
        await cluster.begin()
        await cluster.large.beat(ask(1, capability=LARGE))
        for _ in range(10):
            await cluster.second()
        (hold,) = world.rm.state.holds.all
        assert GIB.fits_in(hold.free)
        view = world.rm.queries.application(cluster.large.application_id)
        assert (view.reserved, view.reserved_containers) == (hold.free, 1)
        queue = await world.rm.queries.queue("a")
        assert queue is not None
        assert (queue.metrics.reserved, queue.metrics.containers_reserved) == (hold.free, 1)
        assert world.rm.quotas.ledger().used("root.a") == GIB + hold.free, "it counts as used"
        own = world.rm.queries.why.of(view.application).asks[0]
        assert own.chain[-1].text == (
            f"Node {hold.node_id.host} is reserved for it: free {hold.free.with_units}; requested {LARGE.with_units}."
        )
        other = world.rm.queries.why.of(world.application(cluster.small.application_id)).asks[0]
        assert any(link.cause in (Cause.NODE_RESERVED, Cause.POOL_FULL) for link in other.chain)


async def test_a_claim_whose_container_is_not_wanted_any_more_ends_nothing() -> None:
    async with World(options(DEFAULTS)) as world:
        cluster = TwoSizes(world, life_s=10_000)
        await cluster.begin()
        await cluster.large.beat(ask(1, capability=LARGE))
        for _ in range(5):
            await cluster.second()
        assert world.rm.preemption.notices
        await cluster.large.beat(ask(0, capability=LARGE))
        await cluster.second()
        assert world.rm.preemption.notices == {}
        for _ in range(30):
            await cluster.second()
        assert world.rm.preemption.claims == []
        assert list(world.rm.state.holds.all) == []
        assert cluster.killed == 0
        assert len(world.live_tasks()) == 30


async def test_pods_that_wait_are_made_anew_without_the_node_and_again_when_it_is_nobodys() -> None:
    async with World(options(PreemptionRules())) as world:
        cluster = TwoSizes(world, life_s=10_000)
        await cluster.begin()
        cluster.closed_to_us.update(node_id.host for node_id in cluster.nodes)
        first = min(cluster.ends, key=lambda one: one.number)
        await world.beat(complete(first), node_id=world.container(first).node_id)
        await cluster.small.beat()
        await world.settle()
        (waiting,) = (world.container(one) for one in world.rm.state.container_index.planned)

        def kept_from() -> set[str]:
            return set(_not_in(world.pods.manifests[waiting.pod]["spec"]))

        assert kept_from() == set()
        await cluster.large.beat(ask(1, capability=LARGE))
        await world.settle()
        await world.pass_time(1)
        (hold,) = world.rm.state.holds.all
        assert kept_from() == {hold.node_id.host}
        await cluster.large.beat(ask(0, capability=LARGE))
        await world.settle()
        await world.pass_time(1)
        assert kept_from() == set()


def _not_in(spec: dict[str, Any]) -> list[str]:
    """Kubernetes' names of nodes that a pod keeps off."""
    return [
        field["values"][0]
        for term in required_terms(spec) or ()
        for field in term.get("matchFields", ())
        if field["operator"] == "NotIn"
    ]


async def test_a_pod_that_others_keep_from_its_node_gets_another_node() -> None:
    """Kubernetes does not place it on the node that was held: full of pods that nobody here sees."""
    async with World(options(DEFAULTS)) as world:
        cluster = TwoSizes(world, life_s=10_000)
        await cluster.begin()
        await cluster.large.beat(ask(1, capability=LARGE))
        await cluster.second()
        await cluster.second()
        (hold,) = world.rm.state.holds.all
        cluster.closed_to_us.add(hold.node_id.host)
        granted = await wait_for(cluster, 1, 2 * BOUND_S + HoldRules().placed_s)
        assert granted
        assert world.container(cluster.granted[0][1]).node_id != hold.node_id


async def test_a_node_on_which_nothing_ends_is_given_up_for_another() -> None:
    rules = HoldRules(longest_s=20.0)
    async with World(replace(options(PreemptionRules()), holds=rules)) as world:
        cluster = TwoSizes(world, life_s=10_000)
        await cluster.begin()
        await cluster.large.beat(ask(1, capability=LARGE))
        await cluster.second()
        (hold,) = world.rm.state.holds.all
        for _ in range(22):
            await cluster.second()
        (other,) = world.rm.state.holds.all
        assert other.node_id != hold.node_id
        assert other.since_s - hold.since_s >= rules.longest_s


async def test_queue_under_its_guarantee_is_held_a_node_instead_of_one_above_it() -> None:
    """There is one node to hold, and it was held for the borrower when the other came."""
    async with World(options(PreemptionRules())) as world:
        cluster = TwoSizes(world, life_s=10_000)
        await cluster.begin()
        await cluster.small.beat(ask(1, priority=0, capability=LARGE))
        await cluster.second()
        (hold,) = world.rm.state.holds.all
        assert hold.queue == "root.b"
        await cluster.large.beat(ask(1, capability=LARGE))
        await cluster.second()
        (hold,) = world.rm.state.holds.all
        assert hold.queue == "root.a"


@pytest.mark.parametrize(("wanted", "winner"), [(GIB * 3, "root.a"), (LARGE, "root.c")], ids=["within", "above"])
async def test_the_node_goes_to_the_queue_under_its_guarantee_once_though_another_is_served_before_it(
    wanted: Resource, winner: str
) -> None:
    """Queue c uses less of its guarantee than a, but its request is above it; b fills the rest.  A request of a above
    its own guarantee takes nothing from c."""
    queues = [
        Queue(path="root.a", capacity_percent=25.0, user_limit_factor=-1.0),
        Queue(path="root.b", capacity_percent=45.0, user_limit_factor=-1.0, maximum_capacity_percent=75.0),
        Queue(path="root.c", capacity_percent=30.0, user_limit_factor=-1.0),
    ]
    async with World(options(PreemptionRules(), queues=queues)) as world:
        cluster = TwoSizes(world, life_s=10_000)
        await cluster.begin()
        third = await cluster.master("c")
        await cluster.large.beat(ask(4))
        await third.beat(ask(2))
        for _ in range(2):
            await cluster.second()
        assert len((await third.beat()).granted) == 2
        await third.beat(ask(1, priority=0, capability=LARGE))
        await cluster.second()
        assert [hold.queue for hold in world.rm.state.holds.all] == ["root.c"]
        await cluster.large.beat(ask(1, priority=0, capability=wanted))
        await cluster.second()
        (hold,) = world.rm.state.holds.all
        assert hold.queue == winner
        assert not await world.run(world.rm.scheduler.tick()), "nothing has changed since"
        assert [*world.rm.state.holds.all] == [hold]


@pytest.mark.parametrize(
    "limits", [{"maximum_capacity_percent": 50.0}, {"user_limit_factor": 1.0}, {}], ids=["maximum", "user", "none"]
)
async def test_no_node_is_held_beyond_a_maximum_or_the_limit_of_a_user(limits: dict[str, float]) -> None:
    """The queue has half of two nodes of sixteen: its ApplicationMaster and two containers of eight are more."""
    halves = [Queue(path=f"root.{name}", capacity_percent=50.0, user_limit_factor=-1.0) for name in "ab"]
    halves[0] = replace(halves[0], **limits)  # type: ignore[arg-type]
    async with World(options(PreemptionRules(), queues=halves)) as world:
        cluster = TwoSizes(world, life_s=40)
        await cluster.begin()
        await cluster.large.beat(ask(2, capability=LARGE))
        assert await wait_for(cluster, 1, 300)
        for _ in range(5):
            await cluster.second()
            held = [hold for hold in world.rm.state.holds.all if hold.container_id is None]
            assert not (limits and held)
        assert bool(held) is not bool(limits)


async def test_large_container_is_not_starved_by_small_ones_of_its_own_application() -> None:
    async with World(options(PreemptionRules())) as world:
        cluster = TwoSizes(world, life_s=30)
        await cluster.begin()
        await cluster.small.beat(ask(1, priority=0, capability=LARGE))
        for _ in range(cluster.life_s + STEPS_S):
            await cluster.second()
        assert sum(container.capability == LARGE for container in world.live_tasks()) == 1


async def test_container_on_its_way_to_a_held_node_is_planned_anew_when_nobody_knows_of_the_hold() -> None:
    """The ResourceManager began another life meanwhile."""
    async with World(options(PreemptionRules())) as world:
        cluster = TwoSizes(world, life_s=5)
        await cluster.begin()
        await cluster.large.beat(ask(1, capability=LARGE))
        cluster.closed_to_us.update(node_id.host for node_id in cluster.nodes)
        while not any(hold.container_id for hold in world.rm.state.holds.all):
            await cluster.second()
        (planned,) = [c for c in world.live_tasks() if c.capability == LARGE]
        await world.restart()
        for node_id in cluster.nodes:
            await world.register_node(node_id, NODE_SIZE)
        await world.pass_time(HoldRules().placed_s)
        world.rm.scheduler.wake()
        await world.settle()
        assert not world.container(planned.id).is_live


async def test_no_node_is_held_where_that_is_off() -> None:
    async with World(replace(options(DEFAULTS), holds=HoldRules(part=0.0))) as world:
        cluster = TwoSizes(world, life_s=10_000)
        await cluster.begin()
        await cluster.large.beat(ask(1, capability=LARGE))
        for _ in range(40):
            await cluster.second()
        assert list(world.rm.state.holds.all) == []
        assert cluster.killed == 0
