"""Bounded repetition of single calls, under fake loop time."""

from __future__ import annotations

import asyncio

import pytest

from yodel.errors import InvalidValue, Refused, Unavailable
from yodel.kube.api import ApiStatus
from yodel.kube.retrying import RetryLimits, retried

pytestmark = pytest.mark.looptime

LIMITS = RetryLimits(attempts=3, wait_initial_s=0.2, wait_max_s=1.0)


class Scripted:
    def __init__(self, *answers: str | Exception) -> None:
        self.answers = list(answers)
        self.attempts = 0

    async def __call__(self) -> str:
        self.attempts += 1
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


async def test_a_passing_failure_is_not_seen_outside() -> None:
    attempt = Scripted(ApiStatus(503), Unavailable("cut"), "answer")
    assert await retried(attempt, "Asking", LIMITS) == "answer"


async def test_a_lasting_failure_is_unavailable_after_the_last_attempt() -> None:
    attempt = Scripted(*[ApiStatus(500, "InternalError", "etcd is down")] * 5)
    with pytest.raises(Unavailable, match=r"Asking: .*etcd is down"):
        await retried(attempt, "Asking", LIMITS)
    assert attempt.attempts == 3


async def test_a_refusal_is_not_repeated() -> None:
    attempt = Scripted(ApiStatus(422, "Invalid", "spec.containers: Required value"), "never")
    with pytest.raises(Refused, match=r"spec\.containers: Required value"):
        await retried(attempt, "Asking", LIMITS)
    assert attempt.attempts == 1


async def test_the_server_decides_when_to_come_back() -> None:
    attempt = Scripted(ApiStatus(429, retry_after_s=17.0), "answer")
    await retried(attempt, "Asking", LIMITS)
    assert asyncio.get_running_loop().time() == pytest.approx(17.0, abs=0.01)


async def test_a_bug_is_not_repeated() -> None:
    attempt = Scripted(KeyError("bug"), "never")
    with pytest.raises(KeyError):
        await retried(attempt, "Asking", LIMITS)
    assert attempt.attempts == 1


def test_limits_refuse_nonsense() -> None:
    with pytest.raises(InvalidValue):
        RetryLimits(attempts=0)
