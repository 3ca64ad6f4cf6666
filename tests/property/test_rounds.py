"""Rounds that look at what has changed find what a look at everything finds, in whatever order things happen."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property.test_allocation_by_queue import LIMITS, SIZE, USERS, trees, wish
from tests.support.records import an_attempt_id
from tests.unit.domain.test_places import a_place, the_places
from yodel.domain.allocation.decide import decide
from yodel.domain.allocation.demands import AllocationLimits, Capacity, Decision, Demand, Increase, Plan
from yodel.domain.allocation.holds import NodeReservation, Short, with_holds
from yodel.domain.allocation.places import Places
from yodel.domain.allocation.rounds import Rounds
from yodel.domain.ask_book import Wish
from yodel.domain.container import Placement
from yodel.domain.ids import ApplicationAttemptId, ContainerId, NodeId
from yodel.domain.queues.ledger import UsageLedger
from yodel.domain.queues.pools import NATIVE, PoolName
from yodel.domain.queues.queue import Queue
from yodel.domain.queues.shares import QueueShares
from yodel.domain.resource import NONE, Resource
from yodel.domain.waiting import Waiting


def pool_of(_: str) -> PoolName:
    return NATIVE


@dataclass
class Held:
    resource: Resource = NONE
    am_resource: Resource = NONE
    masters: int = 0

    def add(self, size: Resource, sign: int, *, is_am: bool) -> None:
        self.resource += size * sign
        if is_am:
            self.am_resource += size * sign
            self.masters += sign


@dataclass
class Cluster:
    """Keep what live containers hold; each is of a leaf and a user."""

    queues: tuple[Queue, ...]
    total: Resource
    live: list[tuple[str, str, Resource, bool]] = field(default_factory=list)
    by_queue: dict[str, Held] = field(default_factory=dict)
    by_user: dict[tuple[str, str], Held] = field(default_factory=dict)
    changed: set[str] = field(default_factory=set)
    demands: dict[ApplicationAttemptId, Demand] = field(default_factory=dict)
    rounds: Rounds = field(default_factory=Rounds)
    waiting: dict[ApplicationAttemptId, Waiting] = field(default_factory=dict)
    looked: set[str] = field(default_factory=set)
    """Leaves that the last round went through."""
    places: Places | None = None
    holds: tuple[NodeReservation, ...] = ()

    def __post_init__(self) -> None:
        self.tree = QueueShares(self.queues, self.total)

    def resize(self, total: Resource) -> None:
        self.total, self.tree = total, QueueShares(self.queues, total)

    def hold(self, one: tuple[str, str, Resource, bool], sign: int) -> None:
        path, user, size, is_am = one
        (self.live.append if sign > 0 else self.live.remove)(one)
        self.by_user.setdefault((path, user), Held()).add(size, sign, is_am=is_am)
        parts = path.split(".")
        for above in (".".join(parts[: number + 1]) for number in range(len(parts))):
            self.by_queue.setdefault(above, Held()).add(size, sign, is_am=is_am)
            self.changed.add(above)

    def want(self, demand: Demand | None, attempt_id: ApplicationAttemptId) -> None:
        if demand is None:
            self.demands.pop(attempt_id, None)
        else:
            self.demands[attempt_id] = demand
        self.rounds.put(attempt_id, demand, pool_of)

    def capacity(self) -> Capacity:
        used = self.by_queue["root"].resource if "root" in self.by_queue else NONE
        return Capacity(total=self.total, used=used, places=self.places, holds=self.holds)

    def ledger(self) -> UsageLedger:
        found = UsageLedger(self.tree, self.by_queue, self.by_user, minimum=SIZE, am_share=0.5)
        return with_holds(found, self.holds)

    def look_at_all(self, limits: AllocationLimits = LIMITS) -> Decision:
        return decide(list(self.demands.values()), self.capacity(), limits, ledger=self.ledger())

    def round(self, heads_max: float, limits: AllocationLimits = LIMITS) -> Decision:
        ledger, changed = self.ledger(), self.changed
        self.changed = set()
        free = self.capacity().total - self.ledger().used("root")
        turns = self.rounds.begin(limits, id(self.tree), changed, ledger, lambda _: free, pool_of)
        capacity = self.capacity()
        found = self.rounds.decide(turns, {NATIVE: capacity}, limits, ledger, heads_max)
        self.looked = {*found.looked}
        assert found.heard is not None
        for attempt_id in found.heard:
            self.waiting.pop(attempt_id, None)
        self.waiting.update(found.waiting)
        return found

    def act(self, plans: tuple[Plan, ...]) -> None:
        """Every container is there, and handed over."""
        for plan in plans:
            demand = self.demands[plan.attempt_id]
            self.hold((demand.queue, demand.user, plan.capability, plan.key is None), 1)
            if plan.key is None:
                self.want(replace(demand, am_capability=None), plan.attempt_id)
            else:
                left = [w._replace(number=w.number - (w.key == plan.key)) for w in demand.wishes]
                self.want(replace(demand, wishes=[w for w in left if w.number]), plan.attempt_id)


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    return Cluster(draw(trees()), SIZE * draw(st.integers(1, 30)))


def some_wishes(size: Resource) -> st.SearchStrategy[list[Wish]]:
    """Draw requests at some priorities, mostly all of one size."""
    sizes = st.sampled_from((size, size, size, SIZE * 5))
    return st.lists(st.tuples(st.integers(1, 20), sizes), min_size=1, max_size=4).map(
        lambda drawn: [wish(count, of, priority) for priority, (count, of) in enumerate(drawn)]
    )


def an_increase(number: int) -> Increase:
    """Return a container on a full node that is to become larger, which keeps its leaf from sleeping."""
    container_id = ContainerId.of(an_attempt_id(number), 2)
    return Increase(container_id=container_id, node_id=NodeId("full", 1), target=SIZE * 2, extra=SIZE)


def happen(cluster: Cluster, draw: st.DataObject) -> None:
    """Something that a decision reads changes."""
    leaves = [queue.path for queue in cluster.queues if queue.is_leaf]
    what = draw.draw(st.sampled_from([*["want"] * 6, "want no more", *["end"] * 4, "resize"]))
    if what == "want":
        number = draw.draw(st.integers(1, 8))
        size = SIZE * draw.draw(st.sampled_from((1, 2, 3, 4, 9)))
        is_am = draw.draw(st.booleans())
        cluster.want(
            Demand(
                attempt_id=an_attempt_id(number),
                priority=number % 3,
                submitted_ms=number,
                queue=draw.draw(st.sampled_from(leaves)),
                user=draw.draw(st.sampled_from(USERS)),
                am_capability=size if is_am else None,
                wishes=() if is_am else draw.draw(some_wishes(size)),
                increases=() if is_am or draw.draw(st.integers(0, 5)) else [an_increase(number)],
            ),
            an_attempt_id(number),
        )
    elif what == "want no more" and cluster.demands:
        cluster.want(None, draw.draw(st.sampled_from(sorted(cluster.demands))))
    elif what == "end" and cluster.live:
        cluster.hold(draw.draw(st.sampled_from(cluster.live)), -1)
    elif what == "resize":
        cluster.resize(SIZE * draw.draw(st.integers(1, 60)))


@given(clusters(), st.data())
@settings(max_examples=60)
def test_round_plans_and_tells_what_a_look_at_all_does(cluster: Cluster, data: st.DataObject) -> None:
    for _ in range(15):
        for _ in range(data.draw(st.integers(1, 2))):
            happen(cluster, data)
        found = cluster.round(float("inf"))
        whole = cluster.look_at_all()
        assert sorted(map(repr, found.plans)) == sorted(map(repr, whole.plans))
        assert cluster.waiting == whole.waiting
        assert found.active == whole.active
        if data.draw(st.integers(0, 3)):
            cluster.act(found.plans)
        elif found.plans:  # the commit was refused
            cluster.rounds.wake_all()


@given(clusters(), st.data(), st.integers(1, 3))
@settings(max_examples=60)
def test_short_rounds_come_to_rest_where_nothing_is_owed(cluster: Cluster, data: st.DataObject, heads_max: int) -> None:
    for _ in range(8):
        for _ in range(data.draw(st.integers(1, 6))):
            happen(cluster, data)
        for _ in range(1000):
            found = cluster.round(heads_max)
            cluster.act(found.plans)
            if not found.plans and not found.is_cut:
                break
        else:
            raise AssertionError("rounds do not come to rest")
        whole = cluster.look_at_all()
        assert whole.plans == ()
        assert cluster.waiting == whole.waiting


def test_what_has_not_changed_sleeps() -> None:
    """The round looks only at the one of forty full leaves where something ended."""
    leaves = [Queue(path=f"root.q{n}", capacity_percent=2.5, maximum_capacity_percent=2.5) for n in range(40)]
    cluster = Cluster((Queue(path="root", is_leaf=False), *leaves), SIZE * 80)
    for number, leaf in enumerate(leaves):
        demand = Demand(
            attempt_id=an_attempt_id(number + 1),
            priority=0,
            submitted_ms=number,
            queue=leaf.path,
            user="u",
            wishes=[wish(9, SIZE)],
        )
        cluster.want(demand, demand.attempt_id)
    while (found := cluster.round(float("inf"))).plans:
        cluster.act(found.plans)
    cluster.round(float("inf"))
    assert cluster.looked == set()
    cluster.hold(("root.q7", "u", SIZE, False), -1)
    found = cluster.round(float("inf"))
    assert (cluster.looked, [plan.attempt_id for plan in found.plans]) == ({"root.q7"}, [an_attempt_id(8)])


def test_settled_application_is_told_again_after_a_change_of_what_all_decisions_read() -> None:
    """Sizes are rounded up to another minimum allocation."""
    cluster = Cluster((Queue(path="root", is_leaf=False), Queue(path="root.a", user_limit_factor=-1.0)), SIZE * 2)
    cluster.hold(("root.a", "v", SIZE * 2, False), 1)
    own, wishes = an_attempt_id(1), [wish(2, SIZE, priority) for priority in range(3)]
    cluster.want(Demand(attempt_id=own, priority=0, submitted_ms=1, queue="root.a", user="u", wishes=wishes), own)
    for limits in (LIMITS, replace(LIMITS, minimum=SIZE * 2)):
        cluster.resize(cluster.total)
        cluster.round(float("inf"), limits)
        assert {unserved.size for unserved in cluster.waiting[own].unserved} == {limits.minimum}


def test_settled_application_is_told_again_when_a_reserved_node_serves_one_of_its_containers() -> None:
    size, node = SIZE * 2, NodeId("reserved", 1)
    leaf = Queue(path="root.a", capacity_percent=100.0, user_limit_factor=-1.0)
    cluster = Cluster((Queue(path="root", is_leaf=False), leaf), size)
    cluster.hold(("root.a", "v", size, False), 1)
    base = Demand(attempt_id=an_attempt_id(1), priority=0, submitted_ms=1, queue="root.a", user="u")
    wishes = [wish(2, size, priority) for priority in range(3)]
    for number in (1, 2):
        own = an_attempt_id(number)
        cluster.want(replace(base, attempt_id=own, submitted_ms=number, wishes=wishes), own)
    cluster.round(float("inf"))
    cluster.hold(("root.a", "v", size, False), -1)
    key = wishes[0].key
    short = Short(attempt_id=an_attempt_id(1), key=key, queue="root.a", user="u", size=size, placement=Placement())
    cluster.holds = (NodeReservation(pool=NATIVE, node_id=node, short=short, since_s=0.0, freed_s=0.0, free=size),)
    place = a_place(node.host, capability=size)
    cluster.places = Places([place], {node: size}.__getitem__, held=frozenset({node}))
    cluster.want(replace(cluster.demands[an_attempt_id(2)], held_mib=1), an_attempt_id(2))
    assert [plan.is_held for plan in cluster.round(float("inf")).plans] == [True]
    assert [unserved.number for unserved in cluster.waiting[an_attempt_id(1)].unserved] == [1, 2, 2]
    cluster.rounds.wake_all()  # the commit was refused, and the node is reserved no longer
    cluster.holds, cluster.places = (), None
    cluster.hold(("root.a", "v", size, False), 1)
    cluster.round(float("inf"))
    assert [unserved.number for unserved in cluster.waiting[an_attempt_id(1)].unserved] == [2, 2, 2]


def test_who_found_no_room_wakes_when_another_queue_leaves_some() -> None:
    leaves = [Queue(path=f"root.{name}", capacity_percent=50.0, user_limit_factor=-1.0) for name in "ab"]
    cluster = Cluster((Queue(path="root", is_leaf=False), *leaves), SIZE * 2)
    cluster.hold(("root.b", "v", SIZE, False), 1)
    own = an_attempt_id(1)
    wanted = Demand(attempt_id=own, priority=0, submitted_ms=1, queue="root.a", user="u", wishes=[wish(4, SIZE)])
    cluster.want(wanted, own)
    cluster.act(cluster.round(float("inf")).plans)
    for _ in range(2):
        assert cluster.round(float("inf")).plans == ()
    assert (cluster.looked, len(cluster.live)) == (set(), 2)
    cluster.hold(("root.b", "v", SIZE, False), -1)
    assert len(cluster.round(float("inf")).plans) == 1


def test_master_over_the_share_wakes_when_another_queue_leaves_more() -> None:
    """The share is of what the queue could hold, and that grows with what others give up."""
    leaves = [Queue(path=f"root.{name}", capacity_percent=percent) for name, percent in (("a", 10.0), ("b", 90.0))]
    cluster = Cluster((Queue(path="root", is_leaf=False), *leaves), SIZE * 8)
    for _ in range(4):
        cluster.hold(("root.b", "v", SIZE, False), 1)
    for number in (1, 2, 3):
        own = an_attempt_id(number)
        changes = {"attempt_id": own, "submitted_ms": number, "queue": "root.a", "user": USERS[number - 1]}
        cluster.want(Demand(priority=0, am_capability=SIZE, **changes), own)  # type: ignore[arg-type]
    cluster.act(cluster.round(float("inf")).plans)
    assert len(cluster.live) == 4 + 2
    for _ in range(2):
        assert cluster.round(float("inf")).plans == ()
    assert cluster.looked == set()
    for _ in range(4):
        cluster.hold(("root.b", "v", SIZE, False), -1)
    assert len(cluster.round(float("inf")).plans) == 1


def test_who_was_served_has_another_place_among_its_siblings() -> None:
    """Two queues are given in turn what is left free one by one."""
    leaves = [
        Queue(path=f"root.{n}", capacity_percent=p, user_limit_factor=-1.0)
        for n, p in zip("abc", (40.0, 40.0, 20.0), strict=True)
    ]
    cluster = Cluster((Queue(path="root", is_leaf=False), *leaves), SIZE * 10)
    for _ in range(10):
        cluster.hold(("root.c", "v", SIZE, False), 1)
    for number, name in enumerate("ab"):
        own = an_attempt_id(number + 1)
        wanted = Demand(
            attempt_id=own, priority=0, submitted_ms=1, queue=f"root.{name}", user="u", wishes=[wish(9, SIZE)]
        )
        cluster.want(wanted, own)
    assert cluster.round(float("inf")).plans == ()
    served = []
    for _ in range(4):
        cluster.hold(("root.c", "v", SIZE, False), -1)
        plans = cluster.round(float("inf")).plans
        served += [plan.attempt_id for plan in plans]
        cluster.act(plans)
    assert served == [an_attempt_id(1), an_attempt_id(2)] * 2


def test_requests_that_are_alike_and_wait_as_before_are_gone_through_once() -> None:
    """A round tries the first request of each application in a full leaf, and no other, after something changed."""
    leaf = Queue(path="root.a", capacity_percent=100.0, user_limit_factor=-1.0)
    cluster = Cluster((Queue(path="root", is_leaf=False), leaf), SIZE * 2)
    cluster.hold(("root.a", "v", SIZE * 2, False), 1)
    wishes = [wish(2, SIZE * 2, priority) for priority in range(20)]
    for number in (1, 2):
        own = an_attempt_id(number)
        demand = Demand(
            attempt_id=own, priority=0, submitted_ms=number, queue="root.a", user=USERS[number], wishes=wishes
        )
        cluster.want(demand, own)
    assert cluster.round(float("inf")).heard == {an_attempt_id(1), an_attempt_id(2)}
    told = dict(cluster.waiting)
    cluster.want(replace(cluster.demands[an_attempt_id(1)], held_mib=1), an_attempt_id(1))
    assert cluster.round(heads_max=4).heard == set()
    assert cluster.waiting == told
    cluster.resize(SIZE * 3)  # a node joins that is too small
    assert cluster.round(heads_max=4).heard == set()
    assert (cluster.looked, cluster.waiting) == ({"root.a"}, told)
    cluster.want(replace(cluster.demands[an_attempt_id(1)], wishes=wishes[1:]), an_attempt_id(1))
    assert cluster.round(float("inf")).heard == {an_attempt_id(1)}
    assert len(cluster.waiting[an_attempt_id(1)].unserved) == 19


def test_round_counts_each_of_the_alike_requests_that_it_goes_past() -> None:
    """Two leaves are full, and the requests of the first are as many as a round may go through."""
    leaves = [Queue(path=f"root.{name}", capacity_percent=50.0, user_limit_factor=-1.0) for name in "ab"]
    cluster = Cluster((Queue(path="root", is_leaf=False), *leaves), SIZE)
    cluster.hold(("root.a", "v", SIZE, False), 1)
    for number, leaf in enumerate(leaves, 1):
        own, wishes = an_attempt_id(number), [wish(2, SIZE, priority) for priority in range(4)]
        cluster.want(Demand(attempt_id=own, priority=0, submitted_ms=1, queue=leaf.path, user="u", wishes=wishes), own)
    for heard in (an_attempt_id(1), an_attempt_id(2)):
        assert cluster.round(heads_max=4).heard == {heard}
        assert [one.number for one in cluster.waiting[heard].unserved] == [2] * 4


def a_cluster_of_full_nodes(room: int) -> Cluster:
    """Return four leaves with a container each that cannot become larger, so that none of them can sleep."""
    leaves = [Queue(path=f"root.{name}", capacity_percent=25.0, user_limit_factor=-1.0) for name in "abcd"]
    cluster = Cluster((Queue(path="root", is_leaf=False), *leaves), SIZE * 10)
    cluster.hold(("root.a", "v", SIZE, False), 1)
    for _ in range(9 - room):
        cluster.hold(("root.d", "v", SIZE, False), 1)
    for number, leaf in enumerate(leaves, 1):
        own = an_attempt_id(number)
        base = Demand(attempt_id=own, priority=0, submitted_ms=number, queue=leaf.path, user="u")
        cluster.want(replace(base, increases=[an_increase(number)]), own)
    return cluster


def test_leaves_that_cannot_sleep_keep_no_others_from_their_turn() -> None:
    cluster = a_cluster_of_full_nodes(room=5)
    last = an_attempt_id(4)
    cluster.want(replace(cluster.demands[last], wishes=[wish(1, SIZE)]), last)
    served = [cluster.round(heads_max=1) for _ in range(4)]
    assert [plan.attempt_id for found in served for plan in found.plans] == [last]
    assert [found.is_cut for found in served] == [True, True, True, False]
    cluster.act(served[3].plans)
    while cluster.round(heads_max=1).is_cut:
        pass
    assert cluster.waiting == cluster.look_at_all().waiting
    assert cluster.waiting.keys() == cluster.demands.keys()
    assert cluster.round(float("inf")).looked.keys() == {queue.path for queue in cluster.queues if queue.is_leaf}


def test_round_is_owed_to_leaves_that_had_their_turn_before_something_changed() -> None:
    cluster = a_cluster_of_full_nodes(room=1)
    second = an_attempt_id(2)
    cluster.want(replace(cluster.demands[second], wishes=[wish(1, SIZE * 2)]), second)
    assert [cluster.round(heads_max=2).is_cut, *cluster.looked] == [True, "root.b"]
    cluster.hold(("root.a", "v", SIZE, False), -1)
    found = cluster.round(heads_max=2)
    while not found.plans:
        assert found.is_cut
        found = cluster.round(heads_max=2)
    assert [plan.attempt_id for plan in found.plans] == [second]


def test_patience_that_ends_is_waited_for_whichever_round_of_several_came_to_it() -> None:
    cluster = a_cluster_of_full_nodes(room=5)
    second = cluster.demands[an_attempt_id(2)]
    near = wish(5, SIZE * 2)._replace(placement=Placement(hosts=("host",)))
    cluster.want(replace(second, wishes=[near], waited_s={near.key: 0.25}), second.attempt_id)
    cluster.places = the_places(a_place("host", capability=SIZE), a_place("elsewhere", "/r2"))
    found = [cluster.round(heads_max=2) for _ in range(3)]
    assert [(one.is_cut, one.again_in_s) for one in found] == [(True, 0.75), (True, 0.75), (False, 0.75)]
    cluster.want(second, second.attempt_id)
    assert cluster.round(float("inf")).again_in_s == float("inf")
