"""Laws of resizing, over every order in which what concerns one container's size may come.

Decisions, what the pod said, what the ApplicationMaster and the node agent acknowledged: any of it stale, doubled, late
or never.  All states that a few of them lead to are looked at, and in each of them everything that may come next.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.support.records import a_container
from yodel.domain.container import CONTAINER_MACHINE, Container
from yodel.domain.effects import Reconcile, ReportUpdated, ReportUpdateRefused, UpdateOnNode
from yodel.domain.events import (
    ContainerUpdateAcknowledged,
    DecreaseRequested,
    IncreaseDecided,
    IncreaseExpired,
    PodResized,
    PodResizeRefused,
    SizeReported,
)
from yodel.domain.ids import NodeId
from yodel.domain.machine import Step
from yodel.domain.resource import NONE, Resource
from yodel.domain.states import ContainerState, ContainerUpdateType

DEPTH = 6
SIZES = tuple(Resource(memory_mib, 1) for memory_mib in (1024, 2048, 3072, 4096))
START = a_container(state=ContainerState.RUNNING, capability=SIZES[1], node_id=NodeId("node-1", 8041))
INCREASE, DECREASE = ContainerUpdateType.INCREASE_RESOURCE, ContainerUpdateType.DECREASE_RESOURCE
Reaction = tuple[Container, Any, Step[Container]]
"""A state, what comes, and what becomes of it."""


def said_of(container: Container) -> Iterator[Any]:
    """Everything that may come; a decrease also while a pod grows, which is decided between two of its beats."""
    for size in SIZES:
        yield PodResized(size)
        yield PodResizeRefused(size, "no")
        yield SizeReported(size)
        if size != container.capability and container.capability.fits_in(size):
            yield IncreaseDecided(size)
        if size != container.capability and size.fits_in(container.capability):
            yield DecreaseRequested(size)
    for version in range(container.version + 2):
        yield ContainerUpdateAcknowledged(version)
    yield IncreaseExpired()


def told(container: Container, event: Any) -> Step[Container]:
    return CONTAINER_MACHINE.apply(container, event)


def reachable() -> list[Container]:
    found, latest = {START}, {START}
    for _ in range(DEPTH):
        latest = {told(one, event).entity for one in latest for event in said_of(one)} - found
        found |= latest
    return list(found)


@pytest.fixture(scope="module")
def states() -> list[Container]:
    return reachable()


@pytest.fixture(scope="module")
def steps(states: list[Container]) -> list[Reaction]:
    return [(before, event, told(before, event)) for before in states for event in said_of(before)]


def of(steps: list[Reaction], *kinds: type) -> list[tuple[Container, Any, Container, Step[Container]]]:
    return [(before, event, step.entity, step) for before, event, step in steps if isinstance(event, kinds)]


def has(step: Step[Container], kind: type) -> bool:
    return any(isinstance(effect, kind) for effect in step.effects)


def test_enough_is_looked_at(steps: list[Reaction], states: list[Container]) -> None:
    assert len(states) > 100
    assert {*(type(event) for _, event, _ in steps)} >= {
        *(IncreaseDecided, DecreaseRequested, PodResized, PodResizeRefused),
        *(ContainerUpdateAcknowledged, SizeReported, IncreaseExpired),
    }
    for seen in (
        lambda c: c.resize_to != NONE and c.confirmed != NONE,
        lambda c: c.resize_to != NONE and c.update_type is DECREASE,
        lambda c: c.version >= 3,
    ):
        assert any(seen(state) for state in states)


def test_version_grows_by_one_with_every_change_of_the_size_and_with_nothing_else(steps: list[Reaction]) -> None:
    for before, event, step in steps:
        after = step.entity
        assert after.version - before.version == (after.capability != before.capability), event
        assert has(step, ReportUpdated) == (after.version != before.version), event
        if after.version != before.version:
            is_larger = before.capability.fits_in(after.capability)
            assert after.update_type is (INCREASE if is_larger else DECREASE)
            assert has(step, UpdateOnNode) is not is_larger


def test_size_grows_by_the_pods_word_alone_and_shrinks_by_a_decision(steps: list[Reaction]) -> None:
    for before, event, step in steps:
        after = step.entity
        if after.capability == before.capability:
            continue
        if before.capability.fits_in(after.capability):
            assert isinstance(event, PodResized)
            assert event.capability == after.capability == before.resize_to
        else:
            assert isinstance(event, DecreaseRequested | IncreaseExpired)
            assert after.resize_to == after.capability  # its pod follows
            assert has(step, Reconcile)


@pytest.mark.parametrize("kind", [PodResized, PodResizeRefused])
def test_pods_word_of_another_size_than_the_wanted_is_nothing(steps: list[Reaction], kind: type) -> None:
    stale = [(before, step) for before, event, _, step in of(steps, kind) if event.capability != before.resize_to]
    assert any(before.resize_to != NONE for before, _ in stale)
    for before, step in stale:
        assert (step.entity, step.effects) == (before, ())


@pytest.mark.parametrize("kind", [PodResized, PodResizeRefused])
def test_pods_word_of_the_wanted_size_ends_the_wait_and_twice_is_once(steps: list[Reaction], kind: type) -> None:
    for before, event, after, step in of(steps, kind):
        if event.capability != before.resize_to:
            continue
        assert after.resize_to == NONE
        is_refused = kind is PodResizeRefused and before.resize_to != before.capability
        assert has(step, ReportUpdateRefused) is is_refused  # a pod that stays too large harms nobody
        again = told(after, event)
        assert (again.entity, again.effects) == (after, ())


def test_while_a_size_is_under_way_no_increase_is_decided(steps: list[Reaction], states: list[Container]) -> None:
    """And as much is reserved as it will take."""
    for before, event, after, step in of(steps, IncreaseDecided):
        if before.resize_to != NONE:
            assert (after, step.effects) == (before, ())
        else:
            assert after == replace(before, resize_to=event.capability)
            assert step.effects == (Reconcile(before.id),)
    for state in states:
        assert state.capability.fits_in(state.reserved)


def test_masters_acknowledgement_counts_for_the_version_that_it_names(steps: list[Reaction]) -> None:
    for before, event, after, step in of(steps, ContainerUpdateAcknowledged):
        assert step.effects == ()
        assert after == (replace(before, update_type=None) if event.version == before.version else before)


def test_node_agents_word_counts_between_what_was_confirmed_and_what_was_granted(steps: list[Reaction]) -> None:
    """A late report of a smaller size than the confirmed one, or of one that is granted no more, says nothing."""
    for before, event, after, step in of(steps, SizeReported):
        assert step.effects == ()
        assert replace(after, confirmed=before.confirmed) == before
        size = event.capability
        if before.confirmed == NONE or size == before.capability:
            assert after.confirmed == NONE
        elif before.confirmed.fits_in(size) and size.fits_in(before.capability):
            assert after.confirmed == size
        else:
            assert after.confirmed == before.confirmed


def test_what_is_confirmed_is_smaller_than_what_is_granted_or_nothing(states: list[Container]) -> None:
    for state in states:
        assert state.confirmed.fits_in(state.capability)
        assert state.confirmed != state.capability


def test_increase_that_was_not_passed_on_goes_back_to_what_was_confirmed(steps: list[Reaction]) -> None:
    """Not while another is under way: that one is looked at when it has ended."""
    for before, _, after, step in of(steps, IncreaseExpired):
        if before.confirmed == NONE or before.resize_to != NONE:
            assert (after, step.effects) == (before, ())
        else:
            assert (after.capability, after.confirmed) == (before.confirmed, NONE)


def test_first_increase_waits_for_the_node_agent_and_a_second_keeps_what_was_confirmed(steps: list[Reaction]) -> None:
    for before, _, after, _ in of(steps, PodResized):
        if after.version != before.version:
            assert after.confirmed == (before.capability if before.confirmed == NONE else before.confirmed)


def test_decrease_to_what_is_confirmed_waits_for_nobody(steps: list[Reaction]) -> None:
    for before, event, after, _ in of(steps, DecreaseRequested):
        assert after.confirmed == (NONE if event.capability.fits_in(before.confirmed) else before.confirmed)


def test_lost_word_of_the_pod_is_waited_for_until_it_comes(steps: list[Reaction]) -> None:
    """Whatever else comes meanwhile, but a decrease: what is wanted of the pod stays wanted."""
    for before, event, step in steps:
        if before.resize_to == NONE or isinstance(event, DecreaseRequested):
            continue
        if isinstance(event, PodResized | PodResizeRefused) and event.capability == before.resize_to:
            continue
        assert step.entity.resize_to == before.resize_to, event
