"""One process leads, under fake loop time: the row is a fake with the database's clock, and may be silent or slow."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import pytest

from yodel.errors import Unavailable
from yodel.store.errors import LeadLost
from yodel.store.leadership import RENEWALS_MAX, TOGETHER_S, Leadership, LeaseTimes

pytestmark = pytest.mark.looptime
TIMES = LeaseTimes(lease_s=6)


def now_s() -> float:
    return asyncio.get_running_loop().time()


class LoopClock:
    def now_ms(self) -> int:
        return round(now_s() * 1000)

    def monotonic_s(self) -> float:
        return now_s()


@dataclass
class Row:
    holder: str = ""
    expires_s: float = 0
    successor_until_s: float = 0


@dataclass
class FakeLease:
    """One process's view of the row; ``silent`` and ``answer_s`` are of its way there."""

    row: Row
    holder: str
    silent: bool = False
    answer_s: float = 0
    calls: list[str] = field(default_factory=list)

    async def claim(self) -> str:
        await self._reach("claim")
        if self.row.expires_s <= now_s() or self.row.holder == self.holder:
            self.row.holder, self.row.expires_s = self.holder, now_s() + TIMES.lease_s
            self.row.successor_until_s = 0
        else:
            self.row.successor_until_s = now_s() + TIMES.successor_s
        return self.row.holder

    async def renew(self) -> bool | None:
        await self._reach("renew")
        if self.row.holder != self.holder:
            return None
        self.row.expires_s = now_s() + TIMES.lease_s
        return self.row.successor_until_s > now_s()

    async def release(self) -> None:
        await self._reach("release")
        if self.row.holder == self.holder:
            self.row.expires_s = 0

    async def close(self) -> None:
        self.calls.append("close")

    async def _reach(self, what: str) -> None:
        self.calls.append(what)
        await asyncio.sleep(TIMES.answer_s if self.silent else self.answer_s)
        if self.silent:
            raise Unavailable("nobody there")


class Process:
    """One ResourceManager's leadership, and how it was told to end."""

    def __init__(self, row: Row, name: str) -> None:
        self.lease = FakeLease(row, name)
        self.ended: list[tuple[str, float]] = []
        self.leadership = Leadership(self.lease, name, TIMES, LoopClock(), self._end)
        self.stop = asyncio.Event()

    def _end(self, why: str) -> None:
        self.ended.append((why, now_s()))

    @asynccontextmanager
    async def keeping(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.leadership.keep())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError, BaseExceptionGroup):
                await task


@pytest.fixture
def row() -> Row:
    return Row()


async def test_the_first_one_leads_at_once_and_the_second_waits(row: Row) -> None:
    first, second = Process(row, "a"), Process(row, "b")
    assert await first.leadership.gain(first.stop)
    assert not await second.leadership.try_to_gain()
    assert second.leadership.reason == "a leads"
    first.leadership.require()
    with pytest.raises(LeadLost):
        second.leadership.require()
    assert now_s() == 0


async def test_a_renewed_lease_is_kept_for_ever(row: Row) -> None:
    first, second = Process(row, "a"), Process(row, "b")
    await first.leadership.gain(first.stop)
    async with first.keeping():
        waiting = asyncio.create_task(second.leadership.gain(second.stop))
        await asyncio.sleep(100 * TIMES.lease_s)
        assert not waiting.done()
        first.leadership.require()
        second.stop.set()
        assert not await waiting
    assert first.ended == []


async def test_a_crashed_leader_is_replaced_when_its_lease_ends(row: Row) -> None:
    first, second = Process(row, "a"), Process(row, "b")
    await first.leadership.gain(first.stop)
    async with first.keeping():
        await asyncio.sleep(100.5)
    assert await second.leadership.gain(second.stop)
    assert now_s() <= 100.5 + TIMES.lease_s + TIMES.look_s


async def test_a_released_lead_is_taken_at_the_next_look(row: Row) -> None:
    first, second = Process(row, "a"), Process(row, "b")
    await first.leadership.gain(first.stop)
    waiting = asyncio.create_task(second.leadership.gain(second.stop))
    await asyncio.sleep(1.1)
    await first.leadership.release()
    assert await waiting
    assert now_s() <= 1.1 + TIMES.look_s
    with pytest.raises(LeadLost):
        first.leadership.require()


async def test_a_leader_that_is_cut_off_ends_before_another_may_lead(row: Row) -> None:
    first, second = Process(row, "a"), Process(row, "b")
    await first.leadership.gain(first.stop)
    waiting = asyncio.create_task(second.leadership.gain(second.stop))
    async with first.keeping():
        await asyncio.sleep(10)
        first.lease.silent = True
        assert await waiting
        (ended,) = first.ended
        assert ended[0] == "the lease was not renewed in time"
        assert ended[1] <= now_s() - TIMES.lease_s / 12
        with pytest.raises(LeadLost):
            first.leadership.require()


async def test_an_attempt_that_hangs_does_not_keep_the_next_one_from_being_made(row: Row) -> None:
    first = Process(row, "a")
    await first.leadership.gain(first.stop)
    async with first.keeping():
        first.lease.answer_s = 1000
        await asyncio.sleep(2.5)
        first.lease.answer_s = 0
        await asyncio.sleep(100)
        first.leadership.require()
    assert first.ended == []


async def test_attempts_that_hang_are_few(row: Row) -> None:
    first = Process(row, "a")
    await first.leadership.gain(first.stop)
    async with first.keeping():
        first.lease.answer_s = 1000
        await asyncio.sleep(4.9)
        assert first.lease.calls.count("renew") == RENEWALS_MAX


async def test_a_short_silence_costs_nothing(row: Row) -> None:
    first = Process(row, "a")
    await first.leadership.gain(first.stop)
    async with first.keeping():
        for _ in range(20):
            await asyncio.sleep(10)
            first.lease.silent = True
            await asyncio.sleep(2)
            first.lease.silent = False
        first.leadership.require()
    assert first.ended == []


async def test_slow_answers_count_from_the_question(row: Row) -> None:
    first = Process(row, "a")
    first.lease.answer_s = 1.0
    await first.leadership.gain(first.stop)
    assert first.leadership.remaining_s == pytest.approx(TIMES.leading_s - 1.0)


async def test_an_answer_that_took_longer_than_the_lease_is_no_lead(row: Row) -> None:
    first = Process(row, "a")
    first.lease.answer_s = TIMES.lease_s
    assert not await first.leadership.try_to_gain()
    first.lease.answer_s = 0
    assert await first.leadership.try_to_gain()


async def test_a_late_renewal_does_not_give_the_lead_back(row: Row) -> None:
    first = Process(row, "a")
    await first.leadership.gain(first.stop)
    async with first.keeping():
        first.lease.answer_s = 5.5
        await asyncio.sleep(20)
        assert first.ended[0][0] == "the lease was not renewed in time"
        with pytest.raises(LeadLost):
            first.leadership.require()


async def test_an_answer_after_the_end_of_the_lease_does_not_begin_it_anew(row: Row) -> None:
    """Whoever watches for the end may be late; the renewal alone must not make a leader of one who has stopped."""
    first = Process(row, "a")
    await first.leadership.gain(first.stop)
    await asyncio.sleep(TIMES.leading_s - 0.5)
    first.lease.answer_s = 1
    await first.leadership.renew()
    assert row.expires_s > now_s() + TIMES.leading_s
    assert first.leadership.remaining_s == 0
    with pytest.raises(LeadLost):
        first.leadership.require()


async def test_a_leader_that_another_has_replaced_ends_at_its_next_renewal(row: Row) -> None:
    first = Process(row, "a")
    await first.leadership.gain(first.stop)
    async with first.keeping():
        row.holder = "b"
        await asyncio.sleep(TIMES.renewal_s + 0.1)
        assert [why for why, _ in first.ended] == ["another ResourceManager has taken it"]


async def test_keep_raises_what_happened_when_the_process_is_let_live(row: Row) -> None:
    first = Process(row, "a")
    await first.leadership.gain(first.stop)
    row.holder = "b"
    with pytest.raises(ExceptionGroup) as raised:
        await first.leadership.keep()
    assert raised.group_contains(LeadLost)


async def test_a_process_that_stood_still_does_not_lead_when_it_wakes(row: Row) -> None:
    """The process stands still as after SIGSTOP: nothing of it ran, the clock went on."""
    first = Process(row, "a")
    await first.leadership.gain(first.stop)
    await asyncio.sleep(TIMES.lease_s + 1)
    with pytest.raises(LeadLost):
        first.leadership.require()


async def test_a_standby_waits_for_a_database_that_is_away(row: Row) -> None:
    first = Process(row, "a")
    first.lease.silent = True
    waiting = asyncio.create_task(first.leadership.gain(first.stop))
    await asyncio.sleep(600)
    assert first.leadership.reason == "the database does not answer"
    first.lease.silent = False
    assert await waiting


async def test_a_standby_ends_when_it_is_told_to(row: Row) -> None:
    first, second = Process(row, "a"), Process(row, "b")
    await first.leadership.gain(first.stop)
    waiting = asyncio.create_task(second.leadership.gain(second.stop))
    await asyncio.sleep(1)
    second.stop.set()
    assert not await waiting
    assert now_s() == 1


async def test_an_orderly_end_waits_for_a_successor(row: Row) -> None:
    first, second = Process(row, "a"), Process(row, "b")
    await first.leadership.gain(first.stop)
    async with first.keeping():
        ending = asyncio.create_task(first.leadership.wait_for_successor(15))
        await asyncio.sleep(5)
        assert not ending.done()
        assert not first.leadership.has_successor
        waiting = asyncio.create_task(second.leadership.gain(second.stop))
        await ending
        assert first.leadership.has_successor
        assert now_s() <= 5 + TIMES.renewal_s + TIMES.look_s + 0.001
        await first.leadership.release()
    assert await waiting


async def test_a_standby_that_ends_together_with_the_leader_is_no_successor(row: Row) -> None:
    """All pods are replaced: the old standby looked a moment ago, and is told to end a moment later."""
    first, second, third = (Process(row, name) for name in "abc")
    await first.leadership.gain(first.stop)
    async with first.keeping():
        old = asyncio.create_task(second.leadership.gain(second.stop))
        await asyncio.sleep(10)
        ending = asyncio.create_task(first.leadership.wait_for_successor(15))
        await asyncio.sleep(0.9)
        second.stop.set()
        assert not await old
        await asyncio.sleep(6)
        assert not ending.done()
        new = asyncio.create_task(third.leadership.gain(third.stop))
        await ending
        assert now_s() <= 16.9 + TIMES.renewal_s + TIMES.look_s
        await first.leadership.release()
    assert await new


async def test_a_standby_that_has_waited_for_long_is_handed_over_to_soon(row: Row) -> None:
    first, second = Process(row, "a"), Process(row, "b")
    await first.leadership.gain(first.stop)
    async with first.keeping():
        waiting = asyncio.create_task(second.leadership.gain(second.stop))
        await asyncio.sleep(10)
        await first.leadership.wait_for_successor(15)
        assert now_s() <= 10 + TIMES.successor_s + TOGETHER_S + TIMES.renewal_s + TIMES.look_s
        await first.leadership.release()
    assert await waiting


async def test_a_successor_that_has_gone_is_none(row: Row) -> None:
    first, second = Process(row, "a"), Process(row, "b")
    await first.leadership.gain(first.stop)
    async with first.keeping():
        await second.leadership.try_to_gain()
        await asyncio.sleep(TIMES.successor_s + TIMES.renewal_s)
        before_s = now_s()
        await first.leadership.wait_for_successor(15)
        assert now_s() == before_s + 15


async def test_without_patience_nobody_is_waited_for(row: Row) -> None:
    first = Process(row, "a")
    await first.leadership.wait_for_successor(0)
    assert now_s() == 0


async def test_a_standby_that_ends_has_nothing_to_release(row: Row) -> None:
    first, second = Process(row, "a"), Process(row, "b")
    await first.leadership.gain(first.stop)
    await second.leadership.try_to_gain()
    await second.leadership.release()
    assert second.lease.calls == ["claim", "close"]
    assert row.expires_s > now_s()


async def test_a_release_that_nobody_hears_is_no_failure(row: Row) -> None:
    first = Process(row, "a")
    await first.leadership.gain(first.stop)
    first.lease.silent = True
    await first.leadership.release()
    assert first.leadership.remaining_s == 0


@pytest.mark.parametrize("lease_s", [2, 6, 60])
def test_times_leave_room_for_another_attempt_and_for_what_is_under_way(lease_s: float) -> None:
    times = LeaseTimes(lease_s=lease_s)
    assert times.answer_s + RENEWALS_MAX * times.renewal_s < times.leading_s < lease_s
    assert times.look_s * 2 < times.successor_s
