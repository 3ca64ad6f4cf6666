"""Quotas tell what queues and users hold as rows come and go."""

from __future__ import annotations

from dataclasses import replace

from tests.support.fakes import FakeClock
from tests.support.records import (
    a_container,
    a_container_id,
    a_node,
    a_submission,
    an_application,
    an_application_id,
)
from tests.unit.services.test_state import IDENTITY
from yodel.domain.allocation.demands import Decision
from yodel.domain.preemption.rules import PreemptionRules
from yodel.domain.queues.pools import PoolName, Pools
from yodel.domain.queues.queue import Queue
from yodel.domain.resource import NONE, Resource
from yodel.domain.states import ApplicationState, ContainerState, NodeState
from yodel.services.writer.queue_use import QueueUse
from yodel.services.writer.quotas import Quotas
from yodel.services.writer.state import ClusterState
from yodel.translator.pools import PoolRules

ROOT = Queue(path="root", is_leaf=False)
LEAF = Queue(path="root.a")
SIZE = Resource(2048, 2)


def state_of_one(count: int = 1) -> ClusterState:
    """One application of alice in root.a with so many containers."""
    state = ClusterState(IDENTITY)
    application = an_application(submission=a_submission(queue="root.a"), current_attempt=1)
    state.publish([ROOT, LEAF, application, *(a_container(container=2 + number) for number in range(count))])
    return state


def held(use: QueueUse) -> dict[str, Resource]:
    return {path: usage.resource for path, usage in use.by_queue.items()}


def test_queue_that_goes_while_a_container_still_stops_leaves_nothing_behind() -> None:
    """An application ends before its last container; what comes back under the queue's name begins at nothing."""
    state = state_of_one()
    ended = replace(state.applications[an_application_id()], state=ApplicationState.KILLED)
    state.publish([ended])
    state.remove_queue("root.a")
    assert held(state.queue_use) == {"root": SIZE, "root.a": SIZE}
    state.publish([replace(state.containers[a_container_id(container=2)], state=ContainerState.COMPLETED)])
    assert held(state.queue_use) == {}
    assert state.queue_use.by_user == {}


def test_application_that_is_moved_and_ends_in_one_commit_leaves_nothing() -> None:
    state = state_of_one(count=2)
    application = state.applications[an_application_id()]
    moved = replace(application, submission=replace(application.submission, queue="root.b"))
    done = [
        replace(state.containers[a_container_id(container=number)], state=ContainerState.COMPLETED) for number in (2, 3)
    ]
    state.publish([done[0], moved, done[1], replace(moved, state=ApplicationState.KILLED)])
    assert held(state.queue_use) == {}
    assert (state.queue_use.by_user, state.queue_use.live_count) == ({}, 0)
    assert (state.queue_use.live_by_queue, state.queue_use.live_by_user) == ({}, {})


def test_ledger_that_holds_still_stays_as_it_is_when_rows_come_and_go() -> None:
    """The ledger is the same in a queue, by a user, and of several pools together."""
    state = state_of_one()
    quotas = Quotas(state, SIZE, 0.5, PreemptionRules(), FakeClock())
    rules = PoolRules(pools=Pools(by_child={"root.b": PoolName("lent")}))
    for _ in range(2):
        ledger = quotas.still_ledger()
        before = [ledger.used(path) for path in ("root.a", *ledger.tree.tops)]
        state.publish([a_container(container=9)])
        assert [ledger.used(path) for path in ("root.a", *ledger.tree.tops)] == before
        assert ledger.used_by("root.a", "alice") == before[0]
        assert quotas.ledger().used("root.a") == SIZE + before[0]
        state.publish([replace(a_container(container=9), state=ContainerState.COMPLETED)])
        state.publish([Queue(path="root.b")])
        state.use_pools(rules, are_nodes_watched=True)
    assert ledger.tree.tops


def test_headroom_follows_what_others_hold_and_want() -> None:
    leaf = replace(LEAF, minimum_user_limit_percent=50.0)
    state = ClusterState(IDENTITY)
    state.publish([ROOT, leaf, a_node(capability=SIZE * 10, state=NodeState.RUNNING)])
    quotas = Quotas(state, SIZE, 0.5, PreemptionRules(), FakeClock())
    assert quotas.headroom("root.a", "alice") == SIZE * 5
    state.publish([an_application(submission=a_submission(queue="root.a", user="bob"), current_attempt=1)])
    state.publish([a_container(container=number) for number in range(2, 10)])
    assert quotas.headroom("root.a", "alice") == SIZE * 2  # eight of ten are bob's
    state.publish([replace(a_container(container=9), state=ContainerState.COMPLETED)])
    assert quotas.headroom("root.a", "bob") == SIZE  # of those who want something he is the only one
    quotas.note(Decision(plans=(), take_backs=(), active={"root.a": {"alice", "bob"}}))
    assert quotas.headroom("root.a", "bob") == NONE
