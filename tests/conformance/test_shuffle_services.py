"""A queue says Celeborn or Uniffle, and an unmodified Spark 3.5 job in it has the real client of the service.

No server of either can be had here (``make remote-shuffle`` is for those who have one): what is spoken to is a listener
that says that there are no workers.
"""

from __future__ import annotations

import json
import os
import pathlib
import pwd
import subprocess
import threading
from collections.abc import Iterator
from typing import Any, Self

import pytest

from tests.conformance.cluster import Cluster, running, wait_for
from tests.conformance.spark_submit import Result, Spark
from tests.conformance.test_remote_shuffle import WORD, queue_set, shown
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
        """What was said of a kind, without its name, each once."""
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


@pytest.fixture(scope="module")
def spark(served: Cluster) -> Spark:
    return Spark("3.5.x", served)


def say(cluster: Cluster, queue: str, **words: str) -> None:
    """Replaces nothing that the queue says otherwise."""
    texts = [f"{WORD}{name.replace('_', '-')}={text}" for name, text in words.items()]
    told = queue_set(cluster, f"root.{queue}", *texts)
    assert told.returncode == 0, told.stderr


def test_celeborn_without_workers_is_asked_and_falls_back(
    served: Cluster, spark: Spark, shared_dir: pathlib.Path
) -> None:
    jar = jar_of("celeborn")
    with Listener("celeborn", spark) as listener:
        say(
            served,
            "celeborn",
            service="celeborn",
            endpoints=listener.endpoint,
            jar=f"local:{jar}",
            spark_version="3.5.9",
        )
        job = Job(served, shared_dir, "celeborn")
        assert job.result.returncode == 0, job.result.text[-6000:]
        assert job.is_right()
        assert listener.said("heartbeat") == [f"{job.result.application_id}_1"]
        assert listener.said("quota") == [f"root.celeborn {ME}"]
    settings = job.settings()
    assert settings["spark.celeborn.identity.user-specific.tenant"] == "root.celeborn", "the 0.6 line's key"
    assert settings["spark.shuffle.manager"] == "org.apache.spark.shuffle.celeborn.SparkShuffleManager"
    assert settings["spark.celeborn.client.spark.shuffle.fallback.policy"] == "AUTO"
    assert "spark.shuffle.sort.io.plugin.class" not in settings
    added = shown(served, job.result.application_id)["attempt_list"][0]["shuffle"]["added"]
    spark_added = {line["key"]: line["value"] for line in added if line["key"].startswith("spark.")}
    assert spark_added.items() <= settings.items()


def test_uniffle_without_servers_denies_and_the_job_is_sparks_own(
    served: Cluster, spark: Spark, shared_dir: pathlib.Path
) -> None:
    jar = jar_of("uniffle")
    with Listener("uniffle", spark) as listener:
        say(
            served, "uniffle", service="uniffle", endpoints=listener.endpoint, jar=f"local:{jar}", spark_version="3.5.9"
        )
        job = Job(served, shared_dir, "uniffle")
        assert job.result.returncode == 0, job.result.text[-6000:]
        assert job.is_right()
        assert listener.said("access") == [f"{ME} {job.result.application_id}"]
    settings = job.settings()
    assert (settings["spark.rss.enabled"], settings["spark.shuffle.manager"]) == ("false", "sort")


def test_uniffle_that_allows_it_is_asked_for_servers(served: Cluster, spark: Spark, shared_dir: pathlib.Path) -> None:
    retries = {"spark.rss.client.assignment.retry.times": "1", "spark.rss.client.assignment.retry.interval": "100"}
    jar = jar_of("uniffle")
    with Listener("uniffle", spark, "allows") as listener:
        say(
            served, "uniffle", service="uniffle", endpoints=listener.endpoint, jar=f"local:{jar}", spark_version="3.5.9"
        )
        job = Job(served, shared_dir, "uniffle", **retries, **ONCE)
        assert job.result.returncode != 0, "the client's own failure, shown as such"
        (assigned,) = listener.said("assignment")
    assert assigned.startswith(f"{job.result.application_id}_")
    assert job.settings()["spark.shuffle.manager"] == "org.apache.spark.shuffle.RssShuffleManager"
