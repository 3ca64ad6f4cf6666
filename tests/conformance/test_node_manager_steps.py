"""A stock NodeManager of Hadoop beside one node of pods: clients' jobs run on both, and administrators move it about.

One NodeManager lives through all steps.  Containers go to it first, and it is small: what it has no room for are pods.
"""

from __future__ import annotations

import contextlib
import pathlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.conformance.clients import shell
from tests.conformance.cluster import Cluster, running, wait_for
from tests.conformance.disturbed import WITHOUT_TRACKING, ShuffleReadTwice
from tests.conformance.spark_submit import Result, Spark, Submission
from tests.conformance.test_node_managers import containers_of, kinds_of
from tests.support.hadoop_conf import NodeSize, write_files
from tests.support.hadoop_jars import jars
from tests.support.hadoop_yodel import client_properties
from tests.support.java import java_home
from tests.support.node_manager import NodeManager, running_node_manager, settings_of
from tests.support.ports import free_port
from tests.support.spark_shuffle import agent_settings, public_spark_jars

pytestmark = pytest.mark.timeout(900)
SIZE = NodeSize(memory_mib=2048, vcores=8)
FILES = {"fs.defaultFS": "file:///"}
EXAMPLES = "org.apache.hadoop.examples.ExampleDriver"
WITH_TWO_FROM_THE_START = {
    "spark.dynamicAllocation.initialExecutors": "2",
    "spark.dynamicAllocation.executorIdleTimeout": "15s",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
    # Both services are on this machine: each node's own yarn-site.xml has the port of its service.
    "spark.yarn.populateHadoopClasspath": "true",
}
LOGS = "org.apache.hadoop.yarn.client.cli.LogsCLI"


@dataclass(frozen=True, slots=True, kw_only=True)
class Both:
    """The two kinds of nodes."""

    cluster: Cluster
    node_manager: NodeManager

    def java(self, main: str, *words: object) -> Result:
        """A client of Hadoop 3.5 with the NodeManager's configuration, to its end."""
        java = [f"{java_home()}/bin/java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        classes = f"{self.node_manager.conf_dir}:{jars('hadoop')}/*:{jars('dshell')}/*"
        command = [*java, "-cp", classes, main, *(str(word) for word in words)]
        return Submission(command, Spark("4.x", self.cluster).environment).result()

    def have_run(self, application_id: str) -> None:
        """Assert that containers of an application that succeeded ran on each kind of nodes."""
        app = self.cluster.ended(application_id)
        assert app["finalStatus"] == "SUCCEEDED", app["diagnostics"] + self.node_manager.log_tail()
        kinds = kinds_of(self.cluster, application_id, self.node_manager)
        assert all(kinds[kind] for kind in (True, False)), kinds


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    """A node of pods and a NodeManager, each with Spark's shuffle service."""
    lists = tmp_path_factory.mktemp("lists")
    with contextlib.ExitStack() as stack:
        classes, port = stack.enter_context(public_spark_jars("3.5.x")), free_port()
        agent_conf = lists / "agent"
        settings = settings_of(lists) | agent_settings(classes, port) | {"YODEL_NM_HADOOP_CONF_DIR": str(agent_conf)}
        cluster = stack.enter_context(running(nodes=1, memory_mib=4096, minimum_mib=256, settings=settings))
        shuffle = f"{jars('spark-shuffle')}/*:{classes}/*"
        of_clients = client_properties(cluster, ("yarn.",)) | {"spark.shuffle.service.port": str(port)}
        write_files(agent_conf, {"core-site.xml": FILES, "yarn-site.xml": of_clients}, log_level="INFO")
        more = {"yarn.application.classpath": f"$HADOOP_CONF_DIR,{jars('hadoop')}/*,{jars('dshell')}/*"}
        manager = stack.enter_context(running_node_manager(cluster, size=SIZE, spark_shuffle_jars=shuffle, more=more))
        yield Both(cluster=cluster, node_manager=manager)


def test_pi_of_mapreduce(both: Both, shared_dir: pathlib.Path) -> None:
    sizes = {
        "yarn.app.mapreduce.am.resource.mb": 512,
        "mapreduce.map.memory.mb": 512,
        "mapreduce.reduce.memory.mb": 512,
    }
    settings = {
        **sizes,
        "mapreduce.framework.name": "yarn",
        "mapreduce.application.classpath": f"{jars('hadoop')}/*",
        "yarn.app.mapreduce.am.staging-dir": shared_dir,
        "yarn.app.mapreduce.am.command-opts": "-Xmx300m",
        "mapreduce.map.java.opts": "-Xmx256m",
        "mapreduce.reduce.java.opts": "-Xmx256m",
        "mapreduce.task.io.sort.mb": 32,
    }
    result = both.java(EXAMPLES, "pi", *(f"-D{name}={value}" for name, value in settings.items()), 6, 1000)
    assert result.returncode == 0, result.text[-6000:]
    assert "Estimated value of Pi is 3.13800000000000000000\n" in result.stdout
    both.have_run(result.application_id)


def test_logs_of_both_halves_are_read(both: Both) -> None:
    """``yarn logs`` shows what every container of a distributed shell wrote, wherever it ran."""
    jar = next(
        path
        for path in jars("hadoop").glob("hadoop-yarn-applications-distributedshell-*.jar")
        if "tests" not in path.name
    )
    command = ("-shell_command", "echo this is $CONTAINER_ID; sleep 3", "-num_containers", 6, "-container_memory", 512)
    result = both.java(shell.SHELL, "-jar", jar, "-master_memory", 512, *command)
    assert result.returncode == 0, result.text[-6000:]
    application_id = result.application_id
    both.have_run(application_id)
    wait_for("aggregated logs", lambda: both.cluster.application(application_id)["logAggregationStatus"] == "SUCCEEDED")
    logs = both.java(LOGS, "-applicationId", application_id)
    assert logs.returncode == 0, logs.text[-6000:]
    ran = {one["id"]: one["node_id"] for one in containers_of(both.cluster, application_id)}
    shown = dict(re.findall(r"Container: (\S+) on (\S+)", logs.stdout))
    assert {one: node.replace("_", ":") for one, node in shown.items()} == ran
    assert sorted(re.findall(r"this is (\S+)", logs.stdout)) == sorted(ran)[1:]


def test_spark_reads_from_both_shuffle_services(both: Both, shared_dir: pathlib.Path) -> None:
    """Executors on both kinds write a shuffle and go; those that come after them read it from the services."""
    cluster = both.cluster
    with ShuffleReadTwice(Spark("3.5.x", cluster), shared_dir, WITHOUT_TRACKING | WITH_TWO_FROM_THE_START) as job:
        job.read_once()
        wait_for("only the driver", lambda: cluster.application(job.application_id)["runningContainers"] == 1)
        wrote = job.read_again()
    both.have_run(job.application_id)
    ran = {one["id"]: one["node_id"] for one in containers_of(cluster, job.application_id)}
    assert {ran[one] for one in wrote} == {both.node_manager.node_id, cluster.ready.nodes[0]["node_id"]}
