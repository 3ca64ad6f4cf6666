"""The keyed queue under fake loop time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import pytest

from yodel.domain.backoff import Backoff
from yodel.errors import InvalidValue, Unavailable
from yodel.host.clock import LoopTimers
from yodel.services.pods.work_queue import QueueLimits, WorkQueue

pytestmark = pytest.mark.looptime


class Worker:
    """A handler that takes ``round_s`` and does what the test put in ``answers`` (a number, None or an exception)."""

    def __init__(self, round_s: float = 0.0) -> None:
        self.round_s = round_s
        self.rounds: list[tuple[str, float]] = []
        self.answers: list[float | Exception | None] = []
        self.running: set[str] = set()
        self.most_at_once = 0

    async def __call__(self, key: str) -> float | None:
        assert key not in self.running, "two workers on one key"
        self.running.add(key)
        self.most_at_once = max(self.most_at_once, len(self.running))
        self.rounds.append((key, round(now_s(), 3)))
        try:
            await asyncio.sleep(self.round_s)
        finally:
            self.running.discard(key)
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, Exception):
            raise answer
        return answer


def now_s() -> float:
    return asyncio.get_running_loop().time()


@asynccontextmanager
async def running(queue: WorkQueue[str]) -> AsyncIterator[None]:
    task = asyncio.create_task(queue.run())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def make(handle: Worker, **limits: object) -> WorkQueue[str]:
    steep: Callable[[], float] = lambda: 1.0  # noqa: E731
    return WorkQueue(
        handle, steep, LoopTimers(), QueueLimits(**{"backoff": Backoff(initial_s=1.0, cap_s=4.0), **limits})
    )  # type: ignore[arg-type]


async def test_keys_that_go_first_are_taken_before_all_others_and_each_kind_in_order() -> None:
    worker = Worker(round_s=1.0)
    queue = WorkQueue(worker, lambda: 1.0, LoopTimers(), QueueLimits(workers=1), goes_first=str.isupper)
    for key in ("a", "b", "A", "c", "B"):
        queue.add(key)
    async with running(queue):
        await asyncio.sleep(10)
    assert [key for key, _ in worker.rounds] == ["A", "B", "a", "b", "c"]


async def test_duplicates_that_wait_collapse_into_one_round() -> None:
    worker = Worker()
    queue = make(worker)
    assert all(queue.add("a") for _ in range(100))
    async with running(queue):
        await asyncio.sleep(1)
    assert worker.rounds == [("a", 0.0)]
    assert len(queue) == 0


async def test_an_addition_during_a_round_means_one_more_round_after_it() -> None:
    worker = Worker(round_s=2.0)
    queue = make(worker)
    async with running(queue):
        queue.add("a")
        await asyncio.sleep(1)
        queue.add("a")
        queue.add("a")
        await asyncio.sleep(10)
    assert worker.rounds == [("a", 0.0), ("a", 2.0)]


async def test_different_keys_run_in_parallel_up_to_the_number_of_workers() -> None:
    worker = Worker(round_s=1.0)
    queue = make(worker, workers=3)
    async with running(queue):
        for key in "abcde":
            queue.add(key)
        await asyncio.sleep(10)
    assert worker.most_at_once == 3
    assert sorted(key for key, _ in worker.rounds) == list("abcde")


async def test_a_failed_round_is_repeated_with_growing_waits_and_others_do_not_wait() -> None:
    worker = Worker()
    worker.answers = [Unavailable("down")] * 4
    queue = make(worker, workers=1)
    async with running(queue):
        queue.add("a")
        await asyncio.sleep(0.5)
        worker.answers.insert(0, None)
        queue.add("b")
        await asyncio.sleep(60)
    assert worker.rounds == [("a", 0.0), ("b", 0.5), ("a", 1.0), ("a", 3.0), ("a", 7.0), ("a", 11.0)]


async def test_an_addition_does_not_shorten_a_back_off() -> None:
    worker = Worker()
    worker.answers = [Unavailable("down")]
    queue = make(worker)
    async with running(queue):
        queue.add("a")
        await asyncio.sleep(0.5)
        queue.add("a")
        await asyncio.sleep(10)
    assert worker.rounds == [("a", 0.0), ("a", 1.0)]


async def test_success_forgets_earlier_failures() -> None:
    worker = Worker()
    worker.answers = [Unavailable("1"), Unavailable("2"), None, Unavailable("3")]
    queue = make(worker)
    async with running(queue):
        queue.add("a")
        await asyncio.sleep(20)
        queue.add("a")
        await asyncio.sleep(20)
    assert [at_s for _, at_s in worker.rounds] == [0.0, 1.0, 3.0, 20.0, 21.0]


async def test_a_key_that_always_fails_is_given_up_and_may_come_back() -> None:
    worker = Worker()
    worker.answers = [Unavailable("down")] * 3
    queue = make(worker, attempts_max=3)
    async with running(queue):
        queue.add("a")
        await asyncio.sleep(60)
        assert (len(worker.rounds), queue.given_up, len(queue)) == (3, 1, 0)
        queue.add("a")
        await asyncio.sleep(60)
    assert len(worker.rounds) == 4


async def test_a_round_that_hangs_is_ended_and_repeated() -> None:
    worker = Worker(round_s=1_000.0)
    queue = make(worker, round_timeout_s=5.0)
    async with running(queue):
        queue.add("a")
        await asyncio.sleep(6.5)
    assert worker.rounds == [("a", 0.0), ("a", 6.0)]


async def test_a_handler_may_ask_for_a_later_round_and_an_addition_comes_first() -> None:
    worker = Worker()
    worker.answers = [30.0, 30.0]
    queue = make(worker)
    async with running(queue):
        queue.add("a")
        await asyncio.sleep(10)
        queue.add("a")
        await asyncio.sleep(100)
    assert worker.rounds == [("a", 0.0), ("a", 10.0), ("a", 40.0)]
    assert len(queue) == 0


async def test_a_full_queue_turns_new_keys_away_and_takes_known_ones() -> None:
    queue = make(Worker(), keys_max=2)
    assert [queue.add(key) for key in "abca"] == [True, True, False, True]
    assert (queue.turned_away, len(queue)) == (1, 2)


async def test_a_bug_in_the_handler_ends_the_queue() -> None:
    worker = Worker()
    worker.answers = [KeyError("bug")]
    queue = make(worker)
    queue.add("a")
    with pytest.raises(ExceptionGroup) as raised:
        await queue.run()
    assert raised.group_contains(KeyError)


def test_limits_refuse_nonsense() -> None:
    with pytest.raises(InvalidValue):
        QueueLimits(workers=0)
