"""A Spark join and a sort through a real Celeborn or Uniffle, an executor's node killed in the middle.

``python -m tests.rigs.remote_shuffle [--celeborn HOST:PORT[,…]] [--uniffle HOST:PORT[,…]] [--size MEGABYTES]``

With ``--plain`` the same goes through Spark's own shuffle, where maps have to run again: what this program itself is
worth.

The servers are the caller's.  Each that is named has a queue of a ``yodel local`` here, whose word ``when-away`` is
``refuse``: nothing falls back.  The client's jar is fetched by the node agents.  When the node is killed all maps are
done, so each that the driver's event log has after that was run again.  The last line names the ``Status``.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import pathlib
import shutil
import signal
import socket
import sys
import tempfile
import time
import urllib.error
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from http import HTTPStatus
from typing import Any

import psutil

from tests.conformance.cluster import Cluster, running, wait_for
from tests.conformance.leaving import Nodes, hosts_of
from tests.conformance.queue_words import WORD, queue_set
from tests.conformance.shuffle_services import jar_of, logs_of
from tests.conformance.spark_jobs.join_and_sort import KEYS, ROWS_OF_A_MEGABYTE
from tests.conformance.spark_submit import Spark, driver_settings, event_log, maps_run, read_events
from tests.support.processes import command_of

MANAGERS = {
    "celeborn": "org.apache.spark.shuffle.celeborn.SparkShuffleManager",
    "uniffle": "org.apache.spark.shuffle.RssShuffleManager",
}
PLAIN = "plain"
SETTINGS = {
    "spark.driver.memory": "2g",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.executor.instances": "2",
    "spark.executor.memory": "1g",
    "spark.yarn.maxAppAttempts": "1",
}
"""The driver fills a node, so that both executors are on others."""


class Status(IntEnum):
    """List what it ends with; 2 is what make and a mistaken option end with."""

    RIGHT = 0
    WRONG = 1
    """The application failed, its manager is not the service's, or its answer is not right."""
    MAPS_RUN_AGAIN = 3
    """All else is right: the service does not keep its promise."""
    NOTHING_TO_RUN_AGAINST = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Lines of one service, and whether they are right."""

    lines: tuple[str, ...]
    status: Status


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.rigs.remote_shuffle", description=__doc__.splitlines()[0])
    parser.add_argument("--celeborn", default="", metavar="HOST:PORT[,…]", help="addresses of Celeborn's masters")
    parser.add_argument("--uniffle", default="", metavar="HOST:PORT[,…]", help="addresses of Uniffle's coordinators")
    parser.add_argument("--size", type=int, default=200, metavar="MEGABYTES", help="what is joined and sorted")
    parser.add_argument("--option", action="append", default=[], metavar="SERVICE:KEY=VALUE", help="a queue's option")
    parser.add_argument("--plain", action="store_true", help="through Spark's own shuffle, which needs no server")
    arguments = parser.parse_args()
    endpoints = {name: text for name in MANAGERS if (text := getattr(arguments, name))}
    reason = "" if arguments.plain else _missing(endpoints)
    if reason:
        return _ended(Status.NOTHING_TO_RUN_AGAINST, reason)
    options = [option.partition(":") for option in arguments.option]
    with _folder() as shared, _cluster() as (cluster, nodes):
        for service, addresses in endpoints.items():
            jar = _jar(service, shared)
            _say(cluster, service, addresses, jar, [text for name, _, text in options if name == service])
        found = [_run(cluster, nodes, service, arguments.size) for service in endpoints or [PLAIN]]
    for line in itertools.chain.from_iterable(one.lines for one in found):
        print(line)
    worst = [status for status in (Status.WRONG, Status.MAPS_RUN_AGAIN) if status in [one.status for one in found]]
    return _ended(worst[0] if worst else Status.RIGHT)


def _ended(status: Status, reason: str = "") -> Status:
    """make has but one status of its own, so the last line says it too."""
    print(f"remote shuffle: {status.name}{f': {reason}' if reason else ''} (status {status.value})")
    return status


def _missing(endpoints: dict[str, str]) -> str:
    """Return why there is nothing to run against; empty: there is."""
    if not endpoints:
        return "no server is named: make remote-shuffle CELEBORN_MASTER=host:port UNIFFLE_COORDINATOR=host:port"
    for service, addresses in endpoints.items():
        for address in addresses.split(","):
            host, _, port = address.rpartition(":")
            if not host or not port.isdecimal():
                return f"{address!r} of {service} is not host:port"
            try:
                socket.create_connection((host, int(port)), 10).close()
            except OSError as error:
                return f"{service} does not answer at {address}: {error}"
    return ""


@contextlib.contextmanager
def _cluster() -> Iterator[tuple[Cluster, Nodes]]:
    with tempfile.TemporaryDirectory(prefix="yodel-shuffle-") as folder:
        excluded = pathlib.Path(folder) / "exclude"
        excluded.touch()
        settings = {"YODEL_QUEUES": json.dumps([*MANAGERS, PLAIN]), "YODEL_NODES_EXCLUDE_PATH": str(excluded)}
        with running(nodes=3, memory_mib=3072, settings=settings) as cluster:
            yield cluster, Nodes(Spark("3.5.x", cluster), excluded)


def _jar(service: str, shared: pathlib.Path) -> pathlib.Path:
    """A copy of the client that everybody may read, as node agents want it: the cache may be in somebody's home."""
    found = jar_of(service)
    path = shared / found.name
    shutil.copyfile(found, path)
    path.chmod(0o644)
    return path


def _say(cluster: Cluster, service: str, endpoints: str, jar: pathlib.Path, options: list[str]) -> None:
    words = [f"service={service}", f"endpoints={endpoints}", f"jar=@{jar}", "when-away=refuse", "spark-version=3.5.9"]
    told = queue_set(
        cluster, f"root.{service}", *(WORD + word for word in words), *(f"{WORD}option.{o}" for o in options)
    )
    assert told.returncode == 0, told.stderr


def _run(cluster: Cluster, nodes: Nodes, service: str, size_mb: int) -> Found:
    """One job, and what its own files say of it."""
    with _folder() as folder:
        conf = SETTINGS | {"spark.yarn.queue": service} | event_log(folder)
        submission = nodes.spark.start("cluster", "join_and_sort.py", size_mb, folder, conf=conf)
        try:
            application_id = submission.application_id()

            def reduces() -> bool:
                return any(folder.glob("reducing-*")) or _has_ended(cluster, application_id)

            wait_for("a task of the last stage", reduces)
            killed_ms = int(time.time() * 1000)
            killed = _kill_one(cluster, nodes, application_id)
            (folder / "go").touch()
            result = submission.result()
        finally:
            (folder / "go").touch()
            submission.stop()
            nodes.exclude()
            nodes.refresh()
        for node in cluster.ready.nodes:
            nodes.until(node["node_id"].partition(":")[0], "RUNNING")
        first = f"{service}: {application_id}, {size_mb} MB, node {killed or 'none'} killed in the middle"
        if not killed or result.returncode != 0:
            written = logs_of(cluster, application_id)[-20_000:]
            failed = f"WRONG {service}: the application failed\n{result.text[-4000:]}\n{written}"
            return Found(lines=(first, failed), status=Status.WRONG)
        events = read_events(folder)
        report = json.loads((folder / "report.json").read_text())
        manager = driver_settings(events).get("spark.shuffle.manager")
        judged = (
            _judged(service, "its manager", manager, MANAGERS.get(service)),
            _judged(service, "the answer", _answer(report), _expected(size_mb)),
        )
        again = maps_run(events, killed_ms)
        is_kept = again > 0 if service == PLAIN else again == 0
        last = f"{'' if is_kept else 'WRONG '}{service}: {again} maps run again"
        is_right = not any(line.startswith("WRONG") for line in judged)
        status = Status.WRONG if not is_right else Status.RIGHT if is_kept else Status.MAPS_RUN_AGAIN
        return Found(lines=(first, *judged, last), status=status)


def _has_ended(cluster: Cluster, application_id: str) -> bool:
    """Not before it is submitted either: its id is known first."""
    try:
        return cluster.application(application_id)["state"] in ("FINISHED", "FAILED", "KILLED")
    except urllib.error.HTTPError as error:
        if error.code != HTTPStatus.NOT_FOUND:
            raise
        return False


def _kill_one(cluster: Cluster, nodes: Nodes, application_id: str) -> str:
    """The node of an executor: its JVM without notice, and then no container is there any more."""
    hosts = hosts_of(cluster, application_id, "task")
    if not hosts:
        return ""
    container, host = min(hosts.items(), key=lambda item: item[1])
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
            if container in command_of(process) and "CoarseGrainedExecutorBackend" in command_of(process):
                process.send_signal(signal.SIGKILL)
    nodes.exclude(host)
    nodes.refresh()
    wait_for("no executor there", lambda: host not in hosts_of(cluster, application_id, "task").values())
    return host


def _judged(service: str, what: str, found: object, expected: object) -> str:
    if found == expected:
        return f"{service}: {what} is right: {found}"
    return f"WRONG {service}: {what} is {found}, expected {expected}"


def _answer(report: list[list[Any]]) -> tuple[bool, int, int]:
    """Return whether partitions are in order, the rows, and the sum."""
    parts = [part for part in report if part[2]]
    is_ordered = all(one[1] < other[0] for one, other in itertools.pairwise(parts))
    return is_ordered, sum(part[2] for part in parts), sum(part[3] for part in parts)


def _expected(size_mb: int) -> tuple[bool, int, int]:
    rows = size_mb * ROWS_OF_A_MEGABYTE
    total = 0
    for key in range(min(KEYS, rows)):
        count = (rows - key + KEYS - 1) // KEYS
        total += (count * key + KEYS * count * (count - 1) // 2) * (7 * key % KEYS + 1)
    return True, rows, total


@contextlib.contextmanager
def _folder() -> Iterator[pathlib.Path]:
    """Make a folder that every container may write to."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="yodel-shared-"))
    folder.chmod(0o1777)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
