"""The API tells why an application waits: shapes, refusals, and the page that shows the same."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from markupsafe import escape

from tests.support.api_rows import FAILED, RUNNING, api_get
from tests.support.playbook import a_submission
from tests.support.records import NOBODY, a_container, a_node, an_application, an_attempt
from tests.support.rest_world import RestWorld, rest_world
from yodel.domain.acl import AccessRules, Acl
from yodel.domain.resource import Resource
from yodel.domain.states import ApplicationState, AttemptState, ContainerState, NodeState
from yodel.domain.waiting_words import Cause
from yodel.rm_api.v1.why import shape
from yodel.services.views.why import AskView, Obstacle, WhyView

LIST = "/api/v1/applications"
SMALL = {"memory_mib": 1024, "vcores": 1, "others": {}}
FORMER = {
    "FRAGMENTED": "IN_PIECES",
    "NODE_RESERVED": "HELD",
    "UNSCHEDULED_PODS_LIMIT": "PODS_UNDER_WAY",
    "AFFINITY": "NEIGHBOURS",
    "NEXT_CYCLE": "TURN",
    "SCHEDULING": "STARTING",
}


async def test_one_that_has_all_it_asked_for_waits_for_nothing(filled: RestWorld) -> None:
    found = await api_get(filled, f"{LIST}/{RUNNING.id}/why")
    assert (found["id"], found["state"], found["is_waiting"]) == (str(RUNNING.id), "RUNNING", False)
    assert found["summary"] == "Nothing is pending: every requested container has been allocated."


async def test_master_that_waits_has_the_chain_with_its_figures(world: RestWorld) -> None:
    holder = an_application(4, state=ApplicationState.RUNNING, current_attempt=1)
    node = a_node(state=NodeState.RUNNING, capability=Resource(4096, 4), kubernetes_node_name="kube-1")
    task = a_container(4, container=2, state=ContainerState.RUNNING, node_id=node.id, capability=Resource(4096, 4))
    await world.put(node, holder, an_attempt(4, state=AttemptState.RUNNING), task)
    waiting = await world.rm.submission.give_id(NOBODY)
    await world.rm.submission.submit(waiting, a_submission())
    await world.rm.scheduler.tick()
    found = await api_get(world, f"{LIST}/{waiting}/why")
    (ask,) = found["asks"]
    assert found["is_waiting"]
    assert (ask["name"], ask["containers"], ask["is_scheduling"]) == ("the ApplicationMaster", 1, False)
    assert ask["is_under_way"] == ask["is_scheduling"]
    assert ask["size"] == SMALL
    (link,) = ask["chain"]
    assert link["cause"] == link["what"] == "POOL_FULL"
    assert (
        link["text"] == "The cluster has too little free capacity: free 0 MiB, 0 vcores of 4 GiB, 4 vcores; requested "
        "1 GiB, 1 vcore."
    )
    assert link["limit"] == link["used"] == {"memory_mib": 4096, "vcores": 4, "others": {}}
    assert [(one["kind"], one["name"]) for one in link["used_by"]] == [("queue", "root.default")]
    assert link["held_by"] == link["used_by"]
    assert [one["held"] == one["used"] for one in link["used_by"]] == [True]
    assert link["more_holders"] == link["more_users"] == 0
    assert link["until"].startswith("containers finish")

    page = await world.client.get(f"/cluster/app/{waiting}")
    assert "Why it is pending" in page.text
    assert "POOL_FULL" in page.text
    assert "The cluster has too little free capacity: free 0 MiB, 0 vcores of 4 GiB, 4 vcores; " in page.text
    rest = (await world.json(f"/apps/{waiting}"))["app"]
    assert "Partition Resource = <memory:4096, vCores:4>" in rest["diagnostics"], "Hadoop's own text stays as it is"
    own = ["/cluster", "/cluster/nodes", f"/cluster/app/{waiting}", f"/cluster/app/{holder.id}"]
    own += [f"/cluster/container/{task.id}", f"{LIST}/{waiting}/why", f"{LIST}/{waiting}", f"{LIST}/{holder.id}"]
    for path in own:
        text = (await world.client.get(path)).text
        told = rest["diagnostics"]
        for diagnostics in (told, str(escape(told)), json.dumps(told)[1:-1]):
            text = text.replace(diagnostics, "")
        assert "vCores" not in text, path
    assert (
        "waiting for resources to be assigned for AM. The cluster has too little free capacity: " in rest["diagnostics"]
    )


@pytest.mark.parametrize("cause", Cause)
def test_former_name_of_a_cause_is_served_in_the_deprecated_field(cause: Cause) -> None:
    link = Obstacle(cause=cause, text="t", change="c")
    ask = AskView(
        name="a",
        priority=1,
        allocation_request_id=0,
        count=1,
        size=Resource(1024, 1),
        is_under_way=False,
        chain=(link,),
    )
    shown = shape(WhyView(application=an_application(1), summary="s", looked_at_ms=0, asks=(ask,))).asks[0].chain[0]
    assert (shown.cause, shown.what) == (cause, FORMER.get(cause.value, cause.value))


async def test_ended_one_waits_for_nothing_and_its_page_says_nothing(filled: RestWorld) -> None:
    found = await api_get(filled, f"{LIST}/{FAILED.id}/why")
    assert (found["is_waiting"], found["asks"]) == (False, [])
    assert found["summary"] == "Nothing is pending: the application has ended (FAILED)."
    assert "Why it is pending" not in (await filled.client.get(f"/cluster/app/{FAILED.id}")).text


async def test_unknown_one_is_not_found_and_nonsense_is_refused(filled: RestWorld) -> None:
    assert (await api_get(filled, f"{LIST}/application_1_0009/why", 404))["status"] == 404
    assert (await api_get(filled, f"{LIST}/x/why", 400))["errors"][0]["where"] == "path.application_id"


async def test_who_may_not_see_it_is_not_told_why(guarded: RestWorld) -> None:
    problem = await api_get(guarded, f"{LIST}/{RUNNING.id}/why?user.name=eve", 403)
    assert "VIEW_APP" in problem["detail"]


async def test_of_others_applications_only_the_number_is_told_where_acls_count() -> None:
    async with rest_world(rules=AccessRules(admin_acl=Acl.parse("admin"), is_view_checked=True)) as guarded:
        node = a_node(state=NodeState.RUNNING, capability=Resource(1024, 1), kubernetes_node_name="kube-1")
        holder = an_application(40, state=ApplicationState.RUNNING, current_attempt=1)
        task = a_container(40, container=2, state=ContainerState.RUNNING, node_id=node.id, capability=Resource(1024, 1))
        await guarded.put(node, holder, an_attempt(40, state=AttemptState.RUNNING), task)
        ids = [await guarded.rm.submission.give_id(NOBODY) for _ in range(2)]
        for application_id, user in zip(ids, ("bob", "eve"), strict=True):
            await guarded.rm.submission.submit(application_id, a_submission(user=user))
        await guarded.rm.scheduler.tick()
        for user, is_told in (("eve", False), ("admin", True)):
            found = await api_get(guarded, f"{LIST}/{ids[1]}/why?user.name={user}")
            texts = " ".join(link["text"] for ask in found["asks"] for link in ask["chain"])
            page = await guarded.client.get(f"/cluster/app/{ids[1]}?user.name={user}")
            assert "Served first in queue root.default" in texts
            assert ("waiting: 1 other." in texts, "waiting: 1 other." in page.text) == (not is_told, not is_told)
            assert (str(ids[0]) in repr(found), str(ids[0]) in page.text) == (is_told, is_told)
            guarded.client.cookies.clear()


async def test_queue_that_waits_has_its_causes_and_its_page_the_same() -> None:
    """Neither bob's application nor bob is seen by carol where acl_enable is on."""
    async with rest_world(rules=AccessRules(admin_acl=Acl.parse("admin"), is_view_checked=True)) as guarded:
        node = a_node(state=NodeState.RUNNING, capability=Resource(1024, 1), kubernetes_node_name="kube-1")
        await guarded.put(node, an_application(40, state=ApplicationState.RUNNING, current_attempt=1))
        task = a_container(40, container=2, state=ContainerState.RUNNING, node_id=node.id, capability=Resource(1024, 1))
        await guarded.put(an_attempt(40, state=AttemptState.RUNNING), task)
        waiting = await guarded.rm.submission.give_id(NOBODY)
        await guarded.rm.submission.submit(waiting, a_submission(user="bob", name="<b>$(reboot)"))
        await guarded.rm.scheduler.tick()
        found = await api_get(guarded, "/api/v1/queues/root/why?user.name=admin")
        (cause,) = found["causes"]
        assert (cause["cause"], cause["containers"], cause["applications"]) == ("POOL_FULL", 1, [str(waiting)])
        assert (cause["size"], cause["more_applications"]) == (SMALL, 0)
        assert found["summary"].startswith("Waiting for 1 container: The cluster has too little free capacity")
        assert (found["is_waiting"], found["applications"], found["hidden_applications"]) == (True, 1, 0)
        users = await api_get(guarded, "/api/v1/queues/default/users?user.name=admin")
        assert [(one["user"], one["pending"], one["pending_applications"]) for one in users["items"]] == [
            ("alice", {"memory_mib": 0, "vcores": 0, "others": {}}, 0),
            ("bob", SMALL, 1),
        ]
        page = (await guarded.client.get("/cluster/queue/root.default?user.name=admin")).text
        for text in ("Why it waits", "POOL_FULL", str(waiting), str(escape(cause["text"])), cause["until"], ">bob<"):
            assert text in page, text

        guarded.client.cookies.clear()
        found = await api_get(guarded, "/api/v1/queues/root.default/why?user.name=carol")
        assert (found["causes"], found["is_waiting"], found["hidden_applications"]) == ([], False, 1)
        assert found["summary"] == "Applications of root.default are waiting that you may not view: 1."
        users = await api_get(guarded, "/api/v1/queues/root.default/users?user.name=carol")
        assert (users["items"], users["hidden_users"], users["next_cursor"]) == ([], 2, None)
        page = (await guarded.client.get("/cluster/queue/root.default?user.name=carol")).text
        assert "Waiting applications that you may not view: 1." in page
        assert "Other users, whose applications you may not view: 2." in page
        assert not [text for text in (">bob<", ">alice<", str(waiting), "POOL_FULL") if text in page]


async def test_queue_that_is_not_there_is_not_found_and_users_are_paged(filled: RestWorld) -> None:
    await filled.put(
        an_application(5, state=ApplicationState.ACCEPTED, submission=a_submission(user="dave", queue="root.default"))
    )
    for path in ("why", "users"):
        assert (await api_get(filled, f"/api/v1/queues/root.nothing/{path}", 404))["status"] == 404
    first = await api_get(filled, "/api/v1/queues/root/users?limit=1")
    rest = await api_get(filled, f"/api/v1/queues/root/users?cursor={first['next_cursor']}")
    assert [[one["user"] for one in page["items"]] for page in (first, rest)] == [["alice"], ["dave"]]
    assert rest["next_cursor"] is None
    await api_get(filled, "/api/v1/queues/root/users?cursor=nonsense", 400)
    assert "No such page" in (await filled.client.get("/cluster/queue/root?users=nonsense")).text


def test_page_of_queues_explains_every_cause() -> None:
    page = (Path(__file__).parents[4] / "docs" / "queues.md").read_text()
    table = page.split("| Cause | When |")[1].split("\n\n")[0]
    assert set(re.findall(r"`([A-Z_]+)`", table)) == {cause.value for cause in Cause}
    assert not any(f"`{former}`" in page for former in FORMER.values())
