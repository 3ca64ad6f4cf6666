"""Hadoop's own ``yarn rmadmin`` and ``yarn node`` send nodes away and take them back, while a Spark job goes on."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest

from tests.conformance.cluster import running, wait_for
from tests.conformance.disturbed import HeldJob
from tests.conformance.leaving import Nodes, hosts_of
from tests.conformance.spark_submit import Spark


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    excluded = tmp_path_factory.mktemp("lists") / "exclude"
    excluded.touch()
    with running(settings={"YODEL_NODES_EXCLUDE_PATH": str(excluded)}) as cluster:
        yield Nodes(Spark("4.x", cluster), excluded)


def test_spark_job_loses_a_node_and_ends_right_on_the_other(nodes: Nodes, shared_dir: pathlib.Path) -> None:
    cluster = nodes.spark.cluster
    with HeldJob(nodes.spark, shared_dir, "cluster", executors=3) as job:
        job.working(3)
        (am_host,) = hosts_of(cluster, job.application_id, "am").values()
        other = nodes.other_than(am_host)
        doomed = {
            container for container, host in hosts_of(cluster, job.application_id, "task").items() if host == other
        }
        assert doomed, "the scheduler spreads executors over both nodes"

        job.forget_markers()
        nodes.exclude(other)
        nodes.refresh()
        assert nodes.states()[other] == "DECOMMISSIONED"
        wait_for("what ran there to be gone", lambda: not doomed & hosts_of(cluster, job.application_id, "task").keys())
        job.working(len(doomed))
        wait_for("all on one node", lambda: set(hosts_of(cluster, job.application_id, "task").values()) == {am_host})

        job.release()
        result = job.result()
        assert result.returncode == 0, result.text[-6000:]
        assert job.is_right()
    nodes.exclude()
    nodes.refresh()
    nodes.until(other, "RUNNING")


def test_graceful_leave_waits_for_the_job(nodes: Nodes, shared_dir: pathlib.Path) -> None:
    cluster = nodes.spark.cluster
    with HeldJob(nodes.spark, shared_dir, "cluster", executors=3) as job:
        job.working(3)
        (am_host,) = hosts_of(cluster, job.application_id, "am").values()
        other = nodes.other_than(am_host)
        before = hosts_of(cluster, job.application_id, "task")
        assert other in before.values()

        nodes.exclude(other)
        nodes.refresh("-g", "600", "-server")
        assert nodes.states()[other] == "DECOMMISSIONING"
        job.release()
        assert job.result().returncode == 0
        assert job.is_right()
    nodes.until(other, "DECOMMISSIONED")
    nodes.exclude()
    nodes.refresh()
    nodes.until(other, "RUNNING")


def test_client_that_waits_forces_at_its_timeout(nodes: Nodes, shared_dir: pathlib.Path) -> None:
    with HeldJob(nodes.spark, shared_dir, "cluster", executors=1) as job:
        job.working(1)
        (am_host,) = hosts_of(nodes.spark.cluster, job.application_id, "am").values()
        nodes.exclude(am_host)
        job.forget_markers()
        said = nodes.refresh("-g", "3", "-client")
        assert "are still decommissioning" in said
        assert nodes.states()[am_host] == "DECOMMISSIONED"
        job.working(1)  # in the second attempt, which is not counted as a failure of the first
        job.release()
        assert job.result().returncode == 0
    nodes.exclude()
    nodes.refresh()
    nodes.until(am_host, "RUNNING")
