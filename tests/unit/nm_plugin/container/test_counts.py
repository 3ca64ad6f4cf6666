"""Every container counts once when it starts and once when it ends, in the right place."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from nm_plugin.container.counts import ContainerCounts
from nm_plugin.container.life import (
    CONTAINER_LIFE,
    CleanedUp,
    Container,
    Event,
    Exited,
    KillRequested,
    Launched,
    LifeState,
    LocalizationFailed,
    Localized,
    RestartRequested,
    Started,
)
from tests.support.node_agent import container_id
from yodel.domain.resource import Resource

KILLED = KillRequested(exit_status=-105, diagnostics="")
RUNNING = (Started(), Localized(), Launched(pid=1))


def counted(*events: Event, state: LifeState = LifeState.NEW, **changes: Any) -> dict[str, int]:
    """Return the counts that are not zero after these events."""
    made = Container(container_id=container_id(2), user="alice", resource=Resource(1, 1), state=state)
    container, counts = replace(made, **changes), ContainerCounts()
    for event in events:
        after = CONTAINER_LIFE.apply(container, event).entity
        counts.note(container, after)
        container = after
    names = ("launched", "completed", "failed", "killed", "rolled_back")
    return {name: getattr(counts, name) for name in names if getattr(counts, name)}


@pytest.mark.parametrize(
    ("events", "end"),
    [
        ((*RUNNING, Exited(exit_status=0), CleanedUp()), "completed"),
        ((*RUNNING, Exited(exit_status=1), CleanedUp()), "failed"),
        ((Started(), LocalizationFailed(diagnostics=""), CleanedUp()), "failed"),
        ((*RUNNING, KILLED, Exited(exit_status=143), CleanedUp()), "killed"),
        ((KILLED,), "killed"),
    ],
)
def test_each_end_is_counted_once(events: tuple[Event, ...], end: str) -> None:
    assert counted(*events) == {"launched": 1, end: 1}


def test_what_an_earlier_agent_started_counts_at_its_end() -> None:
    assert counted(Exited(exit_status=0), CleanedUp(), state=LifeState.RUNNING) == {"completed": 1}


def test_upgrade_that_fails_is_counted_and_a_restart_is_not() -> None:
    assert counted(Exited(exit_status=1), state=LifeState.RUNNING, rollback=b"\x1a\x00") == {"rolled_back": 1}
    assert counted(RestartRequested(), Exited(exit_status=143), state=LifeState.RUNNING) == {}
