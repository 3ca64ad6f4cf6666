"""Reservations, of which there are none: one refusal, whatever is sent."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.rest_world import RestWorld

NOT_ENABLED = "Reservation is not enabled. Please enable & try again"
DEFINED = {"reservation-submission-context": {"queue": "default", "reservation-id": "reservation_1_0001"}}


@pytest.mark.parametrize("body", [None, DEFINED, [1]])
@pytest.mark.parametrize(
    ("what", "status", "exception"),
    [
        *((what, 400, "BadRequestException") for what in ("submit", "update", "delete")),
        ("new-reservation", 503, "YarnRuntimeException"),
    ],
)
async def test_changes_are_refused(world: RestWorld, what: str, status: int, exception: str, body: Any) -> None:
    answer = await world.post(f"/reservation/{what}?user.name=alice", body)
    told = answer.json()["RemoteException"]
    assert (answer.status_code, told["exception"], told["message"]) == (status, exception, NOT_ENABLED)
    world.client.cookies.clear()
    assert (await world.post(f"/reservation/{what}", body)).status_code == 401


async def test_list_is_refused(world: RestWorld) -> None:
    answer = await world.get("/reservation/list?start-time=1&end-time=-1")
    assert (answer.status_code, answer.json()["RemoteException"]["message"]) == (400, NOT_ENABLED)
