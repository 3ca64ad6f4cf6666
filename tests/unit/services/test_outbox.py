from __future__ import annotations

from tests.support.records import CLUSTER_TIMESTAMP_MS
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId
from yodel.services.writer.outbox import CHANGED_NODES_MAX, AttemptOutbox, RejectedAsk

ATTEMPT = ApplicationAttemptId(ApplicationId(CLUSTER_TIMESTAMP_MS, 1), 1)
ONE, TWO = ContainerId.of(ATTEMPT, 1, 0), ContainerId.of(ATTEMPT, 2, 0)


def test_an_end_is_told_once_and_acknowledged_by_the_next_call() -> None:
    outbox = AttemptOutbox.of([ONE])
    outbox.complete(ONE, is_taken_over=True)
    outbox.complete(TWO, is_taken_over=True)
    assert outbox.take_completed() == [ONE, TWO]
    assert not outbox.has_news
    assert outbox.take_delivered() == [ONE, TWO]
    assert outbox.take_completed() == outbox.take_delivered() == []


def test_a_new_size_of_what_has_ended_is_not_told() -> None:
    outbox = AttemptOutbox.of((), [ONE])
    outbox.resized(TWO)
    outbox.complete(ONE, is_taken_over=False)
    assert outbox.take_updated() == [TWO]
    outbox.told_versions({TWO: 3})
    assert outbox.updates_delivered == {TWO: 3}


def test_what_was_offered_for_an_answer_is_offered_no_more() -> None:
    outbox = AttemptOutbox()
    for container_id in (ONE, TWO):
        outbox.grant(container_id)
    assert not outbox.has_news
    outbox.handed_over([ONE])
    assert outbox.granted == [TWO]
    outbox.withdraw(TWO)
    outbox.withdraw(TWO)
    assert outbox.granted == []


def test_what_is_taken_is_gone_and_nodes_have_a_maximum() -> None:
    outbox = AttemptOutbox()
    outbox.reject(RejectedAsk(b"", is_for_constraint=True))
    for port in range(CHANGED_NODES_MAX + 1):
        outbox.node_changed(NodeId("n", port))
    assert len(outbox.take_changed_nodes()) == CHANGED_NODES_MAX
    assert outbox.take_changed_nodes() == []
    assert len(outbox.take_rejected()) == 1
    assert outbox.take_rejected() == []


def test_what_is_asked_back_is_told_once_its_master_knows_it() -> None:
    outbox = AttemptOutbox()
    for container_id in (ONE, TWO):
        outbox.grant(container_id)
        outbox.preempt(container_id)
    outbox.handed_over([ONE])
    assert outbox.take_preempted([ONE]) == [], "one is handed over in this answer, the other is offered still"
    outbox.handed_over([TWO])
    assert outbox.take_preempted([]) == [ONE, TWO]
    assert outbox.take_preempted([]) == []
    outbox.preempt(ONE)
    outbox.complete(ONE, is_taken_over=False)
    assert outbox.take_preempted([]) == []
