"""Services without workers that unmodified Spark jobs speak to, and what such a job's driver says of itself."""

from __future__ import annotations

import json
import os
import pathlib
import pwd
import subprocess
import threading
import urllib.request
from collections.abc import Mapping
from typing import Any, Self

from tests.conformance.cluster import Cluster, wait_for
from tests.conformance.queue_words import WORD, YODEL, queue_set
from tests.conformance.spark_submit import Result, Spark, driver_settings, event_log, read_events
from tests.support.hadoop_jars import jars
from tests.support.java import java_home

ONCE = {"spark.yarn.maxAppAttempts": "1"}
ROWS, KEYS, GROUPS = 4_000, 50, 3


LISTENERS = pathlib.Path(__file__).parents[1] / "rigs" / "hadoop" / "shuffle"
PROGRAMS = {"celeborn": "CelebornWithoutWorkers", "uniffle": "UniffleWithoutServers"}
ME = pwd.getpwuid(os.geteuid()).pw_name


class Listener:
    """A service without workers, made of the classes of its client's jar, and what applications say to it."""

    def __init__(self, service: str, spark: Spark, *arguments: str) -> None:
        program = str(LISTENERS / f"{PROGRAMS[service]}.java")
        path = f"{jar_of(service)}:{spark.jars}"
        command = [f"{java_home()}/bin/java", "-Xmx256m", "-cp", path, program, *arguments]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self._lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        port = wait_for("the listener's port", lambda: self.said("port"))[0]
        self.endpoint = f"127.0.0.1:{port}"
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait(60)
        self._reader.join(60)

    def said(self, kind: str) -> list[str]:
        """Return what was said of a kind, without its name, each once."""
        found = [line.partition(" ") for line in list(self._lines)]
        return sorted({rest for first, _, rest in found if first == kind})

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self._lines.append(line.rstrip("\n"))


def jar_of(service: str) -> pathlib.Path:
    (found,) = jars(service).glob("*.jar")
    return found


class Job:
    """A join and a group-by of a queue, and what its driver's own event log says."""

    def __init__(
        self,
        cluster: Cluster,
        folder: pathlib.Path,
        queue: str,
        conf: Mapping[str, str] | None = None,
        deploy_mode: str = "cluster",
    ) -> None:
        self.folder = folder
        settings = event_log(folder) | {"spark.yarn.queue": queue, **(conf or {})}
        report = folder / "report.json"
        self.result: Result = Spark("3.5.x", cluster).submit(
            deploy_mode, "join_and_group.py", ROWS, KEYS, GROUPS, report, conf=settings
        )

    def is_right(self) -> bool:
        found = json.loads((self.folder / "report.json").read_text())
        return bool(found == expected())

    def settings(self) -> dict[str, str]:
        return driver_settings(read_events(self.folder))


def expected() -> list[list[object]]:
    groups: dict[int, tuple[int, int]] = {}
    for number in range(ROWS):
        key = number % KEYS
        count, total = groups.get(key % GROUPS, (0, 0))
        groups[key % GROUPS] = count + 1, total + number * (key * key + 1)
    return [[group, count, str(total)] for group, (count, total) in sorted(groups.items())]


def say(cluster: Cluster, queue: str, **words: str) -> None:
    """Replaces nothing that the queue says otherwise."""
    texts = [f"{WORD}{name.replace('_', '-')}={text}" for name, text in words.items()]
    told = queue_set(cluster, f"root.{queue}", *texts)
    assert told.returncode == 0, told.stderr


def shown_queue(cluster: Cluster, path: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"{cluster.ready.rest_url}/api/v1/queues/{path}", timeout=60) as answer:
        found: dict[str, Any] = json.load(answer)
        return found


def logs_of(cluster: Cluster, application_id: str) -> str:
    """Return what the ApplicationMaster of an application wrote, once it is where it is kept."""
    command = [YODEL, "app", "logs", application_id, "--am", "--server", cluster.ready.rest_url]

    def said() -> str:
        return subprocess.run(command, timeout=600, capture_output=True, text=True).stdout

    return wait_for("the logs", said)
