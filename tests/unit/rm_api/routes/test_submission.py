"""New ids and submissions."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.rest_world import RestWorld
from yodel.domain.ids import ApplicationId
from yodel.domain.resource import Resource
from yodel.domain.states import ApplicationState


def a_body(application_id: str, **changes: Any) -> dict[str, Any]:
    spec = {"commands": {"command": "sleep 1"}}
    body = {"application-id": application_id, "application-name": "x", "am-container-spec": spec}
    return {**body, "resource": {"memory": 300, "vCores": 1}, **changes}


async def test_ids_follow_one_another(world: RestWorld) -> None:
    first, second = await world.new_id(), await world.new_id()
    assert ApplicationId.parse(second).sequence == ApplicationId.parse(first).sequence + 1


async def test_submission_is_accepted_with_its_location(world: RestWorld) -> None:
    application_id = await world.new_id()
    answer = await world.post("/apps?user.name=alice", a_body(application_id))
    assert (answer.status_code, answer.content) == (202, b"")
    assert answer.headers["location"] == f"http://rm-host:8088/ws/v1/cluster/apps/{application_id}"
    row = world.state.applications[ApplicationId.parse(application_id)]
    assert (row.submission.user, row.submission.queue, row.state) == (
        "alice",
        "root.default",
        ApplicationState.ACCEPTED,
    )
    assert row.submission.am_capability == Resource(512, 1)


async def test_repeated_submission_is_accepted_without_effect(world: RestWorld) -> None:
    application_id = await world.new_id()
    await world.post("/apps?user.name=alice", a_body(application_id))
    before = world.state.applications[ApplicationId.parse(application_id)]
    again = await world.post("/apps?user.name=alice", a_body(application_id, **{"application-name": "other"}))
    assert again.status_code == 202
    assert world.state.applications[ApplicationId.parse(application_id)] is before


async def test_unknown_queue_is_accepted_and_fails(world: RestWorld) -> None:
    application_id = await world.new_id()
    assert (await world.post("/apps?user.name=alice", a_body(application_id, queue="nope"))).status_code == 202
    app = (await world.json(f"/apps/{application_id}"))["app"]
    assert (app["state"], app["finalStatus"], app["trackingUI"]) == ("FAILED", "FAILED", "UNASSIGNED")
    assert app["diagnostics"].endswith("submitted by user alice to unknown queue: nope")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"resource": {"memory": 8193, "vCores": 1}}, "Requested more memory than configured max"),
        ({"resource": {"memory": 1, "vCores": 9}}, "Requested more cores than configured max"),
        ({"resource": {"memory": -5, "vCores": 1}}, "requested resource is less than 0!"),
        ({"application-tags": {"tag": ["x" * 101]}}, "is too long, maximum allowed length of a tag is 100"),
        ({"application-tags": {"tag": [str(n) for n in range(11)]}}, "Too many applicationTags"),
        ({"max-app-attempts": "many"}, "Invalid max-app-attempts: 'many'; expected a whole number"),
        ({"am-container-spec": []}, "Invalid am-container-spec: 'a list'; expected an object"),
    ],
)
async def test_bad_submission_says_what_is_wrong(world: RestWorld, changes: dict[str, Any], message: str) -> None:
    answer = await world.post("/apps?user.name=alice", a_body(await world.new_id(), **changes))
    inner = answer.json()["RemoteException"]
    assert (answer.status_code, inner["exception"]) == (400, "BadRequestException")
    assert message in inner["message"]
    assert not world.state.applications
