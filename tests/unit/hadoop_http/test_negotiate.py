"""A caller gets JSON or XML by the types it accepts."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from tests.support.records import an_application
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
        "application/xml;q=0, */*",
        "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2",
        "application/json;q=unreadable",
    ],
)
async def test_json_for_all_who_take_it(world: RestWorld, accept: str) -> None:
    answer = await world.get("/info", headers={"Accept": accept})
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json;charset=utf-8")


@pytest.mark.parametrize(
    "accept",
    [
        "application/xml",
        "Application/XML;charset=utf-8",
        "application/xml, application/json",
        "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        "application/json;q=0.5, application/xml;q=0.6",
        "*/*, application/xml",
    ],
)
async def test_xml_for_who_prefers_it(world: RestWorld, accept: str) -> None:
    answer = await world.get("/info", headers={"Accept": accept})
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/xml;charset=utf-8")
    assert answer.text.startswith('<?xml version="1.0" encoding="UTF-8"?><clusterInfo><id>')


@pytest.mark.parametrize("accept", ["text/xml", "text/html", "text/plain, image/*", "application/json;q=0"])
@pytest.mark.parametrize("path", ["/info", "/apps", "/apps/application_1_0001", "/scheduler", "/nodes"])
async def test_others_are_not_acceptable(world: RestWorld, accept: str, path: str) -> None:
    answer = await world.get(path, headers={"Accept": accept})
    assert answer.status_code == 406
    assert answer.json()["RemoteException"]["exception"] == "NotAcceptableException"
    assert "content-type" not in answer.headers


async def test_refusal_is_xml_for_who_prefers_it(world: RestWorld) -> None:
    answer = await world.get("/apps/application_1_0001", headers={"Accept": "application/xml"})
    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/xml;charset=utf-8")
    assert answer.text == (
        '<?xml version="1.0" encoding="UTF-8"?><RemoteException><exception>NotFoundException</exception>'
        "<message>app with id: application_1_0001 not found</message>"
        "<javaClassName>org.apache.hadoop.yarn.webapp.NotFoundException</javaClassName></RemoteException>"
    )


async def test_list_of_applications_in_xml_is_the_one_in_json(world: RestWorld) -> None:
    headers = {"Accept": "application/xml"}
    assert (await world.get("/apps", headers=headers)).text == '<?xml version="1.0" encoding="UTF-8"?><apps/>'
    await world.put(*(an_application(number) for number in range(1, 252)))
    json_form = (await world.json("/apps"))["apps"]["app"]
    xml_form = ElementTree.fromstring((await world.get("/apps", headers=headers)).content)
    assert [app.findtext("id") for app in xml_form] == [app["id"] for app in json_form]
    assert len(xml_form) == 251


async def test_body_of_another_type_is_unsupported(world: RestWorld) -> None:
    for media_type in ("application/x-www-form-urlencoded", "text/plain", "text/xml"):
        answer = await world.client.post(
            "/ws/v1/cluster/apps?user.name=alice", content=b"{}", headers={"Content-Type": media_type}
        )
        assert answer.status_code == 415
        assert answer.json()["RemoteException"]["exception"] == "NotSupportedException"


async def test_body_of_no_declared_type_is_unsupported(world: RestWorld) -> None:
    answer = await world.client.post("/ws/v1/cluster/apps?user.name=alice", content=b"{}")
    assert answer.status_code == 415
