"""The ResourceManager's own pages in a real browser: whole, with their style, and nothing that their policy forbids."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import product
from urllib.parse import urlsplit

import pytest

from tests.support.api_rows import FAILED, NODE, RUNNING, TASK, fill
from tests.support.browser import Browser
from tests.support.loans import lends, measured_report
from tests.support.playbook import a_submission
from tests.support.records import an_application
from tests.support.rest_world import RestWorld, rest_world
from yodel.domain.queues.queue import Queue
from yodel.rm_api.server import serve

QUEUES = (
    Queue(path="root", is_leaf=False),
    Queue(path="root.default", is_leaf=True, capacity_percent=60.0, maximum_capacity_percent=80.0),
    Queue(path="root.etl", is_leaf=False, capacity_percent=40.0),
    Queue(path="root.etl.night", is_leaf=True, capacity_percent=100.0),
)
WAITING_ID = an_application(3).id
NOWHERE = "/cluster/nowhere"
PAGES = (
    "/cluster",
    "/cluster/apps",
    f"/cluster/app/{RUNNING.id}",
    f"/cluster/app/{FAILED.id}",
    f"/cluster/app/{WAITING_ID}",
    f"/cluster/container/{TASK.id}",
    "/cluster/scheduler",
    "/cluster/queue/root.default",
    "/cluster/nodes",
    f"/cluster/node/{NODE.id}",
    "/cluster/lending",
    "/cluster/about",
    NOWHERE,
)
WIDER_THAN_WINDOW = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
GROUND = "getComputedStyle(document.body).backgroundColor"
LINKS = "Array.from(document.querySelectorAll('a[href]'), a => a.href)"


async def test_pages_are_whole_at_any_width_and_do_nothing_forbidden() -> None:
    async with rest_world(queues=QUEUES) as world:
        await filled(world)
        server, port = await serve(world.app, "127.0.0.1", 0)
        try:
            await asyncio.to_thread(looked_at, f"http://127.0.0.1:{port}")
        finally:
            await server.stop()


async def filled(world: RestWorld) -> None:
    await fill(world)
    lends(world.rm)
    world.rm.facts.hear(NODE.id, "kube-1", measured_report(3_000, 4_000))
    while await world.rm.submission.new_application_id() != FAILED.id:
        pass  # ids of those that are there
    assert await world.rm.submission.new_application_id() == WAITING_ID
    await world.rm.submission.submit(WAITING_ID, a_submission(name="<script>alert(1)</script>", user="$(reboot)"))
    await world.rm.scheduler.tick()


def looked_at(base: str) -> None:
    with Browser() as browser:
        links: set[str] = set()
        for path in PAGES:
            loaded = browser.visit(base + path)
            assert browser.evaluate("document.styleSheets[0].cssRules.length") > 20, path
            grounds = set()
            for width_px, is_dark in product((1280, 390), (False, True)):
                browser.seen_as(width_px, is_dark=is_dark)
                assert not browser.evaluate(WIDER_THAN_WINDOW), f"{path} at {width_px} px"
                grounds.add((is_dark, browser.evaluate(GROUND)))
            assert len(grounds) == len({colour for _, colour in grounds}) == 2, path
            assert [fault for fault in loaded.faults if NOWHERE not in fault] == [], path
            links |= set(browser.evaluate(LINKS))
        own = sorted({urlsplit(link).path for link in links if link.startswith(base)} - {NOWHERE})
        assert followed(browser, base, own) == []
        assert_watch_sees(browser, base)


def followed(browser: Browser, base: str, own: Sequence[str]) -> list[str]:
    """The links of pages that lead nowhere, by what a script of the browser gets."""
    script = "fetch({!r}).then(a => a.status)"
    browser.visit(base + "/cluster")
    statuses = {path: browser.evaluate(script.format(path)) for path in own}
    return [f"{status} {path}" for path, status in statuses.items() if status != 200]


def assert_watch_sees(browser: Browser, base: str) -> None:
    """A style in a page is forbidden, and that is noticed."""
    browser.visit(base + "/cluster")
    browser.evaluate("document.body.insertAdjacentHTML('beforeend', '<b style=\"color:red\">red</b>')")
    assert any("policy: style-src-attr" in fault for fault in browser.rest().faults)


pytestmark = pytest.mark.timeout(120)
