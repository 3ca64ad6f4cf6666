"""The retry cache with a clock of its own."""

import asyncio

import pytest

from yodel.rpc_io.retry_cache import CallKey, RetryCache, RetryCacheFull, RetryCacheLimits


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def key(number: int) -> CallKey:
    return CallKey(bytes(16), number, "p", "m", "bob")


def test_reply_is_kept_for_its_time() -> None:
    clock = Clock()
    cache = RetryCache(RetryCacheLimits(keep_s=10), clock)
    cache.put(key(1), b"reply")
    clock.now_s = 9.9
    assert cache.get(key(1)) == b"reply"
    clock.now_s = 10.0
    assert cache.get(key(1)) is None
    assert len(cache) == 0


def test_oldest_goes_when_there_are_too_many_entries_or_bytes() -> None:
    cache = RetryCache(RetryCacheLimits(entries_max=2, reply_bytes_max=10), Clock())
    for number in range(3):
        cache.reserve()
        cache.put(key(number), b"abc")
    assert [cache.get(key(number)) for number in range(3)] == [None, b"abc", b"abc"]
    cache.put(key(3), b"abcdefgh")
    assert [cache.get(key(number)) for number in range(4)] == [None, None, None, b"abcdefgh"]


async def test_running_call_is_found_and_its_reply_kept() -> None:
    cache, gate = RetryCache(RetryCacheLimits(entries_max=1), Clock()), asyncio.Event()

    async def work() -> bytes:
        await gate.wait()
        return b"done"

    task = cache.run(key(1), work())
    assert cache.get(key(1)) is task
    with pytest.raises(RetryCacheFull):
        cache.reserve()
    gate.set()
    assert await task == b"done"
    assert cache.get(key(1)) == b"done"


async def test_failure_is_not_kept_and_close_cancels() -> None:
    cache = RetryCache(RetryCacheLimits(), Clock())

    async def fail() -> bytes:
        raise ValueError

    with pytest.raises(ValueError):
        await cache.run(key(1), fail())
    assert cache.get(key(1)) is None

    async def forever() -> bytes:
        await asyncio.Event().wait()
        raise AssertionError

    task = cache.run(key(2), forever())
    await cache.close()
    assert task.cancelled()
