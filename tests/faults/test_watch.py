"""The adapter over real HTTP to an API server that misbehaves: statuses, stalls, half lines, cut connections.

Times are real but short; what is asserted is what was asked and told, never how long it took.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from tests.support.fake_kubernetes import (
    Answer,
    FakeKubernetes,
    RecordingSink,
    Stream,
    bookmark,
    event,
    listing,
    pod,
    refusal,
    serve,
    status_body,
)
from yodel.domain.backoff import Backoff
from yodel.errors import Refused, Unavailable
from yodel.kube.api import ApiRequest
from yodel.kube.client import KubeClient, check_reachable, open_kube
from yodel.kube.pod_driver import DriverLimits, PodDriver
from yodel.kube.retrying import RetryLimits
from yodel.kube.watch_loop import WatchHealth, WatchLimits, watch, watched_pods

QUICK = WatchLimits(
    page_size=2,
    list_timeout_s=1.0,
    open_timeout_s=1.0,
    stall_s=0.4,
    backoff=Backoff(initial_s=0.01, cap_s=0.05),
)
FEW = RetryLimits(attempts=3, wait_initial_s=0.01, wait_max_s=0.05)


@asynccontextmanager
async def connected(server: FakeKubernetes, directory: Path) -> AsyncIterator[KubeClient]:
    async with (
        serve(server) as address,
        await open_kube(write_kubeconfig(directory, address, "first-token"), None) as client,
    ):
        yield client


def write_kubeconfig(directory: Path, address: str, token: str) -> Path:
    path = directory / "kubeconfig"
    path.write_text(
        f"""
apiVersion: v1
kind: Config
current-context: test
clusters: [{{name: c, cluster: {{server: "{address}"}}}}]
users: [{{name: u, user: {{token: {token}}}}}]
contexts: [{{name: test, context: {{cluster: c, user: u}}}}]
"""
    )
    return path


@asynccontextmanager
async def watching(server: FakeKubernetes, directory: Path) -> AsyncIterator[tuple[RecordingSink, WatchHealth]]:
    sink, health = RecordingSink(), WatchHealth(time.monotonic)
    async with connected(server, directory) as client:
        loop = watch(
            client,
            watched_pods("jobs", "app=yodel", sink),
            clock=time.monotonic,
            random=lambda: 0.5,
            limits=QUICK,
            health=health,
        )
        task = asyncio.create_task(loop)
        try:
            yield sink, health
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def test_410_in_the_answer_and_in_the_stream_relist_and_deletions_are_computed(tmp_path: Path) -> None:
    server = FakeKubernetes(
        Answer(body=listing(10, pod("a", 1), pod("b", 2), continuation="c")),
        Answer(body=listing(10, pod("c", 3))),
        refusal(410, "Expired"),
        Answer(body=listing(20, pod("b", 2), pod("c", 3))),
        Stream(chunks=(event("ERROR", status_body(410, "Expired")),), ending="end"),
        Answer(body=listing(30, pod("c", 3))),
        Stream(),
    )
    async with watching(server, tmp_path) as (sink, _):
        transcript = await sink.heard(3)
        await server.was_asked(7)
    assert transcript == [("listed", ["a", "b", "c"]), ("listed", ["b", "c"]), ("listed", ["c"])]
    assert sink.alive == {"c"}
    assert server.kinds[:7] == ["list", "list", "watch", "list", "watch", "list", "watch"]


async def test_a_burst_of_500s_is_survived(tmp_path: Path) -> None:
    down = refusal(500, "InternalError", "etcd is gone")
    server = FakeKubernetes(
        *[down] * 5, Answer(body=listing(10)), *[down] * 5, Stream(chunks=(event("ADDED", pod("a", 11)),))
    )
    async with watching(server, tmp_path) as (sink, health):
        assert await sink.heard(2) == [("listed", []), ("seen", "a")]
        assert health.failures_in_a_row == 0
        assert health.staleness_s < 60
    assert server.kinds[:12] == ["list"] * 6 + ["watch"] * 6


async def test_429_is_followed_after_the_time_the_server_asked_for(tmp_path: Path) -> None:
    server = FakeKubernetes(
        refusal(429, "TooManyRequests", Retry_After="1"), Answer(body=listing(10, pod("a", 1))), Stream()
    )
    begun_s = time.monotonic()
    async with watching(server, tmp_path) as (sink, _):
        assert await sink.heard(1) == [("listed", ["a"])]
    assert time.monotonic() - begun_s >= 1.0


async def test_a_stalled_watch_is_replaced(tmp_path: Path) -> None:
    server = FakeKubernetes(
        Answer(body=listing(10)), Stream(chunks=(bookmark(33),)), Stream(chunks=(event("ADDED", pod("a", 34)),))
    )
    async with watching(server, tmp_path) as (sink, _):
        assert await sink.heard(2) == [("listed", []), ("seen", "a")]
    assert server.asked[2].query["resourceVersion"] == "33"


async def test_a_half_written_line_at_the_end_is_told_again_by_the_next_connection(tmp_path: Path) -> None:
    line = event("ADDED", pod("b", 12))
    server = FakeKubernetes(
        Answer(body=listing(10)),
        Stream(chunks=(event("ADDED", pod("a", 11)), line[: len(line) // 2]), ending="end"),
        Stream(chunks=(line,)),
    )
    async with watching(server, tmp_path) as (sink, _):
        assert await sink.heard(3) == [("listed", []), ("seen", "a"), ("seen", "b")]
    assert [request.query.get("resourceVersion") for request in server.asked[1:3]] == ["10", "11"]


async def test_a_broken_line_relists(tmp_path: Path) -> None:
    server = FakeKubernetes(
        Answer(body=listing(10)),
        Stream(chunks=(b'{"type":"ADDED","object":{"metadata":{"na\n',)),
        Answer(body=listing(20, pod("a", 11))),
        Stream(),
    )
    async with watching(server, tmp_path) as (sink, _):
        assert await sink.heard(2) == [("listed", []), ("listed", ["a"])]


async def test_a_connection_cut_in_an_event_goes_on_from_the_last_whole_one(tmp_path: Path) -> None:
    line = event("DELETED", pod("a", 12))
    server = FakeKubernetes(
        Answer(body=listing(10, pod("a", 1))),
        # the pause lets the first bytes arrive: an abort would otherwise discard what is still unsent
        Stream(chunks=(event("MODIFIED", pod("a", 11)), line[:20], 0.1), ending="cut"),
        Stream(chunks=(line,)),
    )
    async with watching(server, tmp_path) as (sink, _):
        assert await sink.heard(3) == [("listed", ["a"]), ("seen", "a"), ("gone", "a")]
    assert server.kinds[:3] == ["list", "watch", "watch"]
    assert server.asked[2].query["resourceVersion"] == "11"


async def test_a_list_cut_between_two_pages_starts_over_and_tells_nothing_partial(tmp_path: Path) -> None:
    server = FakeKubernetes(
        Answer(body=listing(10, pod("a", 1), continuation="c")),
        *[Answer(drop=True)] * 2,  # the HTTP client repeats a GET once when a kept connection turns out dead
        Answer(body=listing(20, pod("a", 1), pod("b", 2))),
        Stream(),
    )
    async with watching(server, tmp_path) as (sink, _):
        assert await sink.heard(1) == [("listed", ["a", "b"])]


async def test_an_api_server_that_is_away_at_the_start_is_waited_for(tmp_path: Path) -> None:
    server = FakeKubernetes(*[Answer(drop=True)] * 4, Answer(body=listing(10)), Stream())
    async with watching(server, tmp_path) as (sink, health):
        assert await sink.heard(1) == [("listed", [])]
        assert health.listings == 1


async def test_a_burst_larger_than_the_buffer_arrives_whole_and_in_order(tmp_path: Path) -> None:
    events = b"".join(event("ADDED", pod(f"pod-{n}", 11 + n, message="x" * 1_000)) for n in range(1_000))
    server = FakeKubernetes(Answer(body=listing(10)), Stream(chunks=(events,)))
    async with watching(server, tmp_path) as (sink, _):
        transcript = await sink.heard(1_001)
    assert [name for _, name in transcript[1:]] == [f"pod-{n}" for n in range(1_000)]


async def test_a_call_that_gets_no_answer_ends_at_its_deadline(tmp_path: Path) -> None:
    server = FakeKubernetes(*[Stream()] * 3)
    async with connected(server, tmp_path) as client:
        pods = PodDriver(client, "jobs", DriverLimits(call_timeout_s=0.5, retry=FEW))
        with pytest.raises(Unavailable, match=r"no answer within 0.5 s"):
            await pods.get("a")
    assert len(server.asked) == 3


async def test_a_create_whose_answer_was_cut_off_succeeds_by_finding_its_pod(tmp_path: Path) -> None:
    server = FakeKubernetes(Answer(drop=True), refusal(409, "AlreadyExists"), Answer(body=pod("a", 1)))
    async with connected(server, tmp_path) as client:
        manifest = {"metadata": {"name": "a", "labels": {"yodel.io/container-id": "container_1_0001_01_000002"}}}
        await PodDriver(client, "jobs", DriverLimits(retry=FEW)).create(manifest)
    assert server.kinds == ["POST", "POST", "GET"]


async def test_an_expired_token_is_read_anew_and_the_request_sent_once_more(tmp_path: Path) -> None:
    server = FakeKubernetes(refusal(401, "Unauthorized"), Answer(body=pod("a", 1)), Answer(body=pod("a", 1)))
    async with connected(server, tmp_path) as client:
        write_kubeconfig(tmp_path, client.host, "second-token")
        pods = PodDriver(client, "jobs", DriverLimits(retry=FEW))
        await pods.get("a")
        await pods.get("a")
    tokens = [request.headers["Authorization"] for request in server.asked]
    assert tokens == ["Bearer first-token", "Bearer second-token", "Bearer second-token"]


async def test_a_token_that_stays_wrong_is_unavailable_and_not_in_the_message(tmp_path: Path) -> None:
    server = FakeKubernetes(*[refusal(401, "Unauthorized", "who are you")] * 10)
    async with connected(server, tmp_path) as client:
        with pytest.raises(Unavailable, match="who are you") as raised:
            await PodDriver(client, "jobs", DriverLimits(retry=FEW)).get("a")
    assert "first-token" not in str(raised.value)
    assert len(server.asked) == 4  # three attempts, the first of them sent once more with credentials read anew


async def test_check_reachable_tells_the_version(tmp_path: Path) -> None:
    server = FakeKubernetes(Answer(body={"major": "1", "gitVersion": "v1.37.0"}))
    async with connected(server, tmp_path) as client:
        assert await check_reachable(client) == "v1.37.0"
    assert server.asked[0].path == "/version"


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (Answer(body=b"<html>hello</html>"), Unavailable),
        (refusal(503, "ServiceUnavailable"), Unavailable),
        (refusal(403, "Forbidden", "anonymous may not"), Refused),
    ],
)
async def test_check_reachable_is_not_fooled(tmp_path: Path, answer: Answer, error: type[Exception]) -> None:
    server = FakeKubernetes(*[answer] * 3)
    async with connected(server, tmp_path) as client:
        with pytest.raises(error):
            await check_reachable(client, FEW)


async def test_a_path_that_was_quoted_stays_quoted(tmp_path: Path) -> None:
    server = FakeKubernetes(Answer())
    async with connected(server, tmp_path) as client:
        await client.call(ApiRequest(path="/api/v1/namespaces/a%2Fb/pods", query={"labelSelector": "a=b,c in (d)"}))
    assert server.asked[0].query == {"labelSelector": "a=b,c in (d)"}
    assert server.raw_paths == ["/api/v1/namespaces/a%2Fb/pods"]
