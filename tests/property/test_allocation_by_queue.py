"""Laws of decisions over random trees, holdings and wishes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.records import an_attempt_id
from yodel.domain.allocation.decide import decide
from yodel.domain.allocation.demands import AllocationLimits, Capacity, Decision, Demand
from yodel.domain.allocation.figures import Figures
from yodel.domain.allocation.outcomes import Hurdle
from yodel.domain.ask_book import AskKey, Wish
from yodel.domain.container import Placement
from yodel.domain.queues.amounts import said_in
from yodel.domain.queues.ledger import UsageLedger
from yodel.domain.queues.queue import Ordering, Queue
from yodel.domain.queues.shares import QueueShares
from yodel.domain.resource import NONE, Resource
from yodel.domain.states import ExecutionType
from yodel.domain.waiting import Hindrance

SIZE = Resource(1024, 1)
USERS = ("u", "v", "w")
LIMITS = AllocationLimits(minimum=SIZE, per_tick_max=10_000, in_flight_max=10_000)


@st.composite
def trees(draw: st.DrawFn) -> tuple[Queue, ...]:
    """Two levels of up to nine leaves."""
    found = [Queue(path="root", is_leaf=False, is_by_priority=draw(st.booleans()))]
    for above in [f"root.{name}" for name in "abc"[: draw(st.integers(1, 3))]]:
        most = draw(parallel)
        order = {"is_by_priority": draw(st.booleans()), "priority": draw(priorities)}
        found.append(Queue(path=above, is_leaf=False, **order, maximum_parallel_applications=most, **draw(shares)))
        names = "xyz"[: draw(st.integers(1, 3))]
        found += [Queue(path=f"{above}.{name}", **draw(shares), **draw(leaf_limits)) for name in names]
    return tuple(found)


shares = st.tuples(st.integers(0, 33), st.integers(34, 100)).map(
    lambda pair: {"capacity_percent": float(pair[0]), "maximum_capacity_percent": float(pair[1])}
)
priorities = st.sampled_from([0, 0, 2, 5])
parallel = st.sampled_from([None, None, 0, 1, 3])
leaf_limits = st.fixed_dictionaries(
    {
        "user_limit_factor": st.sampled_from([-1.0, 0.5, 1.0, 3.0]),
        "minimum_user_limit_percent": st.sampled_from([10.0, 50.0, 100.0]),
        "ordering": st.sampled_from(Ordering),
        "am_share": st.sampled_from([None, 0.1, 1.0]),
        "maximum_parallel_applications": parallel,
        "priority": priorities,
    }
)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[tuple[Queue, ...], int, list[Demand]]:
    queues = draw(trees())
    leaves = [queue.path for queue in queues if queue.is_leaf]
    demands = []
    for number in range(draw(st.integers(1, 12))):
        size = SIZE * draw(st.integers(1, 4))
        is_new = draw(st.booleans())
        changes: dict[str, Any] = (
            {"am_capability": size} if is_new else {"wishes": [wish(draw(st.integers(1, 40)), size)]}
        )
        demands.append(
            Demand(
                attempt_id=an_attempt_id(number + 1),
                priority=draw(st.integers(0, 2)),
                submitted_ms=number,
                queue=draw(st.sampled_from(leaves)),
                user=draw(st.sampled_from(USERS)),
                **changes,
            )
        )
    return queues, draw(st.integers(1, 60)), demands


def wish(count: int, size: Resource, priority: int = 1) -> Wish:
    return Wish(key=AskKey(priority, -1, ExecutionType.GUARANTEED, size), number=count, placement=Placement())


def ledger_of(queues: tuple[Queue, ...], total: Resource, demands: list[Demand]) -> UsageLedger:
    active: dict[str, set[str]] = {}
    for demand in demands:
        active.setdefault(demand.queue, set()).add(demand.user)
    return UsageLedger(QueueShares(queues, total), {}, {}, minimum=SIZE, am_share=0.5, active=active)


def rounds(queues: tuple[Queue, ...], total: Resource, demands: list[Demand]) -> list[tuple[UsageLedger, Decision]]:
    """Decisions until nothing more is planned, each on what the one before has given; the ledger is before each."""
    given_so_far: list[tuple[Demand, Resource, bool]] = []
    found = []
    for _ in range(30):
        ledger = ledger_of(queues, total, demands)
        used = NONE
        for demand, size, is_am in given_so_far:
            ledger.take(demand.queue, demand.user, size, is_am=is_am)
            used += size
        decision = decide(demands, Capacity(total=total, used=used), LIMITS, ledger=ledger)
        found.append((ledger, decision))
        if not decision.plans:
            return found
        by_id = {demand.attempt_id: demand for demand in demands}
        given_so_far += [(by_id[p.attempt_id], p.capability, p.key is None) for p in decision.plans]
        demands = [_less(demand, decision) for demand in demands]
    raise AssertionError("decisions do not come to rest")


def _less(demand: Demand, decision: Decision) -> Demand:
    plans = [plan for plan in decision.plans if plan.attempt_id == demand.attempt_id]
    if demand.am_capability is not None:
        return replace(demand, am_capability=None) if plans else demand
    assert sum(w.number for w in demand.wishes) >= len(plans), "more than was wanted"
    return replace(demand, wishes=[w._replace(number=w.number - len(plans)) for w in demand.wishes])


@given(worlds())
@settings(max_examples=60)
def test_nothing_passes_a_maximum_or_the_cluster(world: tuple[tuple[Queue, ...], int, list[Demand]]) -> None:
    queues, count, demands = world
    for ledger, _ in rounds(queues, SIZE * count, demands):
        for queue in queues:
            assert ledger.used(queue.path).fits_in(ledger.share(queue.path).maximum), queue.path
            most = queue.maximum_parallel_applications
            assert most is None or ledger.running(queue.path) <= most, queue.path


@given(worlds())
@settings(max_examples=60)
def test_at_rest_nothing_waits_that_limits_and_room_let_start(
    world: tuple[tuple[Queue, ...], int, list[Demand]],
) -> None:
    queues, count, demands = world
    total = SIZE * count
    steps = rounds(queues, total, demands)
    ledger, _ = steps[-1]
    free = total - ledger.used("root")
    still = demands
    for _, decision in steps:
        still = [_less(demand, decision) for demand in still]
    for demand in still:
        if demand.am_capability is not None:
            may = ledger.why_no_am(demand.queue, demand.user, demand.am_capability) is None
            assert not (may and demand.am_capability.fits_in(free)), demand
        for left in demand.wishes:
            size = left.key.capability
            may = left.number > 0 and ledger.count(demand.queue, demand.user, size, 1) == 1
            assert not (may and size.fits_in(free)), demand


@given(worlds())
@settings(max_examples=60)
def test_who_wants_more_than_was_planned_is_told_why_and_nobody_else(
    world: tuple[tuple[Queue, ...], int, list[Demand]],
) -> None:
    """The figures are those of the ledger after the decision; and what is said to be in the way is."""
    queues, count, demands = world
    for ledger, decision in rounds(queues, SIZE * count, demands):
        still = {d.attempt_id: d for d in (_less(demand, decision) for demand in demands)}
        wanting = {i for i, d in still.items() if d.am_capability is not None or any(w.number for w in d.wishes)}
        assert decision.waiting.keys() == wanting
        for attempt_id, waiting in decision.waiting.items():
            demand, figures = still[attempt_id], decision.figures[waiting.pool]
            assert (waiting.queue, waiting.user) == (demand.queue, demand.user)
            assert sum(one.number for one in waiting.unserved) == (
                1 if demand.am_capability is not None else sum(w.number for w in demand.wishes)
            )
            for told in figures.told(waiting):
                assert told.chain
                for one in told.chain:
                    check(one, demand, ledger, figures)
        demands = list(still.values())


def check(one: Hindrance, demand: Demand, ledger: UsageLedger, figures: Figures) -> None:
    match one.hurdle:
        case Hurdle.QUEUE_LIMIT:
            assert one.path in ledger.share(demand.queue).path
            assert (one.used, one.limit) == (ledger.used(one.path), ledger.share(one.path).maximum)
            assert not (one.used + one.asked).fits_in(one.limit)
        case Hurdle.USER_LIMIT:
            assert one.used == ledger.used_by(demand.queue, one.user)
            assert not (one.used + one.asked).fits_in(one.limit)
        case Hurdle.AM_SHARE:
            of_user = ledger.masters_of(demand.queue, one.user)
            assert one.used == (of_user if one.user else ledger.masters(demand.queue))
            assert not (one.used + one.asked).fits_in(one.limit)
        case Hurdle.PARALLEL:
            assert one.path in ledger.share(demand.queue).path
            assert ledger.running(one.path) == ledger.share(one.path).queue.maximum_parallel_applications
        case Hurdle.ROOM:
            assert one.limit - one.used == figures.free
            assert not one.asked.fits_in(figures.free)
        case _:
            assert one.hurdle is Hurdle.TURN


@given(st.integers(2, 6), st.data())
def test_queues_that_want_all_get_what_they_are_guaranteed(leaves: int, data: st.DataObject) -> None:
    """Each is within one container of its guarantee, whoever came first."""
    weights = [data.draw(st.integers(1, 5)) for _ in range(leaves)]
    queues = [Queue(path="root", is_leaf=False)]
    for number, weight in enumerate(weights):
        percent = 100.0 * weight / sum(weights)
        queues.append(Queue(path=f"root.q{number}", capacity_percent=percent, user_limit_factor=-1.0))
    demands = [
        Demand(
            attempt_id=an_attempt_id(number + 1),
            priority=data.draw(st.integers(0, 3)),
            submitted_ms=number,
            queue=f"root.q{number}",
            user="u",
            wishes=[wish(1000, SIZE)],
        )
        for number in range(leaves)
    ]
    total = SIZE * 100
    ledger = ledger_of(tuple(queues), total, demands)
    decide(demands, Capacity(total=total, used=NONE), LIMITS, ledger=ledger)
    for queue in queues[1:]:
        exact = queue.capacity_percent
        assert abs(ledger.used(queue.path).vcores - exact) <= 1.0 + 1e-6, queue.path


@given(worlds())
@settings(max_examples=25)
def test_giving_many_at_once_is_giving_one_after_the_other(
    world: tuple[tuple[Queue, ...], int, list[Demand]],
) -> None:
    """The CapacityScheduler gives one container, then sorts all anew.  With containers of one size and without limits
    of users the queues hold the same, but for the last container where two stand equal.
    """
    queues, count, demands = world
    queues = tuple(replace(queue, user_limit_factor=-1.0) for queue in queues)
    demands = [
        replace(demand, am_capability=None, wishes=[wish(max(1, sum(w.number for w in demand.wishes)), SIZE)])
        for demand in demands
    ]
    total = SIZE * count
    at_once = ledger_of(queues, total, demands)
    decide(demands, Capacity(total=total, used=NONE), LIMITS, ledger=at_once)
    one_by_one = ledger_of(queues, total, demands)
    step = replace(LIMITS, per_tick_max=1)
    left, used = demands, NONE
    while True:
        decision = decide(left, Capacity(total=total, used=used), step, ledger=one_by_one)
        if not decision.plans:
            break
        used += decision.plans[0].capability
        left = [_less(demand, decision) for demand in left]
    for queue in queues:
        difference = at_once.used(queue.path) - one_by_one.used(queue.path)
        assert abs(difference.vcores) <= 1, queue.path


kinds = st.sampled_from(["", "%", "w"])
entries = st.tuples(st.integers(1, 40), kinds).map(lambda pair: f"{pair[0]}{pair[1]}")
by_resource = st.tuples(entries, entries).map(lambda two: said_in("capacity", f"[memory={two[0]},vcores={two[1]}]"))
own_shares = st.one_of(
    st.builds(lambda amounts: {"capacity_amounts": amounts, "capacity_percent": 0.0}, by_resource),
    st.integers(0, 25).map(lambda percent: {"capacity_percent": float(percent)}),
    st.integers(0, 5).map(lambda weight: {"capacity_percent": 0.0, "weight": float(weight)}),
)
maxima = st.one_of(
    st.integers(25, 100).map(lambda percent: {"maximum_capacity_percent": float(percent)}),
    st.tuples(st.integers(0, 40), st.integers(0, 40)).map(
        lambda two: {"maximum_amounts": said_in("maximum", f"[memory={two[0]},vcores={two[1]}]")}
    ),
)


@given(st.data(), st.integers(0, 100), st.integers(0, 100))
def test_siblings_of_any_kinds_share_no_more_than_there_is(data: st.DataObject, memory_mib: int, vcores: int) -> None:
    queues = [Queue(path="root", is_leaf=False)]
    for above in ("root", "root.q0", "root.q0.q0"):
        names = [f"{above}.q{number}" for number in range(data.draw(st.integers(1, 4)))]
        queues += [Queue(path=path, **data.draw(own_shares), **data.draw(maxima)) for path in names]
    tree = QueueShares(queues, Resource(memory_mib, vcores))
    for path, below in tree.below.items():
        parent, together = tree.shares[path], NONE
        for child in (tree.shares[one] for one in below):
            together += child.guaranteed
            assert child.guaranteed.fits_in(child.maximum), child
            assert child.maximum.fits_in(parent.maximum), child
            assert 0.0 <= child.capacity <= 1.0, child
        assert together.fits_in(parent.guaranteed), path
