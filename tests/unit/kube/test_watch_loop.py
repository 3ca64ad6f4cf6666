"""The list-watch loop against a scripted API server, without network and under fake loop time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import msgspec
import pytest

from tests.support.fake_kubernetes import (
    Answer,
    FakeApi,
    RecordingSink,
    Stream,
    bookmark,
    event,
    listing,
    pod,
    refusal,
    status_body,
)
from yodel.domain.backoff import Backoff
from yodel.kube.watch_loop import LineBuffer, WatchHealth, WatchLimits, watch, watched_pods

pytestmark = pytest.mark.looptime

LIMITS = WatchLimits(stall_s=90.0, connection_s=300.0, backoff=Backoff(initial_s=1.0, cap_s=8.0))


def now_s() -> float:
    return asyncio.get_running_loop().time()


class Watching:
    """A running watch, its sink and its health."""

    def __init__(self, api: FakeApi) -> None:
        self.api, self.sink, self.health = api, RecordingSink(), WatchHealth(now_s)

    @property
    def kinds(self) -> list[str]:
        return self.api.server.kinds

    async def run(self) -> None:
        await watch(
            self.api,
            watched_pods("jobs", "app=yodel", self.sink),
            clock=now_s,
            random=lambda: 1.0,
            limits=LIMITS,
            health=self.health,
        )


@asynccontextmanager
async def watching(*script: Answer | Stream) -> AsyncIterator[Watching]:
    watch = Watching(FakeApi(*script))
    task = asyncio.create_task(watch.run())
    try:
        yield watch
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_lists_page_by_page_and_then_follows_from_the_listed_version() -> None:
    async with watching(
        Answer(body=listing(10, pod("a", 3), continuation="next")),
        Answer(body=listing(10, pod("b", 4))),
        Stream(chunks=(event("MODIFIED", pod("a", 11)), event("DELETED", pod("b", 12)))),
    ) as watch:
        transcript = await watch.sink.heard(3)
        asked = watch.api.server.asked
    assert transcript == [("listed", ["a", "b"]), ("seen", "a"), ("gone", "b")]
    assert asked[0].path == "/api/v1/namespaces/jobs/pods"
    assert asked[0].query == {"labelSelector": "app=yodel", "limit": "500"}
    assert asked[1].query == {"labelSelector": "app=yodel", "limit": "500", "continue": "next"}
    assert asked[2].query == {
        "watch": "1",
        "labelSelector": "app=yodel",
        "resourceVersion": "10",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": "600",
    }


async def test_a_reconnect_goes_on_from_the_last_bookmark_without_a_new_list() -> None:
    async with watching(Answer(body=listing(10)), Stream(chunks=(bookmark(57),), ending="end"), Stream()) as watch:
        await asyncio.sleep(1)
        asked = watch.api.server.asked
    assert watch.kinds == ["list", "watch", "watch"]
    assert asked[2].query["resourceVersion"] == "57"


async def test_an_event_cut_into_pieces_is_put_together() -> None:
    line = event("ADDED", pod("a", 11))
    pieces = tuple(line[i : i + 7] for i in range(0, len(line), 7))
    async with watching(Answer(body=listing(10)), Stream(chunks=pieces)) as watch:
        assert await watch.sink.heard(2) == [("listed", []), ("seen", "a")]


@pytest.mark.parametrize(
    "gone",
    [
        refusal(410, "Expired", "too old resource version"),
        Stream(chunks=(event("ERROR", status_body(410, "Expired", "too old")),), ending="end"),
    ],
)
async def test_an_expired_version_means_a_new_list(gone: Answer | Stream) -> None:
    async with watching(
        Answer(body=listing(10, pod("a", 1), pod("b", 2))), gone, Answer(body=listing(20, pod("b", 2))), Stream()
    ) as watch:
        await watch.sink.heard(2)
        await asyncio.sleep(0)
    assert watch.sink.alive == {"b"}
    assert watch.kinds[:3] == ["list", "watch", "list"]


async def test_an_expired_continue_token_starts_the_list_over_and_tells_nothing_before() -> None:
    async with watching(
        Answer(body=listing(10, pod("a", 1), continuation="next")),
        refusal(410, "Expired"),
        Answer(body=listing(20, pod("b", 2))),
        Stream(),
    ) as watch:
        transcript = await watch.sink.heard(1)
    assert transcript == [("listed", ["b"])]
    assert "continue" not in watch.api.server.asked[2].query


@pytest.mark.parametrize(
    "garbage",
    [
        b'{"type":"ADDED","object":{"metadata":\n',
        b"null\n",
        b'{"type":"EXPLODED","object":{"metadata":{"name":"a"}}}\n',
        b'{"type":"ADDED","object":{}}\n',
    ],
)
async def test_what_cannot_be_understood_means_a_new_list(garbage: bytes) -> None:
    async with watching(
        Answer(body=listing(10)), Stream(chunks=(garbage,)), Answer(body=listing(20, pod("a", 11))), Stream()
    ) as watch:
        assert await watch.sink.heard(2) == [("listed", []), ("listed", ["a"])]


async def test_a_page_that_is_no_list_is_asked_for_again_and_never_told() -> None:
    async with watching(Answer(body=b"[]"), Answer(body=listing(10, pod("a", 1))), Stream()) as watch:
        assert await watch.sink.heard(1) == [("listed", ["a"])]


async def test_failures_wait_longer_and_longer_and_an_event_forgives_them() -> None:
    down = refusal(500, "InternalError")
    async with watching(
        Answer(body=listing(10)), down, down, down, Stream(chunks=(bookmark(11),), ending="cut"), Stream()
    ) as watch:
        await asyncio.sleep(6.5)
        assert watch.kinds == ["list", "watch", "watch", "watch"]  # at 0, 1 and 3 seconds
        assert watch.health.failures_in_a_row == 3
        await asyncio.sleep(1.0)  # at 7 seconds: a bookmark, then a cut
        assert watch.health.failures_in_a_row == 1
        await asyncio.sleep(1.0)
        assert watch.kinds[-2:] == ["watch", "watch"]


async def test_server_that_was_away_for_long_is_heard_of_soon_after_it_is_back() -> None:
    waits_s = [WatchLimits().backoff.delay_s(failures, lambda: 0.999) for failures in range(1, 100)]
    assert max(waits_s) <= 5.0


async def test_retry_after_is_waited_for() -> None:
    async with watching(refusal(429, "TooManyRequests", Retry_After="20"), Answer(body=listing(10)), Stream()) as watch:
        await asyncio.sleep(19.5)
        assert watch.kinds == ["list"]
        await asyncio.sleep(1)
        assert watch.kinds == ["list", "list", "watch"]


async def test_a_silent_connection_is_replaced_and_bookmarks_keep_one_alive() -> None:
    async with watching(
        Answer(body=listing(10)), Stream(chunks=(80.0, bookmark(11), 80.0, bookmark(12))), Stream()
    ) as watch:
        await asyncio.sleep(249)
        assert watch.kinds == ["list", "watch"]
        await asyncio.sleep(3)
        assert watch.kinds == ["list", "watch", "watch"]
    assert watch.api.server.asked[-1].query["resourceVersion"] == "12"


async def test_half_a_line_does_not_count_as_a_sign_of_life() -> None:
    dribble = (b'{"type":', 50.0, b'"ADDED",', 50.0, b'"object":')
    async with watching(Answer(body=listing(10)), Stream(chunks=dribble), Stream()) as watch:
        await asyncio.sleep(92)
        assert watch.kinds == ["list", "watch", "watch"]


async def test_watches_that_end_at_once_do_not_spin() -> None:
    empty = Stream(ending="end")
    async with watching(Answer(body=listing(10)), *[empty] * 50) as watch:
        await asyncio.sleep(6.5)
    assert watch.kinds == ["list", "watch", "watch", "watch"]


async def test_staleness_is_infinite_before_the_first_list_and_grows_from_the_last_sign_of_life() -> None:
    async with watching(
        refusal(503, "ServiceUnavailable"), Answer(body=listing(10)), Stream(chunks=(10.0, bookmark(11)))
    ) as watch:
        await asyncio.sleep(0.5)
        assert watch.health.staleness_s == float("inf")
        await asyncio.sleep(1.0)  # listed at 1
        assert watch.health.staleness_s == pytest.approx(0.5)
        await asyncio.sleep(12.5)  # bookmark at 11
        assert watch.health.staleness_s == pytest.approx(3.0)
        assert (watch.health.listings, watch.health.connections) == (1, 1)


async def test_other_tasks_run_between_two_pages() -> None:
    pages = [Answer(body=listing(10, pod(f"p{n}", n), continuation="more")) for n in range(20)]
    turns = 0
    async with watching(*pages, Answer(body=listing(10)), Stream()) as watch:
        while not watch.sink.transcript:
            turns += 1
            await asyncio.sleep(0)
    assert turns >= 20


async def test_a_bug_in_the_sink_ends_the_loop() -> None:
    watch = Watching(FakeApi(Answer(body=listing(10))))
    watch.sink.pods_listed = None  # type: ignore[method-assign,assignment]
    with pytest.raises(TypeError):
        await watch.run()


def test_lines_are_cut_whatever_the_chunks() -> None:
    text = b'{"a":1}\n{"b":2}\r\n\n{"c":3}\n{"d"'
    for size in range(1, len(text) + 1):
        lines = LineBuffer(100)
        cut = [line for i in range(0, len(text), size) for line in lines.feed(text[i : i + size])]
        assert [line.strip() for line in cut] == [b'{"a":1}', b'{"b":2}', b'{"c":3}']


def test_an_endless_line_is_refused() -> None:
    lines = LineBuffer(10)
    assert lines.feed(b"x" * 10) == []
    with pytest.raises(msgspec.DecodeError):
        lines.feed(b"x")
