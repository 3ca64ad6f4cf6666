"""One connection on the loopback interface: what a refused peer reads, and what it may not hold."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import struct
from collections.abc import AsyncIterator, Callable

import pytest
import uvloop

from tests.support.server_machine import (
    CHOICE,
    NEGOTIATE,
    OFFER,
    SASL_PREFACE,
    Sealed,
    call,
    context,
    initiate,
    response,
)
from tests.unit.rpc_io.test_server import PROTOCOL, Service, allocate, client, serving
from yodel.errors import AccessDenied, InvalidValue, Unavailable
from yodel.hadoop_pb.RpcHeader_pb2 import RpcResponseHeaderProto
from yodel.hadoop_rpc import faults
from yodel.hadoop_rpc.client_connection import ClientConnection, ClientIdentity
from yodel.hadoop_rpc.framing import MIB, FrameBuffer, take_delimited
from yodel.hadoop_rpc.gssapi import Negotiated
from yodel.hadoop_rpc.server_policy import AuthMethod
from yodel.rpc_io.connection import Connection
from yodel.rpc_io.server import RpcLimits, RpcServer, ServerSecurity
from yodel.rpc_io.ticket_owners import TicketOwners
from yodel.telemetry.limits import ADMIN_FRAME, REFUSALS, RPC_FRAME_BEFORE_OPEN, RPC_FRAME_TIME, RPC_UNFINISHED_FRAMES

BOB = ClientIdentity(client_id=bytes(16), protocol=PROTOCOL, user="bob")
OPENED = ClientConnection(identity=BOB, cnonce="c" * 20).connect()
SMALL = RpcLimits(frame_bytes_max=MIB, frame_limit=ADMIN_FRAME)


@contextlib.asynccontextmanager
async def connected(port: int) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        async with asyncio.timeout(60):
            yield reader, writer
    finally:
        writer.close()


def only_answer(said: bytes) -> RpcResponseHeaderProto:
    buffer = FrameBuffer()
    buffer += said
    frame = buffer.take_frame(MIB)
    assert frame is not None
    assert len(buffer) == 0
    return RpcResponseHeaderProto.FromString(take_delimited(frame, 0)[0])


def announced(size: int) -> bytes:
    return struct.pack(">i", size)


async def open_and_say(writer: asyncio.StreamWriter, words: bytes) -> None:
    writer.write(OPENED + words)
    await writer.drain()


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not is_so():  # noqa: ASYNC110 - what the server sees of the socket tells nobody
            await asyncio.sleep(0.002)


@pytest.mark.parametrize("sent_after", [1, 300_000, 8 * MIB])
async def test_reason_arrives_however_much_the_peer_still_sends(sent_after: int) -> None:
    async with serving(Service(), limits=SMALL) as (server, port), connected(port) as (reader, writer):
        await open_and_say(writer, announced(64 * MIB) + bytes(sent_after))
        header = only_answer(await reader.read())
        assert (header.status, header.exceptionClassName) == (RpcResponseHeaderProto.FATAL, faults.RPC_SERVER)
        assert header.errorMsg == (
            f"Requested data length {64 * MIB} is longer than maximum configured RPC length {MIB} "
            "(setting rpc.admin_frame_mib_max)"
        )
        writer.close()
        await until(lambda: server.connection_count == 0)


async def test_refused_peer_that_never_ends_is_read_for_a_bounded_time() -> None:
    limits = RpcLimits(frame_bytes_max=MIB, linger_s=0.1)
    async with serving(Service(), limits=limits) as (server, port), connected(port) as (_, writer):
        await open_and_say(writer, announced(64 * MIB))
        await until(lambda: server.connection_count == 1)
        await until(lambda: server.connection_count == 0)


async def test_refused_peer_that_never_ends_is_read_for_a_bounded_number_of_bytes() -> None:
    limits = RpcLimits(frame_bytes_max=MIB, linger_s=600.0, linger_bytes_max=2 * MIB)
    async with serving(Service(), limits=limits) as (server, port), connected(port) as (_, writer):
        await open_and_say(writer, announced(64 * MIB))
        writer.write(bytes(64 * MIB))
        with pytest.raises(ConnectionError):
            await writer.drain()
        assert server.connection_count == 0


async def test_answer_at_the_servers_end_arrives_though_the_peer_sends_on() -> None:
    service = Service()
    async with serving(service) as (server, port), connected(port) as (reader, writer):
        machine = ClientConnection(identity=BOB, cnonce="c" * 20)
        writer.write(machine.connect() + machine.call(call_id=0, method="finish", body=b""))
        await service.started.wait()
        stopping = asyncio.create_task(server.stop())
        await asyncio.sleep(0)
        writer.write(machine.call(call_id=1, method="allocate", body=b"") * 1000)
        service.gate.set()
        said = await reader.read()
        writer.close()
        await stopping
        buffer = FrameBuffer()
        buffer += said
        frame = buffer.take_frame(MIB)
        assert frame is not None
        assert RpcResponseHeaderProto.FromString(take_delimited(frame, 0)[0]).callId == 0


@pytest.mark.parametrize(("size", "is_taken"), [(64 * 1024, True), (64 * 1024 + 1, False), (MIB, False)])
async def test_frames_are_small_until_the_connection_is_open(size: int, is_taken: bool) -> None:
    before = REFUSALS.counts()[RPC_FRAME_BEFORE_OPEN.name]
    async with serving(Service(), limits=SMALL) as (_, port), connected(port) as (reader, writer):
        writer.write(OPENED[:7] + announced(size))
        if is_taken:
            writer.write(bytes(size))  # no header: refused for what is inside
        header = only_answer(await reader.read())
        is_too_long = "before the connection is open" in header.errorMsg
        assert is_too_long is not is_taken
    assert REFUSALS.counts()[RPC_FRAME_BEFORE_OPEN.name] == before + (not is_taken)


@pytest.mark.parametrize(("size", "is_refused"), [(MIB, False), (MIB + 1, True)])
async def test_announced_length_is_judged_before_the_frame_comes(size: int, is_refused: bool) -> None:
    before = REFUSALS.counts()[ADMIN_FRAME.name]
    async with serving(Service(), limits=SMALL) as (server, port), connected(port) as (_, writer):
        await open_and_say(writer, announced(size))
        await until(lambda: server.unfinished.total_bytes > 0 or REFUSALS.counts()[ADMIN_FRAME.name] > before)
        assert REFUSALS.counts()[ADMIN_FRAME.name] == before + is_refused
        assert server.unfinished.total_bytes == (0 if is_refused else 4)


async def begun(writer: asyncio.StreamWriter, server: RpcServer, words: bytes) -> Connection:
    """The server's end, once it has all of the words."""
    writer.write(words)
    await until(lambda: server.unfinished.total_bytes > 0)
    (peer,) = server._seats
    return peer


async def test_frame_that_never_ends_is_refused_in_time_though_bytes_drip() -> None:
    before = REFUSALS.counts()[RPC_FRAME_TIME.name]
    async with serving(Service()) as (server, port), connected(port) as (reader, writer):
        peer = await begun(writer, server, OPENED + announced(MIB))
        since_s = peer._frame_since_s
        assert since_s is not None
        for number in range(3):
            writer.write(b"\0")
            await until(lambda number=number: server.unfinished.total_bytes == 5 + number)
        assert peer._frame_since_s == since_s  # what drips does not begin it anew
        peer.close_if_overdue(since_s + 30.0)
        assert REFUSALS.counts()[RPC_FRAME_TIME.name] == before
        peer.close_if_overdue(since_s + 30.1)
        header = only_answer(await reader.read())
        assert header.exceptionClassName == faults.RETRIABLE
        text = "a frame is not complete after 30 s, at most 30 s (setting rpc.frame_timeout_s)"
        assert header.errorMsg == text
    assert REFUSALS.counts()[RPC_FRAME_TIME.name] == before + 1


async def test_frames_that_come_one_after_the_other_each_have_their_own_time() -> None:
    machine = ClientConnection(identity=BOB, cnonce="c" * 20)
    words = machine.connect()
    calls = [machine.call(call_id=number, method="allocate", body=b"") for number in range(3)]
    async with serving(Service()) as (server, port), connected(port) as (reader, writer):
        peer = await begun(writer, server, words + calls[0][:9])
        for call, after in itertools.pairwise(calls):  # never a moment without a frame begun
            since_s = peer._frame_since_s
            assert since_s is not None
            writer.write(call[9:] + after[:9])
            assert await reader.read(4096)
            assert peer._frame_since_s is not None
            assert peer._frame_since_s > since_s
        writer.write(calls[-1][9:])
        assert await reader.read(4096)
        assert (peer._frame_since_s, server.unfinished.total_bytes) == (None, 0)


async def test_frames_that_wait_for_our_own_work_are_not_late() -> None:
    service, machine = Service(), ClientConnection(identity=BOB, cnonce="c" * 20)
    words = machine.connect() + machine.call(call_id=0, method="finish", body=b"")
    after = machine.call(call_id=1, method="allocate", body=b"")
    limits = RpcLimits(calls_in_flight_per_connection_max=1)
    async with serving(service, limits=limits) as (server, port), connected(port) as (reader, writer):
        peer = await begun(writer, server, words + after[:9])
        since_s = peer._frame_since_s
        assert since_s is not None
        peer.close_if_overdue(since_s + 100.0)
        assert server.connection_count == 1
        service.gate.set()
        await reader.readexactly(4)
        await until(lambda: peer._reading)
        peer.close_if_overdue(since_s + 30.0)  # the time begins when we read on
        assert peer._frame_since_s is not None
        assert peer._frame_since_s > since_s
        writer.write(after[9:])
        await until(lambda: server.figures.received_calls == 2)
        assert server.connection_count == 1


async def test_flood_of_unfinished_frames_is_bounded_and_says_so() -> None:
    before = REFUSALS.counts()[RPC_UNFINISHED_FRAMES.name]
    async with serving(Service(), limits=RpcLimits(frame_bytes_max=MIB)) as (server, port):
        server.unfinished._bytes_max = 4 * MIB
        async with contextlib.AsyncExitStack() as stack:
            flood = [await stack.enter_async_context(connected(port)) for _ in range(8)]
            for _, writer in flood:
                await open_and_say(writer, announced(MIB) + bytes(MIB - 1))
            await until(lambda: REFUSALS.counts()[RPC_UNFINISHED_FRAMES.name] >= before + 4)
            assert 0 < server.unfinished.total_bytes <= 4 * MIB
            caller = client(port)
            assert await allocate(caller, 5) == 5
            await caller.close()
            ends = [asyncio.ensure_future(reader.read()) for reader, _ in flood]
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            header = only_answer(next(end.result() for end in ends if end.done()))
            assert header.errorMsg.endswith("at most 4 MiB (setting rpc.unfinished_frames_mib_max)")
            for end in ends:
                end.cancel()
        await until(lambda: server.unfinished.total_bytes == 0)


def test_reason_arrives_on_the_loop_that_serves() -> None:
    async def said() -> bytes:
        async with serving(Service(), limits=SMALL) as (_, port), connected(port) as (reader, writer):
            await open_and_say(writer, announced(64 * MIB) + bytes(8 * MIB))
            return await reader.read()

    assert b"rpc.admin_frame_mib_max" in uvloop.run(said())


class Clerk:
    """Judges tickets when it is let."""

    def __init__(self) -> None:
        self.may_judge, self.judged = asyncio.Event(), 0

    async def accept(self, token: bytes) -> Negotiated:
        self.judged += 1
        await self.may_judge.wait()
        if token == b"late":
            raise Unavailable("the ticket was not judged in 10 s")
        if token == b"nobody":
            raise InvalidValue("principal", "x@ELSEWHERE", "one with a rule")
        if token != b"ticket":
            raise AccessDenied("GSSException: no (Mechanism level: Ticket expired)")
        return Negotiated(user="alice", principal="alice@EXAMPLE.COM", answer=b"answer", session=Sealed())


async def answers(reader: asyncio.StreamReader, count: int) -> list[tuple[RpcResponseHeaderProto, bytes]]:
    """Return the next frames that the server says."""
    found = []
    for _ in range(count):
        frame = await reader.readexactly(4)
        body = frame + await reader.readexactly(int.from_bytes(frame, "big"))
        raw, position = take_delimited(body, 4)
        found.append((RpcResponseHeaderProto.FromString(raw), body[position:]))
    return found


@contextlib.asynccontextmanager
async def with_ticket(
    clerk: Clerk, token: bytes, service: Service, limits: RpcLimits | None = None
) -> AsyncIterator[tuple[RpcServer, asyncio.StreamReader, asyncio.StreamWriter]]:
    security = ServerSecurity(allow_simple=False, kerberos=OFFER, acceptor=clerk)
    async with serving(service, security, limits) as (server, port), connected(port) as (reader, writer):
        writer.write(SASL_PREFACE + NEGOTIATE)
        await answers(reader, 1)
        writer.write(initiate("KERBEROS", "GSSAPI", token))
        await until(lambda: clerk.judged == 1)
        yield server, reader, writer


async def test_ticket_is_judged_while_others_are_served_and_nothing_more_is_read() -> None:
    clerk, service = Clerk(), Service()
    async with with_ticket(clerk, b"ticket", service) as (server, reader, writer):
        writer.write(response(b"") + response(b"w" + CHOICE) + context("alice@EXAMPLE.COM"))
        writer.write(call(method="allocate"))
        await asyncio.sleep(0.05)
        assert (service.contexts, server.connections_by_user()) == ([], {})
        clerk.may_judge.set()
        said = await answers(reader, 4)
    assert [header.status for header, _ in said] == [RpcResponseHeaderProto.SUCCESS] * 4
    (heard,) = service.contexts
    assert (heard.user, heard.auth_method) == ("alice", AuthMethod.KERBEROS)


@pytest.mark.parametrize(
    ("token", "java_class", "words"),
    [
        (b"old", faults.SASL, "GSS initiate failed [Caused by GSSException: no (Mechanism level: Ticket expired)]"),
        (b"nobody", faults.ILLEGAL_ARGUMENT, "Illegal principal name x@ELSEWHERE: "),
        (b"late", faults.RETRIABLE, "the ticket was not judged in 10 s"),
    ],
)
async def test_refused_ticket_gets_the_reason_and_the_end(token: bytes, java_class: str, words: str) -> None:
    clerk = Clerk()
    clerk.may_judge.set()
    async with with_ticket(clerk, token, Service()) as (server, reader, _):
        header = only_answer(await reader.read())
        assert (header.status, header.exceptionClassName) == (RpcResponseHeaderProto.FATAL, java_class)
        assert header.errorMsg.startswith(words)
        assert server.figures.unauthenticated == (java_class != faults.RETRIABLE)


async def test_tickets_that_come_at_once_are_judged_in_a_turn_each() -> None:
    """Otherwise whoever sends a hundred of them keeps the loop for a hundred."""
    loop, rounds = asyncio.get_running_loop(), 0
    judged_in = list[int]()

    def count() -> None:
        nonlocal rounds
        rounds += 1
        if len(judged_in) < 20:
            loop.call_soon(count)

    class CountingClerk(Clerk):
        async def accept(self, token: bytes) -> Negotiated:
            judged_in.append(rounds)
            return await super().accept(token)

    clerk = CountingClerk()
    security = ServerSecurity(allow_simple=False, kerberos=OFFER, acceptor=clerk)
    async with serving(Service(), security) as (_, port), contextlib.AsyncExitStack() as peers:
        writers = [(await peers.enter_async_context(connected(port)))[1] for _ in range(20)]
        for writer in writers:
            writer.write(SASL_PREFACE + NEGOTIATE + initiate("KERBEROS", "GSSAPI", b"ticket"))
        count()
        await until(lambda: clerk.judged == 20)
        clerk.may_judge.set()
    assert len(set(judged_in)) == 20


@pytest.mark.parametrize(
    ("principal", "is_admitted"), [("alice@EXAMPLE.COM", True), ("nm/_HOST@EXAMPLE.COM", False), ("", False)]
)
async def test_port_for_one_principal_refuses_the_owners_of_other_tickets(principal: str, is_admitted: bool) -> None:
    clerk, service = Clerk(), Service()
    clerk.may_judge.set()
    owners = TicketOwners(protocol="org.apache.hadoop.yarn.server.api.ResourceTrackerPB", principal=principal)
    security = ServerSecurity(allow_simple=False, kerberos=OFFER, acceptor=clerk, owners=owners)
    async with serving(service, security) as (_, port), connected(port) as (reader, writer):
        writer.write(SASL_PREFACE + NEGOTIATE + initiate("KERBEROS", "GSSAPI", b"ticket"))
        writer.write(response(b"") + response(b"w" + CHOICE) + context("alice@EXAMPLE.COM") + call(method="allocate"))
        *_, (last, _) = await answers(reader, 5)
    assert (len(service.contexts) == 1) is is_admitted
    assert last.exceptionClassName == ("" if is_admitted else faults.AUTHORIZATION)


async def test_verdict_on_somebody_who_has_left_is_dropped() -> None:
    clerk, service = Clerk(), Service()
    limits = RpcLimits(handshake_timeout_s=0.5)  # while a ticket is judged nothing is read, not even that the peer left
    async with with_ticket(clerk, b"ticket", service, limits) as (server, _, writer):
        writer.close()
        await until(lambda: server.connection_count == 0)
        clerk.may_judge.set()
        await until(lambda: server.calls_in_flight == 0)
    assert service.contexts == []
