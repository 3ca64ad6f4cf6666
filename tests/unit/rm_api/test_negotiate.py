"""Which representation a caller gets."""

from __future__ import annotations

import pytest

from tests.support.rest_world import RestWorld


@pytest.mark.parametrize(
    "accept",
    [
        "*/*",
        "",
        "application/json",
        "Application/JSON; charset=utf-8",
        "application/*",
        "text/html, */*;q=0.1",
        "application/xml;q=0.9, application/json",
    ],
)
async def test_json_for_all_who_take_it(world: RestWorld, accept: str) -> None:
    answer = await world.get("/info", headers={"Accept": accept})
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json;charset=utf-8")


@pytest.mark.parametrize("accept", ["application/xml", "text/html", "text/plain, image/*", "application/json;q=0"])
@pytest.mark.parametrize("path", ["/info", "/apps", "/apps/application_1_0001", "/scheduler", "/nodes"])
async def test_others_are_not_acceptable(world: RestWorld, accept: str, path: str) -> None:
    answer = await world.get(path, headers={"Accept": accept})
    assert answer.status_code == 406
    assert answer.json()["RemoteException"]["exception"] == "NotAcceptableException"


async def test_body_of_another_type_is_unsupported(world: RestWorld) -> None:
    for media_type in ("application/x-www-form-urlencoded", "text/plain", "application/xml"):
        answer = await world.client.post(
            "/ws/v1/cluster/apps?user.name=alice", content=b"{}", headers={"Content-Type": media_type}
        )
        assert answer.status_code == 415
        assert answer.json()["RemoteException"]["exception"] == "NotSupportedException"


async def test_body_of_no_declared_type_is_read_as_json(world: RestWorld) -> None:
    answer = await world.client.post("/ws/v1/cluster/apps?user.name=alice", content=b"{}")
    assert answer.json()["RemoteException"]["message"] == "Could not parse application id "
