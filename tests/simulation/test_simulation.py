"""Many ApplicationMasters on fake Kubernetes and fake time, with faults between any two steps, from a seed.

``world`` has who takes part, ``actions`` what happens to them, ``laws`` what must hold, ``run`` each kind of storm.  A
failing seed is a complete report: ``kept_seeds.json`` has those that found something.  These are a few; many more are
in ``tests/faults/test_long_storms.py``, and ``make simulate`` goes on for as long as one likes.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.simulation import run

SEEDS, BUSY_SEEDS, BINDING_SEEDS, LENDING_SEEDS, PAIR_SEEDS = range(12), range(8), range(8), range(8), range(10)


@pytest.mark.parametrize("seed", sorted({*SEEDS, *run.kept("storm")}))
async def test_nothing_is_lost_or_done_twice_in_a_storm(seed: int) -> None:
    assert await run.storm(seed) > 0


@pytest.mark.parametrize("seed", sorted({*BINDING_SEEDS, *run.kept("binding")}))
async def test_nodes_are_chosen_in_a_storm(seed: int) -> None:
    assert await run.binding(seed) > 0


@pytest.mark.parametrize("seed", sorted({*BUSY_SEEDS, *run.kept("busy")}))
async def test_minds_may_change_in_a_storm(seed: int) -> None:
    assert await run.busy(seed) > 0


@pytest.mark.parametrize("seed", sorted({*LENDING_SEEDS, *run.kept("lending")}))
async def test_what_nodes_lend_comes_and_goes_in_a_storm(seed: int) -> None:
    assert await run.lending(seed) > 0


@pytest.mark.parametrize("seed", sorted({*PAIR_SEEDS, *run.kept("pair")}))
async def test_one_of_two_leads_in_a_storm(seed: int) -> None:
    assert await run.pair(seed) > 0


def test_a_seed_that_found_something_is_kept_once_and_its_name_stays(tmp_path: Path) -> None:
    file = tmp_path / "kept.json"
    file.write_text('{"storm": {}, "binding": {}, "busy": {"7": "a bug"}}')
    for kind, seed in (("storm", 5), ("busy", 7)):
        run.keep(kind, seed, "AssertionError", file)
    assert json.loads(file.read_text()) == {"storm": {"5": "AssertionError"}, "binding": {}, "busy": {"7": "a bug"}}
