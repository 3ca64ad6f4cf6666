"""The server on a real socket of this machine: what only uvicorn can show."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.types import Receive, Scope, Send

from tests.support.rest_world import RestWorld, rest_world
from yodel.rm_api import server
from yodel.rm_api.server import HEAD_BYTES_MAX, RestServer, serve

HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Served:
    world: RestWorld
    server: RestServer
    port: int


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    async with rest_world(rm_web_address=f"{HOST}:0") as world:
        server, port = await serve(world.app, HOST, 0)
        yield Served(world, server, port)
        await server.stop()


async def test_bound_port_is_the_one_clients_are_told(served: Served) -> None:
    async with httpx2.AsyncClient(base_url=f"http://{HOST}:{served.port}") as client:
        assert (await client.get("/ws/v1/cluster/info")).status_code == 200
    assert served.world.app.state.api.web_address == f"{HOST}:{served.port}"


async def test_given_port_is_left_as_it_is() -> None:
    async with rest_world() as world:
        server, _ = await serve(world.app, HOST, 0)
        await server.stop()
        assert world.app.state.api.web_address == "rm-host:8088"


async def test_stopped_server_does_not_listen_and_stops_again(served: Served) -> None:
    await served.server.stop()
    await served.server.stop()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(HOST, served.port)


async def test_signals_are_left_to_their_owner(served: Served) -> None:
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


async def test_taken_port_is_an_error(served: Served) -> None:
    with pytest.raises(OSError, match="in use"):
        await serve(served.world.app, HOST, served.port)


async def test_endless_head_is_cut_off(served: Served) -> None:
    reader, writer = await asyncio.open_connection(HOST, served.port)
    writer.write(b"GET /ws/v1/cluster/info HTTP/1.1\r\nHost: x\r\nX-Long: ")
    closed = asyncio.create_task(reader.read())
    for _ in range(1_000):
        if closed.done() or writer.is_closing():
            break
        writer.write(b"x" * 16_384)
        await asyncio.sleep(0)
    async with asyncio.timeout(10):
        (ended,) = await asyncio.gather(closed, return_exceptions=True)
    assert ended == b"" or isinstance(ended, ConnectionError)
    writer.close()


async def test_reader_that_takes_nothing_is_hung_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "STALLED_S", 0.01)
    ended = asyncio.Event()

    async def endless(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        gone = asyncio.create_task(receive_until_gone(receive))
        while not gone.done():
            await send({"type": "http.response.body", "body": b"x" * 65_536, "more_body": True})
        ended.set()

    running, port = await serve(Starlette(routes=[Mount("/", endless)]), HOST, 0)
    _, writer = await asyncio.open_connection(HOST, port, limit=1)
    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    async with asyncio.timeout(10):
        await ended.wait()
    writer.close()
    await running.stop()


async def receive_until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def test_long_body_is_no_long_head(served: Served) -> None:
    async with httpx2.AsyncClient(base_url=f"http://{HOST}:{served.port}") as client:
        for _ in range(2):
            answer = await client.post(
                "/ws/v1/cluster/apps?user.name=alice", json={"application-id": "x", "pad": "y" * (4 * HEAD_BYTES_MAX)}
            )
            assert answer.json()["RemoteException"]["message"] == "Could not parse application id x"
