"""Counts of all time, means of the last period."""

from __future__ import annotations

from yodel.telemetry.rates import PERIOD_S, Rate


def test_nothing_is_zero() -> None:
    assert (Rate().total, Rate().mean_ms(5.0), Rate().per_second(5.0)) == (0, 0.0, 0.0)


def test_first_period_is_told_while_it_lasts() -> None:
    rate = Rate()
    rate.add(0.25, 100.0)
    rate.add(0.75, 101.0)
    assert (rate.total, rate.mean_ms(102.0), rate.per_second(102.0)) == (2, 500.0, 0.0)


def test_mean_is_of_the_last_period_that_had_any() -> None:
    rate = Rate()
    for _ in range(20):
        rate.add(0.25, 0.0)
    rate.add(0.5, PERIOD_S + 1)
    assert (rate.mean_ms(PERIOD_S + 2), rate.per_second(PERIOD_S + 2)) == (250.0, 2.0)
    assert rate.mean_ms(2 * PERIOD_S + 2) == 500.0
    assert (rate.mean_ms(90 * PERIOD_S), rate.per_second(90 * PERIOD_S), rate.total) == (500.0, 0.0, 21)
