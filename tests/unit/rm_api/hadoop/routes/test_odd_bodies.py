"""Bodies of every wrong kind in every place: refused or taken, and never a fault of ours."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.support.records import an_application, an_attempt
from tests.support.rest_world import RestWorld
from yodel.domain.states import ApplicationState, AttemptState

APP = an_application(1, state=ApplicationState.RUNNING, current_attempt=1)
ENTRY = [{"key": "A", "value": "1"}]
LINK = {"resource": "file:///a", "type": "FILE", "visibility": "PRIVATE", "size": 1, "timestamp": 1, "pattern": "x"}
SUBMISSION: dict[str, Any] = {
    "application-id": "application_1_0001",
    "application-name": "x",
    "queue": "default",
    "priority": 1,
    "am-container-spec": {
        "local-resources": {"entry": [{"key": "a", "value": LINK}]},
        "environment": {"entry": ENTRY},
        "commands": {"command": ["sleep"]},
        "service-data": {"entry": ENTRY},
        "credentials": {"tokens": {"entry": []}, "secrets": {"entry": ENTRY}},
        "application-acls": {"entry": [{"key": "VIEW_APP", "value": "bob"}]},
    },
    "unmanaged-AM": False,
    "max-app-attempts": 1,
    "resource": {
        "memory": 1,
        "vCores": 1,
        "resourceInformations": {"resourceInformation": [{"name": "g", "value": 1}]},
    },
    "application-type": "x",
    "keep-containers-across-application-attempts": False,
    "application-tags": {"tag": ["a"]},
    "log-aggregation-context": {"log-include-pattern": "x"},
    "attempt-failures-validity-interval": 1,
    "reservation-id": "reservation_1_0001",
    "application-timeouts": {"entry": [{"key": "LIFETIME", "value": 60}]},
    "am-container-resource-requests": [{"priority": 0, "capability": {"memory": 1, "vCores": 1}}],
}
deep: Any = "x"
for _ in range(100):
    deep = {"entry": [deep]}
ODD: tuple[Any, ...] = (
    None,
    "",
    "x",
    -1,
    2**70,
    1.5,
    1e308,
    True,
    [],
    {},
    [[]],
    [None],
    {"entry": 7},
    deep,
    "\x00\ud800",
)
REFUSED_OR_TAKEN = {200, 202, 400, 404, 503}


def with_odd_parts(body: Any) -> Iterator[Any]:
    """The body, again and again with something else in one place."""
    for path in list(places(body)):
        for odd in ODD:
            changed = copy.deepcopy(body)
            inner = changed
            for step in path[:-1]:
                inner = inner[step]
            inner[path[-1]] = odd
            yield changed


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in steps:
        yield (*path, step)
        yield from places(inner, (*path, step))


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/apps", SUBMISSION),
        ("PUT", f"/apps/{APP.id}/state", {"state": "RUNNING", "diagnostics": "x"}),
        ("PUT", f"/apps/{APP.id}/queue", {"queue": "default"}),
        ("PUT", f"/apps/{APP.id}/priority", {"priority": 1}),
        ("PUT", f"/apps/{APP.id}/timeout", {"timeout": {"type": "LIFETIME", "expiryTime": "x"}}),
    ],
)
async def test_odd_body_is_no_fault_of_ours(world: RestWorld, method: str, path: str, body: Any) -> None:
    await world.put(APP, an_attempt(1, state=AttemptState.RUNNING))
    url, headers = f"/ws/v1/cluster{path}?user.name=alice", {"content-type": "application/json"}
    for changed in (*with_odd_parts(body), *ODD):
        content = json.dumps(changed)
        answer = await world.client.request(method, url, content=content, headers=headers)
        assert answer.status_code in REFUSED_OR_TAKEN, content[:300]


@pytest.mark.parametrize(
    ("kind", "content"), [("json", "[" * 40_000), ("json", '{"a":' * 40_000), ("xml", "<a>" * 999)]
)
async def test_nesting_without_an_end_is_refused(world: RestWorld, kind: str, content: str) -> None:
    url, headers = "/ws/v1/cluster/apps?user.name=alice", {"content-type": f"application/{kind}"}
    assert (await world.client.post(url, content=content, headers=headers)).status_code == 400


async def test_texts_of_any_kind_are_shown_in_both_forms(world: RestWorld) -> None:
    """Everybody reads what a submitter wrote: no character may break a list."""
    for number, text in enumerate(("a\x00b", "\ud800", "\x1b[31m", "]]>&<\ufffe", "\u202e𝄞"), start=1):
        body = {"application-id": f"application_1_{number:04}", "application-name": text, "application-type": text}
        content = json.dumps({**body, "queue": "nosuch" + text})
        headers = {"content-type": "application/json"}
        answer = await world.client.post("/ws/v1/cluster/apps?user.name=alice", content=content, headers=headers)
        assert answer.status_code in (202, 400), text
    found = (await world.json("/apps"))["apps"]["app"]
    shown = await world.get("/apps", headers={"accept": "application/xml"})
    assert len(list(ElementTree.fromstring(shown.text))) == len(found) >= 3
