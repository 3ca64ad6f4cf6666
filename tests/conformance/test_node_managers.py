"""A stock NodeManager of Hadoop and Yodel's nodes run one job together, and either may be killed meanwhile.

It is the first that containers go to here, and small: what it has no room for are pods.
"""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conformance import mapreduce_by_rest
from tests.conformance.cluster import CALL_TIMEOUT_S, Cluster, wait_for
from tests.conformance.disturbed import HeldJob
from tests.conformance.rest_words import new_id, post
from tests.conformance.spark_submit import Spark
from tests.conformance.test_spark_rm_restart import kill_and_wait_until_back
from tests.support.hadoop_conf import NodeSize
from tests.support.node_manager import NodeManager, running_node_manager
from yodel.services.nodes.node_managers import NETWORK_IS_TRUSTED

SIZE = NodeSize(memory_mib=2048, vcores=2)


@pytest.fixture(scope="module")
def node_manager(cluster: Cluster) -> Iterator[NodeManager]:
    labels = "yarn.nodemanager.node-labels.provider"
    more = {labels: "config", f"{labels}.configured-node-partition": "gpu"}
    with running_node_manager(cluster, size=SIZE, more=more) as started:
        yield started


def items(cluster: Cluster, path: str) -> list[dict[str, Any]]:
    """Return the items of a list of ``/api/v1``."""
    with urllib.request.urlopen(f"{cluster.ready.rest_url}/api/v1/{path}", timeout=30) as answer:
        found: list[dict[str, Any]] = json.load(answer)["items"]
    return found


def containers_of(cluster: Cluster, application_id: str) -> list[dict[str, Any]]:
    """Return its containers, ended ones too."""
    return items(cluster, f"applications/{application_id}/containers")


def said(cluster: Cluster, *words: str) -> str:
    """Return what a command of ``yodel`` prints."""
    command = [str(pathlib.Path(sys.prefix) / "bin" / "yodel"), *words, "--server", cluster.ready.rest_url]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=CALL_TIMEOUT_S).stdout


def kinds_of(cluster: Cluster, application_id: str, node_manager: NodeManager) -> Counter[bool]:
    """Count the containers it has had by whether the NodeManager ran them, which is whether they have no pod."""
    found = [one for one in containers_of(cluster, application_id) if one["node_id"]]
    assert [one for one in found if (one["pod"] is None) is not (one["node_id"] == node_manager.node_id)] == []
    return Counter(one["pod"] is None for one in found)


def test_words_are_counted_on_both_kinds_of_nodes(
    cluster: Cluster, node_manager: NodeManager, shared_dir: pathlib.Path
) -> None:
    """The reducer fetches from both shuffles, and both kinds of nodes aggregate their logs."""
    (shown,) = [node for node in items(cluster, "nodes") if node["id"] == node_manager.node_id]
    assert (shown["kind"], shown["kubernetes_node"], shown["version"]) == ("NodeManager", None, "3.5.0")
    assert f"{node_manager.node_id}\tRUNNING" in said(cluster, "node", "list"), "as docs/coming-from-yarn.md shows it"
    assert node_manager.has_logged("node labels gpu are not used (the setting node_labels_enabled = false)")
    assert NETWORK_IS_TRUSTED in (cluster.directory / "logs" / "rm.log").read_text()
    words = Counter({f"word{number}": number + 1 for number in range(40)})
    texts = [shared_dir / f"text-{number}.txt" for number in range(3)]
    for text in texts:
        text.write_text("".join(f"{word}\n" for word in words.elements()))
    application_id = new_id(cluster)
    post(cluster, mapreduce_by_rest.body(cluster, application_id, shared_dir, texts))
    app = cluster.ended(application_id)
    assert app["finalStatus"] == "SUCCEEDED", app["diagnostics"] + node_manager.log_tail()
    assert mapreduce_by_rest.counted(shared_dir) == {word: 3 * count for word, count in words.items()}
    kinds = kinds_of(cluster, application_id, node_manager)
    assert kinds.total() == 5
    assert all(kinds[kind] for kind in (True, False)), kinds

    def aggregated() -> bool:
        """Return the aggregated logs: one file of each node that ran some of it."""
        return len([*(cluster.directory / "app-logs").glob(f"**/{application_id}/*")]) >= len(
            {one["node_id"] for one in containers_of(cluster, application_id)}
        )

    wait_for("the logs of all nodes", aggregated)


@pytest.mark.parametrize("killed", ["NodeManager", "ResourceManager"])
def test_spark_job_goes_on_when_one_is_killed_and_comes_back(
    spark: Spark, node_manager: NodeManager, shared_dir: pathlib.Path, killed: str
) -> None:
    cluster = spark.cluster
    with HeldJob(spark, shared_dir, "cluster") as job:
        workers = {place["container"] for place in job.working(2)}
        if killed == "NodeManager":
            node_manager.kill()
            node_manager.start()
        else:
            kill_and_wait_until_back(cluster)
        wait_for("the NodeManager to register again", lambda: node_manager.state == "RUNNING")
        job.release()
        result = job.result()
        assert result.returncode == 0, result.text[-6000:]
        assert job.is_right()
        assert set(job.report()["executors"]) <= workers
    assert kinds_of(cluster, job.application_id, node_manager)[True] == 2, "the master, and one executor"
    assert cluster.ended(job.application_id)["finalStatus"] == "SUCCEEDED"
    assert len(cluster.rest(f"/apps/{job.application_id}/appattempts")["appAttempts"]["appAttempt"]) == 1


def test_containers_of_a_node_manager_that_stays_away_are_lost(
    spark: Spark, node_manager: NodeManager, shared_dir: pathlib.Path
) -> None:
    """The node's ApplicationMaster is lost too: another attempt does the work, in pods."""
    cluster = spark.cluster
    with HeldJob(spark, shared_dir, "cluster", conf={"spark.yarn.maxAppAttempts": "2"}) as job:
        job.working(2)
        job.forget_markers()
        node_manager.kill()
        wait_for("the node to be lost", lambda: node_manager.state == "LOST")
        job.working(2)
        job.release()
        cluster.ended(job.application_id)
    lost = [one for one in containers_of(cluster, job.application_id) if one["node_id"] == node_manager.node_id]
    assert lost
    assert {one["exit_status"] for one in lost} == {-100}
    assert cluster.ended(job.application_id)["finalStatus"] == "SUCCEEDED"
