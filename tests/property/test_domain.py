"""Laws of the pure core, for whatever values their types allow."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import records
from yodel.domain.application import APPLICATION_MACHINE, DIAGNOSTICS_LENGTH_MAX, Application
from yodel.domain.attempt import ATTEMPT_MACHINE
from yodel.domain.container import CONTAINER_MACHINE
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId, dns_name
from yodel.domain.machine import Go, Ignore, Impossible, StateMachine
from yodel.domain.node import NODE_MACHINE
from yodel.domain.queues import queue as queues
from yodel.domain.resource import NONE, Resource, rounded_up
from yodel.domain.tokens import MasterKey, is_signed_by, password
from yodel.errors import IllegalTransition

# --- machines ------------------------------------------------------------------------------------------------------

MACHINES: dict[str, tuple[StateMachine[Any], st.SearchStrategy[Any]]] = {
    "application": (APPLICATION_MACHINE, records.applications),
    "attempt": (ATTEMPT_MACHINE, records.attempts),
    "container": (CONTAINER_MACHINE, records.containers),
    "node": (NODE_MACHINE, records.nodes),
}
PAIRS = [
    pytest.param(machine, entities, state, event, id=f"{name}-{state.name}-{event.__name__}")
    for name, (machine, entities) in MACHINES.items()
    for state in machine.states
    for event in machine.events
]


def goes(pair: Any) -> bool:
    machine, _, state, event = pair.values
    return isinstance(machine.table[state, event], Go)


@pytest.mark.parametrize(("machine", "entities", "state", "event"), [pair for pair in PAIRS if goes(pair)])
@settings(max_examples=10)
@given(data=st.data())
def test_every_pair_that_goes_does_what_its_cell_says(
    machine: StateMachine[Any], entities: st.SearchStrategy[Any], state: Any, event: type, data: st.DataObject
) -> None:
    entity = replace(data.draw(entities), state=state)
    happened = data.draw(records.records(event))
    step = machine.apply(entity, happened)
    assert step.entity.state in machine.table[state, event].to
    assert step.entity.id == entity.id


@pytest.mark.parametrize(("machine", "entities", "state", "event"), [pair for pair in PAIRS if not goes(pair)])
@settings(max_examples=1)  # there is no code of the pair's own that could look at what is in them
@given(data=st.data())
def test_every_other_pair_does_what_its_cell_says(
    machine: StateMachine[Any], entities: st.SearchStrategy[Any], state: Any, event: type, data: st.DataObject
) -> None:
    entity = replace(data.draw(entities), state=state)
    happened = data.draw(records.records(event))
    match machine.table[state, event]:
        case Impossible():
            with pytest.raises(IllegalTransition):
                machine.apply(entity, happened)
        case Ignore():
            step = machine.apply(entity, happened)
            assert step.entity is entity
            assert step.effects == ()
        case cell:
            pytest.fail(f"{cell} is neither")


@pytest.mark.parametrize("name", MACHINES)
def test_every_ignored_and_impossible_pair_has_its_reason(name: str) -> None:
    machine, _ = MACHINES[name]

    assert all(cell.reason for cell in machine.table.values() if isinstance(cell, Ignore | Impossible))


@pytest.mark.parametrize("name", ["application", "attempt", "container"])
def test_nothing_leaves_a_final_state(name: str) -> None:
    machine, _ = MACHINES[name]
    final = {state for state in machine.states if getattr(state, "is_final", state.name == "COMPLETED")}

    assert final
    for (state, _), cell in machine.table.items():
        assert state not in final or not isinstance(cell, Go) or cell.to == (state,)


@given(
    st.lists(st.sampled_from(APPLICATION_MACHINE.events).flatmap(records.records), max_size=12),
    records.submissions,
)
def test_whatever_happens_an_application_keeps_bounded_diagnostics(events: list[Any], submission: Any) -> None:
    application = Application(id=records.an_application_id(), submission=submission, submitted_ms=1)
    for event in events:
        try:
            application = APPLICATION_MACHINE.apply(application, event).entity
        except IllegalTransition:
            continue
        assert len(application.diagnostics) <= DIAGNOSTICS_LENGTH_MAX
        assert application.yarn_state.name != "NEW"


# --- identifiers ---------------------------------------------------------------------------------------------------


@given(records.application_ids)
def test_application_id_reads_what_it_prints(application_id: ApplicationId) -> None:
    assert ApplicationId.parse(str(application_id)) == application_id


@given(records.attempt_ids)
def test_attempt_id_reads_what_it_prints(attempt_id: ApplicationAttemptId) -> None:
    assert ApplicationAttemptId.parse(str(attempt_id)) == attempt_id


@given(records.container_ids)
def test_container_id_reads_what_it_prints(container_id: ContainerId) -> None:
    assert ContainerId.parse(str(container_id)) == container_id
    assert ContainerId.of(container_id.attempt_id, container_id.sequence, container_id.epoch) == container_id


@given(records.node_ids)
def test_node_id_reads_what_it_prints(node_id: NodeId) -> None:
    assert NodeId.parse(str(node_id)) == node_id


@given(records.container_ids, records.container_ids)
def test_different_containers_have_different_pods(one: ContainerId, other: ContainerId) -> None:
    assert (dns_name(one) == dns_name(other)) == (one == other)


@given(records.container_ids)
def test_pod_name_is_a_label_value_and_a_dns_name(container_id: ContainerId) -> None:
    name = dns_name(container_id)

    assert len(name) <= 253
    assert {*name} <= {*"abcdefghijklmnopqrstuvwxyz0123456789-"}
    assert name[0].isalnum()
    assert name[-1].isalnum()


# --- resources -----------------------------------------------------------------------------------------------------

resources = records.resources
positive = st.builds(Resource, st.integers(1, 2**40), st.integers(1, 2**20))


def amounts(resource: Resource) -> tuple[int, int, dict[str, int]]:
    """Return the amounts without the extras that are zero: a resource that lacks a type has none of it."""
    return resource.memory_mib, resource.vcores, {name: value for name, value in resource.extras if value}


@given(resources, resources)
def test_addition_commutes(a: Resource, b: Resource) -> None:
    assert a + b == b + a


@given(resources, resources, resources)
def test_addition_associates(a: Resource, b: Resource, c: Resource) -> None:
    assert (a + b) + c == a + (b + c)


@given(resources)
def test_none_is_the_zero_of_addition(a: Resource) -> None:
    assert amounts(a + NONE) == amounts(NONE + a) == amounts(a)
    assert a - a == NONE


@given(resources, resources)
def test_subtraction_undoes_addition(a: Resource, b: Resource) -> None:
    assert (a + b) - b == a + NONE


@given(resources, st.integers(0, 5))
def test_multiplication_is_repeated_addition(a: Resource, count: int) -> None:
    assert a * count == sum([a] * count, start=NONE)


@given(resources, resources)
def test_sums_keep_their_extras_sorted_and_once_and_none_that_is_zero(a: Resource, b: Resource) -> None:
    for found in (a + b, a - b, a * 2, a.at_least_zero()):
        names = [name for name, _ in found.extras]
        assert names == sorted(set(names))
        assert all(value for _, value in found.extras)


@given(resources)
def test_everything_fits_in_itself(a: Resource) -> None:
    nonnegative = a.at_least_zero()

    assert a.fits_in(a)
    assert nonnegative.fits_in(nonnegative + nonnegative)


@given(resources, resources, resources)
def test_fitting_is_transitive(a: Resource, b: Resource, c: Resource) -> None:
    small, middle, large = a.at_least_zero(), (a.at_least_zero() + b.at_least_zero()), NONE
    large = middle + c.at_least_zero()

    assert small.fits_in(middle)
    assert middle.fits_in(large)
    assert small.fits_in(large)


@given(resources, resources)
def test_fitting_leaves_nothing_below_zero(a: Resource, b: Resource) -> None:
    if a.fits_in(b):
        rest = b - a
        assert rest.memory_mib >= 0
        assert rest.vcores >= 0
        assert all(value >= 0 for name, value in rest.extras if name in dict(a.extras))


@given(resources)
def test_at_least_zero_is_idempotent_and_never_negative(a: Resource) -> None:
    floor = a.at_least_zero()

    assert floor.at_least_zero() == floor
    assert min([floor.memory_mib, floor.vcores, *(value for _, value in floor.extras)]) >= 0


@given(st.builds(Resource, st.integers(0, 2**40), st.integers(0, 2**20)), positive)
def test_rounding_up_gives_the_least_multiple_of_the_minimum(ask: Resource, minimum: Resource) -> None:
    rounded = rounded_up(ask, minimum)

    assert ask.fits_in(rounded)
    assert rounded.memory_mib % minimum.memory_mib == rounded.vcores % minimum.vcores == 0
    assert rounded.memory_mib - minimum.memory_mib < max(ask.memory_mib, 1)
    assert rounded.vcores - minimum.vcores < max(ask.vcores, 1)
    assert rounded_up(rounded, minimum) == rounded


# --- tokens --------------------------------------------------------------------------------------------------------


@given(st.binary(max_size=64), st.binary(max_size=64), st.binary(max_size=64), st.binary(max_size=64))
def test_only_the_right_key_and_identifier_verify(
    secret: bytes, other: bytes, identifier: bytes, forged: bytes
) -> None:
    key = MasterKey(key_id=1, secret=secret)
    signed = password(key, identifier)

    assert is_signed_by(key, identifier, signed)
    assert is_signed_by(key, forged, signed) == (forged == identifier)
    # HMAC fills short keys with zeros: keys that differ only there are one key.
    same_key = other.ljust(64, b"\0") == secret.ljust(64, b"\0")
    assert is_signed_by(MasterKey(key_id=1, secret=other), identifier, signed) == same_key


# --- queues --------------------------------------------------------------------------------------------------------

paths = st.lists(st.sampled_from("ab"), min_size=1, max_size=3).map(lambda parts: ".".join(["root", *parts]))


@given(st.sets(paths, max_size=6), paths)
def test_queue_is_found_by_its_path_and_by_its_name_only_while_unique(known: set[str], wanted: str) -> None:
    rows = [queues.Queue(path=path) for path in sorted(known)]
    by_path, by_name = queues.find(rows, wanted), queues.find(rows, wanted.rsplit(".", 1)[-1])
    bearers = [row for row in rows if row.name == wanted.rsplit(".", 1)[-1]]

    assert (by_path is None) == (wanted not in known)
    assert by_name == (bearers[0] if len(bearers) == 1 else None)
