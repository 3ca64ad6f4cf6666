"""Localization from HDFS: MB/s of one large file and of many small ones, into the NodeManager's cache and into Yodel's.

python -m bench.localization [--runs 3]

The same application on both: an ApplicationMaster container whose local resources are the files, visible to the
application only, so that each run downloads all of them.  The container itself tells when the first of them was begun
(birth of a directory of the cache) and when the last was complete (its last change of status).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import statistics
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.machine import print_machine
from tests.conformance.clients.target import Target
from tests.support.hadoop import running_hadoop
from tests.support.hadoop_conf import addresses
from tests.support.hadoop_yodel import rm_addresses, running_yodel
from tests.support.hdfs import Hdfs

FOLDER = "/tmp/bench-localization"
USER = "root"
# For every link: when its directory in the cache was born, when the file changed last.
# The outer of the two shells that a command passes must leave the dollars alone.
COMMAND = (
    r"for link in res-*; do file=\$(readlink \$link); "
    r"echo \$(stat -c %.9W \$(dirname \$file)) \$(stat -c %.9Z \$file); done > {told}.tmp; mv {told}.tmp {told}"
)
CALL_TIMEOUT_S = 30
WRITERS = 4
MB = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """``files`` of ``size_bytes`` each."""

    name: str
    files: int
    size_bytes: int

    @property
    def total_mb(self) -> float:
        return self.files * self.size_bytes / MB


SHAPES = (
    Shape(name="1 file of 500 MB", files=1, size_bytes=500 * MB),
    Shape(name="200 files of 1 MB", files=200, size_bytes=MB),
)


@contextlib.contextmanager
def both_clusters() -> Iterator[tuple[Target, Target]]:
    """Hadoop's and Yodel's, on one HDFS."""
    with running_hadoop() as hadoop:
        hadoop.start_yarn()
        with running_yodel(hadoop) as cluster:
            real = Target(name="real", line="3.5", addresses=addresses(hadoop.servers.ports), hadoop=hadoop)
            yield real, Target(name="yodl", line="3.5", addresses=rm_addresses(cluster), hadoop=hadoop)


def put(hdfs: Hdfs, shape: Shape) -> list[dict[str, Any]]:
    """The files, as entries of a REST submission."""
    content = os.urandom(shape.size_bytes)

    def entry(number: int) -> dict[str, Any]:
        path = f"{FOLDER}/{shape.size_bytes}-{number:03d}"
        written = hdfs.put(path, content, user=USER)
        value = {
            "resource": f"{hdfs.url}{path}",
            "type": "FILE",
            "visibility": "APPLICATION",
            "size": shape.size_bytes,
            "timestamp": written["modificationTime"],
        }
        return {"key": f"res-{number:03d}", "value": value}

    with ThreadPoolExecutor(WRITERS) as writers:
        return list(writers.map(entry, range(shape.files)))


def localize(target: Target, entries: list[dict[str, Any]], told: Path) -> float:
    """Seconds from the first begun to the last complete."""
    application_id = _post(target, "/apps/new-application", {})["application-id"]
    container = {"commands": {"command": COMMAND.format(told=told)}, "local-resources": {"entry": entries}}
    sizes = {"resource": {"memory": 512, "vCores": 1}, "max-app-attempts": 1}
    body = {"application-id": application_id, "application-name": "localize", "am-container-spec": container, **sizes}
    _post(target, "/apps", body)
    app = target.ended(application_id)
    if not told.exists():
        raise RuntimeError(f"{target.name}: {app['diagnostics'][-2000:]}")
    times = [tuple(map(float, line.split())) for line in told.read_text().splitlines()]
    told.unlink()
    return max(done for _, done in times) - min(begun for begun, _ in times)


def _post(target: Target, path: str, body: Mapping[str, Any]) -> Any:
    url = f"{target.rest_url}/ws/v1/cluster{path}?user.name={USER}"
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=CALL_TIMEOUT_S) as response:
        text = response.read()
    return json.loads(text) if text else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    runs = parser.parse_args().runs
    told = Path(tempfile.mkdtemp(prefix="yodel-bench-"))
    told.chmod(0o777)
    print(f"| median of {runs} | Hadoop 3.5.0 | Yodel | Yodel / Hadoop |\n|---|---|---|---|", flush=True)
    try:
        with both_clusters() as targets:
            targets[0].hadoop.hdfs.make_dir(FOLDER, user=USER, mode="755")
            for shape in SHAPES:
                entries = put(targets[0].hadoop.hdfs, shape)
                taken: list[list[float]] = [[], []]
                for _ in range(runs + 1):  # the first one warms up
                    for index, target in enumerate(targets):
                        taken[index].append(localize(target, entries, told / "told"))
                real, yodel = (
                    shape.total_mb / statistics.median(times[1:]) for times in taken
                )  # the first one warms up
                print(f"| {shape.name} | {real:.0f} MB/s | {yodel:.0f} MB/s | {yodel / real:.2f} |", flush=True)
    finally:
        shutil.rmtree(told, ignore_errors=True)


if __name__ == "__main__":
    print_machine()
    main()
