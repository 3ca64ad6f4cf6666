from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from yodel.domain import ask_book
from yodel.domain.ask_book import ANY, ANYWHERE, Ask, AskBook, AskKey, SchedulingAsk, Tally
from yodel.domain.constraints import Single, TagTarget
from yodel.domain.resource import Resource
from yodel.domain.states import ExecutionType
from yodel.errors import InvalidResourceRequest, TooMuchAsked

SIZE = Resource(1000, 1)
KEY = AskKey(1, -1, ExecutionType.GUARANTEED, SIZE)


def a_key(priority: int = 1, request_id: int = -1) -> AskKey:
    return AskKey(priority, request_id, ExecutionType.GUARANTEED, SIZE)


def line(count: int, name: str = ANY, key: AskKey = KEY, **changes: Any) -> Ask:
    return Ask(key=key, resource_name=name, count=count, **changes)


def book_of(*asks: Ask) -> AskBook:
    book = AskBook()
    for ask in asks:
        book.replace(ask)
    return book


def test_newer_count_replaces_the_older() -> None:
    book = book_of(line(3), line(5), line(2))
    assert book.count(KEY) == 2
    assert book.pending() == (2, SIZE * 2)


def test_only_the_any_line_says_how_many() -> None:
    (wish,) = book_of(line(2), line(2, "host-b"), line(1, "host-a"), line(2, "/rack")).wishes()
    assert wish.number == 2
    assert (wish.placement.hosts, wish.placement.racks) == (("host-a", "host-b"), ("/rack",))
    assert not wish.placement.is_strict


def test_hosts_without_an_any_line_are_no_wish() -> None:
    book = book_of(line(2, "host-a"))
    assert book.wishes() == []
    assert book.pending() == (0, Resource(0, 0))


def test_locality_that_may_not_be_relaxed_is_strict_only_with_places() -> None:
    assert book_of(line(1, relax_locality=False), line(1, "host-a")).wishes()[0].placement.is_strict
    assert not book_of(line(1, relax_locality=False)).wishes()[0].placement.is_strict


def test_node_label_goes_with_the_wish() -> None:
    assert book_of(line(1, node_label="gpu")).wishes()[0].placement.node_label == "gpu"


def test_lower_priority_number_comes_first() -> None:
    book = book_of(*(line(1, key=a_key(p)) for p in (20, 5, 10)))
    assert [wish.key.priority for wish in book.wishes()] == [5, 10, 20]


def test_sizes_and_request_ids_are_wishes_of_their_own() -> None:
    book = book_of(line(1), line(1, key=a_key(request_id=7)))
    assert len(book.wishes()) == 2


def test_handing_over_lowers_the_total_and_the_places_of_the_container() -> None:
    book = book_of(line(2), line(1, "host-a"), line(1, "host-b"), line(2, "/rack"))
    book.handed_over(KEY, "host-a", "/rack")

    (wish,) = book.wishes()
    assert wish.number == 1
    assert (wish.placement.hosts, wish.placement.racks) == (("host-b",), ("/rack",))


def test_handing_over_more_than_was_asked_stays_at_nothing() -> None:
    book = book_of(line(1))
    for _ in range(3):
        book.handed_over(KEY, "host", "/rack")
    assert book.count(KEY) == 0
    assert book.lines() == []


def test_count_of_zero_forgets_the_line() -> None:
    book = book_of(line(2), line(1, "host-a"), line(0, "host-a"), line(0))
    assert book.lines() == []
    assert book_of(line(0), line(-1)).lines() == []


def test_lines_are_shown_as_they_were_asked() -> None:
    lines = book_of(line(2, relax_locality=False), line(1, "host-a")).lines()
    assert [(one.resource_name, one.count, one.relax_locality) for one in lines] == [
        (ANY, 2, False),
        ("host-a", 1, True),
    ]


def test_full_book_refuses_new_lines_and_keeps_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ask_book, "LINES_MAX", 4)
    book = book_of(line(1), line(1, "a"), line(1, "b"), line(1, "c"))
    for refused in (line(1, "d"), line(1, "e", key=a_key(9)), line(1, key=a_key(9))):
        with pytest.raises(InvalidResourceRequest, match="at most 4 lines"):
            book.replace(refused)
    book.replace(line(7, "c"))
    assert {one.resource_name: one.count for one in book.lines()} == {ANY: 1, "a": 1, "b": 1, "c": 7}

    book.replace(line(0, "a"))
    book.replace(line(1, "d"))
    assert len(book.lines()) == 4


def test_line_that_does_not_fit_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ask_book, "LINES_MAX", 2)
    book = book_of(line(1))
    with pytest.raises(InvalidResourceRequest):
        book.replace(line(1, "host", key=a_key(9)))  # it would take two: its own and its wish's
    assert [one.key for one in book.lines()] == [KEY]


def test_scheduling_request_is_a_wish_with_its_constraint() -> None:
    constraint = Single(maximum=0, targets=(TagTarget("zk"),))
    asked = SchedulingAsk(key=KEY, count=2, tags=("zk",), constraint=constraint, message=b"as it came")
    book = AskBook()
    book.request(asked)
    assert [(wish.number, wish.request) for wish in book.wishes()] == [(2, asked)]
    assert book.scheduling_ask(KEY) is asked
    book.handed_over(KEY, "host", "/rack")
    assert book.count(KEY) == 1


def test_scheduling_request_for_none_or_withdrawn_is_no_wish() -> None:
    asked = SchedulingAsk(key=KEY, count=2)
    for end in (lambda book: book.request(replace(asked, count=0)), lambda book: book.withdraw(KEY)):
        book = AskBook()
        book.request(asked)
        end(book)
        assert (book.wishes(), book.scheduling_ask(KEY), book.pending()[0]) == ([], None, 0)


# --- repeated --------------------------------------------------------------------------------------------------------

REQUEST = SchedulingAsk(key=a_key(2), count=2, tags=("a",))
KNOWN: list[Ask | SchedulingAsk] = [line(2, relax_locality=False), line(1, "/rack", relax_locality=False), REQUEST]


def test_repeated_lines_change_nothing() -> None:
    book = AskBook()
    assert book.take(KNOWN, 10)
    assert not book.take(KNOWN, 10)
    assert not book.take([line(0, "host"), line(0, key=a_key(9))], 10), "nothing was asked for there"


@pytest.mark.parametrize(
    "new",
    [
        line(3, relax_locality=False),
        line(2),
        line(2, relax_locality=False, node_label="gpu"),
        line(2, "/rack", relax_locality=False),
        line(1, "/rack"),
        line(0, "/rack", relax_locality=False),
        line(1, "host"),
        line(1, key=a_key(3)),
        replace(REQUEST, count=3),
        replace(REQUEST, tags=("b",)),
    ],
)
def test_line_that_differs_counts_wherever_it_comes(new: Ask | SchedulingAsk) -> None:
    book, other = AskBook(), AskBook()
    book.take(KNOWN, 10)
    other.take(KNOWN, 10)
    assert book.take([new, *(line for line in KNOWN if line.key != new.key)], 10)
    for one in [new, *(line for line in KNOWN if line.key != new.key)]:
        other.replace(one) if isinstance(one, Ask) else other.request(one)
    assert (book.lines(), book.wishes()) == (other.lines(), other.wishes())
    assert not book.take([new], 10)


def test_last_of_two_lines_counts() -> None:
    book = book_of(line(1))
    assert not book.take([line(2), line(1)], 10)
    assert book.count(KEY) == 1


def test_request_repeated_after_a_container_was_handed_over_counts() -> None:
    book = AskBook()
    book.take(KNOWN, 10)
    book.handed_over(REQUEST.key, "host", "/other")
    assert book.take([REQUEST], 10)
    assert book.count(REQUEST.key) == 2


# --- limits ----------------------------------------------------------------------------------------------------------


def test_beat_that_wants_too_much_in_all_changes_nothing() -> None:
    tally = Tally()
    book = AskBook(tally)
    book.take([line(3, "host"), line(5), SchedulingAsk(key=a_key(2), count=2)], count_max=10)
    before = (book.lines(), book.pending(), tally.count)
    with pytest.raises(TooMuchAsked, match=r"Too many containers requested: 11 in total; .* at most 10") as refused:
        book.take([line(0, "host"), line(1, "other"), line(4), line(6, key=a_key(9)), line(1, key=a_key(2))], 10)
    assert (refused.value.limit, refused.value.value, refused.value.maximum) == ("asked_containers", 11, 10)
    assert (book.lines(), book.pending(), tally.count) == before
    book.take([line(0, "host"), line(0), line(0, key=a_key(2))], 10)
    assert (book.lines(), tally.count) == ([], 0)


def test_who_is_above_a_limit_that_was_lowered_may_still_ask_for_less() -> None:
    book = book_of(line(20))
    book.take([line(15)], count_max=10)
    with pytest.raises(TooMuchAsked):
        book.take([line(16)], count_max=10)
    assert book.count(KEY) == 15


def test_book_without_room_for_more_lines_takes_none_of_a_beat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ask_book, "LINES_MAX", 3)
    book = book_of(line(1))
    with pytest.raises(TooMuchAsked, match="at most 3 lines"):
        book.take([line(2), line(1, "a"), line(1, "b"), line(1, "c")], count_max=10)
    assert book.lines() == [line(1)]
    book.take([line(1, "a"), line(1, "b")], count_max=10)
    assert len(book.lines()) == 3


def test_only_wishes_whose_lines_changed_are_made_again() -> None:
    other = a_key(2)
    book = book_of(line(3), line(3, "host-a"), line(4, key=other))
    first, second = book.wishes()
    book.handed_over(KEY, "host-a", "/default-rack")
    assert [wish.number for wish in book.wishes()] == [2, 4]
    book.replace(line(0, "host-a"))
    assert book.wishes()[0].placement == ANYWHERE
    book.request(SchedulingAsk(key=KEY, count=2, tags=("zk",)))
    now, same = book.wishes()
    assert (first.number, first.placement.hosts) == (3, ("host-a",))
    assert now.request is not None
    assert same is second
