"""The server on a real socket of this machine: what only uvicorn can show."""

from __future__ import annotations

import asyncio
import json
import re
import signal
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Mount
from starlette.types import Receive, Scope, Send

from tests.support.endless_head import is_hung_up_on
from tests.support.records import an_application
from tests.support.rest_world import RestWorld, rest_world
from yodel.domain.states import ApplicationState
from yodel.hadoop_http import bounded_http
from yodel.hadoop_http.bounded_http import HEAD_BYTES_MAX
from yodel.rm_api.door.replay import Parts
from yodel.rm_api.server import LIMITS, RestServer, serve

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
    assert served.world.app.state.proxy.origins.web_address == f"{HOST}:{served.port}"


async def test_given_port_is_left_as_it_is() -> None:
    async with rest_world() as world:
        server, _ = await serve(world.app, HOST, 0)
        await server.stop()
        assert world.app.state.proxy.origins.web_address == "rm-host:8088"


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
    assert await is_hung_up_on(reader, writer, "/ws/v1/cluster/info")
    writer.close()


async def test_reader_that_takes_nothing_is_hung_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_http, "STALLED_S", 0.01)
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
    async with asyncio.timeout(60):
        await ended.wait()
    writer.close()
    await running.stop()


async def test_silent_caller_is_hung_up_on(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_http, "IDLE_S", 0.01)
    reader, writer = await asyncio.open_connection(HOST, served.port)
    async with asyncio.timeout(60):
        assert await reader.read() == b""
    writer.close()


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


BODILESS = (
    b"POST /ws/v1/cluster/apps?user.name=alice HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    b"Content-Length: 9\r\n\r\n{"
)
FEW = replace(LIMITS, connections_max=8, per_address_max=4)


@pytest.mark.parametrize("first_bytes", [b"", b"GET / HTTP/1.1\r\nX: ", BODILESS], ids=["idle", "head", "body"])
async def test_who_asks_is_answered_however_many_just_hold_connections(first_bytes: bytes) -> None:
    async with rest_world(rm_web_address=f"{HOST}:0") as world:
        server, port = await serve(world.app, HOST, 0, FEW)
        holding = [await asyncio.open_connection(HOST, port) for _ in range(12)]
        for _, writer in holding:
            writer.write(first_bytes)
        asking = await Asking.at(port)
        assert b"clusterInfo" in (await asking.answers("/info"))[0][1]
        async with asyncio.timeout(60):
            gone = [await reader.read() for reader, _ in holding[:9]]
        assert {answer[:12] for answer in gone} <= {b"", b"HTTP/1.1 503"}
        assert all(b"web.connections_per_address_max" in answer for answer in gone if answer)
        for writer in (asking.writer, *(writer for _, writer in holding)):
            writer.close()
        await server.stop()


async def test_newcomer_is_told_why_there_is_no_room() -> None:
    may_end = asyncio.Event()

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        await may_end.wait()
        await Response("done")(scope, receive, send)

    running, port = await serve(Starlette(routes=[Mount("/", slow)]), HOST, 0, FEW)
    held = [await Asking.at(port) for _ in range(4)]
    answers = [asyncio.create_task(who.answers("/info")) for who in held]
    await asyncio.gather(*(who.writer.drain() for who in held))
    async with asyncio.timeout(60):
        while True:
            reader, writer = await asyncio.open_connection(HOST, port)
            writer.write(b"x" * 300_000)
            told = await reader.read()
            writer.close()
            if told:
                break
    assert told.startswith(b"HTTP/1.1 503 ")
    assert b"retry-after: 1\r\n" in told
    assert told.endswith(
        b"Refused by the limit http_connections_per_address: 5, where at most 4 are allowed "
        b"(setting web.connections_per_address_max)"
    )
    may_end.set()
    assert [answer[0][1] for answer in await asyncio.gather(*answers)] == [b"done"] * 4
    for who in held:
        who.writer.close()
    await running.stop()


@pytest.mark.parametrize("said", ["Connection: close\r\n", ""])
async def test_refusal_of_a_body_arrives_at_who_is_still_sending_it(served: Served, said: str) -> None:
    reader, writer = await asyncio.open_connection(HOST, served.port)
    size = 24 * 1024 * 1024
    head = f"POST /ws/v1/cluster/apps?user.name=alice HTTP/1.1\r\nHost: x\r\n{said}Content-Type: application/json\r\n"
    writer.write(f"{head}Content-Length: {size}\r\n\r\n".encode())
    sending = asyncio.create_task(sent_whole(writer, b"x" * size))
    async with asyncio.timeout(60):
        answer = await reader.read()
        await sending
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"rest_body_bytes" in answer
    writer.close()


async def sent_whole(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(data)
    await writer.drain()


class Asking:
    """A kept connection that sends heads as they are and reads whole answers."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self.writer = reader, writer

    @classmethod
    async def at(cls, port: int) -> Asking:
        return cls(*await asyncio.open_connection(HOST, port))

    async def answers(self, *paths: str, extra: str = "") -> list[tuple[str, bytes]]:
        """Status lines with headers, and bodies; all are asked for before the first is read."""
        heads = (f"GET /ws/v1/cluster{path} HTTP/1.1\r\nHost: x\r\n{extra}\r\n" for path in paths)
        self.writer.write("".join(heads).encode())
        return [await self.answer() for _ in paths]

    async def answer(self) -> tuple[str, bytes]:
        async with asyncio.timeout(60):
            head = (await self._reader.readuntil(b"\r\n\r\n")).decode()
            length = re.search(r"content-length: (\d+)", head)
            assert length is not None, head
            return head, await self._reader.readexactly(int(length[1]))


async def test_same_question_is_answered_again_without_being_asked(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking, other = await Asking.at(served.port), await Asking.at(served.port)
    answer_of, found = served.world.app.state.door.replay.answer, list[bool]()

    def counted(head: bytes, defaults: Sequence[tuple[bytes, bytes]]) -> Parts | None:
        answer: Parts | None = answer_of(head, defaults)
        found.append(answer is not None)
        return answer

    monkeypatch.setattr(served.world.app.state.door.replay, "answer", counted)
    answers = [(await who.answers("/info"))[0] for who in (asking, asking, other, asking)]
    assert len({body for _, body in answers}) == 1
    assert found[0] is False
    assert found[-1] or found[-2]  # a second may begin in between
    await served.world.put(an_application(1))
    await asking.answers("/info")
    assert found[-1] is False
    for who in (asking, other):
        who.writer.close()


async def test_list_in_parts_is_given_again(served: Served) -> None:
    rows = [an_application(n, state=ApplicationState.FAILED, finished_ms=2000) for n in range(1, 101)]
    await served.world.put(*rows)
    asking = await Asking.at(served.port)
    bodies = {body for _ in range(3) for _, body in await asking.answers("/apps")}
    assert len(bodies) == 1
    assert len(json.loads(bodies.pop())["apps"]["app"]) == len(rows)
    asking.writer.close()


async def test_questions_in_one_go_are_answered_in_order(served: Served) -> None:
    asking = await Asking.at(served.port)
    await asking.answers("/info")
    answers = await asking.answers("/metrics", "/info", "/info", "/scheduler")
    assert [next(iter(json.loads(body))) for _, body in answers] == [
        "clusterMetrics",
        "clusterInfo",
        "clusterInfo",
        "scheduler",
    ]
    asking.writer.close()


async def test_another_users_answer_is_not_given_again() -> None:
    async with rest_world(rm_web_address=f"{HOST}:0") as world:
        server, port = await serve(world.app, HOST, 0)
        asking = await Asking.at(port)
        seen = []
        for user in ("alice", "bob", "alice"):
            (head, body), *_ = await asking.answers("/userinfo", extra=f"Cookie: {await cookie_of(world, user)}\r\n")
            seen.append(json.loads(body)["requestedUser"])
            assert "set-cookie" not in head.lower()
        assert seen == ["alice", "bob", "alice"]
        asking.writer.close()
        await server.stop()


async def cookie_of(world: RestWorld, user: str) -> str:
    world.client.cookies.clear()
    answer = await world.get(f"/info?user.name={user}")
    return str(answer.headers["set-cookie"].partition(";")[0])


async def test_line_of_a_head_is_no_question(served: Served) -> None:
    asking = await Asking.at(served.port)
    question = "GET /ws/v1/cluster/info HTTP/1.1\r\nHost: x\r\n\r\n"
    for _ in range(2):
        await asking.answers("/info")
    asking.writer.write(f"{question}GET /ws/v1/cluster/metrics HTTP/1.1\r\nHost: x\r\nX-Long: ".encode())
    assert b"clusterInfo" in (await asking.answer())[1]
    asking.writer.write(question.encode())
    assert b"clusterMetrics" in (await asking.answer())[1]
    asking.writer.close()


async def test_head_in_pieces_is_answered_too(served: Served) -> None:
    asking = await Asking.at(served.port)
    await asking.answers("/info")
    asking.writer.write(b"GET /ws/v1/cluster/info HTTP/1.1\r\n")
    await asyncio.sleep(0)
    asking.writer.write(b"Host: x\r\n\r\n")
    head, _ = await asking.answer()
    assert head.startswith("HTTP/1.1 200 OK")
    asking.writer.close()
