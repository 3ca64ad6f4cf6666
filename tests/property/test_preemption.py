"""Laws of giving back, over random trees, nodes and holdings: rounds and decisions alternate until nothing moves."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property.test_allocation_by_queue import LIMITS, SIZE, trees, wish
from tests.support.records import an_attempt_id
from yodel.domain.allocation.by_pool import PoolPart
from yodel.domain.allocation.decide import decide
from yodel.domain.allocation.demands import Capacity, Demand
from yodel.domain.allocation.places import NodePlace, Places
from yodel.domain.ids import ApplicationAttemptId, ContainerId, NodeId
from yodel.domain.preemption.ideal import assign, filled_to_level, trees_of
from yodel.domain.preemption.round import Held, victims_of
from yodel.domain.preemption.rules import PreemptionRules
from yodel.domain.preemption.victims import Candidate, Victim
from yodel.domain.queues.ledger import UsageLedger
from yodel.domain.queues.queue import Queue
from yodel.domain.queues.shares import QueueShares, dominant
from yodel.domain.resource import NONE, Resource

ALL_AT_ONCE = PreemptionRules(is_enabled=True, total_per_round=1.0, natural_termination_factor=1.0)
NO_DEAD_ZONE = replace(ALL_AT_ONCE, max_ignored_over_capacity=0.0)
ROUNDS_MAX = 60


@dataclass
class Node:
    id: NodeId
    size: Resource
    containers: dict[ContainerId, Candidate] = field(default_factory=dict)

    @property
    def free(self) -> Resource:
        left = self.size
        for one in self.containers.values():
            left -= one.size
        return left


@dataclass
class Cluster:
    """Containers stand where they first fit, as Kubernetes might put them."""

    queues: tuple[Queue, ...]
    nodes: list[Node]
    demands: dict[ApplicationAttemptId, Demand]
    sequence: int = 1

    @property
    def total(self) -> Resource:
        total = NONE
        for node in self.nodes:
            total += node.size
        return total

    @property
    def held(self) -> list[Candidate]:
        return [one for node in self.nodes for one in node.containers.values()]

    def ledger(self) -> UsageLedger:
        active: dict[str, set[str]] = {}
        for demand in self.demands.values():
            if any(w.number for w in demand.wishes):
                active.setdefault(demand.queue, set()).add(demand.user)
        ledger = UsageLedger(QueueShares(self.queues, self.total), {}, {}, minimum=SIZE, am_share=1.0, active=active)
        for one in self.held:
            demand = self.demands[one.id.attempt_id]
            ledger.take(demand.queue, demand.user, one.size, is_am=one.is_am)
        return ledger

    def places(self) -> Places:
        by_id = {node.id: node for node in self.nodes}
        nodes = [
            NodePlace(id=node.id, rack="/r", label="", capability=node.size, names=frozenset((node.id.host,)))
            for node in self.nodes
        ]
        return Places(nodes, lambda node_id: by_id[node_id].free)

    def start_what_fits(self) -> int:
        """Decide, and put what is planned where it fits; returns how many were placed."""
        placed = 0
        used = self.ledger().used("root")
        decision = decide(list(self.demands.values()), Capacity(total=self.total, used=used), LIMITS, (), self.ledger())
        for plan in decision.plans:
            placed += self.put(plan.attempt_id, plan.capability)
        return placed

    def put(self, attempt_id: ApplicationAttemptId, size: Resource) -> bool:
        demand = self.demands[attempt_id]
        node = next((node for node in self.nodes if size.fits_in(node.free)), None)
        if node is None:
            return False
        self.sequence += 1
        container_id = ContainerId.of(attempt_id, self.sequence)
        node.containers[container_id] = Candidate(
            id=container_id,
            queue=demand.queue,
            size=size,
            node_id=node.id,
            priority=demand.priority,
            submitted_ms=demand.submitted_ms,
        )
        wishes = [w._replace(number=w.number - 1) if w.key.capability == size else w for w in demand.wishes]
        self.demands[attempt_id] = replace(demand, wishes=wishes)
        return True

    def victims(self, rules: PreemptionRules) -> list[Victim]:
        used = {path for one in self.held for path in self.ledger().share(one.queue).path}
        capacity = Capacity(total=self.total, used=self.ledger().used("root"), places=self.places())
        part = PoolPart(demands=list(self.demands.values()), capacity=capacity)
        held = Held(
            used=used,
            candidates=self.held,
            free_on={node.id: node.free for node in self.nodes},
            holds_left=len(self.nodes),
        )
        return victims_of(part, "root", self.ledger(), held, LIMITS, rules).all

    def end(self, victims: list[Victim]) -> None:
        for victim in victims:
            for node in self.nodes:
                node.containers.pop(victim.candidate.id, None)


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    """Full of what one set of applications got, with others that come afterwards; sizes of one to four."""
    queues = draw(trees())
    nodes = [Node(NodeId(f"n{number}", 1), SIZE * draw(st.integers(1, 8))) for number in range(draw(st.integers(1, 6)))]
    leaves = [queue.path for queue in queues if queue.is_leaf]
    cluster = Cluster(queues, nodes, {})
    for number in range(draw(st.integers(1, 8))):
        if number == 4:
            rest(cluster)
        demand = Demand(
            attempt_id=an_attempt_id(number + 1),
            priority=draw(st.integers(0, 2)),
            submitted_ms=number,
            queue=draw(st.sampled_from(leaves)),
            user=draw(st.sampled_from("uvw")),
            wishes=[wish(draw(st.integers(0, 30)), SIZE * draw(st.integers(1, 4)))],
        )
        cluster.demands[demand.attempt_id] = demand
    return cluster


def rest(cluster: Cluster) -> None:
    while cluster.start_what_fits():
        pass


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50), st.integers(1, 9)), max_size=8), st.integers(0, 300))
def test_a_level_gives_all_there_is_within_floors_and_caps(parts: list[tuple[int, int, int]], total: int) -> None:
    floors, caps = [floor for floor, _, _ in parts], [floor + more for floor, more, _ in parts]
    weights = [weight for *_, weight in parts]
    amounts = filled_to_level(total, floors, caps, weights)
    assert all(floor <= own <= cap for floor, own, cap in zip(floors, amounts, caps, strict=True))
    assert sum(amounts) == max(sum(floors), min(total, sum(caps)))
    levels = [own / weight for own, weight in zip(amounts, weights, strict=True)]
    free = [n for n in range(len(parts)) if floors[n] < amounts[n] < caps[n]]
    assert all(abs(levels[one] - levels[other]) <= 1 for one in free for other in free)


@given(clusters())
@settings(max_examples=40)
def test_ideals_of_siblings_are_no_more_than_their_parents_and_protect_guarantees(cluster: Cluster) -> None:
    rest(cluster)
    ledger = cluster.ledger()
    pending = {demand.queue: w.key.capability * w.number for demand in cluster.demands.values() for w in demand.wishes}
    (root,) = trees_of(ledger, set(), pending).values()
    assign(root, cluster.total)
    for branch in root.all():
        assert branch.ideal.fits_in(branch.maximum)
        if branch.below:
            within = NONE
            for child in branch.below:
                within += child.ideal
            assert within.fits_in(branch.ideal)
        protected = min(branch.used.memory_mib, branch.guaranteed.memory_mib)
        assert branch.ideal.memory_mib >= protected


@given(clusters())
@settings(max_examples=40)
def test_rounds_come_to_rest_with_guarantees_met_or_nothing_that_would_help(cluster: Cluster) -> None:
    """No queue that gives nothing back waits at rest for room within its guarantee which another holds above its own,
    but where no node could be freed for it.
    """
    rest(cluster)
    for _ in range(ROUNDS_MAX):
        victims = cluster.victims(NO_DEAD_ZONE)
        if not victims:
            break
        cluster.end(victims)
        rest(cluster)
    else:
        raise AssertionError("rounds do not come to rest")
    check_guarantees(cluster)


def check_guarantees(cluster: Cluster) -> None:
    ledger = cluster.ledger()
    leaves = [queue for queue in cluster.queues if queue.is_leaf]
    over = {q.path for q in leaves if not ledger.used(q.path).fits_in(ledger.share(q.path).guaranteed)}
    for demand in cluster.demands.values():
        for w in demand.wishes:
            size, share = w.key.capability, ledger.share(demand.queue)
            way = share.path[:-1]
            would_be_within = all((ledger.used(p) + size).fits_in(ledger.share(p).guaranteed) for p in way)
            if not w.number or not would_be_within or not ledger.count_of_user(demand.queue, demand.user, size):
                continue
            for node in cluster.nodes:
                # What is held above a guarantee by a whole container and more, on a node where it stands in the way.
                loose = node.free
                spent: dict[str, Resource] = {}
                for one in node.containers.values():
                    gone = spent.get(one.queue, NONE) + one.size
                    if one.queue in over and all(
                        ledger.share(p).guaranteed.fits_in(ledger.used(p) - gone)
                        for p in ledger.share(one.queue).path[:-1]
                    ):
                        loose += one.size
                        spent[one.queue] = gone
                assert not size.fits_in(loose), (demand.queue, size, node)


@given(clusters(), st.data())
@settings(max_examples=40)
def test_a_queue_above_its_maximum_is_brought_back_by_no_more_than_one_container(
    cluster: Cluster, data: st.DataObject
) -> None:
    rest(cluster)
    cluster.queues = tuple(
        replace(queue, maximum_capacity_percent=float(data.draw(st.integers(int(queue.capacity_percent), 100))))
        for queue in cluster.queues
    )
    for _ in range(ROUNDS_MAX):
        before = cluster.ledger()
        victims = cluster.victims(ALL_AT_ONCE)
        if not victims:
            break
        cluster.end(victims)
        after = cluster.ledger()
        largest = max(victim.candidate.size.memory_mib for victim in victims)
        for queue in cluster.queues:
            if queue.is_leaf and is_alone_above(queue.path, before):
                most = before.share(queue.path).maximum.memory_mib
                assert after.used(queue.path).memory_mib > most - largest or is_asked_by_others(queue.path, victims)
        rest(cluster)
    ledger = cluster.ledger()
    for queue in cluster.queues:
        assert ledger.used(queue.path).fits_in(ledger.share(queue.path).maximum), queue.path


def is_alone_above(path: str, ledger: UsageLedger) -> bool:
    """A leaf above its maximum, below queues that are not above theirs."""
    own, *above = ledger.share(path).path
    return not ledger.used(own).fits_in(ledger.share(own).maximum) and all(
        ledger.used(one).fits_in(ledger.share(one).maximum) for one in above
    )


def is_asked_by_others(path: str, victims: list[Victim]) -> bool:
    return any(victim.candidate.queue == path != victim.for_queue for victim in victims)


@given(clusters())
@settings(max_examples=40)
def test_nobody_is_asked_for_what_he_is_guaranteed_but_for_a_part_of_one_container(cluster: Cluster) -> None:
    rest(cluster)
    ledger = cluster.ledger()
    taken: dict[str, Resource] = {}
    largest: dict[str, int] = {}
    for victim in cluster.victims(ALL_AT_ONCE):
        one = victim.candidate
        taken[one.queue] = taken.get(one.queue, NONE) + one.size
        largest[one.queue] = max(largest.get(one.queue, 0), one.size.memory_mib)
        assert victim.for_queue != one.queue
    for path, gone in taken.items():
        share = ledger.share(path)
        left = ledger.used(path) - gone
        assert left.memory_mib > share.guaranteed.memory_mib - largest[path], path
        before = dominant(ledger.used(path), cluster.total)
        assert before > dominant(share.guaranteed, cluster.total) * 1.1 - 1e-9


@given(clusters())
@settings(max_examples=40)
def test_where_something_went_something_starts(cluster: Cluster) -> None:
    rest(cluster)
    victims = cluster.victims(NO_DEAD_ZONE)
    cluster.end(victims)
    placed = cluster.start_what_fits()
    assert bool(victims) <= bool(placed)


@given(clusters())
@settings(max_examples=40)
def test_without_anybody_who_waits_nothing_goes(cluster: Cluster) -> None:
    rest(cluster)
    cluster.demands = {
        attempt_id: replace(demand, wishes=[w._replace(number=0) for w in demand.wishes])
        for attempt_id, demand in cluster.demands.items()
    }
    assert cluster.victims(ALL_AT_ONCE) == []
