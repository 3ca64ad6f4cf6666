"""Storms of every kind for a minute of processor time: what the few quick ones would meet only after many days."""

from __future__ import annotations

from tests.simulation.run import BrokenLaw, storms
from tests.support import seeds

CPU_S = 60.0
ACTIONS_MIN = 20_000


def test_no_law_is_broken_in_a_minute_of_storms() -> None:
    try:
        actions = sum(taken for _, _, taken in storms(seeds.drawn("long storms"), CPU_S))
    except BrokenLaw as broken:
        if seeds.is_commits():
            seeds.keep(broken.kind, broken.seed, f"{broken.__cause__!r}".splitlines()[0][:200])
        raise
    assert actions >= ACTIONS_MIN, "too few to mean much: what made them slow?"
