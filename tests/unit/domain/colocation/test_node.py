from __future__ import annotations

from itertools import product

from yodel.domain.colocation.node import STATES, CapacityState, Offer, Situation, state_of

FLAGS = ("has_yielded", "is_on", "is_awaited", "is_remaining", "is_closed", "is_stale")
EVERY = [
    Situation(offer=offer, other=other, problem=problem, **dict(zip(FLAGS, flags, strict=True)))
    for offer, other, problem in product(Offer, ("", "koord-manager"), ("", "forbidden"))
    for flags in product((False, True), repeat=len(FLAGS))
]


def test_every_situation_has_a_state() -> None:
    assert {state_of(at)[0] for at in EVERY} == set(CapacityState)


def test_every_line_decides_something_and_no_state_has_two() -> None:
    first = [next(line.state for line in STATES if line.applies(at)) for at in EVERY]
    assert set(first) == {line.state for line in STATES}
    assert len(STATES) == len(CapacityState)


def test_reasons_name_who_and_what() -> None:
    whose = Situation(offer=Offer.UNDECIDED, other="koord-manager")
    assert state_of(whose)[1].startswith("koord-manager publishes")
    failed = Situation(offer=Offer.ALL, problem="nodes/status: forbidden")
    assert state_of(failed) == (CapacityState.FAILED, "the node status cannot be written: nodes/status: forbidden")


def test_what_keeps_new_containers_away_is_shown_before_what_is_offered() -> None:
    for offer in (Offer.SOME, Offer.ALL):
        assert state_of(Situation(offer=offer, is_closed=True, is_stale=True))[0] is CapacityState.CLOSED
        assert state_of(Situation(offer=offer, is_stale=True))[0] is CapacityState.STALE
