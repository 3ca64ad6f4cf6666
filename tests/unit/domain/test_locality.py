from __future__ import annotations

from math import inf
from typing import Any

import pytest

from tests.unit.domain.test_places import SIZE, a_place, the_places
from yodel.domain.allocation.locality import LocalityDelays, Patience, Spots, spots_near
from yodel.domain.allocation.places import Places
from yodel.domain.container import Placement

DELAYS = LocalityDelays(node_s=2.0, rack_s=3.0)


def near(
    count: int, waited_s: float, places: Places | None = None, delays: LocalityDelays = DELAYS, **placement: Any
) -> tuple[Spots, Patience]:
    patience = Patience(delays)
    spots = spots_near(Placement(**placement), SIZE, places or the_places(), patience, waited_s, count)
    return spots, patience


def test_wish_for_anywhere_waits_for_nothing() -> None:
    spots, patience = near(9, 0.0)
    assert (len(spots.placements), patience.again_in_s) == (9, inf)


def test_while_patience_lasts_only_what_the_hosts_have_room_for_is_planned() -> None:
    spots, patience = near(6, 0.5, hosts=("a",))
    assert (len(spots.placements), spots.is_local, patience.again_in_s) == (4, True, 1.5)
    assert spots.placements[0] == Placement(hosts=("a",))


def test_enough_room_on_the_hosts_leaves_nothing_to_wait_for() -> None:
    spots, patience = near(6, 0.0, hosts=("a", "b"))
    assert (len(spots.placements), patience.again_in_s) == (6, inf)


def test_then_their_racks_and_then_anywhere() -> None:
    spots, patience = near(20, 2.0, hosts=("a",), racks=("/r1",))
    assert (len(spots.placements), patience.again_in_s) == (8, 3.0)  # a and b
    spots, patience = near(20, 5.0, hosts=("a",), racks=("/r1",))
    assert (len(spots.placements), spots.is_local, patience.again_in_s) == (20, False, inf)


@pytest.mark.parametrize("delays", [LocalityDelays(node_s=0, rack_s=0), LocalityDelays(node_s=0, rack_s=3.0)])
def test_zero_is_no_patience(delays: LocalityDelays) -> None:
    places = the_places(a_place("a"), a_place("b"))
    assert len(near(20, 0.0, places, delays, hosts=("a",))[0].placements) == 20


def test_places_that_are_not_there_are_not_waited_for() -> None:
    spots, patience = near(20, 0.0, hosts=("elsewhere",), racks=("/nowhere",))
    assert (len(spots.placements), patience.again_in_s) == (20, inf)


def test_strict_wish_does_not_wait_for_relaxation() -> None:
    spots, patience = near(20, 0.0, hosts=("a",), is_strict=True)
    assert (len(spots.placements), patience.again_in_s) == (20, inf)


def test_what_no_node_can_take_says_why() -> None:
    spots, _ = near(1, 0.0, hosts=("elsewhere",), is_strict=True)
    assert spots.placements == ()
    assert "elsewhere" in spots.why_none


def test_two_wishes_of_one_tick_do_not_get_the_same_room() -> None:
    places, patience = the_places(), Patience(DELAYS)
    found = [spots_near(Placement(hosts=("a",)), SIZE, places, patience, 0.0, 3) for _ in range(2)]
    assert [len(spots.placements) for spots in found] == [3, 1]
