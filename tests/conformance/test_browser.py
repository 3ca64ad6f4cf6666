"""Pages in a real browser: Spark's and MapReduce's own through the web proxy, and the ResourceManager's.

A page is right when it shows what it is about, has its styles and scripts, and nothing that it fetched was refused,
missing, or from somewhere else.  Applications' pages are looked at in both forms: below the ResourceManager's own
address, and on an origin of their own, where their scripts get nothing of its API.
"""

from __future__ import annotations

import contextlib
import getpass
import json
import pathlib
import signal
import time
from collections import Counter
from collections.abc import Iterator

import psutil
import pytest

from tests.conformance import mapreduce_by_rest
from tests.conformance.cluster import Cluster, running, wait_for
from tests.conformance.disturbed import HeldJob
from tests.conformance.held_mapreduce import processes_of
from tests.conformance.rest_words import new_id, post
from tests.conformance.spark_submit import Spark
from tests.support.browser import Browser, Loaded

OWNER = getpass.getuser()
START_TIMEOUT_S = 600
ASKED_AGAIN_S = 3
SPARKS_OWN = ("/taskSummary?",)
"""Spark itself answers 404 to its page as long as no task has ended."""
EMPTY_STYLES = "Array.from(document.styleSheets).filter(s => s.href && s.cssRules.length === 0).map(s => s.href)"


FORMS = ("shared", "own")
CALLS = """(async () => {{
  const read = await fetch("{api}/apps", {{credentials: "include"}}).then(a => a.json(), () => "refused");
  const asked = {{method: "POST", credentials: "include", mode: "{mode}"}};
  const changed = await fetch("{api}/apps/new-application", asked).then(a => a.status, () => "refused");
  return [read === "refused" ? read : typeof read.apps, changed];
}})()"""


@pytest.fixture(scope="module", params=FORMS)
def shown_by(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A cluster that shows applications' pages on its own origin, and one that shows them on another."""
    with running(settings={"YODEL_WEB": json.dumps({"proxied_origin": request.param, "proxied_port": 0})}) as started:
        yield started


@pytest.fixture
def browser() -> Iterator[Browser]:
    with Browser() as started:
        yield started


class Looker:
    """Looks at pages below one address and keeps pictures of them."""

    def __init__(self, browser: Browser, cluster: Cluster, pictures: pathlib.Path) -> None:
        self.browser, self._cluster, self._pictures = browser, cluster, pictures
        self.base_url = self._rest_url = cluster.ready.rest_url

    def visit(self, path: str) -> str:
        """The page's text; who is led to another origin is there from then on."""
        loaded = self.browser.visit(f"{self._rest_url}{path}")
        self.base_url = self.browser.evaluate("location.origin")
        return self._seen(loaded, path)

    @property
    def is_apart(self) -> bool:
        """Return whether what is shown is of another origin than the ResourceManager's."""
        return self.base_url != self._rest_url

    def calls(self) -> list[object]:
        """Return what becomes of a page's script that reads the API, and of one that changes something by it."""
        mode = "no-cors" if self.is_apart else "same-origin"
        found: list[object] = self.browser.evaluate(CALLS.format(api=f"{self._rest_url}/ws/v1/cluster", mode=mode))
        return found

    def click(self, selector: str) -> str:
        """The text of what it leads to."""
        return self._seen(self.browser.click(selector), selector)

    def _seen(self, loaded: Loaded, name: str) -> str:
        safe = "".join(letter if letter.isalnum() else "-" for letter in name).strip("-")[:60] or "root"
        self.browser.picture(self._pictures / f"{len(list(self._pictures.iterdir())):02d}-{safe}.png")
        assert [fault for fault in loaded.faults if not any(word in fault for word in SPARKS_OWN)] == [], name
        ours = (f"{self.base_url}/", f"{self._rest_url}/proxy/", "data:")
        outside = [url for url in loaded.statuses if not url.startswith(ours)]
        assert outside == [], name
        assert self.browser.evaluate(EMPTY_STYLES) == [], name
        text: str = self.browser.evaluate("document.body.innerText")
        return text

    def until(self, words: str, at: str = "") -> None:
        """A page that is asked for by a click comes when it comes.

        The page with the path ``at`` may have been asked for before there was anything to show: it is asked for again.
        """
        asked_s = time.monotonic()

        def is_shown() -> bool:
            nonlocal asked_s
            if words in self.browser.evaluate("document.body?.innerText ?? ''"):
                return True
            if self.path == at and time.monotonic() - asked_s > ASKED_AGAIN_S:
                self.browser.visit(self.browser.evaluate("location.href"))
                asked_s = time.monotonic()
            return False

        wait_for(words, is_shown)

    def style(self, selector: str, name: str) -> str:
        """Return a style as it is computed from all that was loaded."""
        found: str = self.browser.evaluate(f"getComputedStyle(document.querySelector('{selector}'))['{name}']")
        return found

    @property
    def path(self) -> str:
        found: str = self.browser.evaluate("location.pathname")
        return found


@pytest.fixture
def pictures(tmp_path: pathlib.Path) -> pathlib.Path:
    folder = tmp_path / "pictures"
    folder.mkdir()
    return folder


def next_id(cluster: Cluster) -> int:
    """The number of the id that would be given out next; it is given out."""
    return int(new_id(cluster).rpartition("_")[2])


def test_sparks_pages(
    shown_by: Cluster,
    browser: Browser,
    shared_dir: pathlib.Path,
    pictures: pathlib.Path,
    request: pytest.FixtureRequest,
) -> None:
    cluster, spark = shown_by, Spark("4.x", shown_by)
    look = Looker(browser, cluster, pictures)
    with HeldJob(spark, shared_dir, executors=1, conf={"spark.ui.enabled": "true"}) as job:
        job.working(1)
        here = f"/proxy/{job.application_id}"
        look.visit(f"{here}/?user.name={OWNER}")
        assert look.path == f"{here}/jobs/"
        look.until("Active Jobs (1)", at=look.path)
        look.until("slow-sum", at=look.path)
        assert look.style(".navbar", "display") == "flex"  # Bootstrap's word
        assert browser.evaluate("typeof jQuery") == "function"

        look.click(f'a[href*="{here}/stages/"]')
        look.until("Active Stages (1)", at=f"{here}/stages/")
        look.click("a.name-link")  # one stage, whose tasks its script fetches
        look.until("Details for Stage 0")
        assert look.path == f"{here}/stages/stage/"
        look.until("RUNNING", at=look.path)
        (first, *_) = browser.shown("#active-tasks-table tbody tr")
        assert "RUNNING" in first

        look.visit(f"{here}/executors/")
        rows = browser.shown("#active-executors-table tbody tr", at_least=2)
        assert {row.split()[0] for row in rows} == {"driver", "1"}
        assert "Runtime Information" in look.visit(f"{here}/environment/")
        assert_calls_are_of_the_form(look, cluster, request, told="refused")  # by Spark's own Content-Security-Policy

        job.release()
        assert job.result().returncode == 0
    over = {"state": "FINISHED"}
    wait_for("its end", lambda: cluster.curl_json(f"/apps/{job.application_id}/state") == over)
    text = look.visit(f"{here}/jobs/")
    assert (look.path, "FINISHED" in text) == (f"/cluster/app/{job.application_id}", True)


def assert_calls_are_of_the_form(
    look: Looker, cluster: Cluster, request: pytest.FixtureRequest, *, told: object
) -> None:
    """``told`` is what a script of another origin sees of a change that it tried, and that did not happen."""
    is_own = request.node.callspec.params["shown_by"] == "own"
    assert look.is_apart is is_own
    before = next_id(cluster)
    assert look.calls() == (["refused", told] if is_own else ["object", 200])
    assert next_id(cluster) - before == (1 if is_own else 2)


@contextlib.contextmanager
def held_map(application_id: str) -> Iterator[None]:
    """The first map stands still."""

    def probe() -> psutil.Process | None:
        for process in processes_of(application_id):
            with contextlib.suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
                if process.name() == "java" and any("_m_000000_0" in word for word in process.cmdline()):
                    return process
        return None

    process = wait_for("the first map", probe, every_s=0.05)
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGCONT)


def test_mapreduces_pages(
    shown_by: Cluster,
    browser: Browser,
    shared_dir: pathlib.Path,
    pictures: pathlib.Path,
    request: pytest.FixtureRequest,
) -> None:
    cluster = shown_by
    words = Counter({f"word{number}": number + 1 for number in range(20)})
    texts = [shared_dir / "first.txt", shared_dir / "second.txt"]
    for text in texts:
        text.write_text("".join(f"{word}\n" for word in words.elements()))
    application_id = new_id(cluster)
    post(cluster, mapreduce_by_rest.body(cluster, application_id, shared_dir, texts))
    look = Looker(browser, cluster, pictures)
    here, job_id = f"/proxy/{application_id}", application_id.replace("application_", "job_")
    with held_map(application_id):
        shown = look.visit(f"{here}/?user.name={OWNER}")
        assert (look.path, f"MapReduce Application {application_id}" in shown) == (f"{here}/mapreduce", True)
        (row,) = browser.shown("#jobs tbody tr")
        assert job_id in row
        assert "RUNNING" in row
        assert f"Logged in as: {OWNER}" in shown  # the AM's filter has the name from the proxy
        assert browser.shown(".dataTables_wrapper")  # its script has run
        assert "Verdana" in look.style(".ui-widget", "fontFamily")  # and its styles are there

        look.click(f'#jobs a[href*="/mapreduce/job/{job_id}"]')
        look.until("Job Overview")
        # Not the page of tasks: in Hadoop 3.5.0 it has no tasks and no table, behind a real ResourceManager too.
        tasks = f"{here}/ws/v1/mapreduce/jobs/{job_id}/tasks"
        assert look.visit(tasks).count("<type>MAP</type>") == 2
        look.visit(f"{here}/mapreduce/conf/{job_id}")
        assert len(browser.shown("#conf tbody tr", at_least=20)) >= 20
        wait_for("the other map", lambda: "<state>SUCCEEDED</state>" in look.visit(tasks))
        assert "File System Counters" in look.visit(f"{here}/mapreduce/jobcounters/{job_id}")  # it has read files
        assert_calls_are_of_the_form(look, cluster, request, told=0)  # asked of us; the answer is kept from the script
    ended = cluster.ended(application_id)
    assert (ended["finalStatus"], mapreduce_by_rest.counted(shared_dir)) == (
        "SUCCEEDED",
        {word: 2 * count for word, count in words.items()},
    )


def test_the_resource_managers_own_pages(cluster: Cluster, browser: Browser, pictures: pathlib.Path) -> None:
    look = Looker(browser, cluster, pictures)
    for path in ("/cluster", "/cluster/apps", "/cluster/scheduler", "/cluster/nodes", "/api/docs", "/stacks"):
        assert len(look.visit(path)) > 20, path
