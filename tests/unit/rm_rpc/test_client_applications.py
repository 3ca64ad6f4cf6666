from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from tests.support.playbook import WEB_ADDRESS, World
from tests.support.records import an_application_id
from tests.support.rm_options import Options
from tests.support.rpc_calls import call, client_protocol, context
from yodel.domain.ids import ApplicationId
from yodel.domain.queues.queue import leaves_under_root
from yodel.errors import AccessDenied, ApplicationNotFound, NoAccount, Refused
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_pb import yarn_service_protos_pb2 as msg
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.hadoop_rpc.server_policy import KerberosOffer
from yodel.pb_convert import ids
from yodel.pb_convert.times import iso_8601
from yodel.rm_rpc import application_lists
from yodel.rm_rpc.client_applications import ApplicationCalls
from yodel.rm_rpc.client_views import ReportMaker
from yodel.rpc_io.dispatch import RpcProtocol
from yodel.services.applications.submission import SubmissionLimits
from yodel.serving.pieces import PIECE, REPORTS_PIECE


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """Two leaf queues, and priorities up to ten."""
    options = Options(
        queues=leaves_under_root(("default", "night"), maximum_lifetime_s=3600, default_lifetime_s=-1),
        submission=SubmissionLimits(max_priority=10),
    )
    async with World(options) as world:
        yield world


@pytest.fixture
def protocol(world: World) -> RpcProtocol:
    return client_protocol(world).protocol()


async def report_of(protocol: RpcProtocol, application_id: ApplicationId) -> Any:
    request = msg.GetApplicationReportRequestProto(application_id=ids.application_id_pb(application_id))
    return (await call(protocol, "getApplicationReport", context(), request)).application_report


def a_move(application_id: ApplicationId, queue: str) -> msg.MoveApplicationAcrossQueuesRequestProto:
    return msg.MoveApplicationAcrossQueuesRequestProto(
        application_id=ids.application_id_pb(application_id), target_queue=queue
    )


async def test_moved_application_is_in_the_other_queue(world: World, protocol: RpcProtocol) -> None:
    am = await world.running_am()
    await world.run(call(protocol, "moveApplicationAcrossQueues", context(), a_move(am.application_id, "night")))
    assert (await report_of(protocol, am.application_id)).queue == "root.night"
    listed = await call(protocol, "getApplications", context(), msg.GetApplicationsRequestProto(queues=["night"]))
    assert len(listed.applications) == 1


async def test_priority_is_answered_as_it_is_now(world: World, protocol: RpcProtocol) -> None:
    am = await world.running_am()
    request = msg.UpdateApplicationPriorityRequestProto(
        applicationId=ids.application_id_pb(am.application_id), applicationPriority=pb.PriorityProto(priority=99)
    )
    answer = await world.run(call(protocol, "updateApplicationPriority", context(), request))
    assert answer.applicationPriority.priority == 10
    assert (await report_of(protocol, am.application_id)).priority.priority == 10


async def test_timeout_is_answered_with_what_the_queue_allows(world: World, protocol: RpcProtocol) -> None:
    am = await world.running_am()
    far = iso_8601(world.clock.now_ms() + 86_400_000)
    request = msg.UpdateApplicationTimeoutsRequestProto(applicationId=ids.application_id_pb(am.application_id))
    request.application_timeouts.add(application_timeout_type="APP_TIMEOUT_LIFETIME", expire_time=far)
    answer = await world.run(call(protocol, "updateApplicationTimeouts", context(), request))

    (entry,) = answer.application_timeouts
    latest = iso_8601(world.application(am.application_id).submitted_ms + 3_600_000)
    assert (entry.application_timeout_type, entry.expire_time) == (pb.APP_TIMEOUT_LIFETIME, latest)
    (shown,) = (await report_of(protocol, am.application_id)).appTimeouts
    assert shown.application_timeout.expire_time == latest


async def test_report_without_an_id_is_refused_as_hadoop_does(protocol: RpcProtocol) -> None:
    with pytest.raises(RemoteFault, match="Invalid application id: null") as raised:
        await call(protocol, "getApplicationReport", context())
    assert raised.value.java_class.endswith(".ApplicationNotFoundException")


async def test_unknown_application_cannot_be_killed_in_hadoops_words(world: World, protocol: RpcProtocol) -> None:
    request = msg.KillApplicationRequestProto(application_id=ids.application_id_pb(ApplicationId(1, 1)))
    with pytest.raises(ApplicationNotFound, match="Trying to kill an absent application application_1_0001"):
        await world.run(call(protocol, "forceKillApplication", context(), request))


async def test_lifetime_of_a_submission_has_to_be_positive(world: World, protocol: RpcProtocol) -> None:
    request = msg.SubmitApplicationRequestProto()
    given = request.application_submission_context
    given.application_id.CopyFrom(ids.application_id_pb(ApplicationId(1, 1)))
    given.am_container_spec.command.append("run")
    given.application_timeouts.add(application_timeout_type="APP_TIMEOUT_LIFETIME", timeout=-5)
    with pytest.raises(Refused, match="Invalid application timeout, value=-5 for type=LIFETIME"):
        await world.run(call(protocol, "submitApplication", context(), request))


@pytest.mark.parametrize(
    ("principal", "real_user", "words"),
    [
        ("bob@EXAMPLE.COM", None, ". The principal bob@EXAMPLE.COM is the user bob by the rule DEFAULT"),
        ("bob@ELSEWHERE", None, ". The principal bob@ELSEWHERE is the user bob without a rule"),
        ("oozie@EXAMPLE.COM", "oozie", ""),
        ("", None, ""),
    ],
    ids=["rule", "no-rule", "proxy", "token"],
)
async def test_user_without_an_account_learns_which_rule_made_the_name(
    world: World, principal: str, real_user: str | None, words: str
) -> None:
    async def refuse(*_: object) -> None:
        raise NoAccount("User bob not found")

    offer = KerberosOffer(
        protocol="rm", server_id="rm", short_name=str, rule_of=lambda name: "DEFAULT" * name.endswith("EXAMPLE.COM")
    )
    rm = world.rm
    reports = ReportMaker(rm.queries, rm.rights, rm.log_aggregation, WEB_ADDRESS)
    calls = ApplicationCalls(rm.queries, rm.rights, rm.submission, rm.changes, reports, offer)
    rm.submission.submit_given = refuse  # type: ignore[method-assign]
    request = msg.SubmitApplicationRequestProto()
    given = request.application_submission_context
    given.application_id.CopyFrom(ids.application_id_pb(an_application_id()))
    given.am_container_spec.command.append("run")
    caller = replace(context("bob"), principal=principal, real_user=real_user)
    with pytest.raises(NoAccount) as refused:
        await calls.submit_application(caller, request)
    assert str(refused.value) == f"User bob not found{words}{' (security.auth_to_local)' if words else ''}"


@pytest.mark.parametrize("method", ["moveApplicationAcrossQueues", "forceKillApplication"])
async def test_stranger_changes_nothing(world: World, protocol: RpcProtocol, method: str) -> None:
    am = await world.running_am()
    request = protocol.methods[method].request_type(application_id=ids.application_id_pb(am.application_id))
    with pytest.raises(AccessDenied):
        await world.run(call(protocol, method, context("mallory"), request))


async def test_others_have_turns_while_a_long_list_is_made(world: World) -> None:
    for number in range(3 * REPORTS_PIECE):
        await world.submit(name=f"job-{number}")
    handlers = client_protocol(world).protocol().methods
    answer = handlers["getApplications"].handler(context("alice"), msg.GetApplicationsRequestProto())
    assert asyncio.iscoroutine(answer)
    listing, turns = asyncio.create_task(answer), 0
    while not listing.done():
        await asyncio.sleep(0)
        turns += 1
    names = [report.name for report in (await listing).applications]
    assert names == [f"job-{number}" for number in reversed(range(3 * REPORTS_PIECE))]
    assert turns > 3


@pytest.mark.parametrize("number", [0, 3 * PIECE])
async def test_others_have_turns_while_a_long_list_is_searched_in_vain(
    world: World, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """The search looks at one application that stands for as many as there could be."""
    am = await world.running_am()
    monkeypatch.setattr(application_lists, "newest_first", lambda *_: [am.application_id] * number)
    handler = client_protocol(world).protocol().methods["getApplications"].handler
    answer = handler(context("alice"), msg.GetApplicationsRequestProto(users=["nobody"]))
    assert asyncio.iscoroutine(answer)
    listing, turns = asyncio.create_task(answer), 0
    while not listing.done():
        await asyncio.sleep(0)
        turns += 1
    assert not (await listing).applications
    assert turns > number // PIECE


async def test_application_that_is_forgotten_while_a_list_is_made_is_left_out(world: World) -> None:
    for number in range(2 * REPORTS_PIECE):
        await world.submit(name=f"job-{number}")
    handler = client_protocol(world).protocol().methods["getApplications"].handler
    answer = handler(context("alice"), msg.GetApplicationsRequestProto())
    assert asyncio.iscoroutine(answer)
    listing = asyncio.create_task(answer)
    await asyncio.sleep(0)
    oldest, *_ = world.rm.state.applications
    row = world.rm.state.applications.pop(oldest)
    names = [report.name for report in (await listing).applications]
    world.rm.state.applications[oldest] = row
    assert names == [f"job-{number}" for number in reversed(range(1, 2 * REPORTS_PIECE))]
