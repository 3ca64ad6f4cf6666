"""Many ApplicationMasters on fake Kubernetes and fake time, with faults between any two steps, from a seed.

``world`` has who takes part, ``actions`` what happens to them, ``laws`` what must hold, ``run`` each kind of storm.  A
failing seed is a complete report: ``tests/kept_seeds.json`` has those that found something.  These are a few, always
the same; many more are in ``tests/faults/test_long_storms.py``, and ``make simulate`` draws new ones for as long as one
likes.
"""

from __future__ import annotations

import pytest

from tests.simulation import run
from tests.support import seeds


def seeds_of(kind: str, count: int) -> list[int]:
    """So many, and those that are kept."""
    begin = seeds.first(kind) if seeds.is_new() else 0
    return sorted({*range(begin, begin + count), *seeds.kept(kind)})


@pytest.mark.drawn("storm")
@pytest.mark.parametrize("seed", seeds_of("storm", 6))
async def test_nothing_is_lost_or_done_twice_in_a_storm(seed: int) -> None:
    assert await run.storm(seed) > 0


@pytest.mark.drawn("binding")
@pytest.mark.parametrize("seed", seeds_of("binding", 4))
async def test_nodes_are_chosen_in_a_storm(seed: int) -> None:
    assert await run.binding(seed) > 0


@pytest.mark.drawn("busy")
@pytest.mark.parametrize("seed", seeds_of("busy", 4))
async def test_minds_may_change_in_a_storm(seed: int) -> None:
    assert await run.busy(seed) > 0


@pytest.mark.drawn("lending")
@pytest.mark.parametrize("seed", seeds_of("lending", 5))
async def test_what_nodes_lend_comes_and_goes_in_a_storm(seed: int) -> None:
    assert await run.lending(seed) > 0


@pytest.mark.drawn("mixed")
@pytest.mark.parametrize("seed", seeds_of("mixed", 8))
async def test_containers_are_launched_by_their_kind_of_node_in_a_storm(seed: int) -> None:
    assert await run.mixed(seed) > 0


@pytest.mark.drawn("colocation")
@pytest.mark.parametrize("seed", seeds_of("colocation", 8))
async def test_measured_capacity_comes_and_goes_in_a_storm(seed: int) -> None:
    assert await run.colocation(seed) > 0


@pytest.mark.drawn("shrinking")
@pytest.mark.parametrize("seed", seeds_of("shrinking", 2))
async def test_what_does_not_fit_a_loan_any_more_goes_in_time_and_no_more(seed: int) -> None:
    assert await run.shrinking(seed) > 0


@pytest.mark.drawn("windows")
@pytest.mark.parametrize("seed", seeds_of("windows", 8))
async def test_window_opens_and_closes_in_a_storm(seed: int) -> None:
    assert await run.windows(seed) > 0


@pytest.mark.drawn("pair")
@pytest.mark.parametrize("seed", seeds_of("pair", 10))
async def test_one_of_two_leads_in_a_storm(seed: int) -> None:
    assert await run.pair(seed) > 0
