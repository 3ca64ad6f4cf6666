"""Every page of a ResourceManager that has real jobs: running, waiting, failed, killed and ended.

``make pages`` runs it and leaves its pictures in ``.runs/pages``.  Each kind of page is opened three times, with
different contents, at two widths, dark and light; all that it links to answers; what it shows is what ``/api/v1`` says.
"""

from __future__ import annotations

import getpass
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
from tests.conformance.queue_words import YODEL
from tests.conformance.rest_words import new_id, post, shell
from tests.conformance.spark_submit import Spark, Submission
from tests.support.browser import Browser
from tests.support.npm_package import AXE
from tests.support.page_looks import LINKS, facts, table, unreadable, wrong_looks
from yodel.domain.resource import Resource

ME = getpass.getuser()
FIXED = ("cpu.static-milli=2000", "window-s=2", "dead-band-percent=0")
"""Of the machine's cores so many are lent, whatever else runs on it; memory is what is measured."""
SETTINGS = {"YODEL_MILLI_PER_VCORE": "200"}
QUEUES = {"etl": (60, 100), "adhoc": (30, 50), "tiny": (10, 10)}
"""Percents of what is lent, and at most."""
SMALL_MIB = 1024
OPENED_EACH = 3
"""Pages of one kind that are opened; the others are only fetched."""
KINDS = (
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
        """A job whose tasks wait: it runs until the cluster is stopped."""
        marker = self._dir / f"{name}-marker"
        marker.mkdir()
        marker.chmod(0o1777)
        wait_ms = 3_600_000
        conf = {"spark_executor_instances": str(executors), **conf}
        self.spark_job(name, queue, "slow_sum.py", executors, wait_ms, self._dir / name, marker, **conf)

    def map_reduce(self, name: str, queue: str) -> None:
        folder = self._dir / name
        folder.mkdir()
        text = folder / "words.txt"
        text.write_text("river of words\n" * 100)
        self.ids[name] = new_id(self.cluster)
        body = mapreduce_by_rest.body(self.cluster, self.ids[name], folder, [text, text])
        post(self.cluster, {**body, "queue": queue, "application-name": name})

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

    def has_executors(self, name: str) -> None:
        self.until(name, "RUNNING")
        path = f"/applications/{self.ids[name]}"
        wait_for(f"executors of {name}", lambda: self.api(path)["running_containers"] > 1)

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
        limit_queues(cluster)
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


def limit_queues(cluster: Cluster) -> None:
    entries = [
        {
            "queue-name": f"root.{name}",
            "params": {
                "entry": [
                    {"key": "capacity", "value": str(percent)},
                    {"key": "maximum-capacity", "value": str(maximum)},
                ]
            },
        }
        for name, (percent, maximum) in QUEUES.items()
    ]
    request = urllib.request.Request(
        f"{cluster.ready.rest_url}/ws/v1/cluster/scheduler-conf?user.name={ME}",
        data=json.dumps({"update-queue": entries}).encode(),
        headers={"Content-Type": "application/json"},
        method="PUT",
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert answer.status == 200


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
    jobs.held_spark("ad-hoc-join", "adhoc", 12)
    jobs.has_executors("ad-hoc-join")
    whole_mib = jobs.cluster.rest("/metrics")["clusterMetrics"]["totalMB"]
    jobs.command("big-master", "tiny", "sleep 3600", memory_mib=min(8192, whole_mib // 5))
    wait_for("why it waits", lambda: jobs.api(f"/applications/{jobs.ids['big-master']}/why")["asks"])


KILL = ("--header", "Content-Type: application/json", "--data-binary", '{"state": "KILLED"}')


def test_every_page_of_real_jobs(jobs: Jobs) -> None:
    pictures = pathlib.Path(os.environ.get("YODEL_PICTURES") or ROOT / ".runs" / "pages")
    shutil.rmtree(pictures, ignore_errors=True)
    pictures.mkdir(parents=True)
    with Browser() as browser:
        portray(browser, jobs, pictures)
        wrong = [*assert_figures(browser, jobs), *tour(browser, jobs.cluster.ready.rest_url, pictures)]
    assert wrong == []


def portray(browser: Browser, jobs: Jobs, pictures: pathlib.Path) -> None:
    """Take the pictures of README and docs/pages.md."""
    applications = {name: f"/cluster/app/{jobs.ids[name]}" for name in ("ad-hoc-join", "broken", "load-orders")}
    for name, path in {"overview": "/cluster", "applications": "/cluster/apps", **applications}.items():
        browser.visit(jobs.cluster.ready.rest_url + path)
        browser.seen_as(1280, is_dark=False)
        browser.picture(pictures / f"{name}.png")


def tour(browser: Browser, base: str, pictures: pathlib.Path) -> Iterator[str]:
    """Yield what is wrong with any page that can be reached from the overview."""
    axe = AXE.kept().read_text()
    paths, opened = ["/cluster", "/cluster/nowhere"], Counter[str]()
    others = set[str]()
    for path in paths:  # grows meanwhile
        kind = kind_of(path)
        if opened[kind] >= OPENED_EACH:
            others.add(base + path)
            continue
        opened[kind] += 1
        loaded = browser.visit(base + path)
        name = f"{len(list(pictures.iterdir())):03d}-{re.sub(r'[^A-Za-z0-9]+', '-', kind).strip('-')[:60]}"
        found = [*wrong_looks(browser, pictures, name), *unreadable(browser, axe)]
        browser.seen_as(1280, is_dark=False)
        found += [fault for fault in loaded.faults if not (path == "/cluster/nowhere" and path in fault)]
        yield from (f"{path}: {one}" for one in found)
        for link in browser.evaluate(LINKS):
            parts = urlsplit(link)
            target = parts.path + (f"?{parts.query}" if parts.query else "")
            if not link.startswith(base) or not parts.path.startswith("/cluster"):
                others.add(link.split("#")[0])
            elif target not in paths and target != "/cluster/nowhere":
                paths.append(target)
    print(f"\n{len(paths)} pages of {len(opened)} kinds; {sum(opened.values())} opened, {len(others)} other links")
    for url in sorted(others):
        if not urlsplit(url).path.startswith(NOT_FOLLOWED):
            yield from refused(url)


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


def words_of(amount: dict[str, Any]) -> str:
    return Resource(amount["memory_mib"], amount["vcores"], tuple(amount["others"].items())).with_units


def assert_figures(browser: Browser, jobs: Jobs) -> Iterator[str]:
    """Differences between pages and ``/api/v1``; what is held stands still."""
    base = jobs.cluster.ready.rest_url

    def differs(what: str, shown: object, told: object) -> Iterator[str]:
        if shown != told:
            yield f"{what}: shown {shown!r}, told {told!r}"

    apps = jobs.api("/applications")["items"]
    browser.visit(f"{base}/cluster/apps")
    shown = [(row["0"], row["State"].split()[-1], row["Name"], row["User"], row["Queue"]) for row in table(browser)]
    yield from differs("list", shown, [(a["id"], a["state"], a["name"], a["user"], a["queue"]) for a in apps])

    browser.visit(f"{base}/cluster")
    lead = browser.evaluate("document.querySelector('.lead').innerText")
    root = jobs.api("/queues/root")
    told = f"{root['running_applications']} running, {root['pending_applications']} waiting"
    yield from differs("overview", re.findall(r"\d+ running, \d+ waiting", lead), [told])
    pools = jobs.api("/pools")["items"]
    for pool in pools:
        mine = facts(browser, ".columns")
        yield from differs("pool", mine["Capacity"], words_of(pool["size"]))
        yield from differs("pool", mine["Nodes"], str(pool["nodes"]))

    for name, application_id in jobs.ids.items():
        app = jobs.api(f"/applications/{application_id}")
        browser.visit(f"{base}/cluster/app/{application_id}")
        mine = facts(browser)
        for label, key in (("User", "user"), ("Name", "name"), ("State", "state"), ("Final status", "final_status")):
            yield from differs(f"{name} {label}", mine[label], app[key])
        for label, count, size in (
            ("Running", "running_containers", "used"),
            ("Scheduling", "starting_containers", "starting"),
            ("Pending", "pending_containers", "pending"),
        ):
            told = f"{app[count]} container{'s' * (app[count] != 1)}, {words_of(app[size])}" if app[count] else ""
            yield from differs(f"{name} {label}", mine.get(label, ""), told)
        containers = jobs.api(f"/applications/{application_id}/containers?limit=100")["items"]
        rows = [row for row in table(browser) if row["0"].startswith("container_")]
        yield from differs(
            f"containers of {name}",
            [(row["0"].split()[0], row["State"].split()[-1], row["Size"]) for row in rows],
            [(one["id"], one["state"], words_of(one["capability"])) for one in containers],
        )
        asks = jobs.api(f"/applications/{application_id}/why")["asks"]
        causes = [row["Reason"].split("\n")[0] for row in table(browser) if "Reason" in row and "Unblocks when" in row]
        yield from differs(f"why {name} waits", causes, [one["cause"] for ask in asks for one in ask["chain"]])

    for queue in jobs.api("/queues?limit=100")["items"]:
        browser.visit(f"{base}/cluster/queue/{queue['path']}")
        count = queue["pending_containers"]
        pending = f"{words_of(queue['pending'])}, {count} container{'s' * (count != 1)}"
        yield from differs(f"pending in {queue['path']}", facts(browser)["Pending"], pending)
