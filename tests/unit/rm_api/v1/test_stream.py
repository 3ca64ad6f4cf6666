"""The event stream: heartbeats, its ends, and readers that do not read.  Time is the loop's and costs none."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from starlette.types import Message

from tests.support.fakes import FakeClock
from tests.support.records import CLUSTER_TIMESTAMP_MS, a_container, an_application
from yodel.domain.queues.queue import default_queues
from yodel.errors import InvalidValue
from yodel.rm_api.v1 import stream
from yodel.rm_api.v1.stream import EventStream, RenderedEvents
from yodel.services.views.transitions import ReaderOwner, Transitions
from yodel.services.writer.state import ClusterState
from yodel.store.memory_store import MemoryStore

pytestmark = pytest.mark.looptime
APP = an_application(1)


class Asked:
    """Answer who may see what; ``count`` is how often that was looked up."""

    def __init__(self) -> None:
        self.count, self.is_allowed = 0, True

    def __call__(self) -> stream.Viewer:
        self.count += 1
        is_allowed = self.is_allowed
        return lambda _: is_allowed


@pytest.fixture
async def ring() -> Transitions:
    snapshot = await MemoryStore().open(now_ms=CLUSTER_TIMESTAMP_MS, default_queues=default_queues())
    return Transitions(ClusterState.of(snapshot), FakeClock(), kept_max=50)


def answer(ring: Transitions, viewer: Asked | None = None) -> EventStream:
    return EventStream(
        ring,
        ring.open(ring.last, ReaderOwner()),
        RenderedEvents(ring.epoch),
        wanted=lambda _: True,
        viewer=viewer or Asked(),
    )


async def started(answer: EventStream) -> AsyncIterator[bytes]:
    chunks = answer.chunks()
    await anext(chunks)
    return chunks


async def test_silence_is_broken_by_heartbeats_that_move_the_position_on(ring: Transitions) -> None:
    viewer = Asked()
    viewer.is_allowed = False
    chunks = await started(answer(ring, viewer))
    ring.published([APP], ())
    before_s = asyncio.get_running_loop().time()
    assert await anext(chunks) == f": heartbeat\nid: {ring.epoch}-1\n\n".encode()
    assert asyncio.get_running_loop().time() - before_s == pytest.approx(stream.HEARTBEAT_S)


async def test_what_may_be_seen_is_asked_again_after_a_while(ring: Transitions) -> None:
    viewer = Asked()
    viewer.is_allowed = False
    chunks = await started(answer(ring, viewer))
    viewer.is_allowed = True
    for _ in range(2):
        assert (await anext(chunks)).startswith(b": heartbeat")
    ring.published([APP], ())
    assert b'"application"' in await anext(chunks)
    assert viewer.count == 2


async def test_reader_that_fell_behind_is_told_and_let_go(ring: Transitions) -> None:
    chunks = await started(answer(ring))
    ring.published([APP, *(a_container(container=n) for n in range(2, 70))], ())
    assert await anext(chunks) == b'event: cut\ndata: {"reason": "the reader was too slow: 19 events were dropped"}\n\n'
    with pytest.raises(StopAsyncIteration):
        await anext(chunks)


async def test_end_of_the_resource_manager_is_told(ring: Transitions) -> None:
    chunks = await started(answer(ring))
    ring.end()
    assert await anext(chunks) == b'event: cut\ndata: {"reason": "the ResourceManager is stopping"}\n\n'


async def test_reader_that_takes_nothing_loses_its_place(ring: Transitions) -> None:
    stuck = answer(ring)
    taken: list[Message] = []

    async def send(message: Message) -> None:
        taken.append(message)
        if len(taken) > 1:
            await asyncio.Event().wait()

    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    before_s = asyncio.get_running_loop().time()
    await stuck({"type": "http"}, receive, send)
    assert asyncio.get_running_loop().time() - before_s == pytest.approx(stream.SEND_TIMEOUT_S)
    assert not ring._readers


async def test_reader_that_goes_gives_its_place_back(ring: Transitions) -> None:
    async def send(_: Message) -> None:
        return

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    await answer(ring)({"type": "http"}, receive, send)
    assert not ring._readers


async def test_stream_ends_whole_when_we_end_it(ring: Transitions) -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)
        ring.end()

    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    await answer(ring)({"type": "http"}, receive, send)
    assert [message.get("more_body") for message in sent] == [None, True, True, False]
    assert b"content-length" not in dict(sent[0]["headers"])


async def test_event_is_rendered_once_for_all_readers(ring: Transitions) -> None:
    ring.published([APP], ())
    (step,) = ring.newest_first()
    rendered = RenderedEvents(ring.epoch)
    assert rendered.of(step) is rendered.of(step)


async def test_rendered_events_are_bounded(ring: Transitions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "RENDERED_MAX", 2)
    ring.published([APP, a_container(container=2), a_container(container=3)], ())
    rendered = RenderedEvents(ring.epoch)
    first = [rendered.of(step) for step in ring.newest_first()]
    again = [rendered.of(step) for step in ring.newest_first()]
    assert first == again
    assert first[0] is not again[0]


@pytest.mark.parametrize("text", ["x", "1", "1-", "-1", "1-2-3", "1-x", "²-1", "1-" + "9" * 19])
def test_other_event_ids_are_refused(text: str) -> None:
    with pytest.raises(InvalidValue):
        stream.position_in(text)


def test_event_ids_are_epoch_and_sequence() -> None:
    assert (stream.position_in("3-17"), stream.position_in(None), stream.position_in("")) == ((3, 17), None, None)
