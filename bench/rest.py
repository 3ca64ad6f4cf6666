"""REST: requests a second, latency and memory, of Yodel's ResourceManager and of Hadoop's own, in turn in one run.

    python -m bench.rest [--counts 100 1000 10000] [--seconds 2.5] [--servers yodel hadoop] [--break-hadoop]
    python -m bench.rest --url http://127.0.0.1:8088 --pid 4711                            # a running one

Applications are submitted over REST, unmanaged, and killed, until there are as many as the list is to hold.  The client
is a process of its own on the same cores.  Every path is asked for a while before it is measured: a JVM compiles.
Last, 64 readers that take 64 KiB every 50 ms ask for the longest list; Hadoop's ResourceManager, which can end in an
OutOfMemoryError by that, is asked only on demand.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from bench.cluster import KEPT_MORE, Cluster, hadoop_cluster, local_cluster
from bench.machine import print_machine

CONNECTIONS = (1, 16, 64)
SLOW_READERS = 64
SUBMITTERS = 8
BATCH = 25
USER = "root"
LONG = 10_000
SETTLED_TIMEOUT_S = 120.0
CALL_TIMEOUT_S = 60.0


class Applications:
    """Makes finished applications over REST."""

    def __init__(self, server: Cluster) -> None:
        self._server = server
        self.ids: list[str] = []

    def grow_to(self, count: int) -> None:
        """Until so many have ended."""
        missing = count - len(self.ids)
        with ThreadPoolExecutor(SUBMITTERS) as submitters:
            shares = [missing // SUBMITTERS + (index < missing % SUBMITTERS) for index in range(SUBMITTERS)]
            for ids in submitters.map(self._make, shares):
                self.ids += ids
        give_up_s = time.monotonic() + SETTLED_TIMEOUT_S
        while self._ended() < count:
            if time.monotonic() > give_up_s:
                raise RuntimeError(f"{self._server.name}: {self._ended()} of {count} applications ended")
            threading.Event().wait(0.5)

    def _make(self, count: int) -> list[str]:
        connection, ids = self._connection(), list[str]()
        while len(ids) < count:
            batch = [self._submitted(connection) for _ in range(min(BATCH, count - len(ids)))]
            for application_id in batch:  # by now each has its attempt
                _call(connection, "PUT", f"/apps/{application_id}/state", {"state": "KILLED"})
            ids += batch
        connection.close()
        return ids

    def _submitted(self, connection: http.client.HTTPConnection) -> str:
        application_id = str(_call(connection, "POST", "/apps/new-application")["application-id"])
        body = {
            "application-id": application_id,
            "application-name": "bench",
            "application-type": "YARN",
            "unmanaged-AM": True,
            "am-container-spec": {"commands": {"command": "true"}},
            "resource": {"memory": 1024, "vCores": 1},
        }
        _call(connection, "POST", "/apps", body)
        return application_id

    def _ended(self) -> int:
        found = _call(self._connection(), "GET", "/appstatistics", states="FINISHED,FAILED,KILLED")
        return sum(int(item["count"]) for item in found["appStatInfo"]["statItem"])

    def _connection(self) -> http.client.HTTPConnection:
        parts = urlsplit(self._server.rest_url)
        assert parts.hostname is not None
        return http.client.HTTPConnection(parts.hostname, parts.port, timeout=CALL_TIMEOUT_S)


def _call(connection: http.client.HTTPConnection, method: str, path: str, body: object = None, states: str = "") -> Any:
    """Raises RuntimeError with the answer when it is no success."""
    headers = {"Accept": "application/json", **({"Content-Type": "application/json"} if body is not None else {})}
    content = json.dumps(body) if body is not None else None
    connection.request(method, f"/ws/v1/cluster{path}?user.name={USER}&states={states}", content, headers)
    with connection.getresponse() as answer:
        text = answer.read()
        if answer.status not in (200, 202):
            raise RuntimeError(f"{method} {path}: {answer.status} {text[:500]!r}")
    return json.loads(text) if text else None


@dataclass(slots=True)
class Report:
    """Rows of one server."""

    server: Cluster
    seconds: float

    def measure(self, name: str, path: str, connections: Sequence[int] = CONNECTIONS, times: int = 1) -> None:
        url, seconds = f"{self.server.rest_url}/ws/v1/cluster{path}", self.seconds * times
        asked(url, connections[1] if times == 1 else 1, seconds)
        for count in connections:
            found = asked(url, count, seconds)
            wrong = f", {found['refused']} refused" * bool(found["refused"]) + "".join(
                f", {e}" for e in found["errors"]
            )
            self.row(
                f"{name}, {count} connections",
                f"{found['per_s']:,.1f} /s, p50 {found['p50_ms']:.2f} ms, p99 {found['p99_ms']:.2f} ms{wrong}",
            )

    def row(self, name: str, value: str) -> None:
        print(f"| {self.server.name} | {name} | {value} |", flush=True)

    def memory(self, name: str) -> None:
        self.row(f"resident, {name}", f"{self.server.resident_mib():.0f} MiB")

    def slow_readers(self, seconds: float) -> None:
        """Memory while they read, and whether somebody else is still answered."""
        before_mib, highest_mib, info_ms = self.server.resident_mib(), 0.0, 0.0
        load = _client(f"{self.server.rest_url}/ws/v1/cluster/apps", SLOW_READERS, seconds, pause_ms=50)
        with load:
            while load.poll() is None:
                highest_mib = max(highest_mib, self.server.resident_mib())
                begin_s = time.perf_counter()
                asked_once(self.server)
                info_ms = max(info_ms, (time.perf_counter() - begin_s) * 1000)
                threading.Event().wait(0.1)
        name = f"resident, {SLOW_READERS} slow readers of the longest list"
        self.row(name, f"{before_mib:.0f} MiB before, {highest_mib:.0f} MiB at most; /info within {info_ms:.0f} ms")


def asked(url: str, connections: int, seconds: float) -> dict[str, Any]:
    with _client(url, connections, seconds) as client:
        out, _ = client.communicate(timeout=seconds + CALL_TIMEOUT_S)
    found: dict[str, Any] = json.loads(out)
    return found


def asked_once(server: Cluster) -> None:
    """Send one request; a failure shows in its time."""
    parts = urlsplit(server.rest_url)
    assert parts.hostname is not None
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=5)
    with contextlib.suppress(OSError, http.client.HTTPException):
        connection.request("GET", "/ws/v1/cluster/info")
        connection.getresponse().read()
    connection.close()


def _client(url: str, connections: int, seconds: float, pause_ms: float = 0) -> subprocess.Popen[str]:
    options = ["--connections", str(connections), "--seconds", str(seconds), "--pause-ms", str(pause_ms)]
    return subprocess.Popen([sys.executable, "-m", "bench.http_load", url, *options], stdout=subprocess.PIPE, text=True)


def measure(server: Cluster, arguments: argparse.Namespace) -> None:
    report, applications = Report(server, arguments.seconds), Applications(server)
    report.memory("idle")
    is_first = True
    for count in arguments.counts:
        begin_s = time.monotonic()
        applications.grow_to(count)
        report.row(f"to {count:,} applications", f"{time.monotonic() - begin_s:.0f} s")
        report.memory(f"{count:,} applications")
        if is_first:
            for name in ("info", "metrics", "scheduler"):
                report.measure(f"/{name}", f"/{name}")
            report.measure("one application", f"/apps/{applications.ids[-1]}")
            is_first = False
        if server.name != "Yodel" and count >= LONG:  # so many readers of so much end Hadoop's; and it takes seconds
            report.measure(f"/apps with {count:,}", "/apps", CONNECTIONS[:2], times=6)
        else:
            report.measure(f"/apps with {count:,}", "/apps")
    report.memory("after reading")
    if server.name == "Yodel" or arguments.break_hadoop:
        report.slow_readers(arguments.slow_seconds)
        report.memory("after slow readers")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--counts", type=int, nargs="+", default=[100, 1000, 10000])
    parser.add_argument("--seconds", type=float, default=2.5)
    parser.add_argument("--slow-seconds", type=float, default=10.0)
    parser.add_argument("--servers", nargs="+", choices=["yodel", "hadoop"], default=["yodel", "hadoop"])
    parser.add_argument("--break-hadoop", action="store_true", help="slow readers of Hadoop's list, too")
    parser.add_argument("--url", help="of a running ResourceManager, without a slash at the end")
    parser.add_argument("--pid", type=int)
    arguments = parser.parse_args()
    if arguments.url:
        measure(Cluster("running", {"rest_url": arguments.url, "pids": {"rm": arguments.pid}}), arguments)
        return
    kept = max(arguments.counts) + KEPT_MORE
    for name in arguments.servers:
        with local_cluster("--nodes", "1", completed_max=kept) if name == "yodel" else hadoop_cluster(kept) as server:
            measure(server, arguments)


if __name__ == "__main__":
    print_machine()
    main()
