"""The limits of int32 and int64, and numbers of any length, wherever a call over HTTP may say a number.

Every address that the ResourceManager serves is asked with every number that any of them reads; of bodies every number
is said in turn.  Nothing is answered as an internal error, what is stored fits its columns, and everybody else's pages
come as before.
"""

from __future__ import annotations

import ast
import asyncio
import copy
import inspect
import re
from collections.abc import Iterator
from itertools import cycle, product
from typing import Any

import pytest

from tests.contract.test_number_limits import too_wide
from tests.support.records import a_container, a_node, an_application, an_attempt
from tests.support.rest_world import RestWorld, rest_world
from yodel.domain.states import ApplicationState, AttemptState, ContainerState, NodeState
from yodel.pb_convert import rest_submission

VALUES = (-(2**63), -(2**31) - 1, -1, 0, 2**31 - 1, 2**31, 2**63 - 1, 2**63, 10**400)
MANY_DIGITS = "9" * 5000
"""More than Python makes a number of."""
ODD_TEXTS = (str(2**63), MANY_DIGITS)
PARAMETERS = (
    *("limit", "startedTimeBegin", "startedTimeEnd", "finishedTimeBegin", "finishedTimeEnd"),
    *("activitiesCount", "requestPriorities", "allocationRequestIds", "maxTime", "time", "after", "since", "page_size"),
    *("start", "end", "size", "count", "deSelects", "cursor"),
)
PATHS = {
    "application_id": str(an_application().id),
    "attempt_id": str(an_attempt().id),
    "container_id": str(a_container().id),
    "node_id": "node-1:8041",
    "queue": "default",
    "timeout_type": "LIFETIME",
    "command": "OUTPUT_THREAD_DUMP",
    "states": "running",
    "path": "x",
    "count": "1",
}
LIFETIME = {"timeout": {"type": "LIFETIME", "expiryTime": "2100-01-01T00:00:00.000+0000"}}
BODIES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    (
        "POST",
        "/apps",
        {
            "application-id": "",
            "application-name": "n",
            "application-type": "YARN",
            "priority": 1,
            "max-app-attempts": 1,
            "resource": {
                "memory": 1024,
                "vCores": 1,
                "resourceInformations": {"resourceInformation": [{"name": "gpu", "value": 1}]},
            },
            "am-container-resource-requests": [
                {
                    "priority": 1,
                    "numContainers": 1,
                    "allocationRequestId": 1,
                    "capability": {"memory": 1024, "vCores": 1},
                }
            ],
            "attempt-failures-validity-interval": 1,
            "am-container-spec": {
                "commands": {"command": "run"},
                "local-resources": {
                    "entry": [
                        {
                            "key": "k",
                            "value": {
                                "resource": "hdfs://h/f",
                                "type": "FILE",
                                "visibility": "PUBLIC",
                                "size": 1,
                                "timestamp": 1,
                            },
                        }
                    ]
                },
            },
            "application-timeouts": {"entry": [{"key": "LIFETIME", "value": 100}]},
            "am-black-listing-requests": {"disable-failure-threshold": 0.5},
        },
    ),
    ("PUT", "/apps/{application_id}/priority", {"priority": 1}),
    ("POST", "/nodes/{node_id}/resource", {"resource": {"memory": 1024, "vCores": 1}, "overCommitTimeout": 1}),
    (
        "PUT",
        "/scheduler-conf",
        {
            "update-queue": [
                {
                    "queue-name": "root.default",
                    "params": {"entry": [{"key": "maximum-application-lifetime", "value": "100"}]},
                }
            ]
        },
    ),
)


def numbers_in(body: Any, above: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if isinstance(body, int | float) or (isinstance(body, str) and body.isdecimal()):
        yield above
    elif isinstance(body, dict | list):
        for key, value in body.items() if isinstance(body, dict) else enumerate(body):
            yield from numbers_in(value, (*above, key))


def with_number(body: Any, path: tuple[str | int, ...], value: object) -> Any:
    changed = copy.deepcopy(body)
    at = changed
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return changed


def keys_in(body: Any) -> set[str]:
    if isinstance(body, dict):
        return {*body}.union(*(keys_in(value) for value in body.values()))
    return set[str]().union(*(keys_in(value) for value in body)) if isinstance(body, list) else set()


def test_every_number_that_a_submission_is_read_for_is_in_its_body() -> None:
    """The calls that read numbers are listed: one that is added has to be named here too."""
    calls = [node for node in ast.walk(ast.parse(inspect.getsource(rest_submission))) if isinstance(node, ast.Call)]
    read = {
        call.args[1].value
        for call in calls
        if isinstance(call.func, ast.Name) and call.func.id == "_integer" and isinstance(call.args[1], ast.Constant)
    }
    assert {"priority", "numContainers", "vCores", "timestamp"} <= read
    assert read - {"timeout"} <= keys_in(BODIES[0][2])  # a timeout is the value of an entry
    assert "application-timeouts" in BODIES[0][2]


async def others_are_well(world: RestWorld) -> None:
    for path in ("/apps", "/metrics", "/nodes", "/scheduler", f"/apps/{an_application().id}"):
        answer = await world.get(path, params={"user.name": "bob"})
        assert answer.status_code == 200, answer.text
    disk = world.store.disk
    for table in (disk.applications, disk.nodes, disk.queues):
        assert [wide for row in table.values() for wide in too_wide(row)] == []


async def a_busy_world(world: RestWorld) -> None:
    await world.put(
        a_node(state=NodeState.RUNNING),
        an_application(current_attempt=1, state=ApplicationState.RUNNING),
        an_attempt(state=AttemptState.RUNNING),
        a_container(state=ContainerState.RUNNING),
    )


async def test_no_number_in_an_address_is_an_internal_error() -> None:
    async with rest_world() as world:
        await a_busy_world(world)
        looks = asyncio.create_task(world.rm.scheduler.run())  # pages of what it does wait for it
        paths = {getattr(r, "path", "") for r in world.app.routes if "GET" in (getattr(r, "methods", None) or ())}
        asked = [re.sub(r"\{(\w+)[^}]*\}", lambda m: PATHS.get(m[1], "1"), path) for path in sorted(paths)]
        asked += ["/api/v1/applications", "/api/v1/nodes", f"/api/v1/applications/{an_application().id}"]
        assert len(asked) > 40
        for path in asked:
            if path.startswith(("/proxy", "/cluster/failure")):
                continue  # what others say, and a page that says 500 for them
            names = PARAMETERS if path.startswith(("/ws", "/api")) else PARAMETERS[:1]
            for value, name in zip(cycle(ODD_TEXTS), names, strict=False):
                answer = await world.client.get(path, params={name: value})
                assert answer.status_code < 500, f"{path} {name}={value[:30]}: {answer.text[:200]}"
        for path, value in product(sorted(paths), (*map(str, VALUES), MANY_DIGITS)):
            for name in re.findall(r"\{(\w+)", path):
                odd = {**PATHS, name: re.sub(r"\d+", value, PATHS.get(name, "1"), count=1)}
                address = re.sub(r"\{(\w+)[^}]*\}", lambda m: odd.get(m[1], "1"), path)  # noqa: B023
                if not address.startswith(("/proxy", "/cluster/failure")):
                    answer = await world.client.get(address)
                    assert answer.status_code < 500, f"{address[:120]}: {answer.status_code}"
        await others_are_well(world)
        looks.cancel()


async def test_no_number_in_a_form_is_an_internal_error() -> None:
    async with rest_world() as world:
        for value in (1, *VALUES, MANY_DIGITS):
            form, query = {"time": str(value)}, {"user.name": "admin"}
            answer = await world.client.post("/ws/v1/cluster/scheduler/logs", data=form, params=query)
            assert answer.status_code < 500, answer.text
            assert answer.status_code == 200 or value != 1


@pytest.mark.parametrize(("method", "path", "body"), BODIES, ids=[path for _, path, _ in BODIES])
async def test_no_number_in_a_body_is_an_internal_error(method: str, path: str, body: dict[str, Any]) -> None:
    async with rest_world() as world:
        await a_busy_world(world)
        address = "/ws/v1/cluster" + re.sub(r"\{(\w+)\}", lambda m: PATHS[m[1]], path)
        accepted = 0
        for number in numbers_in(body):
            for value in (1, *VALUES, *map(str, VALUES), MANY_DIGITS, 1e308, -1.5):
                said = with_number(body, number, value)
                if "application-id" in said:
                    said["application-id"] = await world.new_id()
                query = {"user.name": "admin" if path.startswith(("/nodes", "/sched")) else "alice"}
                answer = await world.client.request(method, address, json=said, params=query)
                accepted += answer.status_code < 300
                told = f"{number} = {str(value)[:30]}: {answer.status_code} {answer.text[:300]}"
                assert answer.status_code < 500, told
            await others_are_well(world)
        assert accepted, "nothing got as far as to matter"
