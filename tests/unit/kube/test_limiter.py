"""The token bucket, on a clock that the test moves."""

from __future__ import annotations

import pytest

from yodel.errors import InvalidValue
from yodel.kube.limiter import TokenBucket


class HandClock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_a_burst_passes_at_once_and_then_turns_are_spaced() -> None:
    bucket = TokenBucket(per_second=10.0, burst=3, clock=HandClock())
    waits = [bucket.reserve(60.0) for _ in range(5)]
    assert waits == pytest.approx([0.0, 0.0, 0.0, 0.1, 0.2])


def test_quiet_time_refills_up_to_the_burst_only() -> None:
    clock = HandClock()
    bucket = TokenBucket(per_second=10.0, burst=2, clock=clock)
    for _ in range(4):
        bucket.reserve(60.0)
    clock.now_s += 1_000.0
    assert [bucket.reserve(60.0) for _ in range(3)] == pytest.approx([0.0, 0.0, 0.1])


def test_a_turn_too_far_away_is_not_taken() -> None:
    clock = HandClock()
    bucket = TokenBucket(per_second=1.0, burst=1, clock=clock)
    assert bucket.reserve(0.5) == 0.0
    assert bucket.reserve(0.5) is None
    assert bucket.reserve(0.5) is None
    clock.now_s += 1.0
    assert bucket.reserve(0.5) == 0.0  # the refused ones left no debt


@pytest.mark.parametrize(("per_second", "burst"), [(0.0, 1), (1.0, 0)])
def test_refuses_nonsense(per_second: float, burst: int) -> None:
    with pytest.raises(InvalidValue):
        TokenBucket(per_second=per_second, burst=burst, clock=HandClock())
