"""Every page is opened of a ResourceManager that has real jobs: running, waiting, failed, killed and ended.

``make pages`` runs it and leaves pictures of three pages of each kind in ``.runs/pages``.  Each page is opened at two
widths, dark and light; all that it links to answers; every figure that it shows is one of ``/api/v1``.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import subprocess
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.conformance import mapreduce_by_rest
from tests.conformance.cluster import ROOT, Cluster, running, wait_for
from tests.conformance.queue_words import YODEL, put_queues
from tests.conformance.rest_words import new_id, post, shell
from tests.conformance.spark_submit import Spark, Submission
from tests.support.browser import Browser
from tests.support.npm_package import AXE
from tests.support.page_figures import differences, read_page
from tests.support.page_looks import LINKS, wrong_looks

FIXED = ("cpu.static-milli=2000", "window-s=2", "dead-band-percent=0")
"""So many of the machine's cores are lent, whatever else runs on it; memory is as it is measured."""
SETTINGS = {"YODEL_MILLI_PER_VCORE": "200"}
QUEUES = {"etl": (60, 100), "adhoc": (30, 50), "tiny": (10, 10)}
"""Percents of what is lent, and at most."""
SMALL_MIB = 1024
PICTURES_EACH = 3
"""Pages of one kind of which pictures are kept."""
QUIET_S = 0.1
"""A page of ours asks for all that it needs at once, and for itself 5 s later."""
TRIES = 8
"""Times that a page is read anew to meet an answer of the same moment: nodes are measured each second."""
NOWHERE = "/cluster/nowhere"
KINDS = (
    (re.compile(r"/logs/.+"), "/logs/FILE"),
    (re.compile(r"container_\w+"), "CONTAINER"),
    (re.compile(r"application_\w+"), "APPLICATION"),
    (re.compile(r"/cluster/queue/.+"), "/cluster/queue/QUEUE"),
    (re.compile(r"/cluster/node/.+"), "/cluster/node/NODE"),
    (re.compile(r"/cluster/(apps|nodes)/[A-Z_,]+"), r"/cluster/\1/STATES"),
)
NOT_FOLLOWED = ("/proxy/",)
"""Applications' own pages: those of jobs that have ended lead to a history that is not there (test_browser)."""


class Jobs:
    """Keep what runs, by the name under which it is shown."""

    def __init__(self, cluster: Cluster, shared_dir: pathlib.Path) -> None:
        self.cluster, self._dir, self.ids = cluster, shared_dir, dict[str, str]()
        self.spark, self._clients = Spark("4.x", cluster), list[Submission]()

    def spark_job(self, name: str, queue: str, job: str, *arguments: object, **conf: str) -> None:
        settings = {"spark.app.name": name, **{key.replace("_", "."): value for key, value in conf.items()}}
        client = self.spark.start("cluster", job, *arguments, conf=settings, more=("--queue", queue))
        self._clients.append(client)
        self.ids[name] = client.application_id()

    def held_spark(self, name: str, queue: str, executors: int, **conf: str) -> None:
        """Start a job whose tasks wait: it runs until the cluster is stopped."""
        marker = self._dir / f"{name}-marker"
        marker.mkdir()
        marker.chmod(0o1777)
        wait_ms = 3_600_000
        conf = {"spark_executor_instances": str(executors), **conf}
        self.spark_job(name, queue, "slow_sum.py", executors, wait_ms, self._dir / name, marker, **conf)

    def map_reduce(self, name: str, queue: str, memory_mib: int = 768, *, is_held: bool = False) -> None:
        """A word count; one that is held reads a pipe to which nobody writes, and runs until the cluster is stopped."""
        folder = self._dir / name
        folder.mkdir()
        text = folder / "words.txt"
        text.write_text("river of words\n" * 100)
        if is_held:
            os.mkfifo(folder / "pipe")
        self.ids[name] = new_id(self.cluster)
        texts = [text, folder / "pipe" if is_held else text]
        body = mapreduce_by_rest.body(self.cluster, self.ids[name], folder, texts)
        resource = {"memory": memory_mib, "vCores": 1}
        post(self.cluster, {**body, "queue": queue, "application-name": name, "resource": resource})

    def command(self, name: str, queue: str, command: str, memory_mib: int = 256) -> None:
        self.ids[name] = new_id(self.cluster)
        body = shell(self.ids[name], command)
        resource = {"memory": memory_mib, "vCores": 1}
        post(self.cluster, {**body, "queue": queue, "application-name": name, "resource": resource})

    def until(self, name: str, state: str) -> None:
        def is_there() -> bool:
            try:
                found: str = self.cluster.application(self.ids[name])["state"]
            except urllib.error.HTTPError as error:
                if error.code != 404:  # Spark names an id before it submits anything
                    raise
                return False
            assert found == state or found not in ("FINISHED", "FAILED", "KILLED"), f"{name} is {found}"
            return found == state

        wait_for(f"{name} is {state}", is_there)

    def has_containers(self, name: str) -> None:
        self.until(name, "RUNNING")
        path = f"/applications/{self.ids[name]}"
        wait_for(f"containers of {name}", lambda: self.api(path)["running_containers"] > 1)

    def master(self, name: str) -> str:
        """Return the container of its ApplicationMaster."""
        return str(self.api(f"/applications/{self.ids[name]}")["attempt_list"][0]["am_container_id"])

    def api(self, path: str) -> Any:
        with urllib.request.urlopen(f"{self.cluster.ready.rest_url}/api/v1{path}", timeout=60) as answer:
            return json.load(answer)

    def stop(self) -> None:
        for client in self._clients:
            client.stop()


@pytest.fixture
def jobs(shared_dir: pathlib.Path) -> Iterator[Jobs]:
    settings = {**SETTINGS, "YODEL_QUEUES": json.dumps(list(QUEUES))}
    with running(colocation="koordinator", minimum_mib=256, settings=settings) as cluster:
        lend(cluster)
        shares = {f"root.{name}": {"capacity": own, "maximum-capacity": most} for name, (own, most) in QUEUES.items()}
        put_queues(cluster, shares)
        started = Jobs(cluster, shared_dir)
        try:
            start(started)
            yield started
        finally:
            started.stop()


def lend(cluster: Cluster) -> None:
    command = [YODEL, "colocation", "on", *FIXED, "--reason", "as much on a busy machine", "--server"]
    subprocess.run([*command, cluster.ready.rest_url], check=True, timeout=600, capture_output=True)

    def is_lent() -> bool:
        metrics = cluster.rest("/metrics")["clusterMetrics"]
        return bool(metrics["totalMB"] > 4 * SMALL_MIB and metrics["totalVirtualCores"] > 4)

    wait_for("capacity is lent", is_lent)


def start(jobs: Jobs) -> None:
    """Spark's driver that fails says so and FINISHED; what ends without a word has FAILED."""
    jobs.command("old-report", "adhoc", "sleep 3600")
    jobs.command("broken", "etl", "echo 'no such table: orders' >&2; exit 3")
    jobs.until("old-report", "ACCEPTED")
    jobs.cluster.curl(f"/apps/{jobs.ids['old-report']}/state", "--request", "PUT", *KILL)
    jobs.map_reduce("word-count", "etl")
    jobs.spark_job("load-orders", "etl", "exit_with.py", 3, spark_yarn_maxAppAttempts="1")
    states = {"old-report": "KILLED", "broken": "FAILED", "word-count": "FINISHED", "load-orders": "FINISHED"}
    for name, state in states.items():
        jobs.until(name, state)
    jobs.map_reduce("page-views", "etl", is_held=True)
    jobs.has_containers("page-views")
    jobs.held_spark("ad-hoc-join", "adhoc", 12)
    jobs.has_containers("ad-hoc-join")
    whole_mib = jobs.cluster.rest("/metrics")["clusterMetrics"]["totalMB"]
    more_than_tiny_mib = min(8192, whole_mib // 5)
    jobs.command("big-master", "tiny", "sleep 3600", memory_mib=more_than_tiny_mib)
    jobs.map_reduce("monthly-count", "tiny", more_than_tiny_mib)
    jobs.spark_job("late-report", "tiny", "exit_with.py", 0, spark_driver_memory=f"{more_than_tiny_mib}m")
    for name in ("big-master", "monthly-count", "late-report"):
        jobs.until(name, "ACCEPTED")
        wait_for(f"why {name} waits", lambda name=name: jobs.api(f"/applications/{jobs.ids[name]}/why")["asks"])


KILL = ("--header", "Content-Type: application/json", "--data-binary", '{"state": "KILLED"}')


@pytest.mark.timeout(1800)
def test_every_page_of_real_jobs(jobs: Jobs) -> None:
    pictures = pathlib.Path(os.environ.get("YODEL_PICTURES") or ROOT / ".runs" / "pages")
    shutil.rmtree(pictures, ignore_errors=True)
    pictures.mkdir(parents=True)
    with Browser() as browser:
        portray(browser, jobs, pictures)
        wrong = list(tour(browser, jobs.cluster.ready.rest_url, pictures))
    assert wrong == []


def portray(browser: Browser, jobs: Jobs, pictures: pathlib.Path) -> None:
    """Take the pictures of README and docs/pages.md."""
    applications = {name: f"/cluster/app/{jobs.ids[name]}" for name in ("ad-hoc-join", "broken", "load-orders")}
    node = jobs.api("/nodes")["items"][0]["id"]
    pages = {
        "overview": "/cluster",
        "applications": "/cluster/apps",
        "queue": "/cluster/queue/root.adhoc",
        "node": f"/cluster/node/{node}",
        "lending": "/cluster/lending",
        "timeline": f"/cluster/app/{jobs.ids['ad-hoc-join']}/timeline",
        "log": f"/cluster/container/{jobs.master('load-orders')}/logs/stderr",
    }
    for name, path in (pages | applications).items():
        browser.visit(jobs.cluster.ready.rest_url + path)
        browser.seen_as(1280, is_dark=False)
        browser.picture(pictures / f"{name}.png")


def tour(browser: Browser, base: str, pictures: pathlib.Path) -> Iterator[str]:
    """Yield what is wrong with any page that can be reached from the overview."""
    axe = AXE.kept().read_text()
    paths, opened = ["/cluster", NOWHERE], Counter[str]()
    others, figures = set[str](), 0
    for path in paths:  # grows meanwhile
        kind = kind_of(path)
        opened[kind] += 1
        loaded = browser.visit(base + path, quiet_s=QUIET_S)
        kept = pictures if opened[kind] <= PICTURES_EACH else None
        name = f"{sum(opened.values()):03d}-{re.sub(r'[^A-Za-z0-9]+', '-', kind).strip('-')[:60]}"
        found = [*wrong_looks(browser, axe, kept, name)]
        browser.seen_as(1280, is_dark=False)
        found += [fault for fault in loaded.faults if not (path == NOWHERE and path in fault)]
        count, wrong = wrong_figures(base, path, browser.evaluate("document.documentElement.outerHTML"))
        figures += count
        for one in (*found, *wrong):
            print(f"\n{path}: {one}")
            yield f"{path}: {one}"
        for link in browser.evaluate(LINKS):
            parts = urlsplit(link)
            target = parts.path + (f"?{parts.query}" if parts.query else "")
            if not link.startswith(base) or not parts.path.startswith("/cluster"):
                others.add(link.split("#")[0])
            elif target not in paths:
                paths.append(target)
    print(f"\n{len(paths)} pages of {len(opened)} kinds opened, {figures} figures compared, {len(others)} other links")
    for url in sorted(others):
        if not urlsplit(url).path.startswith(NOT_FOLLOWED):
            yield from refused(url)


def wrong_figures(base: str, path: str, shown: str) -> tuple[int, list[str]]:
    """Return the number of figures of a page, and what is wrong with them: as a browser shows them, then
    of the same page read anew, as some change each second."""
    for _ in range(TRIES):
        figures, unnamed = read_page(path, shown)
        answers = {one: json.loads(text_at(f"{base}/api/v1{one}")) for one in {figure.path for figure in figures}}
        wrong = [*unnamed, *differences(figures, answers)]
        if not wrong:
            break
        shown = text_at(base + path)
    return len(figures), wrong


def text_at(url: str) -> str:
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            return str(answer.read().decode())
    except urllib.error.HTTPError as error:
        return error.read().decode()


def kind_of(path: str) -> str:
    for pattern, name in KINDS:
        path = pattern.sub(name, path)
    address, _, query = path.partition("?")
    return "&".join((address, *sorted(re.sub(r"=.*", "", part) for part in query.split("&") if part)))


def refused(url: str) -> Iterator[str]:
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            if answer.status != 200:
                yield f"{answer.status} {url}"
    except (urllib.error.URLError, OSError) as error:
        yield f"{error} {url}"
