"""Applications: the list with its filters and pages, one, its containers and pods, its logs, the kill."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support.api_rows import ENDED, FAILED, GONE, MASTER, NODE, RUNNING, TASK, WAITING, api_get
from tests.support.records import a_container, an_application, an_attempt
from tests.support.rest_world import RestWorld
from yodel.domain.ids import ContainerId, NodeId, dns_name
from yodel.domain.past import remembered
from yodel.domain.states import ApplicationState, ContainerState, NodeState
from yodel.ports.store import Commit

LIST = "/api/v1/applications"
APP = an_application(1, state=ApplicationState.RUNNING, current_attempt=1)


async def listed(world: RestWorld, query: str) -> list[str]:
    return [item["id"] for item in (await api_get(world, f"{LIST}?{query}"))["items"]]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", [FAILED, RUNNING]),
        ("state=RUNNING", [RUNNING]),
        ("state=RUNNING&state=FAILED", [FAILED, RUNNING]),
        ("state=KILLED", []),
        ("final_status=FAILED", [FAILED]),
        ("user=bob", [FAILED]),
        ("queue=default", [FAILED, RUNNING]),
        ("type=spark", [FAILED]),
        ("tag=NIGHTLY", [RUNNING]),
        ("name=sort", [RUNNING]),
        ("name_prefix=so", [RUNNING]),
        ("name_prefix=ort", []),
        ("submitted_from_ms=1001", [FAILED]),
        ("submitted_to_ms=1001", [RUNNING]),
        ("finished_from_ms=1&finished_to_ms=9000", [FAILED]),
        ("user=bob&tag=nightly", []),
    ],
)
async def test_list_holds_what_is_asked_for_newest_first(filled: RestWorld, query: str, expected: list[Any]) -> None:
    assert await listed(filled, query) == [str(app.id) for app in expected]


@pytest.mark.parametrize(
    ("state", "launched_ms"), [("FINISHING", 0), ("KILLING", 0), ("KILLING", 5), ("FINISHED", 0), ("FAILED", 0)]
)
async def test_list_knows_states_that_yarns_clients_see_otherwise(
    world: RestWorld, state: str, launched_ms: int
) -> None:
    row = an_application(1, state=ApplicationState[state], launched_ms=launched_ms)
    await world.put(row, an_application(2, state=ApplicationState.RUNNING))
    assert await listed(world, f"state={state}") == [str(row.id)]


async def test_pages_follow_one_another_without_a_hole_while_new_ones_come(world: RestWorld) -> None:
    await world.put(*(an_application(n, submitted_ms=1000 + n // 2) for n in range(1, 8)))
    found: list[str] = []
    path = f"{LIST}?limit=3"
    while True:
        page = await api_get(world, path)
        found += [item["id"] for item in page["items"]]
        await world.put(an_application(100 + len(found), submitted_ms=5000))
        if page["next_cursor"] is None:
            break
        path = f"{LIST}?limit=3&cursor={page['next_cursor']}"
    assert found == [str(an_application(n).id) for n in range(7, 0, -1)]


@pytest.mark.parametrize(
    "cursor", ["x", "bnVsbA", "W10", "WyJub2RlcyIsImEiLDFd", "WyJhcHBsaWNhdGlvbnMiLDEsdHJ1ZSwxXQ", "%C3%A9"]
)
async def test_cursor_that_is_none_of_ours_is_refused(filled: RestWorld, cursor: str) -> None:
    problem = await api_get(filled, f"{LIST}?cursor={cursor}", 400)
    assert problem["errors"][0]["where"] == "cursor"


@pytest.mark.parametrize("query", ["limit=0", "limit=501", "limit=x", "state=x", "submitted_from_ms=-1", "queue=none"])
async def test_parameter_that_does_not_fit_is_named(filled: RestWorld, query: str) -> None:
    problem = await api_get(filled, f"{LIST}?{query}", 400)
    assert query.partition("=")[0] in problem["errors"][0]["where"]


async def test_one_has_everything_about_it(filled: RestWorld) -> None:
    app = await api_get(filled, f"{LIST}/{RUNNING.id}")
    assert (app["name"], app["user"], app["state"], app["final_status"]) == ("sort", "alice", "RUNNING", "UNDEFINED")
    assert app["used"] == {"memory_mib": 4096, "vcores": 4, "others": {}}
    assert app["starting"] == {"memory_mib": 2048, "vcores": 2, "others": {}}
    assert (app["running_containers"], app["finished_ms"], app["expires_ms"]) == (2, None, None)
    assert app["tracking_url"] == f"http://rm-host:8088/proxy/{RUNNING.id}/"
    (attempt,) = app["attempt_list"]
    assert (attempt["number"], attempt["state"], attempt["am_host"], attempt["am_rpc_port"]) == (
        1,
        "RUNNING",
        "node-1",
        4000,
    )
    assert attempt["am_container_id"] == str(MASTER.id)


async def test_one_that_ended_says_why(filled: RestWorld) -> None:
    app = await api_get(filled, f"{LIST}/{FAILED.id}")
    assert (app["diagnostics"], app["finished_ms"], app["attempt_list"]) == ("it broke", 9000, [])


@pytest.mark.parametrize("below", ["", "/containers", "/logs", "/failure", f"/containers/{TASK.id}"])
async def test_unknown_and_malformed_ids_are_told_apart(filled: RestWorld, below: str) -> None:
    unknown = await api_get(filled, f"{LIST}/application_1_0009{below}", 404)
    assert unknown["detail"].startswith("Application with id 'application_1_0009' doesn't exist")
    await api_get(filled, f"{LIST}/application_1_x{below}", 400)


async def test_containers_come_with_their_pods(filled: RestWorld) -> None:
    items = (await api_get(filled, f"{LIST}/{RUNNING.id}/containers"))["items"]
    master, task, waiting, ended = items
    assert [item["id"] for item in items] == [str(c.id) for c in (MASTER, TASK, WAITING, ENDED)]
    assert (master["is_am"], task["is_am"]) == (True, False)
    assert (task["pod"]["name"], task["pod"]["phase"], task["pod"]["kubernetes_node"]) == (
        dns_name(TASK.id),
        "Running",
        "kube-1",
    )
    assert (waiting["pod"]["name"], waiting["pod"]["phase"]) == (dns_name(WAITING.id), None)
    assert (waiting["waits_for"], waiting["node_id"], waiting["logs"]) == ("0/1 nodes are available", None, None)
    assert (ended["state"], ended["exit_status"], ended["diagnostics"]) == ("COMPLETED", 1, "bad")
    assert task["exit_status"] is None
    assert task["logs"]["page_url"] == f"http://node-1:8042/node/containerlogs/{TASK.id}/alice"


async def test_one_container_is_that_of_the_list_and_of_its_application(filled: RestWorld) -> None:
    items = (await api_get(filled, f"{LIST}/{RUNNING.id}/containers"))["items"]
    assert [await api_get(filled, f"{LIST}/{RUNNING.id}/containers/{one['id']}") for one in items] == items
    await api_get(filled, f"{LIST}/{FAILED.id}/containers/{TASK.id}", 404)
    await api_get(filled, f"{LIST}/{RUNNING.id}/containers/nonsense", 400)
    absent = a_container(container=9).id
    assert str(absent) in (await api_get(filled, f"{LIST}/{RUNNING.id}/containers/{absent}", 404))["detail"]
    failure = await api_get(filled, f"{LIST}/{RUNNING.id}/failure")
    assert (failure["container"], failure["last_line"]) == (items[3], "bad")


async def test_containers_are_paged_and_filtered(filled: RestWorld) -> None:
    base = f"{LIST}/{RUNNING.id}/containers"
    first = await api_get(filled, f"{base}?limit=3")
    rest = await api_get(filled, f"{base}?limit=3&cursor={first['next_cursor']}")
    assert [item["id"] for item in rest["items"]] == [str(ENDED.id)]
    assert rest["next_cursor"] is None
    running = await api_get(filled, f"{base}?state=RUNNING")
    assert [item["id"] for item in running["items"]] == [str(MASTER.id), str(TASK.id)]
    await api_get(filled, f"{base}?cursor=WyJjb250YWluZXJzIiwieCJd", 400)


async def test_logs_lead_to_the_node_agents(filled: RestWorld) -> None:
    items = (await api_get(filled, f"{LIST}/{RUNNING.id}/logs"))["items"]
    assert [(item["container_id"], item["is_live"]) for item in items] == [
        (str(MASTER.id), True),
        (str(TASK.id), True),
        (str(ENDED.id), False),
    ]
    assert items[2]["logs"] == {
        "page_url": f"http://node-1:8042/node/containerlogs/{ENDED.id}/alice",
        "files_url": f"http://node-1:8042/ws/v1/node/containers/{ENDED.id}/logs",
        "aggregated_url": aggregated("node-1", ENDED.id, "node-1"),
    }


async def test_logs_of_containers_whose_node_is_away_are_with_another(filled: RestWorld) -> None:
    lost = a_container(container=5, state=ContainerState.COMPLETED, node_id=GONE.id)
    forgotten = a_container(container=6, state=ContainerState.COMPLETED, node_id=NodeId("node-3", 8041))
    await filled.put(lost, forgotten)
    found = {
        item["container_id"]: item["logs"] for item in (await api_get(filled, f"{LIST}/{RUNNING.id}/logs"))["items"]
    }
    assert found[str(lost.id)]["files_url"].startswith("http://node-2:8042/")
    assert found[str(lost.id)]["aggregated_url"] == aggregated("node-1", lost.id, "node-2")
    assert found[str(forgotten.id)]["page_url"].startswith("http://node-1:8042/")
    assert found[str(forgotten.id)]["aggregated_url"] == aggregated("node-1", forgotten.id, "node-3")
    await filled.put(replace(NODE, state=NodeState.LOST))
    left = {
        item["container_id"]: item["logs"] for item in (await api_get(filled, f"{LIST}/{RUNNING.id}/logs"))["items"]
    }
    assert str(forgotten.id) not in left
    assert left[str(lost.id)]["aggregated_url"] is None


async def test_aggregated_logs_of_a_node_manager_are_with_a_node_agent(filled: RestWorld) -> None:
    """A NodeManager serves those of its running applications only."""
    manager = replace(NODE, id=NodeId("a-node", 8041), is_node_manager=True, kubernetes_node_name="")
    ended = a_container(container=7, state=ContainerState.COMPLETED, node_id=manager.id)
    await filled.put(manager, ended)
    found = (await api_get(filled, f"{LIST}/{RUNNING.id}/logs"))["items"][-1]["logs"]
    assert found["files_url"] == f"http://a-node:8042/ws/v1/node/containers/{ended.id}/logs"
    assert found["aggregated_url"] == aggregated("node-1", ended.id, "a-node")
    await filled.put(replace(NODE, state=NodeState.LOST))
    found = (await api_get(filled, f"{LIST}/{RUNNING.id}/logs"))["items"][-1]["logs"]
    assert found["aggregated_url"] is None


def aggregated(reader: str, container: ContainerId, node: str) -> str:
    return f"http://{reader}:8042/ws/v1/history/containers/{container}/logs?user=alice&nm.id={node}:8041"


async def test_kill_is_asked_for_with_the_reason(filled: RestWorld) -> None:
    answer = await filled.client.post(
        f"{LIST}/{RUNNING.id}/kill", json={"diagnostics": "why not"}, params={"user.name": "alice"}
    )
    assert (answer.status_code, answer.json()["id"]) == (202, str(RUNNING.id))
    row = filled.rm.state.applications[RUNNING.id]
    assert row.state in (ApplicationState.KILLING, ApplicationState.KILLED)
    assert row.diagnostics.endswith("why not")


async def test_kill_of_what_has_ended_changes_nothing(filled: RestWorld) -> None:
    answer = await filled.client.post(f"{LIST}/{FAILED.id}/kill", json={}, params={"user.name": "bob"})
    assert (answer.status_code, answer.json()) == (
        202,
        {"id": str(FAILED.id), "state": "FAILED", "has_ended": True, "had_ended": True},
    )


@pytest.mark.parametrize(("user", "status"), [(None, 401), ("mallory", 403), ("admin", 202)])
async def test_kill_takes_the_right_to_modify(filled: RestWorld, user: str | None, status: int) -> None:
    params = {"user.name": user} if user else {}
    answer = await filled.client.post(f"{LIST}/{RUNNING.id}/kill", json={}, params=params)
    assert answer.status_code == status
    assert (answer.headers.get("www-authenticate") is not None) == (status == 401)


async def test_kill_of_what_is_not_there_is_404(filled: RestWorld) -> None:
    answer = await filled.client.post(f"{LIST}/application_1_0009/kill", json={}, params={"user.name": "alice"})
    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", "application/json"),
        (b"{}", "text/plain"),
        (b"{}", ""),
        (b'{"x": 1}', "application/json"),
        (b"[" * 20_000, "application/json"),
        (b'{"diagnostics": 7}', "application/json"),
        (b"\xff", "application/json"),
    ],
)
async def test_kill_takes_json_of_its_shape_and_nothing_else(filled: RestWorld, content: bytes, kind: str) -> None:
    """A page of somebody else's can send the rest with our caller's cookie."""
    headers = {"Content-Type": kind} if kind else {}
    path = f"{LIST}/{RUNNING.id}/kill?user.name=alice"
    answer = await filled.client.post(path, content=content, headers=headers)
    expected = 400 if kind else 415
    assert (answer.status_code, answer.headers["content-type"]) == (expected, "application/problem+json")
    assert filled.rm.state.applications[RUNNING.id].state is ApplicationState.RUNNING


async def test_where_acls_are_on_nobody_sees_the_applications_of_others(guarded: RestWorld) -> None:
    assert await listed(guarded, "user.name=alice") == [str(RUNNING.id)]
    guarded.client.cookies.clear()
    assert await listed(guarded, "user.name=admin") == [str(FAILED.id), str(RUNNING.id)]
    for below in ("", "/containers", "/logs", "/failure", f"/containers/{TASK.id}"):
        guarded.client.cookies.clear()
        await api_get(guarded, f"{LIST}/{RUNNING.id}{below}?user.name=bob", 403)
        guarded.client.cookies.clear()
        await api_get(guarded, f"{LIST}/{RUNNING.id}{below}?user.name=alice")


async def test_containers_that_were_forgotten_stand_among_the_others_page_by_page(world: RestWorld) -> None:
    rows = [a_container(1, container=n, state=ContainerState.COMPLETED, node_id=NODE.id) for n in range(2, 8)]
    await world.put(NODE, APP, an_attempt(1), *rows[1::2])
    await world.store.commit(Commit(ended_containers=[remembered(row) for row in (*rows[::2], rows[1])]))

    found: list[str] = []
    cursor, pages = None, 0
    while pages == 0 or cursor:
        query = {"limit": "2", **({"cursor": cursor} if cursor else {})}
        answer = await world.client.get(f"/api/v1/applications/{APP.id}/containers", params=query)
        assert answer.status_code == 200, answer.text
        found += [item["id"] for item in answer.json()["items"]]
        cursor, pages = answer.json()["next_cursor"], pages + 1

    assert (found, pages) == ([str(row.id) for row in rows], 3)
    kept = await api_get(world, f"{LIST}/{APP.id}/containers/{rows[0].id}")
    assert (kept["id"], kept["state"]) == (str(rows[0].id), "COMPLETED")


async def test_logs_of_forgotten_containers_are_found_behind_those_without_a_node(world: RestWorld) -> None:
    rows = [a_container(1, container=n, state=ContainerState.COMPLETED, node_id=None) for n in range(2, 260)]
    last = a_container(1, container=900, state=ContainerState.COMPLETED, node_id=NODE.id)
    await world.put(NODE, APP, an_attempt(1))
    await world.store.commit(Commit(ended_containers=[remembered(row) for row in (*rows, last)]))

    answer = await world.client.get(f"/api/v1/applications/{APP.id}/logs", params={"limit": "1"})

    assert [item["container_id"] for item in answer.json()["items"]] == [str(last.id)]
    assert answer.json()["next_cursor"] is None


async def test_live_containers_alone_are_no_question_to_the_store(world: RestWorld) -> None:
    rows = [a_container(1, container=n, state=ContainerState.RUNNING, node_id=NODE.id) for n in (2, 3)]
    await world.put(NODE, APP, an_attempt(1), *rows)

    async def never(*_: object) -> list[Any]:
        raise AssertionError("what ended is not asked for")

    world.app.state.v1.containers.ended_page = never

    answer = await world.client.get(f"/api/v1/applications/{APP.id}/containers", params={"state": "RUNNING"})

    assert [item["id"] for item in answer.json()["items"]] == [str(row.id) for row in rows]
