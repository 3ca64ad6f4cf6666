"""A million random and damaged frames: nothing crashes, memory stays, nobody unauthenticated is answered.

Most of the volume goes through the sans-IO machine in this process, thousands of real connections through a live server
in another process, which then still serves a proper client.  What stands behind the frames is tried too: every method
of every port of the ResourceManager with damaged requests.  Everything is drawn from one seed.
"""

from __future__ import annotations

import asyncio
import base64
import gc
import multiprocessing
import random
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess

import psutil
import pytest
from google.protobuf.message import DecodeError

from tests.conformance.recorded_rpc import recording
from tests.conformance.rpc_streams import BEFORE_OPEN_BYTES_MAX, OPEN_BYTES_MAX, READ_BYTES, Fuzzer, a_request
from tests.simulation.laws import derived
from tests.support import seeds
from tests.support.admin import Administration
from tests.support.playbook import World
from tests.support.rpc_calls import call, client_protocol, context, is_hadoops, tracker_protocol
from yodel.errors import YodelError
from yodel.hadoop_pb.RpcHeader_pb2 import RpcResponseHeaderProto
from yodel.hadoop_pb.yarn_service_protos_pb2 import AllocateRequestProto, AllocateResponseProto
from yodel.hadoop_rpc import faults
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.hadoop_rpc.framing import FrameBuffer, take_delimited
from yodel.hadoop_rpc.server_connection import HTTP_REPLY, CallReceived, Opened, PeerRefused, Pinged, ServerConnection
from yodel.hadoop_rpc.server_policy import CallerIdentity, ConnectionPolicy, TokenGrant
from yodel.hadoop_rpc.server_states import ServerState
from yodel.hadoop_rpc.writable import WireToken
from yodel.rm_rpc.admin_protocol import AdminProtocol
from yodel.rm_rpc.master_protocol import MasterProtocol
from yodel.rm_rpc.remote_errors import fault_for
from yodel.rpc_io.client import RpcClient
from yodel.rpc_io.dispatch import CallContext, Dispatcher, RpcMethod, RpcProtocol
from yodel.rpc_io.server import RpcLimits, RpcServer, ServerSecurity
from yodel.services.writer.state import ClusterState
from yodel.store.memory_store import read

SEEDS = seeds.tried("rpc fuzz")
"""The seeds of the commit, and those that found something; ``make fuzz`` draws others."""
FRAMES = 1_000_000
SOCKET_CONNECTIONS = 5_000
SOCKETS_AT_ONCE = 50
TIME_MAX_S = 90.0
"""CPU seconds for the machine's test, so that a busy host does not fail it; clock seconds for the sockets'."""
HANG_S = 400
GROWTH_BYTES_MAX = 8 * 1024 * 1024
"""Resident, after a tenth of the work: less than ten bytes left by each frame, or two thousand by each connection."""
REQUESTS_A_METHOD = 100
ALIVE_OF_ONE = 2
"""The machine and the transport of the one connection."""

PROTOCOL = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"
TOKEN = WireToken(identifier=b"proper", password=secrets.token_bytes(20), kind="YARN_AM_RM_TOKEN", service="")


def answers_in(data: bytes) -> list[RpcResponseHeaderProto]:
    """The headers of all answers in what a server said; an HTTP text has none."""
    if data.startswith(HTTP_REPLY[:8]):
        return []
    buffer, headers = FrameBuffer(), []
    buffer += data
    while (frame := buffer.take_frame(1 << 26)) is not None:
        headers.append(RpcResponseHeaderProto.FromString(take_delimited(frame, 0)[0]))
    return headers


def assert_no_call_answered(data: bytes) -> None:
    """Nothing but SASL and refusals, all of which carry reserved (negative) ids."""
    for header in answers_in(data):
        assert header.callId >= 1 << 31
        assert header.status == RpcResponseHeaderProto.FATAL or header.callId == (-33) & 0xFFFFFFFF


def policies() -> list[ConnectionPolicy]:
    def anyone(_identity: CallerIdentity) -> None:
        return

    grant = TokenGrant(password=TOKEN.password, user="appattempt", kind=TOKEN.kind)

    passwords = recording("spark-4-pi-cluster").passwords

    def known(identifier: bytes) -> TokenGrant | None:
        password = passwords.get(identifier)
        return None if password is None else TokenGrant(password=password, user="appattempt", kind=TOKEN.kind)

    def unknown(identifier: bytes) -> TokenGrant | None:
        return grant if len(identifier) % 2 else None

    port = ConnectionPolicy(
        allow_simple=False, token_passwords=unknown, authorize=anyone, frame_bytes_max=OPEN_BYTES_MAX
    )
    return [
        port,
        replace(port, token_passwords=known),
        replace(port, allow_simple=True, token_passwords=known),
        replace(port, allow_simple=True, token_passwords=None),
    ]


@dataclass(slots=True)
class Tally:
    """Count what a fuzzed machine did.  ``frames`` counts only what was fed to a connection still alive."""

    frames: int = 0
    calls: int = 0
    refusals: int = 0
    openings_after_proof: int = 0
    buffered_bytes_max: int = 0


def fuzz_one(fuzzer: Fuzzer, policy: ConnectionPolicy, stranger: bool, tally: Tally) -> None:
    """One connection to its end.  A ``stranger`` cannot prove anything, so nothing may come of its words."""
    session, words = fuzzer.stream()
    machine = ServerConnection(policy=policy, nonce=session.nonce)
    for data in words:
        machine.receive_data(data)
        tally.frames += 1
        while (event := machine.next_event()) is not None:
            assert not stranger or isinstance(event, Pinged | PeerRefused)
            tally.calls += isinstance(event, CallReceived)
            tally.refusals += isinstance(event, PeerRefused)
            tally.openings_after_proof += isinstance(event, Opened) and event.identity.token_identifier is not None
        is_open = machine.state is ServerState.OPEN
        assert len(machine.buffer) <= (OPEN_BYTES_MAX if is_open else BEFORE_OPEN_BYTES_MAX) + READ_BYTES
        tally.buffered_bytes_max = max(tally.buffered_bytes_max, len(machine.buffer))
        if machine.closed:
            break
    if stranger:
        assert_no_call_answered(machine.data_to_send())


@pytest.mark.timeout(HANG_S)
@pytest.mark.drawn("rpc fuzz")
@pytest.mark.parametrize("seed", SEEDS)
def test_a_million_frames_neither_crash_the_machine_nor_fill_memory(seed: int) -> None:
    fuzzer, choices, process, tally, sessions = Fuzzer(seed), policies(), psutil.Process(), Tally(), 0
    before_bytes = 0
    while tally.frames < FRAMES:
        if not before_bytes and tally.frames >= FRAMES // 10:
            before_bytes = process.memory_info().rss
        which = sessions % len(choices)
        fuzz_one(fuzzer, choices[which], which == 0, tally)
        sessions += 1
    assert process.memory_info().rss - before_bytes < GROWTH_BYTES_MAX
    assert tally.buffered_bytes_max > OPEN_BYTES_MAX - 2 * READ_BYTES
    # The streams reach everywhere: calls understood, connections refused, tokens proved.
    assert tally.calls > FRAMES // 10
    assert tally.refusals > sessions // 4
    assert tally.openings_after_proof > sessions // 50


async def ports_of(world: World) -> dict[str, RpcProtocol]:
    """Everything that the ResourceManager serves over RPC."""
    rm = world.rm
    administration = await Administration(world).service()
    return {
        "client": client_protocol(world).protocol(),
        "scheduler": MasterProtocol(rm.master, rm.queries, rm.tokens).protocol(),
        "tracker": tracker_protocol(world),
        "admin": AdminProtocol(administration).protocol(),
    }


@pytest.mark.timeout(HANG_S)
@pytest.mark.drawn("rpc fuzz")
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("port", ["client", "scheduler", "tracker", "admin"])
async def test_every_method_answers_whatever_is_asked(port: str, seed: int) -> None:
    """Every method ends with an answer or with a fault of Hadoop's: nothing else comes up, and rows stay whole."""
    draw = random.Random(f"{seed} {port}")
    async with World() as world:
        am = await world.running_am()
        protocol = (await ports_of(world))[port]
        caller = context(attempt_id=am.attempt_id, world=world) if port == "scheduler" else context("admin")
        answered = 0
        for method in sorted(protocol.methods):
            request_type = protocol.methods[method].request_type
            for number in range(REQUESTS_A_METHOD):
                body = bytearray(a_request(request_type, draw).SerializePartialToString())
                for _ in range(number % 4 if body else 0):
                    body[draw.randrange(len(body))] = draw.randrange(256)
                try:
                    request = request_type.FromString(bytes(body))
                except DecodeError:
                    continue
                fault = None
                try:
                    await world.run(call(protocol, method, caller, request))
                    answered += 1
                except (YodelError, RemoteFault) as error:
                    fault = fault_for(error).java_class
                except Exception as error:  # named with what caused it
                    raise AssertionError(f"{method} of {request}") from error
                assert is_hadoops(fault), (method, request)
        await world.settle()
        assert derived(ClusterState.of(read(world.disk))) == derived(world.rm.state)
    assert answered > 0


def live_policy(token: WireToken) -> ConnectionPolicy:
    """Return what the live server asks of its clients."""

    def anyone(_identity: CallerIdentity) -> None:
        return

    grant = TokenGrant(password=token.password, user="appattempt_1_0001_000001", kind=token.kind)
    return ConnectionPolicy(
        allow_simple=False,
        token_passwords=lambda identifier: grant if identifier == token.identifier else None,
        authorize=anyone,
    )


def serve(pipe: Connection) -> None:
    """A token-only server in its own process."""

    def allocate(_context: CallContext, request: AllocateRequestProto) -> AllocateResponseProto:
        return AllocateResponseProto(response_id=request.response_id + 1)

    async def run() -> None:
        method = RpcMethod(name="allocate", request_type=AllocateRequestProto, handler=allocate)
        dispatcher = Dispatcher(
            [RpcProtocol(name=PROTOCOL, methods={"allocate": method})],
            fault_for=lambda error: RemoteFault(faults.YARN_EXCEPTION, str(error)),
            retry_cache=None,
        )
        policy = live_policy(pipe.recv())
        security = ServerSecurity(allow_simple=policy.allow_simple, token_passwords=policy.token_passwords)
        server = RpcServer(
            name="fuzzed",
            dispatcher=dispatcher,
            security=security,
            # A client without a processor for seconds is told why too: the shorter times have tests of their own.
            limits=RpcLimits(handshake_timeout_s=60.0, linger_s=60.0),
            nonce=lambda: base64.b64encode(secrets.token_bytes(30)).decode(),
        )
        _, port = await server.start("127.0.0.1", 0)
        pipe.send(port)
        while await asyncio.to_thread(pipe.recv) == "count":
            gc.collect()
            alive = sum(isinstance(thing, (ServerConnection, asyncio.BaseTransport)) for thing in gc.get_objects())
            pipe.send((server.connection_count, alive, psutil.Process().memory_info().rss))
        await server.stop()

    asyncio.run(run())


@dataclass(frozen=True, slots=True)
class LiveServer:
    """The other process."""

    process: SpawnProcess
    pipe: Connection
    port: int

    def counted(self) -> tuple[int, int, int]:
        """Connections, what is left in memory of those that are and were, and resident bytes."""
        self.pipe.send("count")
        connections, alive, rss_bytes = self.pipe.recv()
        return connections, alive, rss_bytes


@pytest.fixture
def live() -> Iterator[LiveServer]:
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,))
    process.start()
    ours.send(TOKEN)
    try:
        yield LiveServer(process, ours, ours.recv())
    finally:
        if process.is_alive():
            ours.send("stop")
        process.join(20)
        if process.is_alive():
            process.kill()


async def said_to(port: int, words: list[bytes]) -> bytes:
    """Return what the server says to a client who sends all this and then ends.  Raises OSError: it was cut off."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        async with asyncio.timeout(60):
            for data in words:
                writer.write(data)
                await asyncio.sleep(0)
            writer.write_eof()
            return await reader.read()
    finally:
        writer.close()


def should_say(words: list[bytes]) -> bytes:
    """Return what the machine alone says to the same words; no nonce of a recording is the live server's."""
    machine = ServerConnection(policy=live_policy(TOKEN), nonce="a+nonce+of+its+own=")
    for data in words:
        machine.receive_data(data)
        while machine.next_event() is not None:
            pass
    return machine.data_to_send()


def without_nonce(said: bytes) -> list[tuple[int, int, str, str]]:
    """Return what counts of what was said: each answer's id, status, class and text.  An HTTP text is one of itself."""
    if said.startswith(HTTP_REPLY[:8]):
        return [(0, 0, "", said.decode())]
    return [(h.callId, h.status, h.exceptionClassName, h.errorMsg) for h in answers_in(said)]


@pytest.mark.timeout(HANG_S)
@pytest.mark.drawn("rpc fuzz")
@pytest.mark.parametrize("seed", SEEDS)
async def test_live_server_outlives_thousands_of_bad_clients(live: LiveServer, seed: int) -> None:
    fuzzer, with_words, with_reason, before_bytes = Fuzzer(seed + 1), 0, 0, 0
    for turn in range(SOCKET_CONNECTIONS // SOCKETS_AT_ONCE):
        if turn == 10:
            _, _, before_bytes = live.counted()
        streams = [fuzzer.stream()[1] for _ in range(SOCKETS_AT_ONCE)]
        answers = await asyncio.gather(*(said_to(live.port, words) for words in streams))
        for said, words in zip(answers, streams, strict=True):
            assert_no_call_answered(said)
            expected = without_nonce(should_say(words))
            assert without_nonce(said) == expected
            with_words += bool(expected)
            with_reason += any(status == RpcResponseHeaderProto.FATAL for _, status, _, _ in expected)
    # What was tried is drawn from the seed: nearly all are refused, most of them for a reason that can be told.
    assert with_words > with_reason > SOCKET_CONNECTIONS * 9 // 10
    assert live.process.is_alive()

    client = RpcClient(
        host="127.0.0.1", port=live.port, protocol=PROTOCOL, user="am", token=TOKEN, client_id=secrets.token_bytes(16)
    )
    for number in range(100):
        request = AllocateRequestProto(response_id=number)
        assert (await client.call("allocate", request, AllocateResponseProto)).response_id == number + 1
    connections, alive, after_bytes = await asyncio.to_thread(live.counted)
    await client.close()
    assert connections == 1
    assert alive <= ALIVE_OF_ONE
    assert after_bytes - before_bytes < GROWTH_BYTES_MAX
