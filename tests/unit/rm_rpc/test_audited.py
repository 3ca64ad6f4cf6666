"""Some calls of the RPC ports leave a line in the audit log, and the line says who did what."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.admin import Administration
from tests.support.audit_lines import AuditLines, audit_lines, shown
from tests.support.playbook import World
from tests.support.rpc_calls import call, client_protocol, context
from yodel.errors import AccessDenied, ApplicationNotFound
from yodel.hadoop_pb import yarn_service_protos_pb2 as msg
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.pb_convert import ids
from yodel.rm_rpc.admin_protocol import AdminProtocol
from yodel.rm_rpc.audited import audited_admin, audited_client

ALICE, MALLORY = context("alice"), context("mallory")


@pytest.fixture
def audit(capsys: pytest.CaptureFixture[str]) -> Iterator[AuditLines]:
    with audit_lines(capsys) as lines:
        yield lines


async def test_submission_and_kill_leave_a_line_each(world: World, audit: AuditLines) -> None:
    am = await world.running_am()
    protocol = audited_client(client_protocol(world).protocol())
    asked = msg.KillApplicationRequestProto(application_id=ids.application_id_pb(am.application_id))
    await call(protocol, "forceKillApplication", ALICE, asked)
    (line,) = audit()
    assert shown(line, "USER", "IP", "OPERATION", "TARGET", "RESULT", "APPID") == [
        *("alice", "10.0.0.9", "Kill Application Request", "ClientRMService", "SUCCESS", str(am.application_id))
    ]
    submission = msg.SubmitApplicationRequestProto()
    new = await call(protocol, "getNewApplication", ALICE)
    submission.application_submission_context.application_id.CopyFrom(new.application_id)
    submission.application_submission_context.application_name = 'x"}\n{"USER":"root"'
    submission.application_submission_context.resource.memory = 1024
    submission.application_submission_context.resource.virtual_cores = 1
    submission.application_submission_context.am_container_spec.command.append("true")
    await call(protocol, "submitApplication", ALICE, submission)
    (line,) = audit()
    assert shown(line, "OPERATION", "RESULT", "APPID") == [
        *("Submit Application Request", "SUCCESS", str(ids.application_id(new.application_id)))
    ]


async def test_refused_and_failed_kills_say_why(world: World, audit: AuditLines) -> None:
    am = await world.running_am()
    protocol = audited_client(client_protocol(world).protocol())
    asked = msg.KillApplicationRequestProto(application_id=ids.application_id_pb(am.application_id))
    with pytest.raises(AccessDenied):
        await call(protocol, "forceKillApplication", MALLORY, asked)
    (line,) = audit()
    assert shown(line, "USER", "RESULT", "DESCRIPTION") == ["mallory", "FAILURE", "Unauthorized user"]
    assert "MODIFY_APP" in line["PERMISSIONS"]
    asked.application_id.id = 77
    with pytest.raises(ApplicationNotFound):
        await call(protocol, "forceKillApplication", ALICE, asked)
    (line,) = audit()
    assert "absent application" in line["DESCRIPTION"]
    assert "PERMISSIONS" not in line


async def test_submission_that_names_no_application_is_a_failure(world: World, audit: AuditLines) -> None:
    with pytest.raises(RemoteFault):
        await call(audited_client(client_protocol(world).protocol()), "submitApplication", ALICE)
    (line,) = audit()
    assert shown(line, "OPERATION", "RESULT", "APPID") == ["Submit Application Request", "FAILURE", None]


async def test_reads_leave_no_line_and_stay_synchronous(world: World, audit: AuditLines) -> None:
    protocol = audited_client(client_protocol(world).protocol())
    method = protocol.methods["getClusterMetrics"]
    answer = method.handler(ALICE, method.request_type())
    assert isinstance(answer, msg.GetClusterMetricsResponseProto)
    assert audit() == []


async def test_administrative_acts_and_their_refusals_leave_a_line(world: World, audit: AuditLines) -> None:
    protocol = audited_admin(AdminProtocol(await Administration(world).service()).protocol())
    await call(protocol, "refreshQueues", context("admin"))
    (line,) = audit()
    assert shown(line, "USER", "OPERATION", "TARGET", "RESULT") == ["admin", "refreshQueues", "AdminService", "SUCCESS"]
    with pytest.raises(AccessDenied):
        await call(protocol, "refreshNodes", MALLORY)
    (line,) = audit()
    assert shown(line, "USER", "OPERATION", "RESULT") == ["mallory", "refreshNodes", "FAILURE"]
    await call(protocol, "getGroupsForUser", ALICE)
    assert audit() == []
    with pytest.raises(AccessDenied):
        await call(protocol, "checkForDecommissioningNodes", MALLORY)
    assert [line["OPERATION"] for line in audit()] == ["checkForDecommissioningNodes"]
