"""Laws of pools: sums over any sequence of what nodes lend and hold, and decisions that take from the right purse."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property.test_allocation_by_queue import LIMITS, SIZE, trees, wish
from tests.support.records import an_attempt_id
from yodel.domain.allocation.by_pool import PoolPart, decide_by_pool
from yodel.domain.allocation.demands import Capacity, Decision, Demand
from yodel.domain.ids import NodeId
from yodel.domain.queues.ledger import UsageLedger
from yodel.domain.queues.pools import Pool, PoolCapacity, PoolName, Pools, Wholes, above_of
from yodel.domain.queues.queue import Queue
from yodel.domain.queues.shares import QueueShares
from yodel.domain.resource import NONE, Resource, larger, total_of

NAMES = (PoolName("native"), PoolName("batch"))
amounts = st.builds(Resource, st.integers(0, 8).map(lambda gib: gib * 1024), st.integers(0, 8))
nodes = st.integers(1, 4).map(lambda number: NodeId(f"node{number}", 8041))
steps = st.lists(
    st.one_of(
        st.tuples(st.just("lend"), nodes, amounts),
        st.tuples(st.sampled_from(["leave", "go"]), nodes, st.none()),
        st.tuples(st.just("hold"), nodes, amounts),
        st.tuples(st.just("let go"), nodes, st.none()),
    ),
    max_size=40,
)


@given(steps)
def test_sums_are_what_is_on_the_nodes_after_any_sequence(taken: list[tuple[str, NodeId, Resource | None]]) -> None:
    pool = Pool()
    lent: dict[NodeId, Resource | None] = {}
    held: dict[NodeId, list[Resource]] = {}
    leaving: set[NodeId] = set()
    for what, node, amount in taken:
        if what in ("lend", "leave", "go"):
            before = lent.get(node), node in leaving
            (leaving.add if what == "leave" else leaving.discard)(node)
            is_news = pool.lend(
                node, PoolCapacity(amount, amount) if amount is not None else None, is_leaving=what == "leave"
            )
            lent[node] = amount
            assert is_news == (before != (amount, node in leaving))
        elif what == "hold" and amount is not None:
            held.setdefault(node, []).append(amount)
            pool.hold(node, amount, 1)
        elif held.get(node):
            pool.hold(node, held[node].pop(), -1)
        there = {one: total_of(held.get(one, ())) for one in {*lent, *held}}
        now = {one: found for one in there if (found := lent.get(one)) is not None}
        assert pool.size == total_of(now.values())
        counting = {one: amount for one, amount in there.items() if one in now or one in leaving}
        assert pool.total == total_of(larger(now.get(one, NONE), amount) for one, amount in counting.items())
        assert set(pool.lenders) == set(now)
        for one, amount in there.items():
            free = pool.free_on(one)
            assert free == ((larger(now[one], amount) - amount) if one in now else NONE)
            assert free == free.at_least_zero(), "a dip makes nothing negative"
            assert pool.held_on(one) == amount
            if one in now and not now[one].fits_in(amount):
                continue
            assert free == NONE, "where less is lent than is held nothing starts"


@given(st.lists(st.tuples(nodes, amounts, amounts), max_size=10))
def test_a_dip_of_one_node_leaves_the_room_of_all_others(rows: list[tuple[NodeId, Resource, Resource]]) -> None:
    pool = Pool()
    for node, lent, held in rows:
        pool.lend(node, PoolCapacity(lent, lent))
        pool.hold(node, held, 1)
    before = {node: pool.free_on(node) for node, _, _ in rows}
    for node, lent, _ in rows[:1]:
        pool.lend(node, PoolCapacity(NONE, lent))
        assert pool.free_on(node) == NONE
        assert {n: pool.free_on(n) for n in before if n != node} == {n: f for n, f in before.items() if n != node}
    used = total_of(pool.held_on(node) for node in before)
    assert pool.total - used == total_of(pool.free_on(node) for node in before)


@dataclass(frozen=True)
class TwoPools:
    queues: tuple[Queue, ...]
    pools: Pools
    totals: dict[PoolName, Resource]
    demands: list[Demand]

    def ledger(self) -> UsageLedger:
        tree = QueueShares(self.queues, Wholes(pools=self.pools, totals=self.totals))
        return UsageLedger(tree, {}, {}, minimum=SIZE, am_share=0.5)

    def parts(self, in_flight: int = 0) -> list[PoolPart]:
        return [
            PoolPart(
                demands=[demand for demand in self.demands if self.pools.of(demand.queue) == name],
                capacity=Capacity(total=self.totals[name], used=NONE, in_flight=in_flight),
            )
            for name in NAMES
        ]

    def taken(self, decision: Decision) -> dict[PoolName, Resource]:
        pool_of = {demand.attempt_id: self.pools.of(demand.queue) for demand in self.demands}
        return {
            name: total_of(plan.capability for plan in decision.plans if pool_of[plan.attempt_id] == name)
            for name in NAMES
        }


@st.composite
def worlds(draw: st.DrawFn) -> TwoPools:
    queues = draw(trees())
    leaves = [queue.path for queue in queues if queue.is_leaf]
    tops = [queue.path for queue in queues if queue.path.count(".") == 1]
    demands = [
        Demand(
            attempt_id=an_attempt_id(number + 1),
            priority=draw(st.integers(0, 2)),
            submitted_ms=number,
            queue=draw(st.sampled_from(leaves)),
            user=draw(st.sampled_from("uv")),
            wishes=[wish(draw(st.integers(1, 40)), SIZE * draw(st.integers(1, 4)))],
        )
        for number in range(draw(st.integers(1, 12)))
    ]
    pools = Pools(by_child={path: draw(st.sampled_from(NAMES)) for path in tops})
    return TwoPools(queues, pools, {name: SIZE * draw(st.integers(0, 60)) for name in NAMES}, demands)


@given(worlds())
@settings(max_examples=60)
def test_no_pool_gives_more_than_it_has_and_no_queue_passes_its_maximum_of_it(world: TwoPools) -> None:
    ledger = world.ledger()
    decision = decide_by_pool(world.parts(), LIMITS, ledger=ledger)
    for name, taken in world.taken(decision).items():
        assert taken.fits_in(world.totals[name])
        if above_of(name) in ledger.tree.tops:
            assert ledger.used(above_of(name)) == taken
    for queue in world.queues[1:]:
        assert ledger.used(queue.path).fits_in(ledger.share(queue.path).maximum)
        assert ledger.share(queue.path).maximum.fits_in(world.totals[world.pools.of(queue.path)])


@given(worlds())
@settings(max_examples=60)
def test_a_pool_is_decided_as_if_it_were_alone(world: TwoPools) -> None:
    together = decide_by_pool(world.parts(), LIMITS, ledger=world.ledger())
    for name, part in zip(NAMES, world.parts(), strict=True):
        own = [queue for queue in world.queues if queue.path == "root" or world.pools.of(queue.path) == name]
        alone = UsageLedger(QueueShares(own, world.totals[name]), {}, {}, minimum=SIZE, am_share=0.5)
        plans = decide_by_pool([part], LIMITS, ledger=alone).plans
        ids = {demand.attempt_id for demand in part.demands}
        assert tuple(plan for plan in together.plans if plan.attempt_id in ids) == plans


@given(worlds(), st.integers(0, 30), st.integers(1, 30))
@settings(max_examples=60)
def test_pods_of_all_pools_together_keep_the_limits(world: TwoPools, in_flight: int, per_tick: int) -> None:
    limits = replace(LIMITS, in_flight_max=30, per_tick_max=per_tick)
    decision = decide_by_pool(world.parts(in_flight), limits, ledger=world.ledger())
    most = min(per_tick, 30 - in_flight)
    assert len(decision.plans) <= most
    if most >= len(NAMES):
        free = decide_by_pool(world.parts(), LIMITS, ledger=world.ledger())
        served = {name for name, taken in world.taken(decision).items() if taken != NONE}
        wanted = {name for name, taken in world.taken(free).items() if taken != NONE}
        assert served == wanted, "no pool waits for the pods of another"


def test_who_has_least_under_way_has_the_last_pod() -> None:
    busy = Demand(attempt_id=an_attempt_id(1), priority=0, submitted_ms=0, queue="root.a", wishes=[wish(9, SIZE)])
    busy = replace(busy, in_flight={busy.wishes[0].key: 5})
    idle = Demand(attempt_id=an_attempt_id(2), priority=0, submitted_ms=1, queue="root.b", wishes=[wish(9, SIZE)])
    capacity = Capacity(total=SIZE * 50, used=NONE, in_flight=5)
    parts = [PoolPart(demands=[busy], capacity=capacity), PoolPart(demands=[idle], capacity=capacity)]
    decision = decide_by_pool(parts, replace(LIMITS, in_flight_max=6))
    assert [plan.attempt_id for plan in decision.plans] == [idle.attempt_id]


def test_pools_that_want_more_than_a_tick_gives_have_equal_parts_of_it() -> None:
    capacity = Capacity(total=SIZE * 50, used=NONE, in_flight=0)
    wanting = [
        Demand(attempt_id=an_attempt_id(n), priority=0, submitted_ms=n, queue=queue, wishes=[wish(9, SIZE)])
        for n, queue in ((1, "root.a"), (2, "root.b"))
    ]
    parts = [PoolPart(demands=[demand], capacity=capacity) for demand in wanting]
    decision = decide_by_pool(parts, replace(LIMITS, per_tick_max=6))
    assert [plan.attempt_id for plan in decision.plans] == [wanting[0].attempt_id] * 3 + [wanting[1].attempt_id] * 3


def test_queue_draws_on_the_pool_of_the_child_of_root_above_it() -> None:
    batch = NAMES[1]
    pools = Pools(by_child={"root.a": batch})
    assert [pools.of(path) for path in ("root", "root.a", "root.a.b.c", "root.ab", "root.b.a")] == [
        "native",
        batch,
        batch,
        "native",
        "native",
    ]
    assert pools.drawn_on(["root"]) == ("native",)
    assert pools.drawn_on(["root", "root.a"]) == (batch,)
    assert pools.drawn_on(["root", "root.a", "root.b"]) == (batch, "native")
    assert pools.named == {"native", batch}


def test_what_stands_for_the_root_in_a_pool_is_as_large_as_the_pool() -> None:
    native, batch = NAMES
    wholes = Wholes(pools=Pools(by_child={"root.a": batch}), totals={native: SIZE * 10, batch: SIZE * 4})
    root = Queue(path="root", is_leaf=False, maximum_capacity_percent=50.0)
    tree = QueueShares([root, Queue(path="root.a", capacity_percent=0.0), Queue(path="root.b")], wholes)
    ledger = UsageLedger(tree, {}, {}, minimum=SIZE, am_share=0.5)
    assert (tree.shares["root"].guaranteed, tree.shares["root"].maximum) == (SIZE * 7, SIZE * 7)
    assert ledger.share("root.gone").maximum == SIZE * 5, "a queue without a row may hold what root may of its pool"
    ledger.take("root.a", "u", SIZE)
    assert ledger.queue_room(ledger.share("root.a")) == SIZE
    assert ledger.queue_room(ledger.share("root.gone")) == SIZE * 5, "another pool is not charged"
