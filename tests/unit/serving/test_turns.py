"""Whoever has much for the loop gets a bounded piece of each of its rounds, and callers come one after another.

Processor time is what the handler says it took, so that a busy machine changes nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from tests.unit.rpc_io.test_connection import OPENED, connected, until
from tests.unit.rpc_io.test_server import PROTOCOL, Service, serving
from yodel.hadoop_pb.yarn_service_protos_pb2 import AllocateRequestProto, AllocateResponseProto
from yodel.hadoop_rpc.client_connection import ClientConnection, ClientIdentity
from yodel.hadoop_rpc.framing import CALL_ID_PING, out_of_band_frame
from yodel.rpc_io.server import RpcLimits
from yodel.serving.pieces import in_pieces
from yodel.serving.turns import TURN_S, Turns, others_first, standing

CALL_S = TURN_S / 5
A_ROUND = 1 + 5
"""Calls: one that is free and what a turn has room for."""


class Costly(Service):
    """Each call takes ``CALL_S``, and a coroutine's goes on for as many pieces as its response id says."""

    def __init__(self) -> None:
        super().__init__()
        self.processor_s = 0.0
        self.calls: list[str] = []
        self.seated: Callable[[], int] = lambda: 0

    def allocate(self, context: Any, request: AllocateRequestProto) -> AllocateResponseProto:
        self._cost(context.user)
        return AllocateResponseProto(response_id=request.response_id)

    async def finish(self, context: Any, request: Any) -> AllocateResponseProto:
        for piece in range(request.response_id):
            if piece:
                await others_first()
            self._cost(context.user)
        return AllocateResponseProto(response_id=request.response_id)

    def _cost(self, user: str) -> None:
        self.processor_s += CALL_S
        self.calls.append(user)


@contextlib.asynccontextmanager
async def costly() -> AsyncIterator[tuple[Costly, int, Callable[[], int]]]:
    """The service, its port, and the most calls that were worked through in one round of the loop up to now."""
    service, rounds = Costly(), [0]

    async def look() -> None:
        before = 0
        while True:
            rounds.append(len(service.calls) - before)
            before = len(service.calls)
            await asyncio.sleep(0)

    async with serving(service) as (server, port):
        server.turns = Turns(lambda: service.processor_s)
        service.seated = lambda: server.connection_count
        looking = asyncio.create_task(look())
        yield service, port, lambda: max(rounds)
        looking.cancel()


def calls(user: str, method: str, count: int, response_id: int = 0) -> bytes:
    identity = ClientIdentity(client_id=bytes(16), protocol=PROTOCOL, user=user)
    machine = ClientConnection(identity=identity, cnonce="c" * 20)
    body = AllocateRequestProto(response_id=response_id).SerializeToString()
    numbers = range(count)
    return machine.connect() + b"".join(machine.call(call_id=n, method=method, body=body) for n in numbers)


@pytest.mark.parametrize("connections", [1, 4])
async def test_calls_of_one_read_are_answered_over_many_rounds(connections: int) -> None:
    async with costly() as (service, port, most), contextlib.AsyncExitStack() as stack:
        writers = [(await stack.enter_async_context(connected(port)))[1] for _ in range(connections)]
        await until(lambda: service.seated() == connections)
        for writer in writers:
            writer.write(calls("mallory", "allocate", 400))
        await until(lambda: len(service.calls) == 400 * connections)
        # The first call of each connection is free, and one of them has the turn.
        assert most() <= A_ROUND - 1 + 2 * connections


async def test_pings_are_no_way_around_the_turns() -> None:
    """The clock is asked after each, and thinks that each took as long as a call."""
    asked = 0

    def processor_s() -> float:
        nonlocal asked
        asked += 1
        return asked * CALL_S

    async with serving(Service()) as (server, port), connected(port) as (_, writer):
        server.turns = Turns(processor_s)
        writer.write(OPENED + out_of_band_frame(CALL_ID_PING, bytes(16)) * 1000)
        rounds = list[int]()
        while asked < 1000:
            before = asked
            await asyncio.sleep(0)
            rounds.append(asked - before)
        assert max(rounds) <= 2 * A_ROUND


async def test_another_caller_is_answered_between() -> None:
    """Twenty calls that come behind a thousand wait for about as many of the others."""
    async with costly() as (service, port, _), connected(port) as (_, flood), connected(port) as (_, bob):
        flood.write(calls("mallory", "allocate", 1000))
        await until(lambda: len(service.calls) > 0)
        bob.write(calls("bob", "allocate", 20))
        await until(lambda: service.calls.count("bob") == 20)
        begun = service.calls.index("bob")
        last = max(n for n, user in enumerate(service.calls) if user == "bob")
        assert service.calls[begun:last].count("mallory") <= 5 * A_ROUND


@pytest.mark.parametrize("pieces", [1, 5])
async def test_coroutines_take_turns(pieces: int) -> None:
    async with costly() as (service, port, most), connected(port) as (_, writer):
        writer.write(calls("mallory", "finish", 300, pieces))
        await until(lambda: len(service.calls) == 300 * pieces)
        assert most() <= 2  # the one that has the turn, and one that goes on in the round after its turn came


async def test_a_single_call_waits_for_no_pieces_of_others() -> None:
    async with costly() as (service, port, _), connected(port) as (_, flood), connected(port) as (_, bob):
        flood.write(calls("mallory", "finish", 90, 20))
        await until(lambda: len(service.calls) > 10)
        bob.write(calls("bob", "finish", 1, 10))
        await until(lambda: service.calls.count("bob") == 10)
        turns_of_bob = [n for n, user in enumerate(service.calls) if user == "bob"]
        assert turns_of_bob[-1] - turns_of_bob[0] <= 9 * 3
        await until(lambda: len(service.calls) == 90 * 20 + 10)


async def test_call_that_waits_for_its_turn_ends_with_the_server() -> None:
    service = Costly()
    async with (
        serving(service, limits=RpcLimits(stop_timeout_s=0.05)) as (server, port),
        connected(port) as (_, writer),
    ):
        writer.write(calls("mallory", "finish", 100, 10**6))
        await until(lambda: len(service.calls) > 10)
        assert server.turns.waiting_count > 50
        await server.stop()
        assert server.calls_in_flight == 0
        await until(lambda: server.connection_count == 0)


async def test_turns_go_round_the_callers() -> None:
    turns, order = Turns(), list[str]()
    assert turns.take()
    assert not turns.take()
    for caller in ("mallory", "mallory", "mallory", "bob", "alice"):
        turns.later(caller, lambda caller=caller: order.append(caller))  # type: ignore[misc]
    assert turns.waiting_count == 5
    for _ in range(10):
        await asyncio.sleep(0)
    assert order == ["mallory", "bob", "alice", "mallory", "mallory"]
    assert turns.take()


async def test_one_turn_a_round() -> None:
    turns, done = Turns(), list[int]()
    for number in range(10):
        turns.later("mallory", lambda number=number: done.append(number))  # type: ignore[misc]
    counts = []
    for _ in range(12):
        await asyncio.sleep(0)
        counts.append(len(done))
    assert counts == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10]


async def test_who_gave_up_is_passed_over() -> None:
    turns = Turns()
    assert turns.take()
    waiting = [asyncio.create_task(turns.next_turn(caller)) for caller in ("mallory", "bob")]
    await asyncio.sleep(0)
    waiting[0].cancel()
    async with asyncio.timeout(60):
        await waiting[1]
    assert waiting[0].cancelled()
    assert turns.waiting_count == 0


async def test_pieces_of_a_call_are_the_callers_turns() -> None:
    turns = Turns()
    assert turns.take()
    turns.later("bob", lambda: None)

    async def read() -> list[int]:
        with standing(turns, "mallory"):
            return await in_pieces(lambda n: n, range(10), piece=5)

    reading = asyncio.create_task(read())
    for _ in range(2):
        await asyncio.sleep(0)
    assert not reading.done()
    assert await reading == list(range(10))
