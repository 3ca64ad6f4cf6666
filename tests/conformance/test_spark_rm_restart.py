"""The ResourceManager is killed with SIGKILL in the middle of things: it comes back, and nothing is lost or doubled."""

from __future__ import annotations

import pathlib
import time
import urllib.error

from tests.conformance.cluster import Cluster, wait_for
from tests.conformance.disturbed import HeldJob
from tests.conformance.rest_words import new_id, polled_to_the_end, post, shell
from tests.conformance.spark_submit import Spark


def kill_and_wait_until_back(cluster: Cluster) -> float:
    """Kills the ResourceManager; answers after how many seconds another one served REST."""
    killed = cluster.kill_rm()
    at = time.monotonic()

    def served() -> bool:
        try:
            cluster.rest("/info", timeout_s=1)
        except (urllib.error.URLError, OSError):
            return False
        return cluster.ready.pids["rm"] != killed

    wait_for("the next ResourceManager", served, every_s=0.05)
    return time.monotonic() - at


def test_spark_job_survives_the_death_of_the_resource_manager(spark: Spark, shared_dir: pathlib.Path) -> None:
    cluster = spark.cluster
    listed_before = {a["id"] for a in (cluster.rest("/apps")["apps"] or {}).get("app", [])}
    with HeldJob(spark, shared_dir, "cluster") as job:
        workers = {place["container"] for place in job.working(2)}
        pods_before = {p.container: p.uid for p in cluster.pods(job.application_id)}

        back_after_s = kill_and_wait_until_back(cluster)
        print(f"served again after {back_after_s:.1f} s")
        assert {p.container: p.uid for p in cluster.pods(job.application_id)} == pods_before
        assert len(pods_before) == 3

        job.release()
        result = job.result()
        assert result.returncode == 0, result.text[-6000:]
        assert job.is_right()
        assert set(job.report()["executors"]) <= workers
        application = cluster.application(job.application_id)
        assert (application["state"], application["finalStatus"]) == ("FINISHED", "SUCCEEDED")
        attempts = cluster.rest(f"/apps/{job.application_id}/appattempts")["appAttempts"]["appAttempt"]
        assert [attempt["id"] for attempt in attempts] == [1]
        assert listed_before | {job.application_id} <= {a["id"] for a in cluster.rest("/apps")["apps"]["app"]}
        wait_for("the end of all its pods", lambda: not cluster.pods(job.application_id))


def test_acknowledged_submission_survives_a_kill_before_its_master_starts(
    cluster: Cluster, shared_dir: pathlib.Path
) -> None:
    application_id, starts = new_id(cluster), shared_dir / "starts"
    post(cluster, shell(application_id, f"echo $CONTAINER_ID >> {starts}; exit 9"))
    kill_and_wait_until_back(cluster)
    state, _, diagnostics = polled_to_the_end(cluster, application_id)
    assert state == "FAILED"
    assert "exitCode: 9" in diagnostics
    assert len(starts.read_text().split()) == 1
    later = new_id(cluster)
    post(cluster, shell(later, "exit 8"))
    assert "exitCode: 8" in polled_to_the_end(cluster, later)[2], "it takes new work"
