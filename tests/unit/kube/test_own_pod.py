"""A leader whose pod is over ends; one that hears nothing of its pod does not."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.fake_kubernetes import Answer, FakeApi, refusal
from yodel.kube.own_pod import LATE_S, LOOK_EVERY_S, OwnPod

END_MS = 1767323045000  # 2026-01-02T03:04:05Z
DELETED = b'{"metadata":{"name":"yodel-rm-1","deletionTimestamp":"2026-01-02T03:04:05Z"}}'
ALIVE = b'{"metadata":{"name":"yodel-rm-1","creationTimestamp":"2026-01-01T00:00:00Z"},"spec":{}}'


class At:
    """A clock that stands where a test puts it."""

    def __init__(self, now_ms: float) -> None:
        self._now_ms = int(now_ms)

    def now_ms(self) -> int:
        return self._now_ms

    def monotonic_s(self) -> float:
        return self._now_ms / 1000


def own_pod(*answers: Answer, now_ms: float = END_MS) -> tuple[OwnPod, FakeApi]:
    api = FakeApi(*answers)
    return OwnPod(api, At(now_ms), namespace="yodel", name="yodel-rm-1"), api


async def test_its_own_pod_is_asked_for_and_nothing_else() -> None:
    pod, api = own_pod(Answer(body=ALIVE))
    assert await pod.look() is None
    (asked,) = api.server.asked
    assert (asked.method, asked.path) == ("GET", "/api/v1/namespaces/yodel/pods/yodel-rm-1")


async def test_pod_that_is_gone_is_over() -> None:
    pod, _ = own_pod(refusal(404, "NotFound"))
    assert await pod.look() == "it does not exist any more"


@pytest.mark.parametrize(("late_s", "is_over"), [(-30, False), (0, False), (LATE_S - 0.1, False), (LATE_S, True)])
async def test_pod_that_is_being_deleted_has_its_grace_period(late_s: float, is_over: bool) -> None:
    pod, _ = own_pod(Answer(body=DELETED), now_ms=END_MS + late_s * 1000)
    reason = await pod.look()
    assert reason == ("its grace period ended at 2026-01-02T03:04:05+00:00" if is_over else None)


@pytest.mark.parametrize(
    "answer",
    [refusal(403, "Forbidden"), refusal(500, "InternalError"), Answer(body=b"<html>"), Answer(body=b"{}")],
    ids=["refused", "error", "no JSON", "no pod"],
)
async def test_whoever_says_nothing_about_the_pod_ends_nothing(answer: Answer) -> None:
    pod, _ = own_pod(answer)
    assert await pod.look() is None


@pytest.mark.looptime
async def test_it_is_looked_for_until_it_is_over() -> None:
    pod, api = own_pod(Answer(body=ALIVE), refusal(503, "ServiceUnavailable"), refusal(404, "NotFound"))
    begin_s = asyncio.get_running_loop().time()
    assert await pod.until_over() == "it does not exist any more"
    assert len(api.server.asked) == 3
    assert asyncio.get_running_loop().time() - begin_s == pytest.approx(2 * LOOK_EVERY_S, abs=0.5)
