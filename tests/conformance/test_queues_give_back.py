"""Two queues and real Spark: one borrows all there is, the other gets its guarantee, and neither fails."""

from __future__ import annotations

import json
import pathlib
import re
import time
import urllib.request
from collections.abc import Iterator

import pytest

from tests.conformance.cluster import LANES_FACTOR, Cluster, running, wait_for
from tests.conformance.disturbed import HeldJob
from tests.conformance.spark_submit import Spark

WAIT_S, GUARANTEED_WITHIN_S = 5, 30
PREEMPTION = {
    "enabled": True,
    "monitoring_interval_s": 1,
    "max_wait_before_kill_s": WAIT_S,
    "total_preemption_per_round": 1.0,
    "natural_termination_factor": 1.0,
}
SETTINGS = {"YODEL_QUEUES": '["owner", "borrower"]', "YODEL_PREEMPTION": json.dumps(PREEMPTION)}


# One executor or task that counts as failed would end the application.
ONCE = {"spark.yarn.max.executor.failures": "1", "spark.executor.maxNumFailures": "1", "spark.task.maxFailures": "1"}
LEAVES = {"spark.decommission.enabled": "true", "spark.storage.decommission.enabled": "true"}


@pytest.fixture
def small() -> Iterator[Cluster]:
    """Six containers of the least size, three of them guaranteed to each queue."""
    with running(memory_mib=3072, settings=SETTINGS) as started:
        yield started


def held_mib(cluster: Cluster, path: str) -> int:
    with urllib.request.urlopen(f"{cluster.ready.rest_url}/api/v1/queues/{path}", timeout=30) as answer:
        return int(json.load(answer)["used"]["memory_mib"])


def said(cluster: Cluster, application_id: str, pattern: str) -> list[str]:
    """What the driver's log says that matches; it runs in the ApplicationMaster."""
    (log,) = cluster.directory.glob(f"nodes/*/logs/{application_id}/*_000001/stderr")
    return re.findall(pattern, log.read_text(errors="replace"))


def test_borrower_gives_back_and_both_jobs_are_right(small: Cluster, shared_dir: pathlib.Path) -> None:
    spark = Spark("4.x", small)
    (borrowed := shared_dir / "borrower").mkdir()
    (owned := shared_dir / "owner").mkdir()
    with HeldJob(spark, borrowed, executors=5, conf=ONCE | LEAVES | {"spark.yarn.queue": "borrower"}) as borrower:
        wait_for("the borrower to hold all", lambda: held_mib(small, "root.borrower") == 6 * 1024, 120)
        borrower.working(4)
        with HeldJob(spark, owned, executors=2, conf={"spark.yarn.queue": "owner"}) as owner:
            began_s = time.monotonic()
            wait_for("the owner's guarantee", lambda: held_mib(small, "root.owner") >= 3 * 1024, 90)
            # An ApplicationMaster comes first, and only it asks for executors: two notices one after the other.
            assert time.monotonic() - began_s < GUARANTEED_WITHIN_S * LANES_FACTOR
            owner.working(2)
            owner.release()
            assert owner.result().returncode == 0
            assert owner.is_right()
        leaving = said(small, borrower.application_id, r"Received executor (\d+) decommissioned message")
        assert len(set(leaving)) >= 2, "executors heard of their notice; the one without a task may have been starting"
        assert len(leaving) == len(set(leaving)), "once each"
        borrower.release()
        result = borrower.result()
        assert result.returncode == 0, result.text[-6000:]
        assert borrower.is_right()
    ended = small.rest(f"/apps/{borrower.application_id}")["app"]
    assert ended["finalStatus"] == "SUCCEEDED"
    assert len(small.rest(f"/apps/{borrower.application_id}/appattempts")["appAttempts"]["appAttempt"]) == 1
    with urllib.request.urlopen(f"{small.ready.rest_url}/prom", timeout=30) as answer:
        counts = dict(line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if "preempt" in line)
    preempted = [
        float(value) for name, value in counts.items() if "preempted_containers_total" in name and "#" not in name
    ]
    assert preempted
    assert preempted[0] >= 2, "the one without a task may have ended by itself, the others were at work"
