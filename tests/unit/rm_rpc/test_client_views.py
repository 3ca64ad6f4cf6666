from __future__ import annotations

from tests.support.playbook import WEB_ADDRESS, World
from tests.support.rm_options import Options
from yodel.domain.ids import ApplicationId
from yodel.domain.tokens import MasterKey, is_signed_by
from yodel.hadoop_pb import Security_pb2 as security_pb
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_pb.yarn_security_token_pb2 import ClientToAMTokenIdentifierProto
from yodel.rm_rpc.client_views import ReportMaker
from yodel.services.applications.log_aggregation import LogAggregationReport, LogAggregationStatus


def maker_of(world: World) -> ReportMaker:
    return ReportMaker(world.rm.queries, world.rm.rights, world.rm.log_aggregation, WEB_ADDRESS)


def report(
    world: World, application_id: ApplicationId, user: str = "alice", maker: ReportMaker | None = None
) -> pb.ApplicationReportProto:
    shown = pb.ApplicationReportProto()
    (maker or maker_of(world)).fill_application(shown, world.rm.queries.application(application_id), user)
    return shown


async def test_links_lead_through_the_proxy_until_the_am_failed(world: World) -> None:
    am = await world.running_am()
    shown = report(world, am.application_id)
    assert shown.trackingUrl == f"http://rm:8088/proxy/{am.application_id}/"
    assert shown.originalTrackingUrl == "http://am-host:4040"
    await world.run(world.rm.submission.kill(am.application_id, "alice"))
    await world.settle()
    killed = report(world, am.application_id)
    assert killed.trackingUrl == killed.originalTrackingUrl == f"http://rm:8088/cluster/app/{am.application_id}"


async def test_who_may_view_gets_a_token_for_the_master_while_there_is_one() -> None:
    async with World(Options(is_secured=True)) as world:
        am = await world.running_am()
        maker = maker_of(world)

        def token_of(user: str) -> security_pb.TokenProto | None:
            shown = report(world, am.application_id, user, maker)
            return shown.client_to_am_token if shown.HasField("client_to_am_token") else None

        token = token_of("alice")
        assert token is not None
        assert (token.kind, token.service) == ("YARN_CLIENT_TOKEN", "")
        key = MasterKey(key_id=0, secret=world.rm.state.attempts[am.attempt_id].client_key)
        assert is_signed_by(key, token.identifier, token.password)
        message = ClientToAMTokenIdentifierProto.FromString(token.identifier)
        assert (message.clientName, message.appAttemptId.attemptId) == ("alice", 1)
        maker.may_view = lambda *_: False  # type: ignore[method-assign]
        assert token_of("eve") is None
        del maker.may_view
        await world.run(world.rm.submission.kill(am.application_id, "alice"))
        await world.settle()
        assert token_of("alice") is None


async def test_am_that_said_no_page_at_its_end_has_none(world: World) -> None:
    am = await world.running_am()
    await am.finish()
    shown = report(world, am.application_id)
    assert (shown.trackingUrl, shown.originalTrackingUrl) == (f"http://rm:8088/proxy/{am.application_id}/", "N/A")


async def test_unmanaged_am_is_not_proxied(world: World) -> None:
    am = await world.running_am(is_unmanaged=True)
    assert report(world, am.application_id).trackingUrl == "http://am-host:4040"


async def test_aggregation_of_logs_is_told(world: World) -> None:
    am = await world.running_am()
    assert report(world, am.application_id).log_aggregation_status == pb.LOG_NOT_START
    assert am.container.node_id is not None
    told = LogAggregationReport(application_id=am.application_id, status=LogAggregationStatus.RUNNING)
    world.rm.log_aggregation.record(am.container.node_id, [told])
    assert report(world, am.application_id).log_aggregation_status == pb.LOG_RUNNING
