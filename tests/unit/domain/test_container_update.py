from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support.records import a_container
from yodel.domain.container import Container
from yodel.domain.container_update import SizeLimits, UpdateRequest, Updates, judge
from yodel.domain.resource import EXTRA_AMOUNT_MAX, Resource
from yodel.domain.states import ContainerState, ContainerUpdateType

LIMITS = SizeLimits(minimum=Resource(1024, 1), maximum=Resource(8192, 4))
HELD = a_container(state=ContainerState.RUNNING, capability=Resource(2048, 2))


def request(memory_mib: int, *, vcores: int = 2, version: int = 0, kind: str = "INCREASE_RESOURCE") -> UpdateRequest:
    return UpdateRequest(
        container_id=HELD.id,
        version=version,
        type=ContainerUpdateType[kind],
        capability=Resource(memory_mib, vcores),
    )


def judged(*requests: UpdateRequest, container: Container | None = HELD, **changes: Any) -> Updates:
    found = replace(container, **changes) if container is not None else None
    return judge(requests, lambda _: found, LIMITS)


def reasons(updates: Updates) -> list[str]:
    return [error.reason for error in updates.errors]


def test_sizes_are_rounded_up_as_asks_are() -> None:
    assert judged(request(3000)).increases == {HELD.id: Resource(3072, 2)}
    assert judged(request(100, kind="DECREASE_RESOURCE")).decreases == {HELD.id: Resource(1024, 2)}


def test_same_size_withdraws_what_was_asked_before() -> None:
    same = judged(request(2048))
    assert (same.increases, same.withdrawn, same.errors) == ({}, {HELD.id}, [])


def test_only_what_the_am_holds_can_be_updated() -> None:
    assert reasons(judged(request(4096), container=None)) == ["INVALID_CONTAINER_ID"]
    for state in (ContainerState.PLANNED, ContainerState.ALLOCATED, ContainerState.COMPLETED):
        assert reasons(judged(request(4096), state=state)) == ["INVALID_CONTAINER_ID"]


def test_one_amount_may_not_grow_while_another_shrinks() -> None:
    assert reasons(judged(request(4096, vcores=1))) == ["RESOURCE_OUTSIDE_ALLOWED_RANGE"]
    assert reasons(judged(request(1024, vcores=3, kind="DECREASE_RESOURCE"))) == ["RESOURCE_OUTSIDE_ALLOWED_RANGE"]


def test_other_update_waits_while_a_resize_is_under_way() -> None:
    assert reasons(judged(request(1024, kind="DECREASE_RESOURCE"), resize_to=Resource(4096, 2))) == [
        "UPDATE_OUTSTANDING_ERROR"
    ]


def test_what_was_decided_is_not_refused_when_it_is_asked_again() -> None:
    assert judged(request(4096), resize_to=Resource(4096, 2)) == Updates()
    grown = {"capability": Resource(4096, 2), "version": 1}
    assert judged(request(4096), update_type=ContainerUpdateType.INCREASE_RESOURCE, **grown) == Updates()
    assert reasons(judged(request(4096), **grown)) == ["INCORRECT_CONTAINER_VERSION_ERROR"]


def test_execution_types() -> None:
    assert judged(request(0, kind="PROMOTE_EXECUTION_TYPE")) == Updates()
    assert reasons(judged(request(0, kind="DEMOTE_EXECUTION_TYPE"))) == ["OPPORTUNISTIC_CONTAINERS_NOT_ENABLED"]


def test_second_request_for_a_container_in_one_beat_is_outstanding() -> None:
    both = judged(request(4096), request(5120))
    assert (both.increases, reasons(both)) == ({HELD.id: Resource(4096, 2)}, ["UPDATE_OUTSTANDING_ERROR"])


@pytest.mark.parametrize("kind", ["INCREASE_RESOURCE", "DECREASE_RESOURCE"])
@pytest.mark.parametrize(
    ("memory_mib", "vcores"), [(8193, 2), (2**31 - 1, 2), (-1, 2), (4096, 5), (4096, 2**31 - 1), (4096, -1)]
)
def test_sizes_outside_what_a_container_may_have_are_refused(kind: str, memory_mib: int, vcores: int) -> None:
    held = Resource(1 << 40, 1 << 40) if kind == "DECREASE_RESOURCE" else HELD.capability
    found = judged(request(memory_mib, vcores=vcores, kind=kind), capability=held)
    assert (found.increases, found.decreases, reasons(found)) == ({}, {}, ["RESOURCE_OUTSIDE_ALLOWED_RANGE"])


@pytest.mark.parametrize("kind", ["INCREASE_RESOURCE", "DECREASE_RESOURCE"])
@pytest.mark.parametrize("amount", [-1, EXTRA_AMOUNT_MAX + 1])
def test_further_types_outside_what_a_container_may_have_are_refused(kind: str, amount: int) -> None:
    asked = replace(request(2048, kind=kind), capability=Resource(2048, 2, (("gpu", amount),)))
    held = Resource(2048, 2, (("gpu", 2**40),)) if kind == "DECREASE_RESOURCE" else HELD.capability
    found = judged(asked, capability=held)
    assert (found.increases, found.decreases, reasons(found)) == ({}, {}, ["RESOURCE_OUTSIDE_ALLOWED_RANGE"])
