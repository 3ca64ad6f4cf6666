"""``yarn schedulerconf``'s calls in all the forms that clients write, and Hadoop's answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import httpx2
import pytest

from tests.support.records import an_application
from tests.support.rest_world import RestWorld, rest_world
from yodel.domain.acl import AccessRules, Acl
from yodel.domain.queues.queue import Queue

ADMIN = {"user.name": "admin"}
PREFIX = "yarn.scheduler.capacity."
HALVES = {
    "add-queue": [{"queue-name": "root.a", "params": {"entry": [{"key": "capacity", "value": "40"}]}}],
    "update-queue": [{"queue-name": "root.default", "params": {"entry": {"key": "capacity", "value": 60}}}],
}
HALVES_XML = """<?xml version="1.0" encoding="UTF-8"?>
<sched-conf>
  <update-queue><queue-name>root.default</queue-name>
    <params><entry><key>capacity</key><value>60</value></entry></params></update-queue>
  <add-queue><queue-name>root.a</queue-name>
    <params><entry><key>capacity</key><value>40</value></entry><entry><key>state</key><value>STOPPED</value></entry>
    </params></add-queue>
</sched-conf>"""


async def put(world: RestWorld, body: Any, user: str | None = "admin", **arguments: Any) -> httpx2.Response:
    query = {"user.name": user} if user is not None else {}
    world.client.cookies.clear()  # a cookie counts before the name
    content = {"content": body} if isinstance(body, str) else {"json": body}
    return await world.client.put("/ws/v1/cluster/scheduler-conf", params=query, **content, **arguments)


async def properties(world: RestWorld) -> dict[str, str]:
    found = await world.json("/scheduler-conf")
    assert list(found) == ["property"]
    return {one["name"]: one["value"] for one in found["property"]}


async def test_configuration_is_read_by_anybody_where_acls_are_off(world: RestWorld) -> None:
    assert (await properties(world))[f"{PREFIX}root.queues"] == "default"
    assert await world.json("/scheduler-conf/version") == {"configversion": {"versionID": 1}}
    xml = (await world.get("/scheduler-conf", headers={"Accept": "application/xml"})).text
    assert "<configuration><property><name>yarn.scheduler.capacity." in xml


async def test_no_change_at_all_is_what_java_falls_over(world: RestWorld) -> None:
    answer = await world.client.put("/ws/v1/cluster/scheduler-conf", params=ADMIN)
    told = answer.json()["RemoteException"]
    assert (answer.status_code, told["exception"]) == (503, "NullPointerException")
    assert 'SchedConfUpdateInfo.getRemoveQueueInfo()" because "mutationInfo" is null' in told["message"]


async def test_change_is_answered_in_plain_text_and_seen_by_all(world: RestWorld) -> None:
    changed = await put(world, HALVES)
    assert (changed.status_code, changed.text) == (200, "Configuration change successfully applied.")
    assert changed.headers["content-type"] == "application/json;charset=utf-8"
    assert (await world.json("/scheduler-conf/version"))["configversion"]["versionID"] == 2
    assert (await properties(world))[f"{PREFIX}root.queues"] == "default,a"
    queues = (await world.json("/scheduler"))["scheduler"]["schedulerInfo"]["queues"]["queue"]
    assert {queue["queueName"]: queue["capacity"] for queue in queues} == {"default": 60.0, "a": 40.0}


async def test_change_keeps_the_other_limits_of_the_scheduler(world: RestWorld) -> None:
    limits = replace(world.rm.scheduler.limits, in_flight_max=7)
    world.rm.scheduler.use_limits(limits)
    body = {"global-updates": {"entry": {"key": f"{PREFIX}maximum-am-resource-percent", "value": "0.4"}}}
    assert (await put(world, body)).status_code == 200
    assert world.rm.scheduler.limits == world.rm.queries.limits == replace(limits, am_share=0.4)


async def test_change_may_be_xml(world: RestWorld) -> None:
    changed = await put(world, HALVES_XML, headers={"Content-Type": "application/xml", "Accept": "application/xml"})
    assert (changed.status_code, changed.headers["content-type"]) == (200, "application/xml;charset=utf-8")
    assert (await properties(world))[f"{PREFIX}root.a.state"] == "STOPPED"
    removed = "<sched-conf><remove-queue>root.a</remove-queue><update-queue><queue-name>root.default</queue-name>"
    removed += "<params><entry><key>capacity</key><value>100</value></entry></params></update-queue></sched-conf>"
    changed = await put(world, removed, headers={"Content-Type": "application/xml"})
    assert changed.text == "Configuration change successfully applied."
    assert (await properties(world))[f"{PREFIX}root.queues"] == "default"


@pytest.mark.parametrize(
    "body",
    [
        {"sched-conf": HALVES},
        {**HALVES, "add-queue": HALVES["add-queue"][0]},
        {
            "global-updates": [
                {
                    "entry": [
                        {"key": f"{PREFIX}root.queues", "value": "default,a"},
                        {"key": f"{PREFIX}root.a.capacity", "value": "40"},
                        {"key": f"{PREFIX}root.default.capacity", "value": "60"},
                    ]
                }
            ]
        },
        {
            "addQueueInfo": [{"queue": "root.a", "params": {"capacity": "40"}}],
            "removeQueueInfo": [],
            "updateQueueInfo": [{"queue": "root.default", "params": {"capacity": "60"}}],
            "subClusterId": None,
            "globalParams": {},
        },
        {
            "add-queue": {"queue-name": "root.a", "params": {"entry": {"key": "capacity", "value": "40"}}},
            "update-queue": {"queue-name": "root.default", "params": {"entry": {"key": "capacity", "value": "60"}}},
            "subClusterId": "",
            "global": {"entry": {"key": f"{PREFIX}maximum-am-resource-percent", "value": "0.4"}},
            "global-updates": {"entry": {"key": f"{PREFIX}maximum-am-resource-percent", "value": "0.4"}},
        },
    ],
    ids=[
        "with a root",
        "one item for a list",
        "by full names",
        "as the command line of Hadoop 3.5",
        "as the command line of Hadoop 3.4",
    ],
)
async def test_change_may_be_written_in_many_ways(world: RestWorld, body: Any) -> None:
    assert (await put(world, body)).status_code == 200
    assert (await properties(world))[f"{PREFIX}root.a.capacity"] == "40"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"remove-queue": "root.z"}, "Queue root.z not found"),
        ({"remove-queue": ["root"]}, "Can't remove queue root"),
        ({"add-queue": {"queue-name": "root.default"}}, "Can't add existing queue root.default"),
        (
            {"add-queue": {"queue-name": "root.a", "params": {"entry": {"key": "capacity", "value": "9"}}}},
            "Failed to re-init queues : Illegal capacity sum of 1.09 for children of queue root for label=. "
            "It should be either 0 or 1.0",
        ),
        (
            {"global-updates": {"entry": {"key": f"{PREFIX}root.maximum-applications", "value": "5"}}},
            "Failed to re-init queues : Property yarn.scheduler.capacity.root.maximum-applications is not supported: "
            "it has no effect, root is not a leaf queue",
        ),
    ],
)
async def test_refused_change_is_a_bad_request_in_plain_text(world: RestWorld, body: Any, text: str) -> None:
    refused = await put(world, body)
    assert (refused.status_code, refused.text) == (400, text)
    judged = await world.client.post("/ws/v1/cluster/scheduler-conf/validate", params=ADMIN, json=body)
    validation = "CapacityScheduler configuration validation failed:java.io.IOException: "
    assert (judged.status_code, judged.text) == (400, validation + text)


@pytest.mark.parametrize(
    "body",
    [
        {"add-queue": [{"name": "root.a"}]},
        {"add-queue": ["root.a"]},
        {"update-queue": {"queue-name": "root.default", "params": "capacity"}},
        {"update-queue": {"queue-name": "root.default", "params": {"capacity": ["1"]}}},
        {"update-queue": {"queue-name": "root.default", "params": {"entry": [{"value": "1"}]}}},
        {"update-queue": {"queue-name": "root.default", "params": {"entry": [{"key": "capacity", "value": {}}]}}},
        {"remove-queue": [1]},
        {"delete-queue": "root.a"},
        {"remove-queue": ["root.a"] * 10_001},
        [],
    ],
)
async def test_body_that_is_no_change_is_refused(world: RestWorld, body: Any) -> None:
    assert (await put(world, body)).status_code == 400
    assert (await world.json("/scheduler-conf/version"))["configversion"]["versionID"] == 1


async def test_who_has_no_name_or_is_no_administrator_changes_nothing(world: RestWorld) -> None:
    assert (await put(world, HALVES, None)).status_code == 401
    assert (await world.get("/scheduler-conf/format")).status_code == 401
    refused = await put(world, HALVES, "alice")
    assert (refused.status_code, refused.text) == (400, "User is not admin of all modified queues.")
    refused = await world.get("/scheduler-conf/format", params={"user.name": "alice"})
    assert (refused.status_code, refused.text) == (400, "User is not admin of all modified queues.")
    assert (await properties(world))[f"{PREFIX}root.queues"] == "default"


async def test_with_acls_only_administrators_come_as_far(world: RestWorld) -> None:
    async with rest_world(rules=AccessRules(admin_acl=Acl.parse("admin"), is_view_checked=True)) as guarded:
        for path in ("", "/version", "/format"):
            refused = await guarded.get(f"/scheduler-conf{path}", params={"user.name": "alice"})
            assert (refused.status_code, refused.json()["RemoteException"]["message"]) == (
                403,
                "Only admins can carry out this operation.",
            )
        assert (await put(guarded, HALVES, "alice")).status_code == 403
        assert (await put(guarded, HALVES)).status_code == 200


async def test_validation_shows_the_configuration_that_would_be(world: RestWorld) -> None:
    judged = await world.client.post("/ws/v1/cluster/scheduler-conf/validate", params=ADMIN, json=HALVES)
    found = {one["name"]: one["value"] for one in judged.json()["property"]}
    assert (judged.status_code, found[f"{PREFIX}root.queues"]) == (200, "default,a")
    assert (await properties(world))[f"{PREFIX}root.queues"] == "default"


async def test_format_goes_back_to_the_settings(world: RestWorld) -> None:
    body = {**HALVES, "add-queue": {"queue-name": "root.a", "params": HALVES["add-queue"][0]["params"]}}
    stopped = {"key": "state", "value": "STOPPED"}
    body["add-queue"] = {"queue-name": "root.a", "params": {"entry": [{"key": "capacity", "value": "40"}, stopped]}}
    assert (await put(world, body)).status_code == 200
    formatted = await world.get("/scheduler-conf/format", params=ADMIN)
    assert (formatted.status_code, formatted.text) == (200, "Configuration under store successfully formatted.")
    assert (await properties(world))[f"{PREFIX}root.queues"] == "default"
    assert (await world.json("/scheduler-conf/version"))["configversion"]["versionID"] == 3


async def test_queue_is_for_those_it_names_where_acls_are_on() -> None:
    queues = (
        Queue(path="root", is_leaf=False, submit_acl=" ", administer_acl=" "),
        Queue(path="root.default", submit_acl="alice", administer_acl="carol"),
    )
    rules = AccessRules(admin_acl=Acl.parse("admin"), is_view_checked=True)
    async with rest_world(queues=queues, rules=rules) as world:
        for user, allowed in (("alice", True), ("carol", True), ("admin", True), ("bob", False)):
            world.client.cookies.clear()
            application_id = await world.new_id(user)
            assert world.rm.rights.may_submit("root.default", user) is allowed
            body = {"application-id": application_id, "application-name": "x", "queue": "default"}
            submitted = await world.post("/apps", body, params={"user.name": user})
            text = f"User {user} does not have permission to submit {application_id} to queue default"
            assert (submitted.status_code == 202) is allowed, submitted.text
            assert (text in submitted.text) is not allowed
        application = next(iter(world.rm.state.applications.values()))
        assert world.rm.rights.may_modify(application, "carol")
        assert not world.rm.rights.may_modify(application, "bob")


async def test_access_to_a_queue_is_told_to_who_administers_it() -> None:
    queues = (
        Queue(path="root", is_leaf=False, submit_acl=" ", administer_acl=" "),
        Queue(path="root.default", submit_acl="alice", administer_acl="carol"),
    )
    rules = AccessRules(admin_acl=Acl.parse("admin"), is_view_checked=True)
    async with rest_world(queues=queues, rules=rules) as world:
        path = "/queues/default/access"
        carol = {"user.name": "carol", "user": "alice"}
        assert (await world.get(path, params=carol)).json()["allowed"] is True
        told = (await world.get(path, params={**carol, "queue-acl-type": "ADMINISTER_QUEUE"})).json()
        text = "User=alice doesn't have access to queue=default with acl-type=ADMINISTER_QUEUE"
        assert (told["allowed"], told["diagnostics"]) == (False, text)
        world.client.cookies.clear()
        assert (await world.get(path, params={"user.name": "alice", "user": "alice"})).status_code == 403


async def test_scheduler_shows_lists_lifetimes_and_a_queue_that_drains(world: RestWorld) -> None:
    entries = {"state": "STOPPED", "maximum-application-lifetime": "60", "acl_submit_applications": "alice,bob etl"}
    params = {"entry": [{"key": key, "value": value} for key, value in entries.items()]}
    await world.put(an_application(1))
    assert (await put(world, {"update-queue": {"queue-name": "root.default", "params": params}})).status_code == 200
    (queue,) = (await world.json("/scheduler"))["scheduler"]["schedulerInfo"]["queues"]["queue"]
    acls = {acl["accessType"]: acl["accessControlList"] for acl in queue["queueAcls"]["queueAcl"]}
    assert (queue["state"], queue["maxApplicationLifetime"]) == ("DRAINING", 60)
    assert (acls["SUBMIT_APP"], acls["ADMINISTER_QUEUE"]) == ("alice,bob etl", " ")


# --- logs


async def logs(world: RestWorld, **form: str) -> httpx2.Response:
    return await world.client.post("/ws/v1/cluster/scheduler/logs", params=ADMIN, data=form)


async def test_logs_are_made_for_a_time(world: RestWorld) -> None:
    made = await logs(world, time="5")
    assert (made.status_code, made.text) == (200, "Capacity scheduler logs are being created.")
    assert world.rm.scheduler.activities.asked([]) is not None
    world.clock.elapsed_ms += 6000
    world.rm.scheduler.activities.asked([])
    assert world.rm.scheduler.activities.asked([]) is None


@pytest.mark.parametrize(
    ("form", "text"),
    [({"time": "0"}, "Period must be greater than 0"), ({"time": "x"}, 'For input string: "x"'), ({}, "null")],
)
async def test_time_of_logs_is_a_number_of_seconds(world: RestWorld, form: dict[str, str], text: str) -> None:
    refused = await logs(world, **form)
    assert refused.status_code == 400
    assert text in refused.json()["RemoteException"]["message"]


@pytest.mark.parametrize("route", ["PUT /scheduler-conf", "POST /scheduler-conf/validate"])
async def test_change_and_its_validation_ask_for_an_administrator_before_they_read(
    world: RestWorld, route: str
) -> None:
    method, path = route.split()
    for content in ("{", '{"add-queue": 3}', "{}"):
        world.client.cookies.clear()
        answer = await world.client.request(
            method,
            f"/ws/v1/cluster{path}",
            params={"user.name": "mallory"},
            content=content,
            headers={"Content-Type": "application/json"},
        )
        assert (answer.status_code, answer.text) == (400, "User is not admin of all modified queues.")


@pytest.mark.parametrize("path", ["/scheduler-conf", "/scheduler-conf/validate"])
@pytest.mark.parametrize(
    "body",
    [
        {"global-updates": [{"entry": [{"key": f"{PREFIX}root{'.user-settings' * 9_000}.weight", "value": "1"}]}]},
        {"add-queue": [{"queue-name": f"root.q{number}"} for number in range(9_000)]},
        {"update-queue": [{"queue-name": "root", "params": {"entry": {"key": "queues", "value": "a," * 20_000}}}]},
        {"remove-queue": ["root" + ".a" * 30_000]},
    ],
)
async def test_what_is_too_long_or_too_many_is_refused_in_few_words(world: RestWorld, path: str, body: Any) -> None:
    method = "POST" if path.endswith("validate") else "PUT"
    answer = await world.client.request(method, f"/ws/v1/cluster{path}", params=ADMIN, json=body)
    assert answer.status_code == 400
    assert len(answer.text) < 400
    assert "expected" in answer.text
