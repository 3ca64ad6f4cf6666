"""State machines as tables: ``{(state, event type): handler}``, with nothing left unsaid.

A handler is a pure function ``(entity, event) -> Step(entity, effects)``.  A pair that changes nothing is written down
as ``Ignore(reason)``, one that must never happen as ``Impossible(reason)``; a table that lacks a pair cannot be built.
Follows Hadoop's ``StateMachineFactory`` in being a table with a graph export, and departs from it in that an impossible
event raises instead of being logged and swallowed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, Protocol, TypeVar

from yodel.errors import IllegalTransition


class HasState(Protocol):
    @property
    def state(self) -> Enum: ...


EntityT = TypeVar("EntityT", bound=HasState)


@dataclass(frozen=True, slots=True)
class Step(Generic[EntityT]):
    """Holds the result of an event: the new entity and the effects to perform."""

    entity: EntityT
    effects: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Ignore:
    """The event changes nothing in this state."""

    reason: str


@dataclass(frozen=True, slots=True)
class Impossible:
    """The event cannot happen in this state; if it does, that is a bug."""

    reason: str


@dataclass(frozen=True, slots=True)
class Go(Generic[EntityT]):
    """The event is handled.  ``to`` lists every state the handler may lead to: diagrams are drawn from it."""

    handler: Callable[[EntityT, Any], Step[EntityT]]
    to: tuple[Enum, ...]


Cell = Go[EntityT] | Ignore | Impossible


class StateMachine(Generic[EntityT]):
    """A complete table for one kind of entity."""

    def __init__(
        self,
        name: str,
        states: type[Enum],
        events: Sequence[type],
        table: Mapping[tuple[Enum, type], Cell[EntityT]],
    ) -> None:
        """Raises ValueError when the table has a hole or an entry for an unknown state or event."""
        pairs = {(state, event) for state in states for event in events}
        holes, strangers = pairs - table.keys(), table.keys() - pairs
        if holes or strangers:
            texts = sorted(f"{s.name} x {e.__name__}" for s, e in holes | strangers)
            raise ValueError(f"{name}: pairs missing or unknown: {', '.join(texts)}")
        self.name, self.states, self.events, self.table = name, states, tuple(events), dict(table)

    def apply(self, entity: EntityT, event: Any) -> Step[EntityT]:
        """One step.

        Raises:
            IllegalTransition: the pair is ``Impossible``, the event is unknown, or the handler went where it may not.
        """
        cell = self.table.get((entity.state, type(event)))
        if isinstance(cell, Ignore):
            return Step(entity)
        if not isinstance(cell, Go):
            raise IllegalTransition(self.name, entity.state.name, type(event).__name__)
        step = cell.handler(entity, event)
        if step.entity.state not in cell.to:
            raise IllegalTransition(self.name, entity.state.name, f"{type(event).__name__} to {step.entity.state.name}")
        return step


def every_state(states: type[Enum], event: type, cell: Cell[EntityT]) -> dict[tuple[Enum, type], Cell[EntityT]]:
    """The same cell for an event in every state; later entries of a table may override it."""
    return {(state, event): cell for state in states}


def mermaid(machine: StateMachine[Any]) -> str:
    """The machine as a Mermaid state diagram (docs/state-machines.md is made of these)."""
    lines = ["stateDiagram-v2"]
    for (state, event), cell in sorted(machine.table.items(), key=lambda i: (i[0][0].name, i[0][1].__name__)):
        if isinstance(cell, Go):
            lines += [f"    {state.name} --> {target.name}: {event.__name__}" for target in cell.to]
    return "\n".join(lines)
