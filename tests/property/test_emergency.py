"""An emergency on any course of readings: nobody goes early, nobody goes for nothing, and it ends."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from yodel.domain.colocation.emergency import (
    APART_MS,
    GOING_MS,
    READINGS,
    EmergencyState,
    Memory,
    is_one_to_end,
    judged,
    with_ended,
)
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId

CONTAINER = ContainerId(ApplicationAttemptId(ApplicationId(1, 1), 1), 2)
READING = st.none() | st.builds(
    Memory,
    used_mib=st.integers(-10, 3000),
    size_mib=st.sampled_from([0, 2048]),
    stall_percent=st.none() | st.floats(0, 100),
    pods_used_mib=st.integers(0, 3000),
    pods_size_mib=st.sampled_from([None, 0, 1500]),
)
STEPS = st.lists(st.tuples(READING, st.integers(1, 5000), st.booleans()), max_size=60)


def counts(memory: Memory | None) -> bool:
    return memory is not None and not memory.is_absurd


def is_over(memory: Memory | None) -> bool:
    return memory is not None and not memory.is_absurd and (memory.is_high or memory.is_stalled)


@given(STEPS)
def test_each_end_has_its_reading_its_pause_and_its_beginning(steps: list[tuple[Memory | None, int, bool]]) -> None:
    state, now_ms, ended_ms = EmergencyState(), 0, -APART_MS
    in_a_row, has_begun = 0, False
    for memory, passed_ms, is_there in steps:
        now_ms += passed_ms
        state = judged(state, memory, now_ms)
        in_a_row = in_a_row + 1 if is_over(memory) else 0
        has_begun = has_begun or in_a_row >= READINGS
        if is_one_to_end(state, now_ms, {CONTAINER} if is_there else ()):
            assert has_begun
            assert counts(memory)
            assert now_ms - ended_ms >= (GOING_MS if is_there and ended_ms >= 0 and state.ended else APART_MS)
            ended_ms, state = now_ms, with_ended(state, CONTAINER, now_ms, 16)
        if memory is not None and counts(memory) and memory.is_low:
            has_begun = False
            assert not state.is_on
        told = state.told(now_ms)
        assert not state.is_on or told is not None
        assert told is None or (told.reason and 1 <= told.cool_down_s <= 60 and len(told.containers) <= 16)


@given(STEPS)
def test_a_minute_without_shortage_ends_it(steps: list[tuple[Memory | None, int, bool]]) -> None:
    state, now_ms = EmergencyState(), 0
    for memory, passed_ms, _ in steps:
        now_ms += passed_ms
        state = judged(state, memory, now_ms)
    state = judged(state, Memory(used_mib=100, size_mib=2048), now_ms + 60_000)
    assert (state.is_on, state.told(now_ms + 60_000)) == (False, None)
