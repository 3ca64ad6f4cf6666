"""Connections: keep-alive, limits and times."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from nm_plugin.host.users import OsUser
from nm_plugin.shuffle.service import MapReduceShuffle
from tests.support.node_agent import FakeUsers, eventually
from tests.support.shuffle import (
    APPLICATION,
    LIMITS,
    Ask,
    Reducer,
    attempt,
    fetch,
    running_shuffle,
    service_data,
    write_map,
)
from yodel.telemetry.limits import REFUSALS

PARTITIONS = [b"a" * 100, b"b" * 200]


@pytest.fixture
def local(open_path: Path, alice: OsUser) -> Path:
    write_map(open_path / "local", alice, attempt(0), PARTITIONS)
    return open_path


@pytest.fixture
async def service(local: Path, users: FakeUsers) -> AsyncIterator[MapReduceShuffle]:
    async with running_shuffle(local, users) as service:
        await service.application_started(APPLICATION, "alice", service_data())
        yield service


def ask(service: MapReduceShuffle, **changes: object) -> Ask:
    return Ask(port=service.server.port, maps=[attempt(0)]).but(**changes)


async def test_connection_is_closed_after_an_answer(service: MapReduceShuffle) -> None:
    reducer = await Reducer.connect(service.server.port)
    reply = await reducer.fetch(ask(service))
    assert reply.headers["connection"] == "close"
    assert await reducer.at_end()
    await reducer.close()
    await eventually(lambda: service.server.connections == 0)


async def test_one_connection_serves_again_when_asked_to_stay(service: MapReduceShuffle) -> None:
    reducer = await Reducer.connect(service.server.port)
    for reduce in (0, 1, 0):
        reply = await reducer.fetch(ask(service, reduce=reduce, more="&keepAlive=true"))
        assert (reply.headers["connection"], reply.headers["keep-alive"]) == ("Keep-Alive", "timeout=5")
        assert reply.maps[0][4] == PARTITIONS[reduce]
    reply = await reducer.fetch(ask(service))
    assert reply.headers["connection"] == "close"
    assert await reducer.at_end()
    await reducer.close()


async def test_requests_sent_ahead_are_answered_in_order(service: MapReduceShuffle) -> None:
    reducer = await Reducer.connect(service.server.port)
    await reducer.send(b"".join(ask(service, reduce=n, more="&keepAlive=true").data() for n in (1, 0)))
    assert [(await reducer.reply()).maps[0][4] for _ in range(2)] == [PARTITIONS[1], PARTITIONS[0]]
    await reducer.close()


async def test_idle_connection_is_closed(local: Path, users: FakeUsers) -> None:
    limits = replace(LIMITS, head_s=0.05, keep_alive_always=True, keep_alive_s=1)
    async with running_shuffle(local, users, limits) as service:
        await service.application_started(APPLICATION, "alice", service_data())
        silent = await Reducer.connect(service.server.port)
        assert await silent.at_end()
        kept = await Reducer.connect(service.server.port)
        assert (await kept.fetch(ask(service))).headers["connection"] == "Keep-Alive"
        assert await kept.at_end()
        for reducer in (silent, kept):
            await reducer.close()


async def test_crowd_is_told_to_come_back(local: Path, users: FakeUsers) -> None:
    async with running_shuffle(local, users, replace(LIMITS, connections_max=2)) as service:
        await service.application_started(APPLICATION, "alice", service_data())
        waiting = [await Reducer.connect(service.server.port) for _ in range(2)]
        await eventually(lambda: service.server.connections == 2)
        before = REFUSALS.counts()["shuffle_connections"]
        reply = await fetch(ask(service))
        assert (reply.status, reply.headers["retry-after"]) == (429, "1000")
        assert REFUSALS.counts()["shuffle_connections"] == before + 1
        for reducer in waiting:
            await reducer.close()
        await eventually(lambda: service.server.connections == 0)
        assert (await fetch(ask(service))).status == 200


async def test_reader_that_stops_reading_is_dropped(local: Path, users: FakeUsers, alice: OsUser) -> None:
    write_map(local / "local", alice, attempt(1), [b"x" * (32 << 20)])
    async with running_shuffle(local, users, replace(LIMITS, stall_s=0.1)) as service:
        await service.application_started(APPLICATION, "alice", service_data())
        before = len(os.listdir("/proc/self/fd"))
        reducer = await Reducer.connect(service.server.port)
        await reducer.send(ask(service, maps=[attempt(1)]).data())
        await eventually(lambda: service.server.connections == 1)
        await eventually(lambda: service.server.connections == 0)
        await reducer.close()
        await eventually(lambda: len(os.listdir("/proc/self/fd")) <= before)


async def test_end_of_the_agent_ends_transfers(local: Path, users: FakeUsers, alice: OsUser) -> None:
    write_map(local / "local", alice, attempt(1), [b"x" * (32 << 20)])
    async with running_shuffle(local, users) as service:
        await service.application_started(APPLICATION, "alice", service_data())
        reducer = await Reducer.connect(service.server.port)
        await reducer.send(ask(service, maps=[attempt(1)]).data())
        head = await reducer.head()
        server = service.server
    assert server.connections == 0
    reply = await reducer.body_of(head)
    assert len(reply.body) < int(reply.headers["content-length"])
    await reducer.close()


@pytest.mark.parametrize("sent", [50_000, 4 << 20])
async def test_refusal_reaches_a_reader_that_sent_more_than_was_read(service: MapReduceShuffle, sent: int) -> None:
    reducer = await Reducer.connect(service.server.port)
    await reducer.send(ask(service, method="POST", headers=(("Content-Length", str(sent)),)).data() + b"x" * sent)
    assert (await reducer.reply()).status == 405
    assert await reducer.read_on() == b""  # an end, no reset
    await reducer.close()
    await eventually(lambda: service.server.connections == 0)


async def test_answer_reaches_a_reader_that_sent_more_than_was_read(service: MapReduceShuffle) -> None:
    reducer = await Reducer.connect(service.server.port)
    await reducer.send(ask(service).data() + b"x" * (1 << 20))
    assert (await reducer.reply()).maps[0][4] == PARTITIONS[0]
    assert await reducer.read_on() == b""
    await reducer.close()
    await eventually(lambda: service.server.connections == 0)


async def test_many_readers_at_once_each_get_theirs(service: MapReduceShuffle) -> None:
    replies = await asyncio.gather(*(fetch(ask(service, reduce=number % 2)) for number in range(60)))
    assert [reply.maps[0][4] for reply in replies] == [PARTITIONS[number % 2] for number in range(60)]
