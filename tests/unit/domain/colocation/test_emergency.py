"""Memory runs short and containers are ended in their order; readings are made by hand, with no clock and no file."""

from __future__ import annotations

from dataclasses import replace

import pytest

from yodel.domain.colocation.emergency import (
    EmergencyCandidate,
    EmergencyState,
    Memory,
    first_to_go,
    is_one_to_end,
    judged,
    with_ended,
)
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId

SIZE = 2048
HIGH, BETWEEN, LOW = 1844, 1800, 1740
"""Mebibytes: the first that are 90 % of them, 87 %, the last that are 85 %."""


def memory(used_mib: int, stall_percent: float | None = None) -> Memory:
    return Memory(used_mib=used_mib, size_mib=SIZE, stall_percent=stall_percent)


def container(number: int) -> ContainerId:
    return ContainerId(ApplicationAttemptId(ApplicationId(1, 1), 1), number)


def course_of(*readings: Memory | None, until_s: int = 0) -> EmergencyState:
    """One reading a second."""
    state = EmergencyState()
    for at_s, reading in enumerate(readings):
        state = judged(state, reading, at_s * 1000)
    return state


@pytest.mark.parametrize(
    ("readings", "is_on"),
    [
        ([HIGH], False),
        ([HIGH, HIGH], True),
        ([HIGH - 1, HIGH - 1, HIGH - 1], False),
        ([HIGH, HIGH - 1, HIGH], False),
        ([HIGH, None, HIGH], False),
        ([HIGH, 99_999, HIGH], False),
        ([99_999, 99_999, 99_999], False),
        ([HIGH, HIGH, BETWEEN], True),
        ([HIGH, HIGH, BETWEEN, None, None, BETWEEN], True),
        ([HIGH, HIGH, LOW + 1], True),
        ([HIGH, HIGH, LOW], False),
        ([HIGH, HIGH, LOW, BETWEEN, BETWEEN], False),
        ([HIGH, HIGH, LOW, HIGH, HIGH], True),
    ],
)
def test_two_readings_over_the_mark_begin_it_and_one_at_the_lower_mark_ends_it(
    readings: list[int | None], is_on: bool
) -> None:
    assert course_of(*(None if used is None else memory(used) for used in readings)).is_on is is_on


@pytest.mark.parametrize(
    ("stalls", "is_on"),
    [
        ([memory(BETWEEN, 10.1)] * 2, True),
        ([memory(BETWEEN, 10.0)] * 2, False),
        ([memory(LOW, 99.0)] * 9, False),
        ([memory(BETWEEN, 10.1), memory(HIGH)], True),
        ([*[memory(BETWEEN, 10.1)] * 2, memory(BETWEEN, 9.0)], False),
        ([*[memory(HIGH, 10.1)] * 2, memory(BETWEEN, 0.0)], True),
    ],
)
def test_stalls_count_where_memory_is_used_beyond_the_lower_mark(stalls: list[Memory], is_on: bool) -> None:
    state = course_of(*stalls)
    assert state.is_on is is_on
    assert not is_on or not stalls[-1].is_stalled or "stalled 10 % of the time" in state.reason


@pytest.mark.parametrize(
    ("readings", "is_on", "reason"),
    [
        ([(LOW, 900)] * 2, True, "kubepods memory 0.9 GiB of 1.0 GiB (90 %)"),
        ([(LOW, 899)] * 9, False, ""),
        ([(LOW, 900), (LOW, 899), (LOW, 900)], False, ""),
        ([(HIGH, 100)] * 2, True, "node memory 1.8 GiB of 2.0 GiB (90 %)"),
        ([(HIGH, 990)] * 2, True, "kubepods memory 1.0 GiB of 1.0 GiB (99 %)"),
        ([(HIGH, 100), (LOW, 900)], True, "kubepods memory 0.9 GiB of 1.0 GiB (90 %)"),
        ([(LOW, 900), (LOW, 900), (LOW, 851)], True, "kubepods memory 0.8 GiB of 1.0 GiB (85 %)"),
        ([(LOW, 900), (LOW, 900), (LOW, 850)], False, "kubepods memory 0.9 GiB of 1.0 GiB (90 %)"),
        ([(LOW, 900), (LOW, 900), (BETWEEN, 850)], True, "node memory 1.8 GiB of 2.0 GiB (87 %)"),
        ([(LOW, 1700)] * 2, True, "kubepods memory 1.7 GiB of 1.0 GiB (170 %)"),
        ([(99_999, 900)] * 3, False, ""),
    ],
)
def test_what_the_kubelet_lets_pods_use_is_judged_as_the_node_is(
    readings: list[tuple[int, int]], is_on: bool, reason: str
) -> None:
    state = course_of(*(replace(memory(used), pods_used_mib=pods, pods_size_mib=1000) for used, pods in readings))
    assert (state.is_on, state.reason) == (is_on, reason)
    limitless = course_of(*(replace(memory(used), pods_used_mib=pods) for used, pods in readings))
    assert limitless.is_on == (readings[0][0] == HIGH == readings[-1][0])


def test_stalls_count_where_pods_use_more_than_the_lower_mark_of_their_limit() -> None:
    stalled = replace(memory(LOW, 10.1), pods_used_mib=860, pods_size_mib=1000)
    assert course_of(stalled, stalled).reason == "kubepods memory 0.8 GiB of 1.0 GiB (86 %), stalled 10 % of the time"
    assert not course_of(*[replace(stalled, pods_used_mib=850)] * 9).is_on


def test_one_is_ended_then_the_next_reading_after_four_seconds() -> None:
    state = course_of(memory(HIGH), memory(HIGH))
    assert is_one_to_end(state, 1000)
    assert state.reason == "node memory 1.8 GiB of 2.0 GiB (90 %)"
    state = with_ended(state, container(2), 1000, 16)
    ended = [at_s for at_s in range(2, 7) if is_one_to_end(judged(state, memory(BETWEEN), at_s * 1000), at_s * 1000)]
    assert ended == [5, 6]
    assert not is_one_to_end(judged(state, None, 9000), 9000), "a reading that was lost"


def test_after_one_that_was_ended_for_stalls_their_mean_has_to_forget_them() -> None:
    state = with_ended(course_of(*[memory(BETWEEN, 50.0)] * 2), container(2), 1000, 16)
    ended = [s for s in range(2, 13) if is_one_to_end(judged(state, memory(BETWEEN, 50.0), s * 1000), s * 1000)]
    assert ended == [11, 12]


def test_nobody_else_goes_while_the_last_one_is_on_its_way_out_but_not_for_ever() -> None:
    state, seen = with_ended(course_of(memory(HIGH), memory(HIGH)), container(2), 1000, 16), []
    for at_s in range(2, 33):
        state = judged(state, memory(HIGH), at_s * 1000)
        if is_one_to_end(state, at_s * 1000, {container(2), container(3)}):
            seen.append(at_s)
    assert seen == [31, 32]
    assert is_one_to_end(course_of(memory(HIGH), memory(HIGH)), 1000, {container(2)}), "others are not waited for"


def test_the_cool_down_is_told_until_it_is_over() -> None:
    assert course_of(memory(HIGH)).told(0) is None
    state = with_ended(course_of(memory(HIGH), memory(HIGH)), container(2), 1000, 1)
    state = judged(with_ended(state, container(3), 5000, 1), memory(LOW), 6000)
    told = state.told(6000)
    assert told is not None
    assert (told.cool_down_s, told.containers) == (55, (container(3),)), "from the last reading over the mark"
    assert state.told(60_999) is not None
    assert state.told(61_000) is None
    assert judged(state, memory(LOW), 61_000) == EmergencyState()


def test_readings_that_stay_away_end_it_with_the_cool_down() -> None:
    state = course_of(memory(HIGH), memory(HIGH))
    assert judged(state, None, 60_000).is_on
    assert not judged(state, None, 61_000).is_on


def names(candidates: list[EmergencyCandidate], ranks: list[int]) -> list[int]:
    """Return the ranks in the order in which their containers go."""
    left, order = list(candidates), []
    while (chosen := first_to_go(left, [container(one) for one in ranks])) is not None:
        order.append(chosen.container_id.sequence)
        left.remove(chosen)
    return order


def one(number: int, **changes: int | bool) -> EmergencyCandidate:
    return EmergencyCandidate(container_id=container(number), **{"started_ms": 7, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("candidates", "ranks", "order"),
    [
        ([one(2), one(3), one(4)], [], [4, 3, 2]),
        ([one(2), one(3), one(4)], [3, 2, 4], [3, 2, 4]),
        ([one(2), one(3), one(4), one(5)], [3, 2], [5, 4, 3, 2]),
        ([one(1, is_master=True), one(2), one(3)], [1, 2, 3], [2, 3, 1]),
        ([one(1, is_master=True, over_mib=9), one(2), one(3, is_running=False)], [2, 3, 1], [1, 2, 3]),
        ([one(1, is_master=True, over_mib=9), one(2, over_mib=5), one(3, over_mib=20)], [1, 2, 3], [3, 1, 2]),
        ([one(1, is_master=True), one(2, is_running=False)], [1, 2], [2, 1]),
        ([one(2, is_running=False), one(3)], [2, 3], [3, 2]),
        ([one(2), one(3, over_mib=5), one(4, over_mib=9)], [2, 3, 4], [4, 3, 2]),
        ([one(2, started_ms=8), one(3), one(4)], [], [2, 4, 3]),
        ([], [2], []),
    ],
)
def test_who_goes_first(candidates: list[EmergencyCandidate], ranks: list[int], order: list[int]) -> None:
    assert names(candidates, ranks) == order
