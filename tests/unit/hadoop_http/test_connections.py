"""A full port closes connections in a fixed order, on a table of names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yodel.hadoop_http.connections import REFUSED_MAX, ConnectionLimits, Connections, Full
from yodel.telemetry.limit import Limit
from yodel.telemetry.limits import HTTP_CONNECTIONS, HTTP_CONNECTIONS_PER_ADDRESS, REFUSALS

LIMITS = ConnectionLimits(
    connections_max=4, per_address_max=3, of_all=HTTP_CONNECTIONS, of_address=HTTP_CONNECTIONS_PER_ADDRESS
)


class Caller:
    """A connection that leaves when it is asked to."""

    def __init__(self, table: Connections, address: str = "10.0.0.1") -> None:
        self.table, self.address = table, address
        self.sent_away_by: Limit | None = None
        table.admit(self, address)

    def make_room(self, limit: Limit, maximum: int) -> None:
        self.sent_away_by = limit
        self.table.left(self, self.address)

    def asks(self) -> None:
        self.table.is_asking(self, self.address)

    def sends(self) -> None:
        self.table.is_sending(self, self.address)

    def is_done(self) -> None:
        self.table.asks_nothing(self, self.address)


@pytest.fixture
def table() -> Connections:
    return Connections(LIMITS)


@pytest.fixture
def counts() -> dict[str, int]:
    return REFUSALS.counts()


def test_oldest_idle_one_of_all_goes_when_the_port_is_full(table: Connections, counts: dict[str, int]) -> None:
    callers = [Caller(table, f"10.0.0.{n}") for n in range(4)]
    callers[0].asks()
    callers[1].asks()
    callers[1].is_done()
    Caller(table, "10.0.0.9")
    assert [caller.sent_away_by for caller in callers] == [None, None, HTTP_CONNECTIONS, None]
    Caller(table, "10.0.0.9")
    Caller(table, "10.0.0.9")
    assert [caller.sent_away_by is None for caller in callers] == [True, False, False, False]
    assert table.held == 4
    assert REFUSALS.counts()["http_connections"] == counts["http_connections"] + 3


def test_who_was_answered_meanwhile_has_not_waited_for_longest(table: Connections) -> None:
    """Also where the answer was kept, so that nobody heard the question."""
    callers = [Caller(table) for _ in range(3)]
    callers[0].is_done()
    Caller(table)
    assert [caller.sent_away_by is None for caller in callers] == [True, False, True]


def test_an_address_that_has_its_share_loses_its_own(table: Connections, counts: dict[str, int]) -> None:
    other = Caller(table, "10.0.0.2")
    callers = [Caller(table) for _ in range(4)]
    assert [caller.sent_away_by for caller in callers] == [HTTP_CONNECTIONS_PER_ADDRESS, None, None, None]
    assert other.sent_away_by is None
    assert REFUSALS.counts()["http_connections_per_address"] == counts["http_connections_per_address"] + 1


def test_who_sends_a_body_goes_behind_the_idle_and_before_nobody(table: Connections) -> None:
    first, second, third = (Caller(table) for _ in range(3))
    for caller in (first, second):
        caller.asks()
        caller.sends()
    Caller(table).asks()
    assert third.sent_away_by is not None
    assert first.sent_away_by is None
    Caller(table).asks()
    assert first.sent_away_by is not None
    assert second.sent_away_by is None
    table.is_answered(second, second.address)
    with pytest.raises(Full, match="http_connections_per_address"):
        Caller(table)


def test_who_is_answered_never_goes(table: Connections) -> None:
    callers = [Caller(table, f"10.0.0.{n}") for n in range(4)]
    for caller in callers:
        caller.asks()
    with pytest.raises(Full) as refused:
        Caller(table, "10.0.0.9")
    assert (refused.value.limit, refused.value.maximum) == (HTTP_CONNECTIONS, 4)
    callers[3].is_done()
    Caller(table, "10.0.0.9")
    assert callers[3].sent_away_by is HTTP_CONNECTIONS


def test_only_so_many_are_told_that_there_is_no_room(table: Connections) -> None:
    assert [table.has_room_to_refuse() for _ in range(REFUSED_MAX + 1)] == [True] * REFUSED_MAX + [False]
    table.refused_left()
    assert table.has_room_to_refuse()


@given(
    st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["asks", "sends", "is_done", "leave"]), st.integers(0, 9)))
)
def test_never_more_than_allowed_and_nothing_is_kept_of_who_left(steps: list[tuple[int, str, int]]) -> None:
    table, here = Connections(LIMITS), list[Caller]()
    for address, action, which in steps:
        try:
            here.append(Caller(table, f"10.0.0.{address}"))
        except Full:
            assert all(caller.address != f"10.0.0.{address}" for caller in here) or len(here) >= 3
        here = [caller for caller in here if caller.sent_away_by is None]
        caller = here[which % len(here)]
        if action == "leave":
            table.left(here.pop(which % len(here)), caller.address)
        else:
            getattr(caller, action)()
        held = {a: sum(caller.address == a for caller in here) for a in {caller.address for caller in here}}
        assert table.held == len(here) <= 4
        assert all(count <= 3 for count in held.values())
    for caller in here:
        table.left(caller, caller.address)
    assert table.held == 0
    assert not table._addresses
    assert not table._everybody.idle
    assert not table._everybody.sending
