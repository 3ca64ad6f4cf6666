from __future__ import annotations

import pytest

from tests.support.fakes import FakeClock
from yodel.domain.ids import ApplicationId
from yodel.errors import AccessDenied
from yodel.services.applications import given_ids
from yodel.services.applications.given_ids import EARLIER_ACCEPTED_S, Asker, GivenIds

ALICE, BOB = Asker(user="alice", host="10.0.0.1"), Asker(user="bob", host="10.0.0.1")
NOBODY = Asker(user=None, host="10.0.0.1")
FIRST, SECOND = ApplicationId(1000, 8), ApplicationId(1000, 9)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def book(clock: FakeClock) -> GivenIds:
    return GivenIds(clock, ApplicationId(1000, 7))


def refused(book: GivenIds, application_id: ApplicationId, asker: Asker) -> str:
    with pytest.raises(AccessDenied) as raised:
        book.require(application_id, asker)
    return str(raised.value)


def test_id_is_for_who_was_given_it_from_wherever_he_calls(book: GivenIds) -> None:
    book.given(FIRST, ALICE)
    book.require(FIRST, ALICE)
    book.require(FIRST, Asker(user="alice", host="10.0.0.2"))
    assert refused(book, FIRST, BOB) == "application_1000_0008 was issued to another caller, not to bob"
    assert "a caller without a name" in refused(book, FIRST, NOBODY)


def test_id_that_nobody_was_given_is_refused(book: GivenIds) -> None:
    assert "application_1000_0009 was not issued to alice: request a new" in refused(book, SECOND, ALICE)


def test_id_taken_without_a_name_is_the_first_named_callers_of_the_same_address(book: GivenIds) -> None:
    book.given(FIRST, NOBODY)
    book.require(FIRST, NOBODY)
    refused(book, FIRST, Asker(user="alice", host="10.0.0.2"))
    refused(book, FIRST, Asker(user=None, host="10.0.0.2"))
    book.require(FIRST, ALICE)
    book.require(FIRST, ALICE)
    refused(book, FIRST, BOB)
    refused(book, FIRST, NOBODY)


def test_ids_of_before_a_start_are_anybodys_for_ten_minutes(book: GivenIds, clock: FakeClock) -> None:
    before, older = ApplicationId(1000, 7), ApplicationId(999, 50)
    clock.advance(EARLIER_ACCEPTED_S)
    for application_id in (before, older):
        book.require(application_id, BOB)
    refused(book, ApplicationId(1001, 1), BOB)
    clock.advance(1)
    for application_id in (before, older):
        refused(book, application_id, BOB)
    assert EARLIER_ACCEPTED_S == 600


def test_used_id_is_forgotten(book: GivenIds) -> None:
    book.given(FIRST, ALICE)
    book.forget(FIRST)
    book.forget(FIRST)
    refused(book, FIRST, ALICE)
    assert len(book) == 0


def test_who_takes_most_loses_his_oldest(book: GivenIds, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(given_ids, "IDS_MAX", 3)
    greedy = Asker(user="mallory", host="10.0.0.66")
    book.given(FIRST, ALICE)
    for number in range(10, 15):
        book.given(ApplicationId(1000, number), greedy)
    book.require(FIRST, ALICE)
    assert len(book) == 3
    refused(book, ApplicationId(1000, 12), greedy)
    book.require(ApplicationId(1000, 13), greedy)


def test_number_0_was_never_given_out_before_the_start_either(book: GivenIds) -> None:
    assert refused(book, ApplicationId(1000, 0), ALICE)
    book.require(ApplicationId(1000, 1), ALICE)
