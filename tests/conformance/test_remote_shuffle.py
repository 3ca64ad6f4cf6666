"""A queue says how shuffle is done, and unmodified Spark jobs in it do so."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from typing import Any, Self

import pytest

from tests.conformance.cluster import Cluster, running, wait_for
from tests.conformance.spark_submit import Result, Spark

YODEL = str(pathlib.Path(sys.prefix) / "bin" / "yodel")
MAPS, REDUCES, ROWS = 4, 3, 5_000
WORD = "yodel.remote-shuffle."
TOTAL = sum(range(MAPS * ROWS))
"""Of all numbers that the job shuffles."""


@pytest.fixture(scope="module")
def shuffling() -> Iterator[Cluster]:
    with running(settings={"YODEL_QUEUES": '["plain", "lent"]'}) as cluster:
        told = queue_set(cluster, "root.lent", f"{WORD}service=spark-decommission")
        assert told.returncode == 0, told.stderr
        yield cluster


def queue_set(cluster: Cluster, *words: str) -> subprocess.CompletedProcess[str]:
    command = [YODEL, "queue", "set", *words, "--server", cluster.ready.rest_url]
    return subprocess.run(command, timeout=600, capture_output=True, text=True)


def shown(cluster: Cluster, application_id: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"{cluster.ready.rest_url}/api/v1/applications/{application_id}", timeout=60) as answer:
        found: dict[str, Any] = json.load(answer)
        return found


class HeldShuffle:
    """A job that waits between its maps and its reducers."""

    def __init__(self, spark: Spark, folder: pathlib.Path, queue: str, conf: Mapping[str, str] | None = None) -> None:
        self._report, self._mapped, self._release = folder / "report.json", folder / "mapped", folder / "release"
        self.events = folder / "events"
        self.events.mkdir()
        self.events.chmod(0o1777)
        settings = {
            "spark.yarn.queue": queue,
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": self.events.as_uri(),
            "spark.eventLog.compress": "false",
            "spark.eventLog.rolling.enabled": "false",
        }
        arguments = (MAPS, REDUCES, ROWS, self._report, self._mapped, self._release)
        self.submission = spark.start("cluster", "held_shuffle.py", *arguments, conf={**settings, **(conf or {})})
        self.application_id = self.submission.application_id()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
        self.submission.stop()

    def mapped(self) -> None:
        wait_for("the maps", self._mapped.exists)

    def release(self) -> None:
        self._release.touch()

    def result(self) -> Result:
        return self.submission.result()

    def report(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self._report.read_text())
        return content

    def is_right(self) -> bool:
        report = self.report()
        return bool(report["sum"] == TOTAL and report["rows"] == MAPS * ROWS)

    def maps_run(self) -> int:
        """Map tasks that ended well, by Spark's own event log."""
        (log,) = [path for path in self.events.iterdir() if path.is_file()]
        events = [json.loads(line) for line in log.read_text().splitlines()]
        ends = [event for event in events if event["Event"] == "SparkListenerTaskEnd"]
        return sum(e["Task Type"] == "ShuffleMapTask" and e["Task End Reason"]["Reason"] == "Success" for e in ends)


@pytest.mark.parametrize("line", ["4.x", "3.5.x"])
def test_unmodified_job_has_the_settings_of_its_queue(shuffling: Cluster, shared_dir: pathlib.Path, line: str) -> None:
    conf = {"spark.storage.decommission.rddBlocks.enabled": "false"}
    with HeldShuffle(Spark(line, shuffling), shared_dir, "lent", conf) as job:
        job.release()
        result = job.result()
        assert result.returncode == 0, result.text[-6000:]
        assert job.is_right()
    assert job.maps_run() == MAPS
    settings = job.report()["settings"]
    assert settings == {
        "spark.decommission.enabled": "true",
        "spark.storage.decommission.enabled": "true",
        "spark.storage.decommission.shuffleBlocks.enabled": "true",
        "spark.storage.decommission.rddBlocks.enabled": "false",
        "spark.storage.decommission.replicationReattemptInterval": "1s",
    }, "what the submitter says himself wins"
    shuffle = shown(shuffling, job.application_id)["attempt_list"][0]["shuffle"]
    assert {line["key"] for line in shuffle["added"]} == settings.keys()
    assert {line["source"] for line in shuffle["added"]} == {f"{WORD}service of root.lent"}


def test_job_of_a_queue_that_says_nothing_has_none(shuffling: Cluster, shared_dir: pathlib.Path) -> None:
    with HeldShuffle(Spark("4.x", shuffling), shared_dir, "plain") as job:
        job.release()
        assert job.result().returncode == 0
        assert job.is_right()
    assert job.report()["settings"] == {}
    assert shown(shuffling, job.application_id)["attempt_list"][0]["shuffle"] is None


def test_conflict_fails_the_application_before_its_master_starts(shuffling: Cluster, shared_dir: pathlib.Path) -> None:
    with HeldShuffle(Spark("4.x", shuffling), shared_dir, "lent", {"spark.shuffle.service.enabled": "true"}) as job:
        assert job.result().returncode != 0
    found = shown(shuffling, job.application_id)
    assert found["state"] == "FAILED"
    assert "spark.shuffle.service.enabled=true" in found["diagnostics"]
    assert [attempt["number"] for attempt in found["attempt_list"]] == [1]
