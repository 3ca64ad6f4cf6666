"""Turns of the loop that take long are counted; a busy machine and many short turns are not taken for one."""

from __future__ import annotations

import asyncio
import contextlib
import time

import pytest

from yodel.telemetry.loop_turns import LONG_S, PERIOD_S, LoopTurns


@pytest.mark.parametrize(
    ("used_s", "long_count", "longest_s"),
    [
        ([PERIOD_S] * 100, 0, 0.0),  # always busy, never for long
        ([0.001, PERIOD_S + LONG_S + 0.001, 0.001], 1, LONG_S + 0.001),
        ([PERIOD_S + LONG_S - 0.001], 0, LONG_S - 0.001),
        ([0.5, 0.001, 0.1], 2, 0.5 - PERIOD_S),
    ],
)
def test_processor_time_beyond_a_period_is_a_turns(used_s: list[float], long_count: int, longest_s: float) -> None:
    processor_s = 7.0
    turns = LoopTurns(lambda: processor_s)
    turns._before_s = processor_s
    for used in used_s:
        processor_s += used
        turns.fired()
    assert turns.long_count == long_count
    assert turns.longest_s == pytest.approx(longest_s, abs=1e-9)
    assert turns.gauges() == {
        "loop_turns_over_20_ms_total": long_count,
        "loop_turn_longest_seconds": pytest.approx(longest_s, abs=1e-9),
    }


async def test_loop_that_is_kept_busy_is_found() -> None:
    turns = LoopTurns()
    running = asyncio.create_task(turns.run())
    await asyncio.sleep(0)
    until_s = time.thread_time() + 0.06
    while time.thread_time() < until_s:
        pass
    await asyncio.sleep(0.02)
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running
    assert turns.long_count == 1
    assert turns.longest_s > 0.05
