"""``/conf`` in both forms."""

from __future__ import annotations

import json
import pathlib
from xml.etree import ElementTree

import pytest

from tests.support.rest_world import RestWorld

GOLDEN = pathlib.Path(__file__).parents[4] / "conformance" / "golden" / "rest"
CONF = {"hadoop.http.authentication.type": "simple", "yarn.resourcemanager.hostname": "rm-host", "yarn.x": "a<b&c"}


@pytest.fixture
def configured(world: RestWorld) -> RestWorld:
    world.app.state.hadoop.process.conf = lambda: CONF
    return world


async def test_one_property_is_as_recorded_from_a_real_resource_manager(configured: RestWorld) -> None:
    recorded = (GOLDEN / "rm-conf-name.txt").read_text().partition("\n<\n")[2].strip()
    query, headers = {"name": "yarn.resourcemanager.hostname"}, {"Accept": "application/json"}
    answer = await configured.client.get("/conf", params=query, headers=headers)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json;charset=utf-8")
    assert answer.text == recorded


async def test_all_of_it_in_json(configured: RestWorld) -> None:
    answer = await configured.client.get("/conf", headers={"Accept": "application/json"})
    shown = json.loads(answer.text)["properties"]
    assert {item["key"]: item["value"] for item in shown} == CONF
    assert [item["resource"] for item in shown] == ["core-site.xml", "yarn-site.xml", "yarn-site.xml"]


@pytest.mark.parametrize("accept", ["*/*", "application/xml", "text/html"])
async def test_xml_is_the_default(configured: RestWorld, accept: str) -> None:
    answer = await configured.client.get("/conf", headers={"Accept": accept})
    assert answer.headers["content-type"] == "text/xml;charset=utf-8"
    found = ElementTree.fromstring(answer.text)
    assert found.tag == "configuration"
    assert {item.findtext("name"): item.findtext("value") for item in found} == CONF
    assert [child.tag for child in found[0]] == ["name", "value", "final", "source"]
    single = await configured.client.get("/conf", params={"name": "yarn.x"}, headers={"Accept": accept})
    assert [item.findtext("value") for item in ElementTree.fromstring(single.text)] == ["a<b&c"]


async def test_what_is_not_there_is_404(configured: RestWorld) -> None:
    for accept, kind in (("application/json", "application/json;charset=utf-8"), ("", "text/xml;charset=utf-8")):
        answer = await configured.client.get("/conf?name=nope", headers={"Accept": accept})
        assert (answer.status_code, answer.text, answer.headers["content-type"]) == (404, "", kind)
