"""The probes' port, on a real socket of this machine."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest
import uvloop

from yodel.hadoop_http import probe_port
from yodel.hadoop_http.probe_port import CONNECTIONS_MAX, HEAD_BYTES_MAX, LIVE, READY, ProbePort

HOST = "127.0.0.1"


class Served:
    """A port, and what it is told to say."""

    def __init__(self) -> None:
        self.reason = ""
        self.probes = ProbePort(lambda: self.reason)
        self.port = 0

    async def says(self, request: str) -> str:
        reader, writer = await asyncio.open_connection(HOST, self.port)
        writer.write(request.encode())
        async with asyncio.timeout(60):
            answer = (await reader.read()).decode()
        writer.close()
        return answer

    async def get(self, path: str) -> tuple[str, str]:
        head, _, body = (await self.says(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n")).partition("\r\n\r\n")
        return head.partition("\r\n")[0].removeprefix("HTTP/1.1 "), body


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    found = Served()
    found.port = await found.probes.start(HOST, 0) or 0
    yield found
    await found.probes.stop()
    await found.probes.stop()


def test_probes_are_answered_on_the_loop_that_the_programs_run_on() -> None:
    async def said() -> tuple[str, str]:
        served = Served()
        served.port = await served.probes.start(HOST, 0) or 0
        try:
            return await served.get(LIVE)
        finally:
            await served.probes.stop()

    assert uvloop.run(said()) == ("200 OK", "OK")


async def test_alive_is_who_answers_and_ready_is_who_has_no_reason_against_it(served: Served) -> None:
    assert await served.get(LIVE) == ("200 OK", "OK")
    assert await served.get(f"{READY}?verbose") == ("200 OK", "OK")
    served.reason = "standby: another leads"
    assert await served.get(READY) == ("503 Service Unavailable", "standby: another leads")
    assert await served.get(LIVE) == ("200 OK", "OK")


async def test_nothing_else_is_told(served: Served) -> None:
    assert (await served.get("/ws/v1/cluster"))[0] == "404 Not Found"
    assert (await served.says("POST /health/live HTTP/1.1\r\n\r\n")).startswith("HTTP/1.1 400 ")
    assert (await served.says("\r\n\r\n")).startswith("HTTP/1.1 400 ")
    assert (await served.says("x" * (HEAD_BYTES_MAX + 1))).startswith("HTTP/1.1 400 ")
    head, _, body = (await served.says("HEAD /health/live HTTP/1.1\r\n\r\n")).partition("\r\n\r\n")
    assert (head.startswith("HTTP/1.1 200 "), body) == (True, "")


async def test_probe_is_answered_however_many_just_hold_connections(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe_port, "DEADLINE_S", 3600)
    holding = [await asyncio.open_connection(HOST, served.port) for _ in range(2 * CONNECTIONS_MAX)]
    assert await served.get(LIVE) == ("200 OK", "OK")
    async with asyncio.timeout(60):
        for reader, writer in holding[: CONNECTIONS_MAX + 1]:
            assert await reader.read() == b""
            writer.close()
    for _, writer in holding[CONNECTIONS_MAX + 1 :]:
        writer.close()


async def test_who_asks_nothing_is_hung_up_on(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe_port, "DEADLINE_S", 0.01)
    reader, writer = await asyncio.open_connection(HOST, served.port)
    writer.write(b"GET ")
    async with asyncio.timeout(60):
        with contextlib.suppress(ConnectionResetError):  # so does the kernel hang up where bytes were not read yet
            assert await reader.read() == b""
    writer.close()
