"""Endpoints of shuffle services are up, away or unknown, as far as was looked."""

from __future__ import annotations

import asyncio
import socket

import pytest

from tests.support.fakes import FakeEndpoints
from yodel.domain.queues.queue import Queue
from yodel.domain.shuffle.word import ShuffleProperty
from yodel.host.endpoints import TcpEndpoints
from yodel.ports.store import ClusterIdentity
from yodel.services.applications.shuffle_endpoints import LOOK_S, ShuffleEndpoints
from yodel.services.writer.endpoint_book import Presence
from yodel.services.writer.state import ClusterState

FIRST, SECOND = ("m-1", 9097), ("m-2", 9097)


def words(endpoints: str) -> tuple[ShuffleProperty, ...]:
    said = {"endpoints": endpoints, "jar": "local:/x.jar", "service": "celeborn"}
    return tuple(ShuffleProperty(name, text, "root.a") for name, text in said.items())


BOTH = words("m-1:9097,m-2:9097")


class Looked:
    """Queues whose endpoints are looked at."""

    def __init__(self) -> None:
        self.state = ClusterState(ClusterIdentity(cluster_timestamp_ms=1, epoch=1, application_sequence=0))
        self.network = FakeEndpoints()
        self.looks = ShuffleEndpoints(self.state, self.network)
        self.say(BOTH)

    def say(self, words: tuple[ShuffleProperty, ...]) -> None:
        self.state.publish([Queue(path="root.a", shuffle=words)])
        self.looks.published()

    def presences(self) -> list[Presence]:
        return [self.state.endpoints.presence(endpoint) for endpoint in (FIRST, SECOND)]


@pytest.fixture
def looked() -> Looked:
    return Looked()


async def test_unknown_is_not_away(looked: Looked) -> None:
    assert looked.presences() == [Presence.UNKNOWN, Presence.UNKNOWN]
    assert looked.state.endpoints.away(BOTH) == ""


async def test_new_one_is_tried_a_second_time_at_once(looked: Looked) -> None:
    looked.network.down = {FIRST}
    await looked.looks.look()
    assert looked.presences() == [Presence.DOWN, Presence.UP]
    assert looked.state.endpoints.away(BOTH) == "", "one of them is enough"


async def test_down_after_two_failures_and_up_after_one_success(looked: Looked) -> None:
    await looked.looks.look()
    looked.network.down = {FIRST, SECOND}
    await looked.looks.look()
    assert looked.presences() == [Presence.UP, Presence.UP]
    await looked.looks.look()
    assert looked.presences() == [Presence.DOWN, Presence.DOWN]
    assert "(m-1:9097, m-2:9097)" in looked.state.endpoints.away(BOTH)
    looked.network.down = {SECOND}
    await looked.looks.look()
    assert looked.presences() == [Presence.UP, Presence.DOWN]


async def test_what_no_queue_names_any_more_is_forgotten(looked: Looked) -> None:
    looked.network.down = {FIRST, SECOND}
    await looked.looks.look()
    looked.say(words("m-2:9097"))
    await looked.looks.look(only_new=True)
    assert looked.presences() == [Presence.UNKNOWN, Presence.DOWN]
    looked.say(())
    await looked.looks.look()
    assert looked.presences() == [Presence.UNKNOWN, Presence.UNKNOWN]


async def test_queue_that_names_some_has_them_looked_at_without_waiting(looked: Looked) -> None:
    task = asyncio.create_task(looked.looks.run())
    looked.say(words("m-1:9097"))
    async with asyncio.timeout(LOOK_S / 2):
        while looked.presences()[0] is Presence.UNKNOWN:  # noqa: ASYNC110 - nothing wakes who looks from outside
            await asyncio.sleep(0)
    task.cancel()
    assert looked.presences() == [Presence.UP, Presence.UNKNOWN]


async def test_network_says_who_accepts() -> None:
    network = TcpEndpoints()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert await network.answers("127.0.0.1", port)
    assert not await network.answers("127.0.0.1", port)
    assert not await network.answers("a" * 64 + ".invalid", 1)
