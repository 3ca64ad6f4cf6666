from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import pytest

from yodel.domain.machine import Cell, Go, Ignore, Impossible, StateMachine, Step, every_state, mermaid
from yodel.errors import IllegalTransition


class Light(Enum):
    RED = "RED"
    GREEN = "GREEN"


@dataclass(frozen=True, slots=True)
class Lamp:
    state: Light = Light.RED


class Switched: ...


class Cleaned: ...


class Broken: ...


def to(state: Light) -> Any:
    return lambda lamp, _: Step(replace(lamp, state=state), ("click",))


COMPLETE: dict[tuple[Enum, type], Cell[Lamp]] = {
    (Light.RED, Switched): Go(to(Light.GREEN), (Light.GREEN,)),
    (Light.GREEN, Switched): Go(to(Light.GREEN), (Light.RED,)),  # goes where it may not
    **every_state(Light, Cleaned, Ignore("still shining")),
    **every_state(Light, Broken, Impossible("unbreakable")),
}


def lamp_machine(table: dict[tuple[Enum, type], Cell[Lamp]]) -> StateMachine[Lamp]:
    return StateMachine("Lamp", Light, (Switched, Cleaned, Broken), table)


def test_handled_event_gives_the_new_entity_and_its_effects() -> None:
    assert lamp_machine(COMPLETE).apply(Lamp(), Switched()) == Step(Lamp(Light.GREEN), ("click",))


def test_ignored_event_gives_the_same_entity_and_no_effects() -> None:
    lamp = Lamp()
    step = lamp_machine(COMPLETE).apply(lamp, Cleaned())

    assert step.entity is lamp
    assert step.effects == ()


def test_impossible_event_raises_with_machine_state_and_event() -> None:
    with pytest.raises(IllegalTransition, match="Lamp: no transition from RED on Broken"):
        lamp_machine(COMPLETE).apply(Lamp(), Broken())


def test_unknown_event_raises() -> None:
    with pytest.raises(IllegalTransition):
        lamp_machine(COMPLETE).apply(Lamp(), "not an event")


def test_subclass_of_an_event_is_another_event() -> None:
    class SwitchedTwice(Switched): ...

    with pytest.raises(IllegalTransition):
        lamp_machine(COMPLETE).apply(Lamp(), SwitchedTwice())


def test_handler_that_goes_where_it_may_not_raises() -> None:
    with pytest.raises(IllegalTransition, match="Switched to GREEN"):
        lamp_machine(COMPLETE).apply(Lamp(Light.GREEN), Switched())


def test_table_with_a_hole_cannot_be_built() -> None:
    table = {pair: cell for pair, cell in COMPLETE.items() if pair != (Light.RED, Cleaned)}

    with pytest.raises(ValueError, match="RED x Cleaned"):
        lamp_machine(table)


def test_table_with_an_unknown_event_cannot_be_built() -> None:
    with pytest.raises(ValueError, match="RED x str"):
        lamp_machine({**COMPLETE, (Light.RED, str): Ignore("what is it?")})


def test_diagram_shows_every_way_a_handler_may_go_and_nothing_else() -> None:
    assert mermaid(lamp_machine(COMPLETE)).splitlines() == [
        "stateDiagram-v2",
        "    GREEN --> RED: Switched",
        "    RED --> GREEN: Switched",
    ]
