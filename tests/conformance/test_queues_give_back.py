"""Two queues: one borrows all there is, the other gets its guarantee, and neither fails.  Real Spark and MapReduce."""

from __future__ import annotations

import json
import pathlib
import re
import urllib.request
from collections.abc import Iterator

import pytest

from tests.conformance.clients.target import Target
from tests.conformance.cluster import Cluster, running, wait_for
from tests.conformance.disturbed import HeldJob
from tests.conformance.held_mapreduce import Site, expected_count
from tests.conformance.rest_words import new_id, post, shell
from tests.conformance.spark_submit import Spark
from tests.support.hadoop import Hadoop
from tests.support.hadoop_yodel import rm_addresses, running_yodel

WAIT_S = 5
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


# MapReduce's own policy that gives back at once; the property is of the ApplicationMaster.
HEARS = {
    "yarn_app_mapreduce_am_preemption_policy": (
        "org.apache.hadoop.mapreduce.v2.app.rm.preemption.KillAMPreemptionPolicy"
    ),
    "mapreduce_job_queuename": "borrower",
}
MAPS = 5
SIZES = {"yarn_app_mapreduce_am_resource_mb": 1024, "mapreduce_map_memory_mb": 1024, "mapreduce_reduce_memory_mb": 1024}
OWNERS = {"memory": 2048, "vCores": 1}
JSON = ("--header", "Content-Type: application/json")


@pytest.fixture
def small() -> Iterator[Cluster]:
    """Six containers of the least size, three of them guaranteed to each queue."""
    with running(memory_mib=3072, settings=SETTINGS) as started:
        yield started


def held_mib(cluster: Cluster, path: str) -> int:
    with urllib.request.urlopen(f"{cluster.ready.rest_url}/api/v1/queues/{path}", timeout=30) as answer:
        return int(json.load(answer)["used"]["memory_mib"])


def counted(cluster: Cluster, name: str) -> float:
    """A counter of ``/prom``."""
    with urllib.request.urlopen(f"{cluster.ready.rest_url}/prom", timeout=30) as answer:
        lines = [line for line in answer.read().decode().splitlines() if name in line and not line.startswith("#")]
    return float(lines[0].rsplit(" ", 1)[1])


def said(cluster: Cluster, application_id: str, pattern: str) -> list[str]:
    """Return what matches in the driver's log; the driver runs in the ApplicationMaster."""
    (log,) = cluster.directory.glob(f"nodes/*/logs/{application_id}/*_000001/stderr")
    return re.findall(pattern, log.read_text(errors="replace"))


def test_borrower_gives_back_and_both_jobs_are_right(small: Cluster, shared_dir: pathlib.Path) -> None:
    spark = Spark("4.x", small)
    (borrowed := shared_dir / "borrower").mkdir()
    (owned := shared_dir / "owner").mkdir()
    with HeldJob(spark, borrowed, executors=5, conf=ONCE | LEAVES | {"spark.yarn.queue": "borrower"}) as borrower:
        wait_for("the borrower to hold all", lambda: held_mib(small, "root.borrower") == 6 * 1024)
        borrower.working(4)
        with HeldJob(spark, owned, executors=2, conf={"spark.yarn.queue": "owner"}) as owner:
            wait_for("the owner's guarantee", lambda: held_mib(small, "root.owner") >= 3 * 1024)
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
    went = counted(small, "preempted_containers_total")
    assert went >= 2, "the one without a task may have ended by itself, the others were at work"


def test_mapreduce_gives_back_by_itself_before_the_deadline(rig: Hadoop) -> None:
    """Its ApplicationMaster ends the tasks that are asked for, and starts them anew later; the deadline is far away."""
    preemption = json.dumps({**PREEMPTION, "max_wait_before_kill_s": 600})
    with running_yodel(rig, settings={**SETTINGS, "YODEL_PREEMPTION": preemption}) as cluster:
        target = Target(name="gives-back", line="3.5", addresses=rm_addresses(cluster), hadoop=rig)
        site = Site(cluster=cluster, target=target)
        folder = site.word_files(MAPS)
        with site.example("wordcount", f"{folder}/in", f"{folder}/out", **HEARS, **SIZES) as job:
            tasks = [f"m_{number:06}" for number in range(MAPS)]
            for task in tasks:
                job.hold(task)
            assert held_mib(cluster, "root.borrower") == (1 + MAPS) * 1024
            owner = new_id(cluster)
            post(cluster, {**shell(owner, "exec sleep 600"), "queue": "owner", "resource": OWNERS})
            wait_for("the owner's container", lambda: held_mib(cluster, "root.owner") == OWNERS["memory"])
            wait_for("it to run", lambda: cluster.pods(owner, "am"))
            assert counted(cluster, "preemption_notices_total") == 2
            assert counted(cluster, "preempted_containers_total") == 0
            cluster.curl("/apps/" + owner + "/state", "--request", "PUT", *JSON, "--data", '{"state": "KILLED"}')
            for task in tasks:
                job.release(task)
            counters = job.counters()
        assert counters["Killed map tasks"] == 2
        assert counters["Tasks that have been asked to preempt"] == 2
        assert counters.get("Failed map tasks", 0) == 0
        assert site.counted(f"{folder}/out") == expected_count(MAPS)
        assert job.attempts() == [1]
