"""Every figure on a page is one of /api/v1, named in the page."""

from __future__ import annotations

import pytest

from tests.support.api_rows import ENDED, MASTER, NODE, RUNNING, api_get, fill
from tests.support.loans import lends, measured_report
from tests.support.page_figures import Figure, differences, read_page
from tests.support.playbook import a_submission
from tests.support.records import NOBODY
from tests.support.rest_world import RestWorld, rest_world
from yodel.domain.queues.queue import Queue
from yodel.rm_api.v1.process_facts import Lead, ProcessFacts

QUEUES = (
    Queue(path="root", is_leaf=False),
    Queue(path="root.default", is_leaf=True, capacity_percent=60.0, maximum_capacity_percent=80.0),
    Queue(path="root.etl", is_leaf=True, capacity_percent=40.0),
)
LEAD = Lead(holder="rm-1", remaining_s=4.5, lease_s=6.0, has_standby=True, is_standby_expected=True)
FACTS = ProcessFacts(started_ms=1_700_000_000_000, database="PostgreSQL", lead=lambda: LEAD)


PATHS = (
    "/cluster",
    "/cluster/apps",
    "/cluster/apps/RUNNING,FAILED?sort=oldest",
    f"/cluster/app/{RUNNING.id}",
    "/cluster/app/application_1700000000000_0002",
    f"/cluster/app/{RUNNING.id}/timeline",
    f"/cluster/container/{MASTER.id}",
    f"/cluster/container/{ENDED.id}",
    "/cluster/scheduler",
    "/cluster/queue/root.default",
    "/cluster/nodes",
    "/cluster/nodes/LOST",
    f"/cluster/node/{NODE.id}",
    "/cluster/lending",
    "/cluster/about",
    "/cluster/nowhere",
)


async def wrong_figures(world: RestWorld, path: str) -> tuple[list[Figure], list[str]]:
    """Return the figures of a page, and what is wrong with them."""
    page = await world.client.get(f"{path}{'&' if '?' in path else '?'}user.name=admin")
    figures, wrong = read_page(path, page.text)
    sources = {figure.path for figure in figures} - {""}
    as_admin = {path: f"/api/v1{path}{'&' if '?' in path else '?'}user.name=admin" for path in sources}
    answers = {path: await api_get(world, address) for path, address in as_admin.items()}
    return figures, [*wrong, *differences(figures, answers)]


@pytest.mark.parametrize(
    ("part", "faults"),
    [
        ('<p data-api="running">3 containers run</p>', []),
        ('<p data-api="used">6 GiB, 3 vcores</p>', []),
        ('<p data-api="running used">3 use 6 GiB, 3 vcores</p>', []),
        ('<p data-api="left.0.name">Since <time datetime="1970-01-01T00:00:01Z">soon</time></p>', ["left.0.name"]),
        ('<p data-api="since_ms"><time datetime="1970-01-01T00:00:01Z">01:00</time></p>', []),
        ('<p data-api="since_ms"><time datetime="1970-01-01T00:00:02Z">01:00</time></p>', ["since_ms"]),
        ('<p data-api="running+-pending">1</p>', []),
        ('<p data-api="running+-pending">3</p>', ["running+-pending"]),
        ('<p data-api="used running">3 use 6 GiB, 3 vcores</p>', ["used"]),
        ('<p data-api="running">4 containers</p>', ["running"]),
        ('<p data-api="running">-3 containers</p>', ["running"]),
        ('<p data-api="running">3 of 5 containers</p>', ["running"]),
        ('<p data-api="running">none</p>', ["running"]),
        ('<p data-api="nothing">3</p>', ["no field"]),
        ('<p data-api="cpu_milli">3 cores</p>', []),
        ('<p data-api="cpu_milli">3000</p>', ["cpu_milli"]),
        ('<p data-api="name">bobby</p>', ["name"]),
        ('<p data-api="name">bo...</p>', []),
        ('<p data-api="name">ob...</p>', ["name"]),
        ('<p data-api="name running"><b>bob</b><br>3 run</p>', []),
        ('<pre class="log strange">3 lines</pre>', []),
        ("<p>and 3 more</p>", ["and 3 more"]),
        ('<p><a href="/cluster/app/a_1">a_1</a>, <a href="/cluster/app/a_1">a_2</a></p>', ["a_2"]),
        ('<svg data-api="running"><title>4 run</title><rect width="4%"/></svg>', ["running"]),
    ],
)
def test_a_figure_that_is_not_the_apis_or_names_no_field_is_found(part: str, faults: list[str]) -> None:
    used = {"memory_mib": 6144, "vcores": 3, "others": {}}
    told = {"running": 3, "pending": 2, "used": used, "since_ms": 1000, "cpu_milli": 3000, "name": "bob", "left": []}
    figures, unnamed = read_page("/cluster", f'<main data-of="/x">{part}</main>')
    found = [*unnamed, *differences(figures, {"/x": told})]
    assert [fault in text for fault, text in zip(faults, found, strict=True)] == [True] * len(faults)


async def test_figures_of_pages_are_those_of_the_api() -> None:
    async with rest_world(queues=QUEUES, facts=FACTS) as world:
        await fill(world)
        lends(world.rm)
        world.rm.facts.hear(NODE.id, "kube-1", measured_report(3_000, 4_000))
        while (waiting := await world.rm.submission.give_id(NOBODY)).sequence < 3:
            pass
        await world.rm.submission.submit(waiting, a_submission(user="bob"))
        await world.rm.scheduler.tick()
        shown = {path: await wrong_figures(world, path) for path in PATHS}
        wrong = {path: faults for path, (_, faults) in shown.items() if faults}
        assert wrong == {}
        fewest = {path: len(figures) for path, (figures, _) in shown.items()}
        assert fewest.pop("/cluster/nowhere") == 0
        assert min(fewest.values()) >= 5, fewest
