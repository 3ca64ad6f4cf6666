"""A queue says Celeborn or Uniffle, and an unmodified Spark 3.5 job in it has the real client of the service.

No server of either can be had here (``make remote-shuffle`` is for those who have one): what is spoken to is a listener
that says that there are no workers.
"""

from __future__ import annotations

import json
import pathlib
import socket
import threading
from collections.abc import Iterator
from typing import Any, Self

import pytest

from tests.conformance.cluster import Cluster, running
from tests.conformance.spark_submit import Result, Spark
from tests.conformance.test_remote_shuffle import WORD, queue_set, shown
from tests.support.hadoop_jars import jars

ROWS, KEYS, GROUPS = 4_000, 50, 3


class Silent:
    """Accepts every connection and closes it: somebody is there, and it is not the service."""

    def __enter__(self) -> Self:
        self._socket = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    @property
    def endpoint(self) -> str:
        return f"127.0.0.1:{self._socket.getsockname()[1]}"

    def _serve(self) -> None:
        while True:
            try:
                accepted, _ = self._socket.accept()
            except OSError:
                return
            accepted.close()


def jar_of(service: str) -> pathlib.Path:
    (found,) = jars(service).glob("*.jar")
    return found


@pytest.fixture(scope="module")
def served() -> Iterator[Cluster]:
    with running(nodes=2, memory_mib=3072, settings={"YODEL_QUEUES": '["celeborn", "uniffle", "plain"]'}) as cluster:
        yield cluster


class Job:
    """A join and a group-by of a queue, and what its driver's own event log says."""

    def __init__(self, cluster: Cluster, folder: pathlib.Path, queue: str, **conf: str) -> None:
        self.folder = folder
        self.events = folder / "events"
        self.events.mkdir()
        self.events.chmod(0o1777)
        settings = {
            "spark.yarn.queue": queue,
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": self.events.as_uri(),
            "spark.eventLog.compress": "false",
            "spark.eventLog.rolling.enabled": "false",
            **conf,
        }
        report = folder / "report.json"
        self.result: Result = Spark("3.5.x", cluster).submit(
            "cluster", "join_and_group.py", ROWS, KEYS, GROUPS, report, conf=settings
        )

    def is_right(self) -> bool:
        found = json.loads((self.folder / "report.json").read_text())
        return bool(found == _expected())

    def settings(self) -> dict[str, str]:
        (log,) = [path for path in self.events.iterdir() if path.is_file()]
        events = [json.loads(line) for line in log.read_text().splitlines()]
        (found,) = [event for event in events if event["Event"] == "SparkListenerEnvironmentUpdate"]
        properties: dict[str, Any] = found["Spark Properties"]
        return properties


def _expected() -> list[list[object]]:
    groups: dict[int, tuple[int, int]] = {}
    for number in range(ROWS):
        key = number % KEYS
        count, total = groups.get(key % GROUPS, (0, 0))
        groups[key % GROUPS] = count + 1, total + number * (key * key + 1)
    return [[group, count, str(total)] for group, (count, total) in sorted(groups.items())]


def test_celeborn_is_in_the_driver_and_falls_back(served: Cluster, shared_dir: pathlib.Path) -> None:
    with Silent() as somebody:
        told = queue_set(
            served,
            "root.celeborn",
            f"{WORD}service=celeborn",
            f"{WORD}endpoints={somebody.endpoint}",
            f"{WORD}jar=local:{jar_of('celeborn')}",
            f"{WORD}spark-version=3.5.9",
        )
        assert told.returncode == 0, told.stderr
        job = Job(served, shared_dir, "celeborn")
    assert job.result.returncode == 0, job.result.text[-6000:]
    assert job.is_right()
    assert job.settings()["spark.shuffle.manager"] == "org.apache.spark.shuffle.celeborn.SparkShuffleManager"
    found = shown(served, job.result.application_id)
    print(found["attempt_list"][0]["shuffle"], found["diagnostics"])
