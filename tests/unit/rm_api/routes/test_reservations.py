"""Reservations, of which there are none: the answers of a scheduler without a plan."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.rest_world import RestWorld

NOT_ENABLED = "Reservation is not enabled. Please enable & try again"
REQUEST = {"capability": {"memory": 1024, "vCores": 1}, "num-containers": 1, "min-concurrency": 1, "duration": 60}


def a_definition(**requests: Any) -> dict[str, Any]:
    return {"arrival": 1, "deadline": 2, "reservation-requests": {"reservation-request": [REQUEST], **requests}}


WHOLE = {"reservation-id": "reservation_1_0001", "queue": "default", "reservation-definition": a_definition()}
NO_ID = {"reservation-definition": a_definition()}
NO_REQUEST = "The ReservationDefinition should contain at least one ReservationRequest"
NO_DEFINITION = "Input ReservationDefinition should not be null"
ROOTS = {
    "submit": "reservation-submission-context",
    "update": "reservation-update-context",
    "delete": "reservation-delete-context",
}


@pytest.mark.parametrize(
    ("what", "body", "status", "message"),
    [
        ("submit", WHOLE, 400, NOT_ENABLED),
        ("submit", NO_ID, 400, NOT_ENABLED),
        ("submit", {}, 400, NO_DEFINITION),
        ("submit", {"reservation-definition": {"arrival": 1}}, 400, NO_REQUEST),
        ("submit", {"reservation-definition": a_definition(**{"reservation-request": []})}, 400, NO_REQUEST),
        ("submit", {**WHOLE, "reservation-id": "x"}, 404, "The specified reservation id is invalid: x"),
        (
            "submit",
            {"reservation-definition": a_definition(**{"reservation-request-interpreter": 4})},
            503,
            "Index 4 out of bounds for length 4",
        ),
        (
            "submit",
            {"reservation-definition": a_definition(**{"reservation-request": {"duration": 1}})},
            503,
            'Cannot invoke "org.apache.hadoop.yarn.server.resourcemanager.webapp.dao.ResourceInfo.getMemorySize()" '
            'because "rInfo" is null',
        ),
        ("update", WHOLE, 400, NOT_ENABLED),
        ("update", NO_ID, 400, "Update operations must specify an existing ReservationId"),
        ("update", {}, 400, NO_DEFINITION),
        ("delete", {"reservation-id": "reservation_1_0001"}, 400, NOT_ENABLED),
        ("delete", {}, 400, NOT_ENABLED),
        ("delete", {"reservation-id": "reservation_1_2_3"}, 404, "The specified reservation id is not parseable: "),
    ],
)
async def test_body_is_checked_first(world: RestWorld, what: str, body: Any, status: int, message: str) -> None:
    answer = await world.post(f"/reservation/{what}?user.name=alice", {ROOTS[what]: body})
    assert answer.status_code == status
    assert answer.json()["RemoteException"]["message"].startswith(message)


@pytest.mark.parametrize(
    "body", [{ROOTS["submit"]: {"reservation-definition": a_definition(**{"reservation-request": [7]})}}, [1]]
)
async def test_body_of_other_kinds_is_refused(world: RestWorld, body: Any) -> None:
    answer = await world.post("/reservation/submit?user.name=alice", body)
    assert (answer.status_code, answer.json()["RemoteException"]["exception"]) == (400, "WebApplicationException")


@pytest.mark.parametrize(
    ("what", "status", "exception"),
    [
        ("submit", 400, "BadRequestException"),
        ("update", 400, "BadRequestException"),
        ("delete", 503, "NullPointerException"),
        ("new-reservation", 503, "YarnRuntimeException"),
    ],
)
async def test_call_without_a_body(world: RestWorld, what: str, status: int, exception: str) -> None:
    answer = await world.post(f"/reservation/{what}?user.name=alice")
    assert (answer.status_code, answer.json()["RemoteException"]["exception"]) == (status, exception)
    world.client.cookies.clear()
    assert (await world.post(f"/reservation/{what}")).status_code == 401


async def test_list_is_refused_and_a_time_that_is_none_is_javas_own(world: RestWorld) -> None:
    answer = await world.get("/reservation/list?start-time=1&end-time=-1")
    assert (answer.status_code, answer.json()["RemoteException"]["message"]) == (400, NOT_ENABLED)
    soon = await world.get("/reservation/list?start-time=soon")
    assert (soon.status_code, soon.json()["RemoteException"]) == (
        503,
        {
            "exception": "QueryParamException",
            "message": 'For input string: "soon"',
            "javaClassName": "org.glassfish.jersey.server.ParamException$QueryParamException",
        },
    )


async def test_json_without_its_root_is_empty_and_xml_has_it(world: RestWorld) -> None:
    bare = await world.post("/reservation/submit?user.name=alice", WHOLE)
    assert bare.json()["RemoteException"]["message"] == NO_DEFINITION
    xml = (
        "<reservation-submission-context><reservation-definition><reservation-requests><reservation-request>"
        "<capability><memory>1</memory></capability></reservation-request></reservation-requests>"
        "</reservation-definition></reservation-submission-context>"
    )
    answer = await world.client.post(
        "/ws/v1/cluster/reservation/submit?user.name=alice", content=xml, headers={"content-type": "application/xml"}
    )
    assert answer.json()["RemoteException"]["message"] == NOT_ENABLED
