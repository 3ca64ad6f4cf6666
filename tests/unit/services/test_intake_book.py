from __future__ import annotations

from yodel.domain.colocation.node import Intake
from yodel.domain.queues.pools import NATIVE, PoolName
from yodel.services.writer.intake_book import IntakeBook

BATCH = PoolName("koordinator")


def test_a_node_that_was_not_judged_is_awaited_where_the_pool_is_lent() -> None:
    book = IntakeBook()
    assert book.of(BATCH, "node-1") is Intake.OPEN
    book.lend(frozenset({BATCH}))
    assert (book.of(BATCH, "node-1"), book.of(NATIVE, "node-1")) == (Intake.AWAITED, Intake.OPEN)
    assert list(book.closed(BATCH)) == [], "only nodes that are known are kept from"


def test_closed_are_those_that_take_nothing_new_and_a_node_that_is_gone_is_neither() -> None:
    book = IntakeBook()
    book.lend(frozenset({BATCH}))
    for name, intake in (("a", Intake.OPEN), ("b", Intake.CLOSED), ("c", Intake.AWAITED)):
        book.judge(name, {BATCH: intake})
    assert sorted(book.closed(BATCH)) == ["b", "c"]
    assert [book.of(BATCH, name) for name in "abc"] == [Intake.OPEN, Intake.CLOSED, Intake.AWAITED]
    book.judge("b", {BATCH: Intake.OPEN})
    book.drop("c")
    assert list(book.closed(BATCH)) == []
    assert book.of(BATCH, "c") is Intake.AWAITED


def test_what_was_judged_before_a_pool_was_lent_is_judged_again() -> None:
    book = IntakeBook()
    book.judge("a", {BATCH: Intake.CLOSED})
    book.judge("a", {BATCH: Intake.OPEN})
    book.lend(frozenset({BATCH}))
    assert book.of(BATCH, "a") is Intake.AWAITED
