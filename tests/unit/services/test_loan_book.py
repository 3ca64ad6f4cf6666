from __future__ import annotations

from tests.support.fakes import NODE
from tests.support.loans import report
from yodel.domain.queues.pools import NATIVE, PoolName
from yodel.services.writer.loan_book import LoanBook, Said, Taking

BATCH = PoolName("koordinator")


def test_a_node_that_nobody_has_seen_is_awaited_where_the_pool_is_lent() -> None:
    book = LoanBook()
    assert book.taking(BATCH, "node-1") is Taking.OPEN
    book.lend(frozenset({BATCH}))
    assert (book.taking(BATCH, "node-1"), book.taking(NATIVE, "node-1")) == (Taking.AWAITED, Taking.OPEN)
    assert list(book.closed(BATCH)) == [], "only nodes that are known are kept from"


def test_closed_are_those_that_take_nothing_new_and_a_node_that_is_gone_is_neither() -> None:
    book = LoanBook()
    book.lend(frozenset({BATCH}))
    for name, taking in (("a", Taking.OPEN), ("b", Taking.CLOSED), ("c", Taking.AWAITED)):
        book.judge(name, {BATCH: taking})
    assert sorted(book.closed(BATCH)) == ["b", "c"]
    assert [book.taking(BATCH, name) for name in "abc"] == [Taking.OPEN, Taking.CLOSED, Taking.AWAITED]
    book.judge("b", {BATCH: Taking.OPEN})
    book.drop("c")
    assert list(book.closed(BATCH)) == []


def test_what_was_said_is_kept_until_its_agent_has_left() -> None:
    book, said = LoanBook(), Said(node_id=NODE, report=report(3), read_s=1.0)
    book.hear("node-1", said)
    assert book.of("node-1") is said
    book.forget("node-1")
    assert book.of("node-1") is None


def test_of_pools_that_are_not_lent_only_what_is_not_open_is_kept() -> None:
    book = LoanBook()
    book.judge("a", {BATCH: Taking.CLOSED})
    book.judge("a", {BATCH: Taking.OPEN})
    book.lend(frozenset({BATCH}))
    assert book.taking(BATCH, "a") is Taking.AWAITED
