"""The server's and the client's shells, on the loopback interface: their subject is the socket itself."""

import asyncio
import base64
import contextlib
import secrets
from collections.abc import AsyncIterator
from typing import Any

import pytest

from yodel.errors import Unavailable
from yodel.hadoop_pb.yarn_service_protos_pb2 import AllocateRequestProto, AllocateResponseProto
from yodel.hadoop_rpc import faults
from yodel.hadoop_rpc.client_connection import ClientConnection, ClientIdentity
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.hadoop_rpc.server_policy import AuthMethod
from yodel.hadoop_rpc.writable import WireToken
from yodel.rpc_io import connection
from yodel.rpc_io import server as rpc_server
from yodel.rpc_io.client import RpcClient
from yodel.rpc_io.dispatch import CallContext, Dispatcher, RpcMethod, RpcProtocol
from yodel.rpc_io.server import RpcLimits, RpcServer, ServerSecurity, TokenGrant
from yodel.serving.proxy_users import ProxyUserRules

PROTOCOL = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"
TOKEN = WireToken(identifier=b"id", password=b"pw", kind="YARN_AM_RM_TOKEN", service="")
SIMPLE = ServerSecurity(allow_simple=True)


def grant(identifier: bytes) -> TokenGrant | None:
    return TokenGrant(password=b"pw", user="attempt", kind=TOKEN.kind) if identifier == b"id" else None


class Service:
    """allocate answers at once, finish waits for the gate."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.started = asyncio.Event()
        self.contexts: list[CallContext] = []

    def allocate(self, context: CallContext, request: AllocateRequestProto) -> AllocateResponseProto:
        self.contexts.append(context)
        return AllocateResponseProto(response_id=request.response_id)

    async def finish(self, _context: CallContext, _request: Any) -> AllocateResponseProto:
        self.started.set()
        await self.gate.wait()
        return AllocateResponseProto(response_id=99)

    async def big(self, _context: CallContext, _request: Any) -> AllocateResponseProto:
        response = AllocateResponseProto()
        response.collector_info.collector_addr = "x" * 1_000_000
        return response


@contextlib.asynccontextmanager
async def serving(
    service: Service, security: ServerSecurity = SIMPLE, limits: RpcLimits | None = None, *, accept: bool = True
) -> AsyncIterator[tuple[RpcServer, int]]:
    handlers = {"allocate": service.allocate, "finish": service.finish, "big": service.big}
    methods = {
        name: RpcMethod(name=name, request_type=AllocateRequestProto, handler=handler)
        for name, handler in handlers.items()
    }
    dispatcher = Dispatcher(
        [RpcProtocol(name=PROTOCOL, methods=methods)],
        fault_for=lambda error: RemoteFault(faults.YARN_EXCEPTION, str(error)),
        retry_cache=None,
    )
    server = RpcServer(
        name="test",
        dispatcher=dispatcher,
        security=security,
        limits=limits,
        nonce=lambda: base64.b64encode(secrets.token_bytes(30)).decode(),
    )
    _, port = await server.start("127.0.0.1", 0, accept=accept)
    try:
        yield server, port
    finally:
        await server.stop()
    assert server.connection_count == 0


def client(
    port: int, *, token: WireToken | None = None, real_user: str | None = None, timeout_s: float = 10
) -> RpcClient:
    return RpcClient(
        host="127.0.0.1",
        port=port,
        protocol=PROTOCOL,
        user="bob",
        token=token,
        real_user=real_user,
        call_timeout_s=timeout_s,
        client_id=secrets.token_bytes(16),
    )


async def allocate(caller: RpcClient, number: int) -> int:
    return (await caller.call("allocate", AllocateRequestProto(response_id=number), AllocateResponseProto)).response_id


async def test_who_comes_before_the_server_accepts_waits_and_is_served() -> None:
    async with serving(Service(), accept=False) as (server, port):
        caller = client(port)
        call = asyncio.create_task(allocate(caller, 7))
        await asyncio.sleep(0.1)
        assert (call.done(), server.connection_count) == (False, 0)
        await server.accept_connections()
        assert await call == 7
        await caller.close()


@pytest.mark.parametrize("token", [None, TOKEN])
async def test_concurrent_calls_get_their_own_answers(token: WireToken | None) -> None:
    service = Service()
    security = ServerSecurity(allow_simple=True, token_passwords=grant)
    async with serving(service, security) as (server, port):
        caller = client(port, token=token)
        assert await asyncio.gather(*(allocate(caller, number) for number in range(200))) == list(range(200))
        assert server.connection_count == 1
        await caller.close()
    context = service.contexts[0]
    expected = (AuthMethod.TOKEN, "attempt", b"id") if token else (AuthMethod.SIMPLE, "bob", None)
    assert (context.auth_method, context.user, context.token_identifier) == expected


async def test_slow_call_does_not_hold_up_a_fast_one() -> None:
    service = Service()
    async with serving(service) as (_, port):
        caller = client(port)
        slow = asyncio.create_task(caller.call("finish", AllocateRequestProto(), AllocateResponseProto))
        await service.started.wait()
        assert await allocate(caller, 5) == 5
        assert not slow.done()
        service.gate.set()
        assert (await slow).response_id == 99
        await caller.close()


async def test_fault_reaches_the_caller_and_the_connection_lives() -> None:
    async with serving(Service()) as (server, port):
        caller = client(port)
        with pytest.raises(RemoteFault) as caught:
            await caller.call("nope", AllocateRequestProto(), AllocateResponseProto)
        assert caught.value.java_class == faults.NO_SUCH_METHOD
        assert await allocate(caller, 1) == 1
        assert server.connection_count == 1
        await caller.close()


async def test_refusals_reach_the_caller() -> None:
    async with serving(Service(), ServerSecurity(allow_simple=False, token_passwords=grant)) as (server, port):
        with pytest.raises(RemoteFault, match="SIMPLE authentication is not enabled"):
            await allocate(client(port), 1)
        stranger = WireToken(identifier=b"id", password=b"wrong", kind="k", service="")
        with pytest.raises(RemoteFault, match="Mismatched response"):
            await allocate(client(port, token=stranger), 1)
        assert (server.figures.unauthenticated, server.figures.unauthorized, server.figures.authorized) == (2, 0, 0)


async def test_port_counts_what_it_does() -> None:
    service = Service()
    async with serving(service, ServerSecurity(allow_simple=True, token_passwords=grant)) as (server, port):
        callers = [client(port), client(port, token=TOKEN)]
        assert [await allocate(caller, 7) for caller in callers] == [7, 7]
        service.gate.set()
        await callers[0].call("finish", AllocateRequestProto(), AllocateResponseProto)
        with pytest.raises(RemoteFault, match="Unknown method"):
            await callers[0].call("no-such-method", AllocateRequestProto(), AllocateResponseProto)
        figures = server.figures
        assert (figures.received_calls, figures.calls.total, server.dispatcher.faults) == (4, 4, 1)
        assert {name: rate.total for name, rate in figures.methods.items()} == {"allocate": 2, "finish": 1}
        assert (figures.authorized, figures.token_logins) == (2, 1)
        assert server.connections_by_user() == {"bob": 1, "attempt": 1}
        assert (server.port, server.connection_count) == (port, 2)
        assert figures.received_bytes > 4 * 16  # each call names its client
        assert figures.sent_bytes > 4 * 16
        for caller in callers:
            await caller.close()


async def test_proxy_users_are_authorized_by_their_rules() -> None:
    service = Service()
    rules = ProxyUserRules.from_properties(
        {"hadoop.proxyuser.oozie.hosts": "127.0.0.1", "hadoop.proxyuser.oozie.users": "bob"}
    )
    async with serving(service, ServerSecurity(allow_simple=True, proxy_users=rules)) as (_, port):
        caller = client(port, real_user="oozie")
        await allocate(caller, 1)
        await caller.close()
        assert (service.contexts[0].user, service.contexts[0].real_user) == ("bob", "oozie")
        with pytest.raises(RemoteFault, match="User: hue is not allowed to impersonate bob"):
            await allocate(client(port, real_user="hue"), 1)


async def test_client_connects_again_after_a_close() -> None:
    async with serving(Service()) as (_, port):
        caller = client(port)
        assert await allocate(caller, 1) == 1
        await caller.close()
        assert await allocate(caller, 2) == 2
        await caller.close()


async def test_nobody_listening_is_unavailable() -> None:
    async with serving(Service()) as (_, port):
        pass
    with pytest.raises(Unavailable):
        await allocate(client(port), 1)


async def test_late_answer_is_unavailable() -> None:
    service = Service()
    async with serving(service) as (_, port):
        caller = client(port, timeout_s=0.05)
        with pytest.raises(Unavailable, match="was not answered"):
            await caller.call("finish", AllocateRequestProto(), AllocateResponseProto)
        service.gate.set()
        assert await allocate(caller, 3) == 3
        await caller.close()


async def test_too_many_running_calls_are_told_to_retry() -> None:
    service = Service()
    async with serving(service, limits=RpcLimits(calls_in_flight_max=1)) as (server, port):
        caller = client(port)
        slow = asyncio.create_task(caller.call("finish", AllocateRequestProto(), AllocateResponseProto))
        await service.started.wait()
        with pytest.raises(RemoteFault) as caught:
            await allocate(caller, 1)
        assert caught.value.java_class == faults.RETRIABLE
        service.gate.set()
        await slow
        figures = server.figures
        assert (figures.received_calls, figures.put_off_calls, figures.calls.total) == (2, 1, 1)
        await caller.close()


async def test_calls_beyond_a_connections_limit_wait() -> None:
    service = Service()
    async with serving(service, limits=RpcLimits(calls_in_flight_per_connection_max=1)) as (server, port):
        caller = client(port)
        slow = asyncio.create_task(caller.call("finish", AllocateRequestProto(), AllocateResponseProto))
        await service.started.wait()
        fast = asyncio.create_task(allocate(caller, 1))
        other = client(port)
        assert await allocate(other, 2) == 2  # a round trip on another connection: the first had its chance
        assert not fast.done()
        assert server.calls_in_flight == 1
        service.gate.set()
        assert (await slow).response_id == 99
        assert await fast == 1
        await caller.close()
        await other.close()


async def read_to_end(port: int, words: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(words)
    async with asyncio.timeout(60):
        said = await reader.read()
    writer.close()
    return said


async def test_http_gets_a_text() -> None:
    async with serving(Service()) as (_, port):
        assert b"HTTP request to a Hadoop IPC port" in await read_to_end(port, b"GET / HTTP/1.0\r\n\r\n")


async def test_silent_and_idle_clients_are_cut_off() -> None:
    opened = ClientConnection(
        identity=ClientIdentity(client_id=bytes(16), protocol=PROTOCOL, user="bob"), cnonce="c" * 20
    ).connect()
    limits = RpcLimits(handshake_timeout_s=0.05, idle_timeout_s=0.05)
    async with serving(Service(), limits=limits) as (server, port):
        with contextlib.suppress(ConnectionResetError):
            assert await read_to_end(port, b"hrpc") == b""
        with contextlib.suppress(ConnectionResetError):
            assert await read_to_end(port, opened) == b""
        assert server.connection_count == 0


async def test_connections_over_the_limit_are_told_to_come_again() -> None:
    async with serving(Service(), limits=RpcLimits(connections_max=1)) as (server, port):
        first = client(port)
        await allocate(first, 1)
        with pytest.raises(RemoteFault, match=r"2 connections to this port, at most 1 \(setting rpc.connections_max\)"):
            await allocate(client(port), 1)
        assert (server.connection_count, server.figures.dropped_connections) == (1, 1)
        assert await allocate(first, 2) == 2
        await first.close()


async def test_connections_from_one_address_have_a_limit_of_their_own() -> None:
    async with serving(Service(), limits=RpcLimits(connections_per_address_max=1)) as (_, port):
        first = client(port)
        await allocate(first, 1)
        with pytest.raises(RemoteFault, match="2 connections from your address, at most 1"):
            await allocate(client(port), 1)
        await first.close()


async def test_full_port_closes_who_is_idle_and_serves_the_newcomer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "IDLE_S", 0.0)
    async with serving(Service(), limits=RpcLimits(connections_max=1)) as (server, port):
        first, second = client(port), client(port)
        assert await allocate(first, 1) == 1
        assert await allocate(second, 2) == 2
        assert (server.connection_count, server.figures.dropped_connections) == (1, 1)
        await second.close()
        assert await allocate(first, 3) == 3  # it connects again, and nobody notices
        await first.close()


async def test_whose_call_runs_does_not_give_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "IDLE_S", 0.0)
    service = Service()
    async with serving(service, limits=RpcLimits(connections_max=1)) as (_, port):
        first = client(port)
        slow = asyncio.create_task(first.call("finish", AllocateRequestProto(), AllocateResponseProto))
        await service.started.wait()
        with pytest.raises(RemoteFault, match=r"setting rpc\.connections_max"):
            await allocate(client(port), 1)
        service.gate.set()
        assert (await slow).response_id == 99
        await first.close()


async def test_flood_of_newcomers_is_not_told_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rpc_server, "TURNED_AWAY_MAX", 2)
    async with serving(Service(), limits=RpcLimits(connections_max=1, linger_s=600.0)) as (server, port):
        first = client(port)
        await allocate(first, 1)
        peers = [await asyncio.open_connection("127.0.0.1", port) for _ in range(8)]
        told = 0
        for reader, _ in peers:
            with contextlib.suppress(ConnectionResetError):
                told += b"connections_max" in await reader.read()
        assert told == len(server._turned_away) == 2
        for _, writer in peers:
            writer.close()
        await first.close()


async def test_reader_who_takes_nothing_is_not_buffered_without_end() -> None:
    service = Service()
    limits = RpcLimits(write_buffer_bytes_max=100_000, calls_in_flight_per_connection_max=4)
    async with serving(service, limits=limits) as (server, port):
        machine = ClientConnection(
            identity=ClientIdentity(client_id=bytes(16), protocol=PROTOCOL, user="bob"), cnonce="c" * 20
        )
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
        words = machine.connect() + b"".join(machine.call(call_id=n, method="big", body=b"") for n in range(60))
        writer.write(words)
        other = client(port)
        for number in range(200):
            await allocate(other, number)
        (stuck,) = (peer for peer in server._seats if peer._context and not peer._writable)
        assert stuck._transport.get_write_buffer_size() < 8_000_000
        async with asyncio.timeout(60):
            await reader.readexactly(60 * 1_000_000)  # now it reads, and gets everything
        writer.close()
        await other.close()


async def test_stop_lets_running_calls_be_answered() -> None:
    service = Service()
    async with serving(service) as (server, port):
        caller = client(port)
        slow = asyncio.create_task(caller.call("finish", AllocateRequestProto(), AllocateResponseProto))
        await service.started.wait()
        stopping = asyncio.create_task(server.stop())
        await asyncio.sleep(0)
        service.gate.set()
        assert (await slow).response_id == 99
        await stopping
        await caller.close()


async def test_stop_does_not_wait_for_ever() -> None:
    service = Service()
    async with serving(service, limits=RpcLimits(stop_timeout_s=0.05)) as (server, port):
        caller = client(port)
        slow = asyncio.create_task(caller.call("finish", AllocateRequestProto(), AllocateResponseProto))
        await service.started.wait()
        await server.stop()
        with pytest.raises(Unavailable):
            await slow
