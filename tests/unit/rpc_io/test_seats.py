"""A caller gets a seat where there is room, or the longest idle one gives way."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from yodel.hadoop_rpc import faults
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.rpc_io.seats import LOOK_S, Seats
from yodel.telemetry.limits import REFUSALS, RPC_CONNECTIONS, RPC_CONNECTIONS_PER_ADDRESS


@dataclass(eq=False)
class Peer:
    """A connection that is idle when it says so."""

    address: str = "10.0.0.1"
    order: tuple[bool, float] | None = None
    is_gone: bool = False

    def idle_order(self, now_s: float) -> tuple[bool, float] | None:
        return self.order

    def give_way(self) -> None:
        self.is_gone = True


def refused(seats: Seats[Peer], peer: Peer, now_s: float = 0.0) -> RemoteFault:
    fault = seats.take(peer, now_s)
    assert fault is not None
    assert (fault.java_class, fault.fatal) == (faults.RETRIABLE, True)
    return fault


def seated(seats: Seats[Peer], *peers: Peer) -> None:
    for peer in peers:
        assert seats.take(peer, 0.0) is None


def test_one_address_has_its_own_limit() -> None:
    before = REFUSALS.counts()[RPC_CONNECTIONS_PER_ADDRESS.name]
    seats: Seats[Peer] = Seats(seats_max=100, per_address_max=2)
    seated(seats, Peer(), Peer(), Peer("10.0.0.2"))
    message = refused(seats, Peer()).message
    assert message == "3 connections from your address, at most 2 (setting rpc.connections_per_address_max)"
    assert REFUSALS.counts()[RPC_CONNECTIONS_PER_ADDRESS.name] == before + 1
    seats.leave(next(peer for peer in seats if peer.address == "10.0.0.1"))
    seated(seats, Peer())
    assert len(seats) == 3


def test_idle_ones_of_the_same_address_keep_their_seats_when_it_has_too_many() -> None:
    seats: Seats[Peer] = Seats(seats_max=100, per_address_max=1)
    idle = Peer(order=(True, 0.0))
    seated(seats, idle)
    refused(seats, Peer())
    assert not idle.is_gone


def test_full_port_closes_the_longest_idle_first_and_those_before_open_before_all() -> None:
    before = REFUSALS.counts()[RPC_CONNECTIONS.name]
    seats: Seats[Peer] = Seats(seats_max=4, per_address_max=100)
    old, older, silent, busy = Peer(order=(True, 9.0)), Peer(order=(True, 3.0)), Peer(order=(False, 20.0)), Peer()
    seated(seats, old, older, silent, busy)
    gone = []
    for _ in range(3):
        seated(seats, Peer("10.0.0.2"))
        gone += [peer for peer in (old, older, silent, busy) if peer.is_gone and peer not in gone]
    assert gone == [silent, older, old]
    assert len(seats) == 4
    message = refused(seats, Peer("10.0.0.3"), now_s=1.0).message
    assert message == "5 connections to this port, at most 4 (setting rpc.connections_max)"
    assert REFUSALS.counts()[RPC_CONNECTIONS.name] == before + 4


@pytest.mark.parametrize("what_happened", ["came back", "left"])
def test_who_is_idle_no_longer_does_not_give_way(what_happened: str) -> None:
    seats: Seats[Peer] = Seats(seats_max=2, per_address_max=100)
    first, second = Peer(order=(True, 1.0)), Peer(order=(True, 2.0))
    seated(seats, first, second)
    seated(seats, Peer())
    assert (first.is_gone, second.is_gone) == (True, False)
    if what_happened == "came back":
        second.order = None
        refused(seats, Peer())
        assert not second.is_gone
    else:
        seats.leave(second)
        seated(seats, Peer())
        refused(seats, Peer())
        assert not second.is_gone


def test_full_port_looks_for_idle_ones_now_and_then_only() -> None:
    seats: Seats[Peer] = Seats(seats_max=1, per_address_max=100)
    only = Peer()
    seated(seats, only)
    refused(seats, Peer(), now_s=1.0)
    only.order = (True, 0.0)
    refused(seats, Peer(), now_s=1.0 + LOOK_S / 2)
    assert seats.take(Peer(), 1.0 + LOOK_S) is None
    assert only.is_gone
