"""Every figure on a page is one of /api/v1."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from markupsafe import escape

from tests.support.api_rows import NODE, api_get, fill
from tests.support.loans import lends, measured_report
from tests.support.playbook import a_submission
from tests.support.records import NOBODY
from tests.support.rest_world import RestWorld, rest_world
from yodel.domain.queues.queue import Queue
from yodel.domain.states import NodeState
from yodel.rm_api.ui.frame import at, plain, size
from yodel.rm_api.v1.models import Amount
from yodel.rm_api.v1.process_facts import Lead, ProcessFacts

QUEUES = (
    Queue(path="root", is_leaf=False),
    Queue(path="root.default", is_leaf=True, capacity_percent=60.0, maximum_capacity_percent=80.0),
    Queue(path="root.etl", is_leaf=True, capacity_percent=40.0),
)
LEAD = Lead(holder="rm-1", remaining_s=4.5, lease_s=6.0, has_standby=True, is_standby_expected=True)
FACTS = ProcessFacts(started_ms=1_700_000_000_000, database="PostgreSQL", lead=lambda: LEAD)


def sized(amount: dict[str, Any]) -> str:
    return size(Amount(**amount))


def rows_of(page: str, heading: str) -> Iterator[str]:
    """Yield the rows of the table below a heading, as text."""
    table = page.partition(f"<h2>{heading}</h2>")[2].partition("</table>")[0]
    for row in re.findall(r"<tr>(.*?)</tr>", table.partition("<tbody>")[2], re.DOTALL):
        yield " ".join(re.sub(r"<[^>]*>", " ", row).split())


def facts_of(page: str) -> dict[str, str]:
    found = re.findall(r"<dt>(.*?)</dt><dd[^>]*>(.*?)</dd>", page, re.DOTALL)
    return {name: " ".join(re.sub(r"<[^>]*>", " ", value).split()) for name, value in found}


async def page_of(world: RestWorld, path: str) -> str:
    answer = await world.client.get(path)
    assert answer.status_code == 200, path
    return answer.text


async def test_figures_of_pages_are_those_of_the_api() -> None:
    async with rest_world(queues=QUEUES, facts=FACTS) as world:
        await fill(world)
        lends(world.rm)
        world.rm.facts.hear(NODE.id, "kube-1", measured_report(3_000, 4_000))
        while (waiting := await world.rm.submission.give_id(NOBODY)).sequence < 3:
            pass
        await world.rm.submission.submit(waiting, a_submission(user="bob"))
        await world.rm.scheduler.tick()
        await overview_is_that_of_the_api(world)
        await queue_is_that_of_the_api(world)
        await node_is_that_of_the_api(world)
        await lending_is_that_of_the_api(world)
        await about_is_that_of_the_api(world)


async def overview_is_that_of_the_api(world: RestWorld) -> None:
    page = await page_of(world, "/cluster")
    facts = facts_of(page)
    (pool,) = (await api_get(world, "/api/v1/pools"))["items"]
    assert (facts["Capacity"], facts["Free"]) == (sized(pool["size"]), sized(pool["free"]))
    assert facts["Used or scheduling"] == sized(pool["used"])
    items = (await api_get(world, "/api/v1/queues"))["items"]
    rows = {row.split()[0]: row for row in rows_of(page, "Queues")}
    assert set(rows) == {"default", "etl"}
    for item in items[1:]:
        for name in ("used", "guaranteed", "maximum"):
            assert sized(item[name]) in rows[item["name"]]
        assert f"{item['running_applications']} running, {item['pending_applications']} waiting" in rows[item["name"]]
    nodes = (await api_get(world, "/api/v1/nodes"))["items"]
    for state in (NodeState.RUNNING, NodeState.LOST):
        count = sum(node["state"] == state.name for node in nodes)
        assert re.search(rf'/cluster/nodes/{state.name}"><b>{count}</b>', page)
    found = (await api_get(world, "/api/v1/attention"))["items"]
    texts = list(rows_of(page, "Needs attention"))
    assert len(texts) == len(found) > 0
    assert all(one["text"] in text for one, text in zip(found, texts, strict=True))


async def queue_is_that_of_the_api(world: RestWorld) -> None:
    page = await page_of(world, "/cluster/queue/root.default")
    facts, queue = facts_of(page), await api_get(world, "/api/v1/queues/root.default")
    assert facts["Used"] == f"{sized(queue['used'])}, {queue['containers']} containers"
    assert facts["Pending"].startswith(f"{sized(queue['pending'])}, {queue['pending_containers']} container")
    users = (await api_get(world, "/api/v1/queues/root.default/users"))["items"]
    rows = list(rows_of(page, "Users"))
    assert [row.split()[0] for row in rows] == [one["user"] for one in users] == ["alice", "bob"]
    for row, one in zip(rows, users, strict=True):
        assert all(sized(one[name]) in row for name in ("used", "limit", "am_used", "am_limit"))
        assert one["pending_containers"] == 0 or sized(one["pending"]) in row
        assert f"{one['running_applications']} running, {one['pending_applications']} waiting" in row
    causes = (await api_get(world, "/api/v1/queues/root.default/why"))["causes"]
    reasons = list(rows_of(page, "Why it waits"))
    assert len(causes) == len(reasons) > 0
    for row, cause in zip(reasons, causes, strict=True):
        assert row.startswith(f"{cause['containers']} container")
        assert all(text in row for text in (sized(cause["size"]), cause["cause"], cause["text"], cause["until"]))


async def node_is_that_of_the_api(world: RestWorld) -> None:
    page = await page_of(world, f"/cluster/node/{NODE.id}")
    node = await api_get(world, f"/api/v1/nodes/{NODE.id}")
    used = f"{sized(node['allocation']['used'])} of {sized(node['capacity'])} in use by {node['containers']} container"
    assert used in page
    assert len(list(rows_of(page, "Containers"))) == len(node["container_list"])
    capacity = await api_get(world, f"/api/v1/nodes/{NODE.id}/capacity")
    assert f"Measured by the node agent ({capacity['source']})" in page


async def lending_is_that_of_the_api(world: RestWorld) -> None:
    page = await page_of(world, "/cluster/lending")
    facts, whole = facts_of(page), await api_get(world, "/api/v1/colocation")
    assert facts["CPU lent"] == plain(whole["lent"]["cpu_milli"], "m")
    assert facts["Memory lent"] == plain(whole["lent"]["memory_mib"], "Mi")
    assert facts["Stopped because memory was low"] == str(whole["emergency_containers"])


async def about_is_that_of_the_api(world: RestWorld) -> None:
    page = await page_of(world, "/cluster/about")
    facts, cluster = facts_of(page), await api_get(world, "/api/v1/cluster")
    assert (facts["Cluster id"], facts["Database"]) == (str(cluster["cluster_id"]), cluster["database"])
    assert facts["Lease"] == f"{cluster['leader']['remaining_s']} s left of {cluster['leader']['lease_s']} s"
    assert at(cluster["started_ms"]) in page
    agents = [f"{escape(one['version'])}" for one in cluster["agents"]]
    assert len(list(rows_of(page, "Node agents"))) == len(agents)
