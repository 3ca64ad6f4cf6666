"""The ResourceManager's own pages in a real browser: whole, with their style, and nothing that their policy forbids."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import urlsplit

import pytest

from tests.support.api_rows import FAILED, NODE, RUNNING, TASK, fill
from tests.support.browser import Browser
from tests.support.loans import lends, measured_report
from tests.support.page_looks import LINKS, wrong_looks
from tests.support.playbook import a_submission
from tests.support.records import NOBODY, a_container, an_application, an_attempt
from tests.support.rest_world import RestWorld, rest_world
from yodel.domain.queues.queue import Queue
from yodel.domain.states import AttemptState, ContainerState
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
TURNED_TO = """new Promise(done => {
  let asked = 0;
  document.addEventListener("htmx:beforeRequest", () => asked++);
  document.addEventListener("htmx:afterRequest", () => setTimeout(() => done(asked), 200), {once: true});
  document.dispatchEvent(new Event("visibilitychange"));
  setTimeout(() => asked || done(0), 1000);
})"""
HIDDEN = "Object.defineProperty(document, 'hidden', {{value: {}, configurable: true}})"


async def test_pages_are_whole_at_any_width_and_do_nothing_forbidden() -> None:
    async with rest_world(queues=QUEUES) as world:
        await filled(world)
        server, port = await serve(world.app, "127.0.0.1", 0)
        try:
            base = f"http://127.0.0.1:{port}"
            await asyncio.to_thread(looked_at, base)
            await assert_refreshes(world, base)
        finally:
            await server.stop()


async def filled(world: RestWorld) -> None:
    await fill(world)
    failed = a_container(2, container=2, state=ContainerState.COMPLETED, node_id=NODE.id, exit_status=3)
    await world.put(an_attempt(2, state=AttemptState.FAILED), failed)
    lends(world.rm)
    world.rm.facts.hear(NODE.id, "kube-1", measured_report(3_000, 4_000))
    while await world.rm.submission.give_id(NOBODY) != FAILED.id:
        pass  # ids of those that are there
    assert await world.rm.submission.give_id(NOBODY) == WAITING_ID
    await world.rm.submission.submit(WAITING_ID, a_submission(name="<script>alert(1)</script>", user="$(reboot)"))
    await world.rm.scheduler.tick()


def looked_at(base: str) -> None:
    with Browser() as browser:
        links: set[str] = set()
        for path in PAGES:
            loaded = browser.visit(base + path)
            assert browser.evaluate("document.styleSheets[0].cssRules.length") > 20, path
            assert list(wrong_looks(browser)) == [], path
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
    # No node agent runs here: a page of logs says so.
    return [f"{status} {path}" for path, status in statuses.items() if status != (503 if "/logs" in path else 200)]


async def assert_refreshes(world: RestWorld, base: str) -> None:
    """A list follows what happens, in the reader's zone, while somebody looks at it and only then."""
    with Browser() as browser:
        browser.lives_in("Asia/Kolkata")
        loaded = await asyncio.to_thread(browser.visit, base + "/cluster/apps?name_prefix=sort")
        (first,) = await asyncio.to_thread(browser.shown, "time")
        assert re.fullmatch(r"1970-01-01 05:30:01 \S+\s+1970-01-01 00:00:01 UTC", first)
        await world.put(replace(RUNNING, submission=replace(RUNNING.submission, name="sorted out")))
        browser.evaluate(f"{HIDDEN.format('true')}; document.querySelector('#live a[href^=\"/cluster/app/\"]').focus()")
        asked = await refreshed(browser)
        assert (asked, browser.evaluate("document.body.innerText.includes('sorted out')")) == (0, False)
        browser.evaluate(f"{HIDDEN.format('false')}; 0")
        assert await refreshed(browser) == 1
        assert browser.evaluate("document.body.innerText.includes('sorted out')")
        assert (await asyncio.to_thread(browser.shown, "time")) == [first]
        assert browser.evaluate("document.activeElement.getAttribute('href')") == f"/cluster/app/{RUNNING.id}"
        browser.evaluate("document.querySelector('#live').dataset.kept = 'yes'")
        assert await refreshed(browser) == 1
        assert browser.evaluate("document.querySelector('#live').dataset.kept") == "yes"  # nothing new: not replaced
        browser.click("#pause")
        assert await refreshed(browser) == 0
        assert browser.shown("#refreshed") == ["Paused"]
        assert loaded.faults == []


async def refreshed(browser: Browser) -> int:
    """Return how many requests a page makes that has just been turned to; what they lead to is there."""
    return int(await asyncio.to_thread(browser.evaluate, TURNED_TO))


def assert_watch_sees(browser: Browser, base: str) -> None:
    """A style in a page is forbidden, and that is noticed."""
    browser.visit(base + "/cluster")
    browser.evaluate("document.body.insertAdjacentHTML('beforeend', '<b style=\"color:red\">red</b>')")
    assert any("policy: style-src-attr" in fault for fault in browser.rest().faults)


pytestmark = pytest.mark.timeout(120)
