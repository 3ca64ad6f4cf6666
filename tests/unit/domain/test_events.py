from __future__ import annotations

import inspect

import pytest

from yodel.domain import events
from yodel.domain.application import APPLICATION_MACHINE
from yodel.domain.attempt import ATTEMPT_MACHINE
from yodel.domain.container import CONTAINER_MACHINE
from yodel.domain.node import NODE_MACHINE

MACHINES = (APPLICATION_MACHINE, ATTEMPT_MACHINE, CONTAINER_MACHINE, NODE_MACHINE)
EVENTS = [kind for _, kind in inspect.getmembers(events, inspect.isclass) if kind.__module__ == events.__name__]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.__name__)
def test_every_event_is_for_exactly_one_kind_of_entity(event: type) -> None:
    assert sum(event in machine.events for machine in MACHINES) == 1


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.__name__)
def test_events_are_values(event: type) -> None:
    arguments = range(len(event.__match_args__))  # type: ignore[attr-defined]
    assert event(*arguments) == event(*arguments)
