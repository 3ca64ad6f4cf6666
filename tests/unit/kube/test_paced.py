"""The pace of requests, under fake loop time."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.fake_kubernetes import Answer, FakeApi, Stream, refusal
from yodel.errors import Unavailable
from yodel.kube.api import ApiRequest, ApiStatus
from yodel.kube.paced import PacedKube, PaceLimits

pytestmark = pytest.mark.looptime


def now_s() -> float:
    return asyncio.get_running_loop().time()


def paced(*script: Answer | Stream, per_second: float = 10.0, burst: int = 2) -> tuple[PacedKube, FakeApi]:
    api = FakeApi(*script)
    return PacedKube(api, PaceLimits(per_second=per_second, burst=burst), clock=now_s, random=lambda: 0.0), api


async def test_calls_beyond_the_burst_keep_the_rate() -> None:
    kube, _ = paced(*[Answer()] * 12)
    begun_s = now_s()
    await asyncio.gather(*(kube.call(ApiRequest(path="/a")) for _ in range(12)))
    assert now_s() - begun_s == pytest.approx(1.0, abs=0.05)
    assert kube.waited_s > 0


async def test_call_whose_turn_would_come_too_late_is_not_made() -> None:
    kube, api = paced(*[Answer()] * 10, per_second=1.0)
    request = ApiRequest(path="/a", timeout_s=3.0)
    results = await asyncio.gather(*(kube.call(request) for _ in range(10)), return_exceptions=True)
    assert sum(isinstance(result, Unavailable) for result in results) == 5
    assert len(api.server.asked) == 5


async def test_everybody_waits_when_the_server_says_how_long() -> None:
    kube, _ = paced(refusal(429, "TooManyRequests", Retry_After="7"), Answer(), Answer())
    begun_s = now_s()
    with pytest.raises(ApiStatus):
        await kube.call(ApiRequest(path="/a"))
    await asyncio.gather(kube.call(ApiRequest(path="/b")), kube.call(ApiRequest(path="/c")))
    assert now_s() - begun_s == pytest.approx(7.0, abs=0.2)
    assert kube.turned_away == 1


async def test_call_that_cannot_wait_that_long_is_unavailable() -> None:
    kube, api = paced(refusal(429, "TooManyRequests", Retry_After="20"), Answer())
    with pytest.raises(ApiStatus):
        await kube.call(ApiRequest(path="/a"))
    with pytest.raises(Unavailable):
        await kube.call(ApiRequest(path="/b", timeout_s=15.0))
    assert len(api.server.asked) == 1


async def test_other_refusals_keep_nobody_waiting() -> None:
    kube, _ = paced(refusal(503, "ServiceUnavailable", Retry_After="30"), Answer())
    begun_s = now_s()
    with pytest.raises(ApiStatus):
        await kube.call(ApiRequest(path="/a"))
    await kube.call(ApiRequest(path="/b"))
    assert now_s() - begun_s < 1


async def test_watches_are_not_counted() -> None:
    kube, _ = paced(*[Stream(chunks=(b"x",), ending="end")] * 5, per_second=0.001)
    for _ in range(5):
        async with kube.stream(ApiRequest(path="/a")) as chunks:
            assert [chunk async for chunk in chunks] == [b"x"]
