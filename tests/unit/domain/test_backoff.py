"""Back-off arithmetic."""

from __future__ import annotations

import pytest

from yodel.domain.backoff import Backoff
from yodel.errors import InvalidValue


def test_doubles_up_to_the_cap() -> None:
    backoff = Backoff(initial_s=0.5, cap_s=4.0)
    assert [backoff.delay_s(n, lambda: 1.0) for n in range(1, 6)] == [0.5, 1.0, 2.0, 4.0, 4.0]


def test_waits_at_least_half() -> None:
    assert Backoff(initial_s=2.0, cap_s=4.0).delay_s(1, lambda: 0.0) == 1.0


def test_a_very_long_streak_stays_at_the_cap() -> None:
    assert Backoff(initial_s=0.5, cap_s=30.0).delay_s(100_000, lambda: 1.0) == 30.0


@pytest.mark.parametrize(("initial_s", "cap_s"), [(0.0, 1.0), (2.0, 1.0), (-1.0, 1.0)])
def test_refuses_nonsense(initial_s: float, cap_s: float) -> None:
    with pytest.raises(InvalidValue):
        Backoff(initial_s=initial_s, cap_s=cap_s)
