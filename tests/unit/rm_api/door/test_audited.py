"""Some calls of the web side leave a line in the audit log, and the line says who did what."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx2
import pytest
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tests.support.api_rows import RUNNING, fill
from tests.support.audit_lines import AuditLines, audit_lines, shown
from tests.support.rest_world import RestWorld
from yodel.rm_api.door.audited import Audited


@pytest.fixture
async def filled(world: RestWorld) -> RestWorld:
    await fill(world)
    return world


@pytest.fixture
def audit(capsys: pytest.CaptureFixture[str]) -> Iterator[AuditLines]:
    with audit_lines(capsys) as lines:
        yield lines


async def test_kill_leaves_a_line(filled: RestWorld, audit: AuditLines) -> None:
    await filled.put_state(RUNNING.id, {"state": "KILLED"})
    (line,) = audit()
    assert shown(line, "USER", "IP", "OPERATION", "TARGET", "RESULT", "APPID") == [
        *("alice", "127.0.0.1", "Kill Application Request", "RMWebService", "SUCCESS", str(RUNNING.id))
    ]


@pytest.mark.parametrize(
    ("path", "body"),
    [(f"/ws/v1/cluster/apps/{RUNNING.id}/state", {"state": "KILLED"}), (f"/api/v1/applications/{RUNNING.id}/kill", {})],
)
async def test_refused_kill_says_who_and_what_was_missing(
    filled: RestWorld, audit: AuditLines, path: str, body: dict[str, str]
) -> None:
    method = "PUT" if path.endswith("state") else "POST"
    answer = await filled.client.request(method, path, json=body, params={"user.name": "mallory"})
    assert answer.status_code == 403
    (line,) = audit()
    assert shown(line, "USER", "OPERATION", "RESULT", "DESCRIPTION", "APPID") == [
        *("mallory", "Kill Application Request", "FAILURE", "Unauthorized user", str(RUNNING.id))
    ]
    assert "mallory" in line["PERMISSIONS"]


async def test_submission_names_its_application(filled: RestWorld, audit: AuditLines) -> None:
    new = (await filled.client.post("/ws/v1/cluster/apps/new-application?user.name=alice")).json()
    given = {"application-id": new["application-id"], "application-name": 'x"}\n{"USER":"root"'}
    given |= {"am-container-spec": {"commands": {"command": "true"}}, "resource": {"memory": 1024, "vCores": 1}}
    answer = await filled.client.post("/ws/v1/cluster/apps?user.name=alice", json=given)
    assert answer.status_code == 202
    made, submitted = audit()
    assert made["OPERATION"] == "POST /ws/v1/cluster/apps/new-application"
    assert shown(submitted, "OPERATION", "RESULT", "APPID") == [
        *("Submit Application Request", "SUCCESS", new["application-id"])
    ]


async def test_submission_that_fails_says_why(filled: RestWorld, audit: AuditLines) -> None:
    await filled.client.post("/ws/v1/cluster/apps?user.name=alice", json={"application-id": "job\n_1"})
    (line,) = audit()
    assert shown(line, "OPERATION", "RESULT") == ["Submit Application Request", "FAILURE"]
    assert line["DESCRIPTION"].startswith("HTTP 400: ")


async def test_forbidden_read_leaves_a_line_and_others_none(filled: RestWorld, audit: AuditLines) -> None:
    await filled.client.get("/ws/v1/cluster/apps?user.name=mallory")
    assert audit() == []
    answer = await filled.client.get("/logLevel?log=x&user.name=mallory&level=DEBUG")
    assert answer.status_code == 403
    (line,) = audit()
    assert shown(line, "USER", "OPERATION", "TARGET", "RESULT") == [
        *("mallory", "Set Log Level", "AdminService", "FAILURE")
    ]


async def test_nothing_of_a_token_gets_into_a_line(filled: RestWorld, audit: AuditLines) -> None:
    secret = "SECRETWORD"
    headers = {"Hadoop-YARN-RM-Delegation-Token": secret}
    await filled.client.delete("/ws/v1/cluster/delegation-token?user.name=alice", headers=headers)
    (line,) = audit()
    assert line["RESULT"] == "FAILURE"
    assert secret not in json.dumps(line)


async def audited(method: str, path: str, status: int, body: bytes) -> None:
    """One call of an application that only answers."""

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        await Response(body, status)(scope, receive, send)

    transport = httpx2.ASGITransport(app=Audited(application))
    async with httpx2.AsyncClient(transport=transport, base_url="http://rm") as client:
        await client.request(method, path)


@pytest.mark.parametrize("status", [200, 302, 401, 403, 404, 500])
async def test_of_reads_those_that_are_forbidden_leave_a_line(audit: AuditLines, status: int) -> None:
    await audited("GET", "/logs", status, b"no")
    assert [line["PERMISSIONS"] for line in audit()] == (["no"] if status == 403 else [])


@pytest.mark.parametrize("status", [401, 403, 400])
async def test_what_is_said_of_a_token_is_not_written(audit: AuditLines, status: int) -> None:
    await audited("DELETE", "/ws/v1/cluster/delegation-token", status, b"SECRETWORD is no token")
    (line,) = audit()
    assert "SECRETWORD" not in json.dumps(line)


async def test_proxied_calls_of_applications_are_theirs(audit: AuditLines) -> None:
    await audited("POST", "/proxy/application_1_0001/kill", 200, b"")
    assert audit() == []


async def test_queues_that_are_put_back_by_get_leave_a_line(world: RestWorld, audit: AuditLines) -> None:
    path = "/ws/v1/cluster/scheduler-conf/format"
    assert (await world.client.get(f"{path}?user.name=admin")).status_code == 200
    (line,) = audit()
    assert shown(line, "USER", "OPERATION", "TARGET", "RESULT") == [
        *("admin", "Format Scheduler Configuration", "AdminService", "SUCCESS")
    ]
