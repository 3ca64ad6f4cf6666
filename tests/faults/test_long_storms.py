"""Some hundred storms of every kind: what the few quick ones would meet only after many days."""

from __future__ import annotations

from itertools import islice

from tests.simulation.run import BrokenLaw, storms
from tests.support import seeds

STORMS = 240


def test_no_law_is_broken_in_hundreds_of_storms() -> None:
    try:
        actions = [taken for _, _, taken in islice(storms(seeds.first("long storms")), STORMS)]
    except BrokenLaw as broken:
        if seeds.is_new():
            seeds.keep(broken.kind, broken.seed, f"{broken.__cause__!r}".splitlines()[0][:200])
        raise
    assert len(actions) == STORMS
    assert sum(actions) >= STORMS
