"""Hadoop's own ``yarn rmadmin`` and ``yarn node`` send nodes away and take them back, while a Spark job goes on."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest

from tests.conformance.cluster import Cluster, running, wait_for
from tests.conformance.disturbed import HeldJob
from tests.conformance.spark_submit import Spark


class Nodes:
    """The exclude list in the test's hand, and what ``yarn node -list -all`` says."""

    def __init__(self, spark: Spark, excluded: pathlib.Path) -> None:
        self.spark, self._excluded = spark, excluded

    def exclude(self, *hosts: str) -> None:
        self._excluded.write_text("\n".join(hosts))

    def refresh(self, *how: str) -> str:
        result = self.spark.yarn("rmadmin", "-refreshNodes", *how, timeout_s=120)
        assert result.returncode == 0, result.text
        return result.stdout

    def states(self) -> dict[str, str]:
        result = self.spark.yarn("node", "-list", "-all")
        assert result.returncode == 0, result.text
        rows = (line.split() for line in result.stdout.splitlines() if line.strip().startswith("127.0.0."))
        return {row[0].partition(":")[0]: row[1] for row in rows}

    def other_than(self, host: str) -> str:
        hosts = [node["node_id"].partition(":")[0] for node in self.spark.cluster.ready.nodes]
        return next(one for one in hosts if one != host)

    def until(self, host: str, state: str) -> None:
        """By REST, which costs no JVM each time."""

        def reached() -> bool:
            listed = self.spark.cluster.rest(f"/nodes?states={state}")["nodes"] or {}
            return any(node["nodeHostName"] == host for node in listed.get("node", []))

        wait_for(f"{host} {state}", reached)


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    excluded = tmp_path_factory.mktemp("lists") / "exclude"
    excluded.touch()
    with running(settings={"YODEL_NODES_EXCLUDE_PATH": str(excluded)}) as cluster:
        yield Nodes(Spark("4.x", cluster), excluded)


def host_of(cluster: Cluster, job: HeldJob, role: str) -> dict[str, str]:
    """The node's address by container."""
    by_name = {node["name"]: node["node_id"].partition(":")[0] for node in cluster.ready.nodes}
    listed = cluster.kubectl("get", "pods", "-o", "jsonpath={range .items[*]}{.metadata.name} {.spec.nodeName}\n{end}")
    placed = dict(line.split() for line in listed.splitlines() if len(line.split()) == 2)
    pods = cluster.pods(job.application_id, role)
    return {pod.container: by_name[placed[pod.name]] for pod in pods if pod.name in placed}


def test_spark_job_loses_a_node_and_ends_right_on_the_other(nodes: Nodes, shared_dir: pathlib.Path) -> None:
    cluster = nodes.spark.cluster
    with HeldJob(nodes.spark, shared_dir, "cluster", executors=3) as job:
        job.working(3)
        (am_host,) = host_of(cluster, job, "am").values()
        other = nodes.other_than(am_host)
        doomed = {container for container, host in host_of(cluster, job, "task").items() if host == other}
        assert doomed, "the scheduler spreads executors over both nodes"

        job.forget_markers()
        nodes.exclude(other)
        nodes.refresh()
        assert nodes.states()[other] == "DECOMMISSIONED"
        wait_for("what ran there to be gone", lambda: not doomed & host_of(cluster, job, "task").keys())
        job.working(len(doomed))
        wait_for("all on one node", lambda: set(host_of(cluster, job, "task").values()) == {am_host})

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
        (am_host,) = host_of(cluster, job, "am").values()
        other = nodes.other_than(am_host)
        before = host_of(cluster, job, "task")
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
        (am_host,) = host_of(nodes.spark.cluster, job, "am").values()
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
