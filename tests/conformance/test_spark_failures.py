"""Failures are told in YARN's words, and what can be survived is survived."""

from __future__ import annotations

import pathlib

from tests.conformance.cluster import Cluster, wait_for
from tests.conformance.disturbed import HeldJob
from tests.conformance.spark_submit import Spark

KILL_DEADLINE_S = 10


def test_driver_that_exits_1_fails_the_application_with_its_status(spark: Spark) -> None:
    result = spark.submit("cluster", "exit_with.py", 1, conf={"spark.yarn.maxAppAttempts": "1"})
    assert result.returncode != 0
    application = spark.cluster.ended(result.application_id)
    assert (application["state"], application["finalStatus"]) == ("FINISHED", "FAILED")
    assert "User application exited with status 1" in application["diagnostics"]
    assert "User application exited with status 1" in result.stderr


def test_driver_that_cannot_start_fails_with_exit_code_and_attempt(spark: Spark) -> None:
    """The JVM finds no such agent and exits 1 before it can speak to the ResourceManager."""
    conf = {"spark.yarn.maxAppAttempts": "1", "spark.driver.extraJavaOptions": "-agentlib:no-such-agent"}
    result = spark.submit("cluster", "exit_with.py", 0, conf=conf)
    assert result.returncode != 0
    application = spark.cluster.ended(result.application_id)
    assert (application["state"], application["finalStatus"]) == ("FAILED", "FAILED")
    attempt = result.application_id.replace("application_", "appattempt_") + "_000001"
    for words in (f"AM Container for {attempt} exited with  exitCode: 1", "failed 1 times", "Failing the application"):
        assert words in application["diagnostics"]


def test_job_survives_the_deletion_of_an_executor_pod(spark: Spark, shared_dir: pathlib.Path) -> None:
    with HeldJob(spark, shared_dir, "client") as job:
        lost = job.working(2)[0]["container"]
        (pod,) = [p for p in spark.cluster.pods(job.application_id) if p.container == lost]
        spark.cluster.delete_pod(pod)
        wait_for("the pod to be gone", lambda: pod.uid not in {p.uid for p in spark.cluster.pods()})
        job.release()
        result = job.result()
        assert result.returncode == 0, result.text[-6000:]
        assert job.is_right()
        told = [line for line in result.stderr.splitlines() if lost in line]
        assert any("Lost executor" in line or "Exit status" in line for line in told), "\n".join(told)


def test_second_attempt_succeeds_after_the_am_pod_is_deleted(spark: Spark, shared_dir: pathlib.Path) -> None:
    cluster = spark.cluster
    with HeldJob(spark, shared_dir, "cluster", executors=1) as job:
        job.working(1)
        (master,) = cluster.pods(job.application_id, "am")
        cluster.delete_pod(master)
        job.forget_markers()
        job.working(1)
        job.release()
        result = job.result()
        assert result.returncode == 0, result.text[-6000:]
        assert job.is_right()
        attempts = cluster.rest(f"/apps/{job.application_id}/appattempts")["appAttempts"]["appAttempt"]
        assert sorted(attempt["id"] for attempt in attempts) == [1, 2]
        assert cluster.application(job.application_id)["finalStatus"] == "SUCCEEDED"


def test_yarn_kill_leaves_no_pod_after_ten_seconds(spark: Spark, shared_dir: pathlib.Path) -> None:
    cluster = spark.cluster
    with HeldJob(spark, shared_dir, "cluster") as job:
        job.working(2)
        assert len(cluster.pods(job.application_id)) == 3
        killed = spark.yarn("application", "-kill", job.application_id)
        assert killed.returncode == 0, killed.text
        application = cluster.ended(job.application_id)
        assert (application["state"], application["finalStatus"]) == ("KILLED", "KILLED")
        wait_for("the end of all its pods", lambda: not cluster.pods(job.application_id))
        assert job.result().returncode != 0


def test_driver_memory_over_the_maximum_is_refused_by_the_client(spark: Spark) -> None:
    """Spark asks the cluster for its maximum and refuses by itself; a wrong maximum would let it through."""
    result = spark.submit("cluster", "exit_with.py", 0, conf={"spark.driver.memory": "100g"})
    assert result.returncode != 0
    assert "is above the max threshold (" in result.stderr
    assert "yarn.scheduler.maximum-allocation-mb" in result.stderr


def test_driver_cores_over_the_maximum_are_refused_by_the_resource_manager(spark: Spark) -> None:
    """Spark does not check cores itself, so this refusal is YARN's."""
    result = spark.submit("cluster", "exit_with.py", 0, conf={"spark.driver.cores": "500"})
    assert result.returncode != 0
    assert "InvalidResourceRequestException" in result.stderr
    assert "Invalid resource request! Cannot allocate containers as requested resource is greater" in result.stderr
    assert "Requested resource type=[vcores]" in result.stderr


def test_memory_over_the_maximum_is_refused_by_rest(cluster: Cluster) -> None:
    created = cluster.curl_json("/apps/new-application", "--request", "POST")
    body = {"application-id": created["application-id"], "application-name": "too-big"}
    body |= {"am-container-spec": {"commands": {"command": "true"}}, "resource": {"memory": 99_999_999, "vCores": 1}}
    status, text = cluster.curl_post("/apps", body)
    assert status == 400
    assert "Requested more memory than configured max" in text


def test_unknown_queue_is_told_as_yarn_tells_it(spark: Spark) -> None:
    result = spark.submit("cluster", "exit_with.py", 0, more=("--queue", "nope"))
    assert result.returncode != 0
    assert f"Application {result.application_id} submitted by user " in result.stderr
    assert " to unknown queue: nope" in result.stderr
