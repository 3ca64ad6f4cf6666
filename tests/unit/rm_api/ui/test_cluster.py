"""The overview, queues and nodes."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.support.api_rows import FAILED, GONE, NODE, RUNNING, TASK, api_get, fill
from tests.support.loans import lends, measured_report
from tests.support.page_figures import page_of
from tests.support.records import a_node, a_submission, an_application
from tests.support.rest_world import RestWorld, rest_world
from yodel.domain.colocation.emergency import MemoryEmergency
from yodel.domain.colocation.report import Bound, Pressure, WrittenReport
from yodel.domain.queues.queue import Queue
from yodel.domain.states import ApplicationState, NodeState
from yodel.rm_api.ui import applications, cluster

TREE = (
    Queue(path="root", is_leaf=False),
    Queue(path="root.default", is_leaf=True, capacity_percent=60.0, maximum_capacity_percent=80.0),
    Queue(path="root.etl", is_leaf=False, capacity_percent=40.0),
    Queue(path="root.etl.night", is_leaf=True, capacity_percent=100.0),
)


async def test_overview_has_pools_nodes_queues_and_applications() -> None:
    async with rest_world(queues=TREE) as world:
        await fill(world)
        page = await page_of(world, "/cluster")
        (pool,) = (await api_get(world, "/api/v1/pools"))["items"]
    assert "1 running, 0 waiting" in page
    assert f"<h3>{pool['name']}</h3>" in page
    assert "<dt>Capacity</dt><dd>8 GiB, 8 vcores</dd>" in page
    assert re.findall(r'href="/cluster/nodes/(\w+)"><b>(\d+)</b>', page) == [("RUNNING", "1"), ("LOST", "1")]
    assert re.findall(r'href="/cluster/queue/([^"]+)">(?:default|etl)<', page) == ["root.default", "root.etl"]
    assert all(f'href="/cluster/app/{row.id}"' in page for row in (RUNNING, FAILED))


async def test_empty_lists_say_what_to_do(world: RestWorld) -> None:
    page = await page_of(world, "/cluster")
    assert "No application has been submitted yet" in page
    assert "No node agent has registered yet" in page
    assert "No node agent has registered yet" in await page_of(world, "/cluster/nodes")
    assert "No application has been submitted yet" in await page_of(world, "/cluster/apps")
    assert "No application matches" in await page_of(world, "/cluster/apps/FAILED")


@pytest.mark.parametrize("path", ["/cluster/scheduler", "/cluster/scheduler?openQueues=Queue:%20root"])
async def test_tree_of_queues_has_the_figures_of_the_api(path: str) -> None:
    async with rest_world(queues=TREE) as world:
        await fill(world)
        page = await page_of(world, path)
        items = (await api_get(world, "/api/v1/queues"))["items"]
    assert re.findall(r'class="depth-(\d)"><a href="/cluster/queue/([^"]+)"', page) == [
        ("0", "root"),
        ("1", "root.default"),
        ("1", "root.etl"),
        ("2", "root.etl.night"),
    ]
    rows = dict(re.findall(r'href="/cluster/queue/([^"]+)">.*?aria-label="(.*?)"', page, re.DOTALL))
    for item in items:
        for words, amount in (("used", item["used"]), ("guaranteed", item["guaranteed"]), ("maximum", item["maximum"])):
            mib = amount["memory_mib"]
            size = f"{mib // 1024} GiB" if mib and mib % 1024 == 0 else f"{mib} MiB"
            assert f"{size} {words}" in rows[item["path"]], item["path"]


async def test_queue_has_its_limits_and_those_above_and_below() -> None:
    async with rest_world(queues=TREE) as world:
        await fill(world)
        leaf = await page_of(world, "/cluster/queue/root.default")
        assert leaf == await page_of(world, "/cluster/queue/default"), "a leaf's name will do"
        inner = await page_of(world, "/cluster/queue/root.etl")
        assert "There is no queue root.nothing" in await page_of(world, "/cluster/queue/root.nothing", 404)
    assert 'href="/cluster/apps?queue=root.default">1 running, 0 waiting</a>' in leaf
    assert "<dt>maximum-capacity</dt><dd>80</dd>" in leaf
    assert '<li><a href="/cluster/scheduler">Queues</a></li><li><a href="/cluster/queue/root">root</a></li>' in leaf
    assert 'href="/cluster/queue/root.etl.night"' in inner


async def test_applications_are_filtered_by_user_and_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    async with rest_world(queues=TREE) as world:
        night = an_application(
            3, state=ApplicationState.RUNNING, submission=a_submission(user="carol", queue="root.etl.night")
        )
        await fill(world)
        await world.put(night)

        async def ids(query: str) -> list[str]:
            return re.findall(r'href="/cluster/app/([^"]+)"', await page_of(world, f"/cluster/apps{query}"))

        assert await ids("?user=carol&queue=") == [str(night.id)]
        assert await ids("?queue=root.default") == [str(FAILED.id), str(RUNNING.id)]
        assert await ids("/RUNNING?queue=root.default&user=") == [str(RUNNING.id)]
        assert "Unknown queue: nothing" in await page_of(world, "/cluster/apps?queue=nothing", 400)
        monkeypatch.setattr(applications, "LISTED_MAX", 1)
        assert await ids("?queue=root.default&limit=9") == [str(FAILED.id)]


@pytest.mark.parametrize(
    ("path", "expected"),
    [("", {NODE, GONE}), ("/all", {NODE, GONE}), ("/RUNNING", {NODE}), ("/lost", {GONE}), ("/UNHEALTHY", set())],
)
async def test_nodes_are_those_of_a_state(world: RestWorld, path: str, expected: set[object]) -> None:
    await fill(world)
    page = await page_of(world, f"/cluster/nodes{path}")
    assert {one for one in (NODE, GONE) if f">{one.id}</a>" in page} == expected
    assert ("No node is in this state" in page) is (not expected)


async def test_many_nodes_are_shown_a_page_at_a_time(world: RestWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "NODES_LISTED_MAX", 2)
    rows = [a_node(f"node-{n}", state=NodeState.RUNNING) for n in (4, 1, 3, 2)]
    await world.put(*rows, a_node("node-0", state=NodeState.LOST))
    path: str | None = "/cluster/nodes/RUNNING"
    listed = []
    while path is not None:
        page = await page_of(world, path)
        listed.append(re.findall(r"node-\d", re.sub(r"<a href=.*?>|after=[^\"]+", "", page)))
        more = re.search(r'href="(/cluster/nodes/RUNNING[?]after=[^"]+)"', page)
        path = more[1] if more is not None else None
    assert listed == [["node-1", "node-2"], ["node-3", "node-4"]]
    await page_of(world, "/cluster/nodes?after=nonsense", 400)


async def test_no_such_state_of_nodes(world: RestWorld) -> None:
    assert "is no state of a node" in await page_of(world, "/cluster/nodes/ASLEEP", 404)


@pytest.mark.parametrize(
    ("path", "to"),
    [
        ("/cluster/nodelabels", "/cluster/nodes"),
        (f"/cluster/logaggregationstatus/{RUNNING.id}", f"/cluster/app/{RUNNING.id}"),
    ],
)
async def test_hadoops_other_paths_lead_on(world: RestWorld, path: str, to: str) -> None:
    answer = await world.client.get(path)
    assert (answer.status_code, answer.headers["location"]) == (302, to)


async def test_what_a_node_lends_is_the_sum_of_the_api_step_by_step(world: RestWorld) -> None:
    await fill(world)
    lends(world.rm, {"kubernetes.io/batch-cpu": "5000"})
    bounds = (Bound(container="", file="cpu.cfs_quota_us", decided=610_000, written=610_000, read=600_000, why="late"),)
    report = replace(measured_report(3_000, 4_000), pressure=Pressure(source="kubepods", some_basis_points=301))
    written = WrittenReport(policy_version=report.policy_version, groups=1, bounds=bounds, problems=("no memory.stat",))
    world.rm.written_limits.hear(NODE.id, "kube-1", written)
    world.rm.facts.hear(NODE.id, "kube-1", report)
    short = MemoryEmergency(reason="95 % of memory used", cool_down_s=60, containers=(TASK.id,))
    world.rm.facts.hear_emergency(NODE.id, "kube-1", short)
    page = await page_of(world, f"/cluster/node/{NODE.id}")
    found = await api_get(world, f"/api/v1/nodes/{NODE.id}/capacity")
    cpu = found["resources"][0]
    table = page.partition("<h3>kubernetes.io/batch-cpu</h3>")[2].partition("</table>")[0]
    lefts = [int(text) for text in re.findall(r'data-label="Left">(?:<b>)?(-?\d+)m', table)]
    left, expected = 0, list[int]()
    for term in cpu["terms"]:
        left += term["amount"]
        expected.append(left)
    assert cpu["steps"][0]["before"] == left
    assert lefts == [*expected, *(step["after"] for step in cpu["steps"]), cpu["wanted"]]
    assert lefts[-1] == 6_100
    for text in (
        *("Memory is low: 95 % of memory used", "610000", "600000", "late", "all best-effort pods"),
        *("no memory.stat", "3.01 % of the last ten seconds", f'href="/cluster/container/{TASK.id}"'),
    ):
        assert text in page, text
