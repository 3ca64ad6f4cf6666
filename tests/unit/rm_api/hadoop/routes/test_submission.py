"""New ids and submissions."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.fakes import NoUsers
from tests.support.records import a_node
from tests.support.rest_world import RestWorld, rest_world
from yodel.domain.acl import AccessRules, Acl
from yodel.domain.ids import ApplicationId
from yodel.domain.queues.queue import Queue
from yodel.domain.resource import Resource
from yodel.domain.states import ApplicationState, NodeState
from yodel.errors import Unavailable
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_rpc.writable import parse_credentials
from yodel.ports.identity import PosixUser


def a_body(application_id: str, **changes: Any) -> dict[str, Any]:
    spec = {"commands": {"command": "sleep 1"}}
    body = {"application-id": application_id, "application-name": "x", "am-container-spec": spec}
    return {**body, "resource": {"memory": 300, "vCores": 1}, **changes}


async def test_ids_follow_one_another(world: RestWorld) -> None:
    first, second = await world.new_id(), await world.new_id()
    assert ApplicationId.parse(second).sequence == ApplicationId.parse(first).sequence + 1


async def test_submission_is_accepted_with_its_location(world: RestWorld) -> None:
    application_id = await world.new_id()
    answer = await world.post("/apps?user.name=alice", a_body(application_id))
    assert (answer.status_code, answer.content) == (202, b"")
    assert answer.headers["location"] == f"http://rm-host:8088/ws/v1/cluster/apps/{application_id}"
    row = world.rm.state.applications[ApplicationId.parse(application_id)]
    assert (row.submission.user, row.submission.queue, row.state) == (
        "alice",
        "root.default",
        ApplicationState.ACCEPTED,
    )
    assert row.submission.am_capability == Resource(512, 1)


async def test_repeated_submission_is_accepted_without_effect(world: RestWorld) -> None:
    application_id = await world.new_id()
    await world.post("/apps?user.name=alice", a_body(application_id))
    before = world.rm.state.applications[ApplicationId.parse(application_id)]
    again = await world.post("/apps?user.name=alice", a_body(application_id, **{"application-name": "other"}))
    assert again.status_code == 202
    assert world.rm.state.applications[ApplicationId.parse(application_id)] is before


async def test_largest_node_is_told_and_what_is_over_it_refused(world: RestWorld) -> None:
    await world.put(a_node(state=NodeState.RUNNING, capability=Resource(2048, 6)))
    new = (await world.post("/apps/new-application?user.name=alice")).json()
    told = new["maximum-resource-capability"]
    assert (told["memory"], told["vCores"]) == (2048, 6)
    shown = (await world.json("/scheduler-overview"))["scheduler"]["maximumAllocation"]
    assert (shown["memory"], shown["vCores"]) == (2048, 6)
    for memory_mib, words in (
        (2560, "maximum allowed allocation"),
        (8193, "Requested more memory than configured max"),
    ):
        body = a_body(new["application-id"], resource={"memory": memory_mib, "vCores": 1})
        refused = await world.post("/apps?user.name=alice", body)
        assert refused.status_code == 400
        assert words in refused.text
    assert world.rm.state.applications == {}


async def test_unknown_queue_is_accepted_and_fails(world: RestWorld) -> None:
    application_id = await world.new_id()
    assert (await world.post("/apps?user.name=alice", a_body(application_id, queue="nope"))).status_code == 202
    app = (await world.json(f"/apps/{application_id}"))["app"]
    assert (app["state"], app["finalStatus"], app["trackingUI"]) == ("FAILED", "FAILED", "UNASSIGNED")
    whose = f"Application {application_id} submitted by user alice"
    assert app["diagnostics"] == f"{whose}{whose} to unknown queue: nope"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"resource": {"memory": 8193, "vCores": 1}}, "Requested more memory than configured max"),
        ({"resource": {"memory": 1, "vCores": 9}}, "Requested more cores than configured max"),
        ({"resource": {"memory": -5, "vCores": 1}}, "requested resource is less than 0!"),
        ({"application-tags": {"tag": ["x" * 101]}}, "is too long, maximum allowed length of a tag is 100"),
        ({"application-tags": {"tag": [str(n) for n in range(11)]}}, "Too many applicationTags"),
        ({"max-app-attempts": "many"}, "Invalid max-app-attempts: 'many'; expected a whole number"),
        ({"am-container-spec": []}, "Invalid am-container-spec: 'a list'; expected an object"),
        (
            {"am-container-spec": {"credentials": {"tokens": {"entry": {"key": "hdfs", "value": "!"}}}}},
            "Could not parse credentials data; exception message = Invalid tokens[hdfs]",
        ),
    ],
)
async def test_bad_submission_says_what_is_wrong(world: RestWorld, changes: dict[str, Any], message: str) -> None:
    answer = await world.post("/apps?user.name=alice", a_body(await world.new_id(), **changes))
    inner = answer.json()["RemoteException"]
    assert (answer.status_code, inner["exception"]) == (400, "BadRequestException")
    assert message in inner["message"]
    assert not world.rm.state.applications


@pytest.mark.parametrize(
    ("text", "status", "exception", "message"),
    [
        ("x_1_2", 404, "IOException", "The specified reservation id is invalid: x_1_2"),
        ("reservation_1", 404, "IOException", "The specified reservation id is not parseable: reservation_1"),
        ("reservation_1_x", 400, "NumberFormatException", 'For input string: "x"'),
    ],
)
async def test_bad_reservation_has_hadoops_several_answers(
    world: RestWorld, text: str, status: int, exception: str, message: str
) -> None:
    answer = await world.post("/apps?user.name=alice", a_body(await world.new_id(), **{"reservation-id": text}))
    inner = answer.json()["RemoteException"]
    assert (answer.status_code, inner["exception"], inner["message"]) == (status, exception, message)


async def test_submission_without_a_body_falls_over_as_hadoop_does(world: RestWorld) -> None:
    answer = await world.post("/apps?user.name=alice")
    inner = answer.json()["RemoteException"]
    assert (answer.status_code, inner["exception"]) == (503, "NullPointerException")
    assert inner["message"].endswith('ApplicationSubmissionContextInfo.getApplicationId()" because "newApp" is null')


@pytest.mark.parametrize("path", ["/apps", "/apps/new-application"])
async def test_submissions_may_be_disabled(path: str) -> None:
    async with rest_world(are_submissions_enabled=False) as world:
        answer = await world.post(f"{path}?user.name=alice", a_body("application_1_0001"))
        assert (answer.status_code, answer.text) == (403, "App submission via REST is disabled.")
        assert not world.rm.state.applications


async def test_priority_is_minus_one_when_none_is_given(world: RestWorld) -> None:
    application_id = await world.new_id()
    await world.post("/apps?user.name=alice", a_body(application_id))
    assert (await world.json(f"/apps/{application_id}"))["app"]["priority"] == -1


async def test_lookup_of_the_user_that_fails_is_503_and_leaves_nothing(
    world: RestWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent(*_: object) -> PosixUser:
        raise Unavailable("the directory does not answer")

    monkeypatch.setattr(NoUsers, "is_mapped", lambda *_: True)
    monkeypatch.setattr(NoUsers, "posix_user", silent)
    answer = await world.post("/apps?user.name=alice", a_body(await world.new_id()))
    assert (answer.status_code, "the directory does not answer" in answer.text) == (503, True)
    assert world.rm.state.applications == {}


async def test_priority_above_the_clusters_is_told_with_the_answer(world: RestWorld) -> None:
    answer = await world.post("/apps?user.name=alice", a_body(await world.new_id(), priority=11))
    assert answer.headers["warning"].startswith(
        '299 - "Priority 11 was requested and reduced to 10, the highest allowed: '
    )
    answer = await world.post("/apps?user.name=alice", a_body(await world.new_id(), priority=10))
    assert "warning" not in answer.headers


async def test_queue_that_is_not_for_the_user_is_a_bad_request_that_names_javas_exception() -> None:
    root = Queue(path="root", is_leaf=False, submit_acl=" ", administer_acl=" ")
    queues = (root, Queue(path="root.default", submit_acl="alice"))
    rules = AccessRules(admin_acl=Acl.parse("admin"), is_view_checked=True)
    async with rest_world(queues=queues, rules=rules) as world:
        application_id = await world.new_id("bob")
        answer = await world.post("/apps?user.name=bob", a_body(application_id))
        inner = answer.json()["RemoteException"]
        assert (answer.status_code, inner["exception"]) == (400, "BadRequestException")
        assert inner["message"] == (
            "org.apache.hadoop.security.AccessControlException: User bob does not have permission to submit "
            f"{application_id} to queue default"
        )


XML = """<application-submission-context><application-id>{id}</application-id><application-name>pi</application-name>
<queue>default</queue><priority>3</priority><am-container-spec>
<local-resources><entry><key>a.jar</key><value><resource>hdfs://nn:8020/a.jar</resource><type>FILE</type>
<visibility>PRIVATE</visibility><size>5</size><timestamp>7</timestamp></value></entry></local-resources>
<environment><entry><key>A</key><value>1</value></entry></environment>
<commands><command>sleep</command><command>1</command></commands>
<service-data><entry><key>mapreduce_shuffle</key><value>AAE</value></entry></service-data>
<credentials><tokens/><secrets><entry><key>s</key><value>c2VjcmV0</value></entry></secrets></credentials>
<application-acls><entry><key>VIEW_APP</key><value>bob</value></entry><entry><key>MODIFY_APP</key><value>carol</value>
</entry></application-acls></am-container-spec><unmanaged-AM>false</unmanaged-AM><max-app-attempts>1</max-app-attempts>
<resource><memory>300</memory><vCores>2</vCores></resource><application-type>DEMO</application-type>
<keep-containers-across-application-attempts>true</keep-containers-across-application-attempts>
<application-tags><tag>one</tag></application-tags><app-node-label-expression></app-node-label-expression>
<log-aggregation-context><log-include-pattern>std.*</log-include-pattern></log-aggregation-context>
<attempt-failures-validity-interval>60000</attempt-failures-validity-interval>
<reservation-id>reservation_17_0003</reservation-id></application-submission-context>"""


async def test_xml_body_is_read_as_whole_as_json(world: RestWorld) -> None:
    application_id = await world.new_id()
    answer = await world.client.post(
        "/ws/v1/cluster/apps?user.name=alice",
        content=XML.format(id=application_id),
        headers={"content-type": "application/xml", "accept": "application/xml"},
    )
    assert (answer.status_code, answer.content) == (202, b"")
    row = world.rm.state.applications[ApplicationId.parse(application_id)].submission
    assert (row.name, row.application_type, row.tags, row.priority) == ("pi", "DEMO", ("one",), 3)
    assert (row.view_acl, row.modify_acl, row.max_attempts) == ("bob", "carol", 1)
    assert (row.am_asked_capability, row.keep_containers_across_attempts) == (Resource(300, 2), True)
    context = pb.ApplicationSubmissionContextProto.FromString(row.context)
    spec = context.am_container_spec
    assert (list(spec.command), spec.environment[0].key) == (["sleep", "1"], "A")
    assert (spec.localResources[0].value.size, spec.service_data[0].value) == (5, b"\x00\x01")
    assert parse_credentials(spec.tokens).secrets == ((b"s", b"secret"),)
    assert context.log_aggregation_context.include_pattern == "std.*"
    assert (context.reservation_id.id, context.attempt_failures_validity_interval) == (3, 60_000)


REQUEST = """<am-container-resource-requests><capability><memory>512</memory><vCores>1</vCores></capability>
<allocationRequestId>9</allocationRequestId><numContainers>1</numContainers><relaxLocality>true</relaxLocality>
<executionTypeRequest><executionType>GUARANTEED</executionType><enforceExecutionType>true</enforceExecutionType>
</executionTypeRequest>{more}</am-container-resource-requests></application-submission-context>"""


@pytest.mark.parametrize("more", ["", "<allocationTags>a</allocationTags><allocationTags>b</allocationTags>"])
async def test_request_for_the_am_may_come_as_xml(world: RestWorld, more: str) -> None:
    application_id = await world.new_id()
    body = XML.format(id=application_id).replace("</application-submission-context>", REQUEST.format(more=more))
    headers = {"content-type": "application/xml", "accept": "application/json"}
    answer = await world.post("/apps?user.name=alice", content=body, headers=headers)
    assert (answer.status_code, answer.text) == (202, "")
    row = world.rm.state.applications[ApplicationId.parse(application_id)].submission
    (request,) = pb.ApplicationSubmissionContextProto.FromString(row.context).am_container_resource_request
    assert (request.allocation_request_id, request.execution_type_request.enforce_execution_type) == (9, True)
    assert row.am_asked_capability == Resource(512, 1)


async def test_id_is_for_who_was_given_it(world: RestWorld) -> None:
    application_id = await world.new_id("alice")
    world.client.cookies.clear()
    answer = await world.post("/apps?user.name=bob", a_body(application_id))
    assert answer.status_code == 400
    assert f"{application_id} was issued to another caller, not to bob" in answer.json()["RemoteException"]["message"]
    assert world.rm.state.applications == {}
    world.client.cookies.clear()
    assert (await world.post("/apps?user.name=alice", a_body(application_id))).status_code == 202


async def test_id_that_was_never_given_out_is_refused(world: RestWorld) -> None:
    following = ApplicationId.parse(await world.new_id("alice"))
    made_up = ApplicationId(following.cluster_timestamp_ms, following.sequence + 1)
    answer = await world.post("/apps?user.name=alice", a_body(str(made_up)))
    assert answer.status_code == 400
    assert f"{made_up} was not issued to alice" in answer.json()["RemoteException"]["message"]
    assert world.rm.state.applications == {}


async def test_body_that_was_refused_may_come_again_with_its_id(world: RestWorld) -> None:
    application_id = await world.new_id()
    assert (await world.post("/apps?user.name=alice", a_body(application_id, priority="x"))).status_code == 400
    assert (await world.post("/apps?user.name=alice", a_body(application_id))).status_code == 202
    assert len(world.rm.submission.ids) == 0


async def test_id_taken_without_a_name_is_for_the_first_who_has_one() -> None:
    async with rest_world(may_static_user_write=True) as world:
        application_id = (await world.post("/apps/new-application")).json()["application-id"]
        assert (await world.post("/apps?user.name=alice", a_body(application_id))).status_code == 202
        assert world.rm.state.applications[ApplicationId.parse(application_id)].submission.user == "alice"
