"""The notices tell who is to go, when and why, whoever says it."""

from __future__ import annotations

from dataclasses import replace
from math import inf

from tests.support.records import a_container
from yodel.domain.ids import ContainerId, NodeId
from yodel.domain.notices import NoticeReason, PreemptionNotice, Teller
from yodel.services.writer.notice_book import NoticeBook

ONE, OTHER = NodeId("node-1", 8041), NodeId("node-2", 8041)
MASTER, FIRST, SECOND = (a_container(container=number).id for number in (1, 2, 3))
QUEUE = PreemptionNotice(node_id=ONE, reason=NoticeReason.QUEUE, why="b wants it", given_s=0.0, deadline_s=15.0)
LOAN = replace(QUEUE, reason=NoticeReason.LENT_CAPACITY, why="less is lent", deadline_s=30.0)


def reason_of(book: NoticeBook, container_id: ContainerId) -> NoticeReason | None:
    notice = book.of(container_id)
    return notice.reason if notice is not None else None


def test_each_node_hears_of_its_own_and_of_no_master() -> None:
    book = NoticeBook()
    book.tell(
        Teller.QUEUES, {MASTER: replace(QUEUE, is_master=True), FIRST: QUEUE, SECOND: replace(QUEUE, node_id=OTHER)}
    )
    assert (book.on(ONE), book.on(OTHER)) == ((FIRST,), (SECOND,))
    book.tell(Teller.QUEUES, {SECOND: replace(QUEUE, node_id=OTHER)})
    assert (book.on(ONE), book.on(OTHER)) == ((), (SECOND,))


def test_the_earliest_deadline_counts_and_each_replaces_only_its_own() -> None:
    book = NoticeBook()
    book.tell(Teller.LOANS, {FIRST: LOAN})
    book.tell(Teller.QUEUES, {FIRST: QUEUE})
    assert reason_of(book, FIRST) is NoticeReason.QUEUE
    book.tell(Teller.QUEUES, {})
    assert reason_of(book, FIRST) is NoticeReason.LENT_CAPACITY
    assert book.on(ONE) == (FIRST,), "once, and still"
    book.tell(Teller.LOANS, {})
    assert (reason_of(book, FIRST), book.on(ONE)) == (None, ())


def test_what_rests_is_noted_and_nobody_hears_of_it() -> None:
    book = NoticeBook()
    book.tell(Teller.QUEUES, {FIRST: replace(QUEUE, is_resting=True)})
    assert (book.of(FIRST), book.on(ONE), book.is_noted(FIRST)) == (None, (), True)


def test_agents_do_not_hear_of_nodes_that_drain() -> None:
    book = NoticeBook()
    book.tell(Teller.DECOMMISSION, {FIRST: replace(LOAN, reason=NoticeReason.DRAIN, deadline_s=inf)})
    assert (reason_of(book, FIRST), book.on(ONE)) == (NoticeReason.DRAIN, ())


def test_what_ended_is_in_no_notice() -> None:
    book = NoticeBook()
    book.tell(Teller.LOANS, {FIRST: LOAN, SECOND: LOAN})
    book.tell(Teller.QUEUES, {FIRST: QUEUE})
    book.ended(FIRST)
    assert (book.is_noted(FIRST), book.on(ONE), book.count(NoticeReason.LENT_CAPACITY)) == (False, (SECOND,), 1)
