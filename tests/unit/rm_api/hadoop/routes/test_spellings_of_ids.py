"""Identifiers with any number of zeros: wherever a path has one, it is the same as the one that is printed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import httpx2
import pytest
from starlette.routing import BaseRoute, Mount, Route

from tests.support.audit_lines import audit_lines
from tests.support.records import CLUSTER_TIMESTAMP_MS, a_container, a_node, an_application, an_attempt
from tests.support.rest_world import RestWorld
from yodel.domain.states import ApplicationState, AttemptState, ContainerState, ContainerType, NodeState

NODE = a_node(state=NodeState.RUNNING, http_port=8042)
APP = an_application(1, state=ApplicationState.RUNNING, current_attempt=1, submitted_ms=CLUSTER_TIMESTAMP_MS)
AM = a_container(
    1, container=1, type=ContainerType.APPLICATION_MASTER, state=ContainerState.RUNNING, node_id=NODE.id, created_ms=5
)
ATTEMPT = an_attempt(1, state=AttemptState.RUNNING, am_container_id=AM.id, tracking_url="http://elsewhere:4040")
IDS = {"application_id": APP.id, "attempt_id": ATTEMPT.id, "container_id": AM.id, "node_id": NODE.id}
OTHERS = {"timeout_type": "LIFETIME", "file": "stdout"}
TIME = re.compile(r"[0-9]{13}|[0-9:.]+(?=Z)")


def spelled(text: str, zeros: int) -> str:
    """Spell an id with so many zeros before each number; with none, without those that are printed."""
    return re.sub(r"(?:(?<=[_:])|(?<=_e))0*([0-9]+)(?=_|$)", lambda found: "0" * zeros + found[1], text)


def paths(routes: list[BaseRoute], before: str = "") -> Iterator[str]:
    """Yield the paths that are read and have an identifier."""
    for route in routes:
        if isinstance(route, Mount):
            yield from paths(route.routes, before + route.path)
        elif isinstance(route, Route) and "GET" in (route.methods or ()) and IDS.keys() & route.param_convertors.keys():
            yield before + route.path


def filled(path: str, ids: Mapping[str, str]) -> str:
    return re.sub(r"\{(\w+)(?::\w+)?\}", lambda found: {**OTHERS, **ids}[found[1]], path)


def told(answer: httpx2.Response, ids: Mapping[str, str]) -> tuple[int, str, str]:
    """Some answers repeat what was asked."""
    text = answer.text
    for name, asked in ids.items():
        text = text.replace(asked, str(IDS[name]))
    return answer.status_code, TIME.sub("<time>", text), answer.headers.get("location", "")


@pytest.fixture
async def running(world: RestWorld) -> RestWorld:
    await world.put(NODE, APP, ATTEMPT, AM)
    return world


@pytest.mark.parametrize("zeros", [0, 1, 9, 40])
async def test_every_path_takes_any_number_of_zeros(running: RestWorld, zeros: int) -> None:
    ids = {name: spelled(str(one), zeros) for name, one in IDS.items()}
    assert ids["application_id"] != str(APP.id)
    listed = list(paths(running.app.router.routes))
    assert len(listed) > 20
    assert any(path.startswith("/api/v1") for path in listed)
    for path in listed:
        expected = await running.client.get(filled(path, {name: str(one) for name, one in IDS.items()}))
        assert expected.status_code not in (400, 422), expected.text
        found = await running.client.get(filled(path, ids))
        assert told(found, ids) == told(expected, ids), path


@pytest.mark.parametrize("zeros", [0, 9])
async def test_the_proxy_leads_to_the_same_application(running: RestWorld, zeros: int) -> None:
    asked = await running.client.get(f"/proxy/{spelled(str(APP.id), zeros)}")
    assert (asked.status_code, asked.headers["location"]) == (302, f"/proxy/{APP.id}/")


@pytest.mark.parametrize("zeros", [0, 9])
async def test_changes_are_the_applications_and_noted_by_its_printed_name(
    running: RestWorld, capsys: pytest.CaptureFixture[str], zeros: int
) -> None:
    with audit_lines(capsys) as lines:
        answer = await running.put_state(spelled(str(APP.id), zeros), {"state": "KILLED"})
        (line,) = lines()
    assert answer.status_code in (200, 202), answer.text
    assert running.rm.state.applications[APP.id].state is not ApplicationState.RUNNING
    assert line["APPID"] == str(APP.id)


@pytest.mark.parametrize("zeros", [0, 9])
async def test_events_of_one_application_are_found(running: RestWorld, zeros: int) -> None:
    answer = await running.client.get("/api/v1/events", params={"application": spelled(str(APP.id), zeros)})
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("zeros", [0, 9])
async def test_an_application_is_submitted_by_its_id(running: RestWorld, zeros: int) -> None:
    text = await running.new_id()
    plain = {"application-type": "YARN", "am-container-spec": {"commands": {"command": "true"}}}
    body = {"application-id": spelled(text, zeros), "resource": {"memory": 256, "vCores": 1}, **plain}
    answer = await running.post("/apps?user.name=alice", body)
    assert answer.status_code == 202, answer.text
    assert (await running.get(f"/apps/{text}")).status_code == 200
