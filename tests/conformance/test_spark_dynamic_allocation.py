"""Dynamic allocation with shuffle tracking: executors and their pods come under load and go when idle."""

from __future__ import annotations

import json
import pathlib

import pytest

from tests.conformance.cluster import wait_for
from tests.conformance.spark_submit import Spark

TASKS, TASK_MS, IDLE_S = 12, 2_000, 120
GONE_S = 25
DYNAMIC = {
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.dynamicAllocation.minExecutors": "0",
    "spark.dynamicAllocation.initialExecutors": "0",
    "spark.dynamicAllocation.maxExecutors": "3",
    "spark.dynamicAllocation.schedulerBacklogTimeout": "1s",
    "spark.dynamicAllocation.executorIdleTimeout": "2s",
    "spark.executor.instances": "",
}


def test_executor_pods_follow_the_load_both_ways(
    spark: Spark, shared_dir: pathlib.Path, request: pytest.FixtureRequest
) -> None:
    cluster = spark.cluster
    report, loaded, go = (shared_dir / name for name in ("report.json", "loaded", "go"))
    arguments = (TASKS, TASK_MS, IDLE_S, report, loaded, go)
    submission = spark.start("cluster", "grow_and_shrink.py", *arguments, conf=DYNAMIC)
    request.addfinalizer(submission.stop)
    application_id = submission.application_id()

    wait_for("two executor pods at once", lambda: len(cluster.pods(application_id, "task")) >= 2)
    wait_for("all tasks done", loaded.exists)
    wait_for("no executor pod left", lambda: not cluster.pods(application_id, "task"))
    assert [p.role for p in cluster.pods(application_id)] == ["am"]
    go.touch()

    result = submission.result()
    assert result.returncode == 0, result.text[-6000:]
    seen = json.loads(report.read_text())
    assert seen["sum"] == sum(range(TASKS))
    assert seen["peak"] >= 2
    assert seen["at_end"] == 0
    assert seen["was_told"], "the pods went only after the idle time had passed"
