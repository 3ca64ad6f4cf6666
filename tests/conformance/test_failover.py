"""The leader is killed with SIGKILL beside a NodeManager and a node of pods: a standby takes over, and jobs go on."""

from __future__ import annotations

import pathlib

import pytest

from tests.conformance.cluster import wait_for
from tests.conformance.disturbed import HeldJob
from tests.conformance.spark_submit import Spark
from tests.conformance.standby import running_with_standby
from tests.conformance.test_node_managers import SIZE, containers_of, kinds_of
from tests.support.node_manager import running_node_manager, settings_of
from tests.support.postgres import postgres_server
from tests.support.stores import migrated_postgres, postgres_url

__all__ = ["migrated_postgres", "postgres_server", "postgres_url"]
pytestmark = pytest.mark.timeout(900)


def test_node_manager_finds_the_standby_and_its_containers_go_on(
    postgres_url: str, tmp_path: pathlib.Path, shared_dir: pathlib.Path
) -> None:
    """Its master, one of its executors and a pod meet the next ResourceManager; nothing is computed anew."""
    with (
        running_with_standby(postgres_url, settings_of(tmp_path), nodes=1) as both,
        running_node_manager(both.cluster, size=SIZE, more=both.properties) as manager,
    ):
        cluster = both.cluster
        spark = Spark("4.x", cluster, more_environment={"HADOOP_CONF_DIR": str(manager.conf_dir)})
        with HeldJob(spark, shared_dir, "cluster") as job:
            workers = {place["container"] for place in job.working(2)}
            before = containers_of(cluster, job.application_id)
            both.fail_over()
            wait_for("the NodeManager to register with the standby", lambda: manager.registrations == 2)
            assert manager.state == "RUNNING"
            assert manager.has_logged("Failing over to rm2")
            running = containers_of(cluster, job.application_id)
            assert [(one["id"], one["node_id"], one["state"]) for one in running] == [
                (one["id"], one["node_id"], "RUNNING") for one in before
            ]
            job.release()
            result = job.result()
            assert result.returncode == 0, result.text[-6000:]
            assert job.is_right()
            assert set(job.report()["executors"]) <= workers
        assert cluster.ended(job.application_id)["finalStatus"] == "SUCCEEDED"
        assert kinds_of(cluster, job.application_id, manager) == {True: 2, False: 1}
        assert -100 not in {one["exit_status"] for one in containers_of(cluster, job.application_id)}
        assert len(cluster.rest(f"/apps/{job.application_id}/appattempts")["appAttempts"]["appAttempt"]) == 1
