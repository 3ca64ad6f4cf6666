"""Windows of a queue over ``/api/v1``."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.support.rest_world import RestWorld, rest_world
from tests.unit.rm_api.v1.test_queue_changes import call

DAY = {"cron": "0 8 * * 1-5", "time_zone": "Europe/Berlin", "duration_s": 36000, "maximum_capacity_percent": 40}
AT = "/queues/default/windows"


@pytest.fixture
async def world() -> AsyncIterator[RestWorld]:
    async with rest_world() as world:
        yield world


async def test_window_is_made_shown_replaced_and_taken_away(world: RestWorld) -> None:
    body = DAY | {"name": "day", "reason": "office hours"}
    tried = await call(world, "POST", AT, body, dry_run="true")
    assert (tried.status_code, tried.json()["is_dry_run"]) == (200, True)
    assert (await call(world, "GET", AT)).json()["items"] == []
    made = await call(world, "POST", AT, body, since=1)
    assert (made.status_code, made.headers["etag"]) == (201, '"2"')
    assert made.json()["reason"] == "office hours"
    assert {change["property"].rpartition(".")[2] for change in made.json()["changes"]} >= {"cron", "time-zone"}

    found = await call(world, "GET", AT)
    assert found.headers["etag"] == '"2"'
    (item,) = found.json()["items"]
    # It is Tuesday the 14th, 23:13 in Berlin.
    assert item == DAY | {
        "name": "day",
        "stop_new_before_s": 0,
        "give_back_stages": 4,
        "is_open": False,
        "is_near": False,
        "begins_ms": 1_700_031_600_000,
        "ends_ms": None,
    }
    other = {"cron": "* * * * *", "duration_s": 60, "maximum_capacity_percent": 12.5, "give_back_stages": 0}
    replaced = await call(world, "PUT", f"{AT}/day", other, since=2)
    assert replaced.status_code == 200
    (item,) = (await call(world, "GET", AT)).json()["items"]
    assert (item["time_zone"], item["is_open"], item["begins_ms"]) == ("UTC", True, None)
    assert (await call(world, "GET", "/queues/default")).json()["maximum_capacity_percent"] == 12.5
    gone = await call(world, "DELETE", f"{AT}/day", since=3, reason="over")
    assert (gone.status_code, gone.json()["reason"]) == (200, "over")
    assert (await call(world, "GET", AT)).json()["items"] == []


async def test_what_cannot_be_is_refused_and_changes_nothing(world: RestWorld) -> None:
    body = DAY | {"name": "day"}
    assert (await call(world, "POST", AT, body)).status_code == 428
    assert (await call(world, "POST", AT, body, since=7)).status_code == 412
    bad = await call(world, "POST", AT, body | {"cron": "61 * * * *"}, since=1)
    assert (bad.status_code, "minute of 0 to 59" in bad.text) == (400, True)
    assert (await call(world, "POST", AT, body | {"name": "a.b"}, since=1)).status_code == 400
    assert (await call(world, "POST", AT, body | {"colour": "red"}, since=1)).status_code == 400
    assert (await call(world, "POST", "/queues/none/windows", body, since=1)).status_code == 404
    assert (await call(world, "GET", "/queues/none/windows")).status_code == 404
    assert (await call(world, "PUT", f"{AT}/day", DAY, since=1)).status_code == 404
    assert (await call(world, "DELETE", f"{AT}/day", since=1)).status_code == 404
    assert world.rm.scheduler_conf.version == 1
    assert (await call(world, "POST", AT, body, since=1)).status_code == 201
    twice = await call(world, "POST", AT, body, since=2)
    assert (twice.status_code, "already has a window day" in twice.text) == (409, True)
