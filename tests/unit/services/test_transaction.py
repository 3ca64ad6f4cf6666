"""An event that ends very many containers is told in parts, and whoever asks sees all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.records import a_container, a_container_id, a_node, a_submission, an_application, an_attempt
from yodel.domain.application import Application
from yodel.domain.effects import Forgettable, Reconcile
from yodel.domain.events import ContainerEnded, KillRequested, NodeExpired
from yodel.domain.states import ApplicationState, AttemptState, ContainerExitStatus, ContainerState, NodeState
from yodel.ports.store import ClusterIdentity
from yodel.services.writer.state import ClusterState
from yodel.services.writer.transaction import TOLD_AT_ONCE, Transaction

MANY = 5 * TOLD_AT_ONCE
KILL = KillRequested("enough", 5)
APPLICATION = an_application(state=ApplicationState.RUNNING, current_attempt=1)
ATTEMPT, NODE = an_attempt(state=AttemptState.RUNNING), a_node(state=NodeState.RUNNING)
FIRST, LAST = a_container_id(container=2), a_container_id(container=MANY + 1)


@pytest.fixture
def tx() -> Transaction:
    """Above an application with many containers that run on one node."""
    of_task = [a_container(container=n, state=ContainerState.RUNNING, node_id=NODE.id) for n in range(2, MANY + 2)]
    state = ClusterState(ClusterIdentity(cluster_timestamp_ms=1, epoch=0, application_sequence=1))
    state.publish([APPLICATION, ATTEMPT, NODE, a_container(container=1, state=ContainerState.RUNNING), *of_task])
    return Transaction(state, {}, now_ms=7)


def ended(tx: Transaction) -> int:
    return sum(getattr(row, "state", None) is ContainerState.COMPLETED for row in tx.rows.values())


def test_many_ends_are_told_in_parts(tx: Transaction) -> None:
    tx.tell(APPLICATION.id, KILL)
    found = [ended(tx)]
    while not tx.is_told:
        tx.go_on()
        found.append(ended(tx))
    assert found[-1] == MANY + 1
    assert max(after - before for before, after in zip([0, *found], found, strict=False)) <= TOLD_AT_ONCE
    assert tx.effects.count(Reconcile(LAST)) == 1
    assert FIRST in {effect.container_id for effect in tx.effects if isinstance(effect, Forgettable)}


def test_who_asks_sees_all_that_was_told_before(tx: Transaction) -> None:
    tx.tell(APPLICATION.id, KILL)
    assert tx.container(LAST).state is ContainerState.COMPLETED
    assert tx.is_told


@pytest.mark.parametrize("ask", [lambda tx: tx.has(LAST), lambda tx: tx.put(NODE), lambda tx: tx.new_applications()])
def test_nothing_is_done_between(tx: Transaction, ask: Callable[[Transaction], object]) -> None:
    tx.tell(APPLICATION.id, KILL)
    ask(tx)
    assert tx.is_told


def test_events_are_told_one_after_another(tx: Transaction) -> None:
    tx.tell(NODE.id, NodeExpired(5))
    tx.tell(FIRST, ContainerEnded(3, "", 6))
    first = tx.container(FIRST)
    assert (first.state, first.exit_status) == (ContainerState.COMPLETED, ContainerExitStatus.ABORTED)


def test_containers_that_the_batch_has_made_end_too(tx: Transaction) -> None:
    made = a_container(container=MANY + 2)
    tx.put(made)
    tx.tell(APPLICATION.id, KILL)
    assert not tx.container(made.id).is_live


class _Unlisted(dict[Any, Any]):
    """Fails when somebody goes through it: a batch of 512 submissions would be read 512 times."""

    def __iter__(self) -> Iterator[Any]:
        raise AssertionError("somebody goes through the whole batch")

    values = keys = items = __iter__  # type: ignore[assignment]


def test_batch_counts_its_new_live_applications_by_queue_and_user() -> None:
    def new(sequence: int, queue: str, **changes: Any) -> Application:
        return an_application(sequence, submission=a_submission(queue=queue, user="bob"), **changes)

    state = ClusterState(ClusterIdentity(cluster_timestamp_ms=1, epoch=0, application_sequence=1))
    state.publish([new(1, "root.a")])
    tx = Transaction(state, {}, now_ms=7)
    tx.put(new(1, "root.b"))  # it was there before
    tx.put(new(2, "root.a"))
    tx.put(new(2, "root.a", current_attempt=1))
    tx.put(new(3, "root.a", state=ApplicationState.FAILED))
    tx.put(new(4, "root.a"))
    tx.put(new(4, "root.b"))
    assert tx.new_applications() == {("root.a", "bob"): 1, ("root.b", "bob"): 1}

    later = Transaction(state, _Unlisted(tx.rows), now_ms=8, new_below=tx.new_live)
    later.put(new(2, "root.a", state=ApplicationState.KILLED))
    later.put(new(5, "root.b"))
    assert later.new_applications() == {("root.b", "bob"): 2}
