"""Queues are changed by whoever looked at them as they are, and what was changed can be read and taken back."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from ipaddress import ip_network
from typing import Any

import httpx2
import pytest

from tests.support.api_rows import NODE, RUNNING, fill
from tests.support.records import a_container, a_submission, an_application, an_attempt
from tests.support.rest_world import RestWorld, rest_world
from yodel.domain.acl import AccessRules, Acl
from yodel.domain.preemption.rules import PreemptionRules
from yodel.domain.queues.properties import MAXIMUM_AM_SHARE
from yodel.domain.scheduler_conf import PREFIX, ConfUpdate
from yodel.domain.states import ApplicationState, AttemptState, ContainerState
from yodel.errors import Unavailable
from yodel.rm_api.v1 import queue_changes
from yodel.services.scheduling.configuration import assembling

HALVES = {
    "path": "root.a",
    "properties": {"capacity": "50"},
    "change": [{"path": "root.default", "properties": {"capacity": "50"}}],
    "reason": "two teams",
}
REPLACED = {"delete": ["root.default"], "change": [{"path": "root.a", "properties": {"capacity": "100"}}]}
STOP = {
    "change": [
        {"path": "root.a", "properties": {"capacity": "0", "state": "STOPPED"}},
        {"path": "root.default", "properties": {"capacity": "100"}},
    ]
}


async def call(
    world: RestWorld,
    method: str,
    path: str,
    body: Any = None,
    *,
    since: object = None,
    user: str = "admin",
    **query: str,
) -> httpx2.Response:
    """``since`` is the version that a change is made from."""
    world.client.cookies.clear()
    headers = {} if since is None else {"If-Match": since if isinstance(since, str) else f'"{since}"'}
    content = {} if body is None else {"json": body}
    return await world.client.request(
        method, f"/api/v1{path}", params={"user.name": user, **query}, headers=headers, **content
    )


async def halved(world: RestWorld) -> None:
    assert (await call(world, "POST", "/queues", HALVES, since=1)).status_code == 201


def paths(world: RestWorld) -> set[str]:
    return set(world.rm.state.queues)


async def test_created_queue_is_there_with_a_new_version(world: RestWorld) -> None:
    answer = await call(world, "POST", "/queues", HALVES, since=1)
    assert (answer.status_code, answer.headers["etag"]) == (201, '"2"')
    found = answer.json()
    assert (found["version"], found["author"], found["reason"], found["is_dry_run"]) == (2, "admin", "two teams", False)
    assert found["changes"] == [
        {"property": f"{PREFIX}root.a.capacity", "before": None, "after": "50"},
        {"property": f"{PREFIX}root.default.capacity", "before": "100", "after": "50"},
        {"property": f"{PREFIX}root.queues", "before": "default", "after": "default,a"},
    ]
    looked = await call(world, "GET", "/queues/root.a")
    assert (looked.headers["etag"], looked.json()["capacity_percent"]) == ('"2"', 50.0)
    assert (await call(world, "GET", "/queues")).headers["etag"] == '"2"'
    version = await world.json("/scheduler-conf/version")
    assert version["configversion"]["versionID"] == 2


async def test_number_of_applications_that_may_run_is_set_and_shown(world: RestWorld) -> None:
    body = {"properties": {"max-parallel-apps": "3"}}
    assert (await call(world, "PATCH", "/queues/root.default", body, since=1)).status_code == 200
    looked = await call(world, "GET", "/queues/root.default")
    assert looked.json()["maximum_parallel_applications"] == 3


async def test_second_of_two_editors_is_told_that_he_is_late(world: RestWorld) -> None:
    await halved(world)
    late = await call(world, "PATCH", "/queues/root.a", {"properties": {"user-limit-factor": "2"}}, since=1)
    assert late.status_code == 412
    assert late.json()["detail"] == "The queues are at version 2, but the change is based on version 1"
    assert world.rm.state.queues["root.a"].user_limit_factor == 1.0
    fresh = await call(world, "PATCH", "/queues/root.a", {"properties": {"user-limit-factor": "2"}}, since=2)
    assert (fresh.status_code, world.rm.state.queues["root.a"].user_limit_factor) == (200, 2.0)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/queues", HALVES),
        ("PATCH", "/queues", STOP),
        ("PATCH", "/queues/root.default", {"properties": {}}),
        ("DELETE", "/queues/root.default", None),
        ("POST", "/queues/root.default/move", {"to": "root.x"}),
        ("PUT", "/queue-configuration", {"properties": {}}),
        ("POST", "/queue-history/1/revert", {}),
    ],
)
async def test_change_takes_a_version_an_administrator_and_his_network(method: str, path: str, body: Any) -> None:
    async with rest_world(admin_networks=(ip_network("10.0.0.0/8"),)) as world:
        elsewhere = await call(world, method, path, body, since=1)
        assert elsewhere.status_code == 403
        assert "(setting web.admin_networks)" in elsewhere.json()["detail"]
    async with rest_world() as world:
        bare = await call(world, method, path, body)
        assert (bare.status_code, bare.json()["type"]) == (428, "/api/docs#unconditional")
        world.client.cookies.clear()
        nobody = await world.client.request(method, f"/api/v1{path}", json=body or {}, headers={"If-Match": '"1"'})
        assert nobody.status_code == 401
        other = await call(world, method, path, body, since=1, user="alice")
        assert (other.status_code, other.json()["detail"]) == (403, "User is not admin of all modified queues.")
        for wrong in ("7", '"x"', 'W/"1"', '"0"', ""):
            assert (await call(world, method, path, body, since=wrong)).status_code == 400
        page = await world.client.request(
            method,
            f"/api/v1{path}?user.name=admin",
            json=body or {},
            headers={"If-Match": '"1"', "User-Agent": "Mozilla/5.0", "Origin": "http://evil.example"},
        )
        assert (page.status_code, world.rm.scheduler_conf.version) == (403, 1)


async def test_dry_run_tells_what_would_be_and_changes_nothing(world: RestWorld) -> None:
    answer = await call(world, "POST", "/queues", HALVES, dry_run="true")
    assert (answer.status_code, answer.headers["etag"]) == (200, '"1"')
    found = answer.json()
    assert (found["is_dry_run"], found["version"], found["change_count"]) == (True, 2, 3)
    assert (paths(world), world.rm.scheduler_conf.version) == ({"root", "root.default"}, 1)
    assert (await call(world, "POST", "/queues", HALVES, since=7, dry_run="true")).status_code == 412
    assert (await call(world, "POST", "/queues", HALVES, user="alice", dry_run="true")).status_code == 403


async def test_who_would_hold_too_much_is_named(filled: RestWorld) -> None:
    body = {**HALVES, "change": [{"path": "root.default", "properties": {"capacity": "50", "maximum-capacity": "50"}}]}
    (over,) = (await call(filled, "POST", "/queues", body, dry_run="true")).json()["over_maximum"]
    assert (over["path"], over["used"]["memory_mib"], over["maximum"]["memory_mib"]) == ("root.default", 6144, 4096)
    assert (over["losers"], over["more_losers"], over["ends_after_seconds"]) == ([], 0, None)
    assert (await call(filled, "POST", "/queues", HALVES, dry_run="true")).json()["over_maximum"] == []


async def test_who_would_lose_containers_for_it_is_named_where_queues_give_back(filled: RestWorld) -> None:
    filled.rm.quotas.preemption = PreemptionRules(is_enabled=True)
    body = {**HALVES, "change": [{"path": "root.default", "properties": {"capacity": "50", "maximum-capacity": "50"}}]}
    (over,) = (await call(filled, "POST", "/queues", body, dry_run="true")).json()["over_maximum"]
    assert over["losers"] == [{"application": str(RUNNING.id), "containers": 1}]
    assert (over["more_losers"], over["ends_after_seconds"]) == (0, 18.0)


async def test_of_many_who_would_lose_containers_twenty_are_named_and_the_others_counted(filled: RestWorld) -> None:
    filled.rm.quotas.preemption = PreemptionRules(is_enabled=True)
    numbers = range(10, 60)
    await filled.put(*(an_application(n, state=ApplicationState.RUNNING) for n in numbers))
    await filled.put(*(an_attempt(n, state=AttemptState.RUNNING) for n in numbers))
    await filled.put(*(a_container(n, state=ContainerState.RUNNING, node_id=NODE.id) for n in numbers))
    body = {**HALVES, "change": [{"path": "root.default", "properties": {"capacity": "50", "maximum-capacity": "50"}}]}
    found = (await call(filled, "POST", "/queues", body, dry_run="true")).json()["over_maximum"]
    over = next(one for one in found if one["path"] == "root.default")
    excess_mib = over["used"]["memory_mib"] - over["maximum"]["memory_mib"]
    assert (len(over["losers"]), over["more_losers"]) == (20, -(-excess_mib // 2048) - 20)
    assert (over["more_losers"] > 0, over["ends_after_seconds"]) == (True, 18.0)


async def test_of_those_whom_the_asker_may_not_view_only_the_number_is_told(acls: RestWorld) -> None:
    acls.rm.quotas.preemption = PreemptionRules(is_enabled=True)
    row = an_application(9, state=ApplicationState.RUNNING, submission=a_submission(user="bob", queue="root.a.x"))
    await acls.put(row, an_attempt(9, state=AttemptState.RUNNING))
    await acls.put(a_container(9, queue="root.a.x", user="bob", state=ContainerState.RUNNING, node_id=NODE.id))
    shares = [{"path": f"root.a.{name}", "properties": {"capacity": text}} for name, text in (("x", "5"), ("y", "95"))]
    shares[0]["properties"]["maximum-capacity"] = "5"
    for user, losers, more in (("alice", [], 1), ("admin", [{"application": str(row.id), "containers": 1}], 0)):
        answer = await call(acls, "PATCH", "/queues", {"change": shares}, dry_run="true", user=user)
        (over,) = answer.json()["over_maximum"]
        assert (over["path"], over["losers"], over["more_losers"]) == ("root.a.x", losers, more)


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "text"),
    [
        ("PATCH", "/queues", REPLACED, 409, "is not yet in stopped state. Current State : RUNNING"),
        ("DELETE", "/queues/root.default", None, 400, "Illegal capacity sum of 0.5"),
        ("POST", "/queues/root.a/move", {"to": "root.b"}, 409, "Current State : RUNNING"),
        ("POST", "/queues", {"path": "root.a"}, 409, "Can't add existing queue root.a"),
        ("PATCH", "/queues", {"delete": ["root.nope"]}, 409, "Queue root.nope not found"),
        ("PATCH", "/queues/root.nope", {"properties": {}}, 404, "Queue 'root.nope' doesn't exist."),
        ("DELETE", "/queues/nope", None, 404, "Queue 'nope' doesn't exist."),
        ("PATCH", "/queues/root.a", {"properties": {"capacity": "60"}}, 400, "Illegal capacity sum of 1.1"),
        ("PATCH", "/queues/root.a", {"properties": {"capacity": "1_0"}}, 400, "expected a number"),
        ("PATCH", "/queues/root.a", {"properties": {"no-such": "1"}}, 400, "it has no effect"),
        ("PATCH", "/queues/root.a", {"properties": {"capacity": 60}}, 400, "valid string"),
        ("PATCH", "/queues/root.a", {"properties": {}, "reason": "a\nb"}, 400, "Invalid reason"),
        ("PATCH", "/queues/root.a", {"properties": {}, "x": 1}, 400, "Extra inputs are not permitted"),
        ("PUT", "/queue-configuration", {"properties": {"x": "1"}}, 400, "Property x is not supported"),
        ("PUT", "/queue-configuration", {"properties": []}, 400, "an object of full property names"),
        ("PUT", "/queue-configuration", {"properties": {}, "other": 1}, 400, "Invalid body: 'other'"),
        ("PUT", "/queue-configuration", {"properties": {}, "reason": 1}, 400, "Invalid reason"),
        ("PUT", "/queue-configuration", {"properties": {}}, 409, "cannot be deleted"),
        ("POST", "/queue-history/9/revert", {}, 404, "Version 9 of the queues does not exist or is no longer kept"),
        ("POST", "/queue-history/0/revert", {}, 400, "greater than or equal to 1"),
    ],
)
async def test_what_cannot_be_is_refused_and_changes_nothing(
    world: RestWorld, method: str, path: str, body: Any, status: int, text: str
) -> None:
    await halved(world)
    answer = await call(world, method, path, body, since=2)
    assert (answer.status_code, text in answer.json()["detail"]) == (status, True), answer.text
    assert "re-init" not in answer.text, "that is Hadoop's way of putting it"
    assert (world.rm.scheduler_conf.version, paths(world)) == (2, {"root", "root.default", "root.a"})


async def test_stopped_queue_is_moved_and_removed(world: RestWorld) -> None:
    await halved(world)
    assert (await call(world, "PATCH", "/queues", STOP, since=2)).status_code == 200
    assert (await call(world, "POST", "/queues/a/move", {"to": "root.b"}, since=3)).status_code == 200
    assert paths(world) == {"root", "root.default", "root.b"}
    gone = await call(world, "DELETE", "/queues/root.b", since=4, reason="nobody is left")
    assert (gone.status_code, paths(world)) == (200, {"root", "root.default"})
    assert gone.json()["reason"] == "nobody is left"


async def test_history_is_read_newest_first_and_a_version_comes_back(world: RestWorld) -> None:
    await halved(world)
    await call(world, "PATCH", "/queues", {**STOP, "reason": "stop it"}, since=2)
    first = (await call(world, "GET", "/queue-history", limit="1")).json()
    assert [(item["version"], item["reason"]) for item in first["items"]] == [(3, "stop it")]
    rest = (await call(world, "GET", "/queue-history", cursor=first["next_cursor"])).json()
    assert ([item["version"] for item in rest["items"]], rest["next_cursor"]) == ([2], None)
    one = (await call(world, "GET", "/queue-history/2")).json()
    assert one == rest["items"][0]
    assert (await call(world, "GET", "/queue-history/1")).status_code == 404

    back = await call(world, "POST", "/queue-history/2/revert", {}, since=3)
    assert (back.status_code, back.json()["reason"], back.json()["version"]) == (200, "as at version 2", 4)
    assert world.rm.state.queues["root.a"].capacity_percent == 50.0
    again = await call(world, "POST", "/queue-history/2/revert", {}, since=4)
    assert (again.json()["is_needed"], again.headers["etag"]) == (False, '"4"')


async def test_an_empty_queue_that_was_added_goes_with_the_version_that_comes_back(world: RestWorld) -> None:
    await halved(world)
    thirds = [{"path": "root.a", "properties": {"capacity": "30"}}]
    added = [{"path": "root.c", "properties": {"capacity": "20"}}]
    assert (await call(world, "PATCH", "/queues", {"create": added, "change": thirds}, since=2)).status_code == 200
    assert "root.c" in paths(world)
    back = await call(world, "POST", "/queue-history/2/revert", {}, since=3)
    assert back.status_code == 200
    assert "root.c" not in paths(world)


async def test_a_used_queue_is_marked_to_go_and_shown_as_draining(world: RestWorld) -> None:
    await halved(world)
    assert (await call(world, "GET", "/queues/root.a")).json()["to_be_removed"] is None
    row = an_application(1, state=ApplicationState.RUNNING, submission=a_submission(queue="root.a"))
    await world.put(row)
    told = await call(world, "POST", "/queue-history/1/revert", {}, dry_run="true")
    marked = {"property": f"{PREFIX}root.a.yodel.to-be-removed", "before": None, "after": "3 admin"}
    assert (told.status_code, marked in told.json()["changes"], world.rm.scheduler_conf.version) == (200, True, 2)
    back = await call(world, "POST", "/queue-history/1/revert", {}, since=2)
    assert marked in back.json()["changes"]
    shown = (await call(world, "GET", "/queues/root.a")).json()
    assert (shown["state"], shown["capacity"]) == ("DRAINING", "0")
    assert shown["to_be_removed"] == {"version": 3, "author": "admin"}

    await world.put(replace(row, state=ApplicationState.FINISHED))
    await world.rm.marked_queues.look()
    assert paths(world) == {"root", "root.default"}
    (last, *_) = (await call(world, "GET", "/queue-history")).json()["items"]
    assert (last["version"], last["author"], "marked for removal by version 3" in last["reason"]) == (4, "admin", True)


async def test_version_comes_back_from_any_with_a_star(world: RestWorld) -> None:
    await halved(world)
    stopped = await call(world, "PATCH", "/queues", STOP, since="*")
    assert stopped.headers["etag"] == '"3"'
    assert (await call(world, "POST", "/queue-history/1/revert", {}, since="*")).status_code == 200
    assert paths(world) == {"root", "root.default"}


async def test_configuration_is_read_and_put_back_whole(world: RestWorld) -> None:
    await halved(world)
    found = await call(world, "GET", "/queue-configuration")
    assert (found.headers["etag"], found.json()["version"]) == ('"2"', 2)
    said = found.json()["properties"]
    assert said[MAXIMUM_AM_SHARE] == "0.5"
    same = await call(world, "PUT", "/queue-configuration", {"properties": said}, since=2)
    assert (same.json()["is_needed"], same.headers["etag"]) == (False, '"2"')
    said[f"{PREFIX}root.a.user-limit-factor"] = "3"
    changed = await call(world, "PUT", "/queue-configuration", {"properties": said, "reason": "file 7"}, since=2)
    assert (changed.json()["change_count"], changed.headers["etag"]) == (1, '"3"')
    assert world.rm.state.queues["root.a"].user_limit_factor == 3.0


async def test_what_hadoop_ignores_of_a_whole_configuration_is_left_out_and_told(world: RestWorld) -> None:
    said = (await call(world, "GET", "/queue-configuration")).json()["properties"]
    more = {
        "capacity-scheduler": "null",
        f"{PREFIX}root.defaul.capacity": "10",
        f"{PREFIX}root.default.state": "RUNNING",
    }
    answer = await call(world, "PUT", "/queue-configuration", {"properties": {**said, **more}}, since=1)
    assert answer.json()["left_out"] == [
        "capacity-scheduler is left out, Hadoop ignores this: Ambari writes it into every file",
        f"{PREFIX}root.defaul.capacity is left out, Hadoop ignores this: no queues property names root.defaul; "
        "the nearest queue is root.default",
    ]
    assert more.keys().isdisjoint(set(world.rm.scheduler_conf.properties()) - {f"{PREFIX}root.default.state"})
    edit = {"properties": {"acl_administer_jobs": "*"}}
    assert (await call(world, "PATCH", "/queues/root.default", edit, since="*")).status_code == 400


async def test_only_a_whole_configuration_may_be_large(world: RestWorld) -> None:
    properties = {f"{PREFIX}root.{number}.x": "y" * 1000 for number in range(100)}
    large = await call(world, "PUT", "/queue-configuration", {"properties": properties}, since=1)
    assert large.status_code == 400
    refused = await call(world, "PATCH", "/queues/root", {"properties": properties}, since=1)
    assert refused.status_code == 413


@pytest.fixture
async def acls() -> AsyncIterator[RestWorld]:
    """Serve with acl_enable; alice administers root.a, which has root.a.x and root.a.y."""
    async with rest_world(rules=AccessRules(admin_acl=Acl.parse("admin"), is_view_checked=True)) as made:
        await fill(made)
        below = [{"path": f"root.a.{name}", "properties": {"capacity": "50"}} for name in "xy"]
        edit = {
            "create": [{"path": "root.a", "properties": {"capacity": "50", "acl_administer_queue": "alice"}}, *below],
            "change": [{"path": "root.default", "properties": {"capacity": "50"}}],
        }
        answer = await call(made, "PATCH", "/queues", edit, since=1)
        assert answer.status_code == 200, answer.text
        yield made


async def test_administrator_of_a_queue_changes_what_is_below(acls: RestWorld) -> None:
    shares = {"change": [{"path": f"root.a.{n}", "properties": {"capacity": c}} for n, c in (("x", "20"), ("y", "80"))]}
    assert (await call(acls, "PATCH", "/queues", shares, since=2, user="alice")).status_code == 200
    own = await call(acls, "PATCH", "/queues/root.a", {"properties": {"state": "STOPPED"}}, since=3, user="alice")
    assert (own.status_code, "root.a.state" in own.json()["detail"]) == (403, True)
    more = await call(acls, "DELETE", "/queues/root.a.x", since=3, user="alice")
    assert (more.status_code, "root.a.queues" in more.json()["detail"]) == (403, True)
    assert (await call(acls, "PATCH", "/queues", shares, since=3, user="bob")).status_code == 403


@pytest.mark.parametrize("path", ["/queue-configuration", "/queue-history", "/queue-history/2"])
async def test_words_of_the_configuration_are_for_administrators_where_acls_count(acls: RestWorld, path: str) -> None:
    statuses = [(await call(acls, "GET", path, user=user)).status_code for user in ("admin", "alice", "bob")]
    assert statuses == [200, 200, 403]


async def test_store_that_does_not_answer_is_503_and_nothing_changed(world: RestWorld) -> None:
    async def silent(*_: object) -> Any:
        raise Unavailable("away")

    world.store.commit = silent  # type: ignore[method-assign]
    answer = await call(world, "POST", "/queues", HALVES, since=1)
    assert (answer.status_code, world.rm.scheduler_conf.version) == (503, 1)


async def test_configuration_is_read_of_administrators_only(world: RestWorld) -> None:
    body = {"properties": 3}
    assert (await call(world, "PUT", "/queue-configuration", body, since=1, user="alice")).status_code == 403
    assert (await call(world, "PUT", "/queue-configuration", body, since=1)).status_code == 400


@pytest.mark.parametrize("name", ["." * 60_000, "user-settings." * 4_000 + "weight"])
async def test_name_that_is_nobodys_is_refused_as_such(acls: RestWorld, name: str) -> None:
    body = {"properties": {name: "1"}}
    for user, status in (("alice", 403), ("bob", 403), ("admin", 400)):
        answer = await call(acls, "PATCH", "/queues/root.default", body, since=2, user=user, dry_run="true")
        assert (answer.status_code, len(answer.json()["detail"]) < 400) == (status, True)


async def test_administrator_of_a_queue_reads_what_is_below_it_and_nothing_else(acls: RestWorld) -> None:
    found = (await call(acls, "GET", "/queue-configuration", user="alice")).json()["properties"]
    assert found == {f"{PREFIX}root.a.x.capacity": "50", f"{PREFIX}root.a.y.capacity": "50"}
    body = {"properties": {"acl_submit_applications": "carol"}, "reason": "a secret"}
    for path in ("root.default", "root.a", "root.default"):
        assert (await call(acls, "PATCH", f"/queues/{path}", body, since="*")).status_code == 200
        body["properties"] = {"acl_submit_applications": path}
    own = {"properties": {"acl_submit_applications": "dave"}, "reason": "mine"}
    assert (await call(acls, "PATCH", "/queues/root.a.x", own, since="*", user="alice")).status_code == 200

    items = (await call(acls, "GET", "/queue-history", user="alice")).json()["items"]
    assert [(item["version"], item["reason"], item["change_count"]) for item in items] == [(6, "mine", 1), (2, "", 2)]
    assert "secret" not in repr(items)
    assert {change["property"] for change in items[1]["changes"]} == set(found)
    statuses = [(await call(acls, "GET", f"/queue-history/{n}", user="alice")).status_code for n in (2, 3, 4, 5, 6, 7)]
    assert statuses == [200, 404, 404, 404, 200, 404]
    first = (await call(acls, "GET", "/queue-history", user="alice", limit="1")).json()
    rest = (await call(acls, "GET", "/queue-history", user="alice", cursor=first["next_cursor"])).json()
    assert [[item["version"] for item in page["items"]] for page in (first, rest)] == [[6], [2]]
    assert rest["next_cursor"] is None
    everything = (await call(acls, "GET", "/queue-history")).json()["items"]
    assert [item["version"] for item in everything] == [6, 5, 4, 3, 2]


async def test_history_of_one_queue_has_its_own_properties_of_each_change(acls: RestWorld) -> None:
    body = {"properties": {"acl_submit_applications": "carol"}, "reason": "for carol"}
    assert (await call(acls, "PATCH", "/queues/root.default", body, since="*")).status_code == 200
    found = (await call(acls, "GET", "/queue-history", queue="root.a.x")).json()
    (item,) = found["items"]
    assert (item["version"], [one["property"] for one in item["changes"]]) == (2, [f"{PREFIX}root.a.x.capacity"])
    assert (item["change_count"], found["next_cursor"]) == (1, None)
    (item,) = (await call(acls, "GET", "/queue-history", queue="default", limit="1")).json()["items"]
    assert (item["version"], item["reason"]) == (3, "for carol")
    above = (await call(acls, "GET", "/queue-history", queue="root")).json()["items"]
    assert [one["version"] for one in above] == [3, 2]
    for other in ("root.was.once", "root.def"):
        assert (await call(acls, "GET", "/queue-history", queue=other)).json()["items"] == [], other
    assert (await call(acls, "GET", "/queue-history", user="alice", queue="root.default")).json()["items"] == []
    for user, is_shown in (("admin", True), ("eve", False)):
        acls.client.cookies.clear()
        page = (await acls.client.get("/cluster/queue/root.default", params={"user.name": user})).text
        assert ("<h2>Changes</h2>" in page, "for carol" in page) == (is_shown, is_shown)


async def test_history_of_one_queue_is_looked_through_a_hundred_changes_at_a_time(
    world: RestWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue_changes, "HISTORY_LIMIT_MAX", 2)
    await halved(world)
    for number in range(3):
        body = {"properties": {"maximum-am-resource-percent": f"0.{number + 1}"}}
        assert (await call(world, "PATCH", "/queues/root.default", body, since="*")).status_code == 200
    first = (await call(world, "GET", "/queue-history", queue="root.a")).json()
    assert first["items"] == []
    rest = (await call(world, "GET", "/queue-history", queue="root.a", cursor=first["next_cursor"])).json()
    assert [item["version"] for item in rest["items"]] == [2]
    page = (await world.client.get("/cluster/queue/root.a")).text
    assert "Not changed in the last hundred changes of all queues." in page
    (older,) = re.findall(r'href="(/cluster/queue/root.a[?]changes=[^"]+)"', page)
    assert "root.a.capacity: – → 50" in (await world.client.get(older)).text


@pytest.mark.parametrize("version", [1, 2, 3, 99])
async def test_who_may_change_nothing_is_not_told_which_versions_are_kept(acls: RestWorld, version: int) -> None:
    async def unread(*_: object) -> Any:
        raise AssertionError("history was read")

    acls.rm.scheduler_conf.as_of = unread  # type: ignore[method-assign]
    for user in ("bob", "eve"):
        answer = await call(acls, "POST", f"/queue-history/{version}/revert", {}, since="*", user=user)
        assert (answer.status_code, answer.json()["detail"]) == (403, "User is not admin of all modified queues.")


async def test_administrator_of_a_queue_pushes_no_change_of_the_clusters_out_of_the_history(acls: RestWorld) -> None:
    """Nor the way back to before it."""
    conf, own = acls.rm.scheduler_conf, f"{PREFIX}root.a.x.user-limit-factor"
    for number in range(1_010):
        edit = ConfUpdate(overall={own: str(number + 2)})
        await conf.change("alice", assembling(edit))
    kept = [change.version for change in await acls.store.tree_changes(None, 10_000)]
    assert (len(kept), kept[-1], kept[-2]) == (1_001, 2, 13)
    assert (await call(acls, "GET", "/queue-history/2")).json()["reason"] == ""
    assert (await call(acls, "GET", "/queue-history/12")).status_code == 404
    assert (await call(acls, "POST", "/queue-history/12/revert", {}, since="*")).status_code == 404
    back = await call(acls, "POST", "/queue-history/2/revert", {}, since="*", dry_run="true")
    assert [(change["property"], change["after"]) for change in back.json()["changes"]] == [(own, None)]
