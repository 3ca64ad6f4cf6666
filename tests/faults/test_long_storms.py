"""Storms of every kind for a minute of processor time: what the few quick ones would meet only after many days."""

from __future__ import annotations

from tests.simulation.run import storms

CPU_S = 60.0
ACTIONS_MIN = 20_000
FIRST_SEED = 10_000
"""Apart from the seeds that are tried every time."""


def test_no_law_is_broken_in_a_minute_of_storms() -> None:
    actions = sum(taken for _, _, taken in storms(FIRST_SEED, CPU_S))
    assert actions >= ACTIONS_MIN, "too few to mean much: what made them slow?"
