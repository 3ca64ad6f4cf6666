"""A stock NodeManager of Hadoop beside one node of pods: clients' jobs run on both, and administrators move it about.

One NodeManager lives through all steps.  Containers go to it first, and it is small: what it has no room for are pods.
"""

from __future__ import annotations

import contextlib
import json
import pathlib
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.conformance.clients import shell
from tests.conformance.cluster import CALL_TIMEOUT_S, ROOT, Cluster, running, wait_for
from tests.conformance.disturbed import WITHOUT_TRACKING, ShuffleReadTwice
from tests.conformance.leaving import Nodes
from tests.conformance.rest_words import new_id, post
from tests.conformance.rest_words import shell as shell_of
from tests.conformance.spark_submit import Result, Spark, Submission
from tests.conformance.test_node_managers import containers_of, kinds_of, said
from tests.conformance.test_queues_give_back import PREEMPTION
from tests.conformance.test_readme import Reader, blocks, first_section
from tests.support.hadoop_conf import NodeSize, write_files
from tests.support.hadoop_jars import jars
from tests.support.hadoop_yodel import client_properties
from tests.support.java import java_home
from tests.support.node_manager import NodeManager, hosts_file, running_node_manager, settings_of
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
MASTER = pathlib.Path(__file__).parents[1] / "rigs" / "hadoop" / "masters" / "GrowsAContainer.java"
LOST, PREEMPTED, KILLED = -100, -102, 137
LOGS = "org.apache.hadoop.yarn.client.cli.LogsCLI"


@dataclass(frozen=True, slots=True, kw_only=True)
class Both:
    """The two kinds of nodes."""

    cluster: Cluster
    node_manager: NodeManager
    files: pathlib.Path
    """Holds what administrators write: ``exclude``, ``racks``, and ``broken``, which makes the node unhealthy."""

    @property
    def nodes(self) -> Nodes:
        return Nodes(Spark("4.x", self.cluster), self.files / "exclude")

    def yarn(self, *words: str) -> None:
        """``yarn WORDS…``, which has to succeed."""
        done = Spark("4.x", self.cluster).yarn(*words, timeout_s=CALL_TIMEOUT_S)
        assert done.returncode == 0, done.text

    def submit(self, command: str = "exec sleep 600", **more: object) -> str:
        """A container that is its own ApplicationMaster, and small enough to find room; answers its id once it runs."""
        application_id = new_id(self.cluster)
        post(self.cluster, {**shell_of(application_id, command), **more})
        return self.runs(application_id)

    def runs(self, application_id: str, attempt: int = 1) -> str:
        def probe() -> str:
            """The id of the attempt's container that runs."""
            found = containers_of(self.cluster, application_id)
            ids = [one["id"] for one in found if one["state"] == "RUNNING" and f"_{attempt:02}_000001" in one["id"]]
            return ids[0] if ids else ""

        return wait_for(f"a container of {application_id}", probe)

    def kill(self, *containers: str) -> None:
        """Kill the applications of containers, and wait for their ends."""
        for application_id in map(application_of, containers):
            words = ("--request", "PUT", "--header", "Content-Type: application/json", "--data", '{"state": "KILLED"}')
            self.cluster.curl(f"/apps/{application_id}/state", *words)
            self.cluster.ended(application_id)

    def row(self, container: str) -> dict[str, Any]:
        return next(one for one in containers_of(self.cluster, application_of(container)) if one["id"] == container)

    def is_on_node_manager(self, container: str) -> bool:
        return bool(self.row(container)["node_id"] == self.node_manager.node_id)

    def ends(self, container: str) -> int:
        """The exit status of a container, once it has ended."""
        wait_for(f"the end of {container}", lambda: self.row(container)["state"] == "COMPLETED")
        return int(self.row(container)["exit_status"])

    def resize(self, memory_mib: int) -> None:
        """``yarn rmadmin -updateNodeResource``, until the NodeManager has noted it in its log."""
        self.yarn("rmadmin", "-updateNodeResource", self.node_manager.node_id, str(memory_mib), str(SIZE.vcores))
        noted = f"Setting the resources allocated to containers to <memory:{memory_mib}, vCores:{SIZE.vcores}>"
        wait_for(noted, lambda: self.node_manager.has_logged(noted))
        assert self.node_manager.shown["availMemoryMB"] + self.node_manager.shown["usedMemoryMB"] == memory_mib

    def start_shell(self, command: str, containers: int) -> Submission:
        """The distributed shell, each of its containers with 512 MiB."""
        (jar,) = jars("hadoop").glob("hadoop-yarn-applications-distributedshell-*[0-9].jar")
        words = ("-shell_command", command, "-num_containers", containers, "-container_memory", 512)
        return self.start(shell.SHELL, "-jar", jar, "-master_memory", 512, *words)

    def java(self, main: str, *words: object) -> Result:
        """A client of Hadoop 3.5 to its end."""
        return self.start(main, *words).result()

    def start(self, main: str, *words: object) -> Submission:
        """A client of Hadoop 3.5 with the NodeManager's configuration."""
        java = [f"{java_home()}/bin/java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        classes = f"{self.node_manager.conf_dir}:{jars('hadoop')}/*:{jars('dshell')}/*"
        command = [*java, "-cp", classes, main, *(str(word) for word in words)]
        return Submission(command, Spark("4.x", self.cluster).environment)

    def have_run(self, application_id: str) -> None:
        """Assert that containers of an application that succeeded ran on each kind of nodes."""
        app = self.cluster.ended(application_id)
        assert app["finalStatus"] == "SUCCEEDED", app["diagnostics"] + self.node_manager.log_tail()
        kinds = kinds_of(self.cluster, application_id, self.node_manager)
        assert all(kinds[kind] for kind in (True, False)), kinds


def application_of(container: str) -> str:
    return "application_" + "_".join(container.split("_")[1:3])


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    """A node of pods and a NodeManager, each with Spark's shuffle service."""
    lists = tmp_path_factory.mktemp("lists")
    with contextlib.ExitStack() as stack:
        classes, port = stack.enter_context(public_spark_jars("3.5.x")), free_port()
        agent_conf = lists / "agent"
        for name in ("exclude", "racks"):
            (lists / name).touch()
        settings = settings_of(lists) | agent_settings(classes, port) | {"YODEL_NM_HADOOP_CONF_DIR": str(agent_conf)}
        settings |= {
            "YODEL_NODES_EXCLUDE_PATH": str(lists / "exclude"),
            "YODEL_NODE_RACKS_PATH": str(lists / "racks"),
            "YODEL_NODE_LABELS_ENABLED": "true",
            "YODEL_QUEUES": '["default", "owner"]',
            "YODEL_PREEMPTION": json.dumps(PREEMPTION),
        }
        cluster = stack.enter_context(running(nodes=1, memory_mib=4096, minimum_mib=256, settings=settings))
        shuffle = f"{jars('spark-shuffle')}/*:{classes}/*"
        of_clients = client_properties(cluster, ("yarn.",)) | {"spark.shuffle.service.port": str(port)}
        write_files(agent_conf, {"core-site.xml": FILES, "yarn-site.xml": of_clients}, log_level="INFO")
        health, labels = "yarn.nodemanager.health-checker", "yarn.nodemanager.node-labels.provider"
        (lists / "health").write_text(f"#!/bin/sh\n[ ! -e {lists}/broken ] || echo ERROR it is broken\n")
        (lists / "health").chmod(0o755)
        more = {
            "yarn.application.classpath": f"$HADOOP_CONF_DIR,{jars('hadoop')}/*,{jars('dshell')}/*",
            f"{health}.script.path": str(lists / "health"),
            f"{health}.interval-ms": "1000",
            labels: "config",
            f"{labels}.fetch-interval-ms": "1000",
        }
        manager = stack.enter_context(running_node_manager(cluster, size=SIZE, spark_shuffle_jars=shuffle, more=more))
        yield Both(cluster=cluster, node_manager=manager, files=lists)


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
    """``yarn logs`` and ``yodel app logs`` show what every container of a distributed shell wrote, wherever it ran."""
    result = both.start_shell("echo this is $CONTAINER_ID; sleep 3", 6).result()
    assert result.returncode == 0, result.text[-6000:]
    application_id = result.application_id
    both.have_run(application_id)
    wait_for("aggregated logs", lambda: both.cluster.application(application_id)["logAggregationStatus"] == "SUCCEEDED")
    logs = both.java(LOGS, "-applicationId", application_id)
    assert logs.returncode == 0, logs.text[-6000:]
    ran = {one["id"]: one["node_id"] for one in containers_of(both.cluster, application_id)}
    shown = dict(re.findall(r"Container: (\S+) on (\S+)", logs.stdout))
    assert {one: node.replace("_", ":") for one, node in shown.items()} == ran
    for text in (logs.stdout, said(both.cluster, "app", "logs", application_id)):
        assert sorted(re.findall(r"this is (\S+)", text)) == sorted(ran)[1:]


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


def test_partition_of_its_configuration_counts(both: Both) -> None:
    """It says its label with a heartbeat; containers of the partition run there, others do not."""
    manager = both.node_manager
    manager.configure({"yarn.nodemanager.node-labels.provider.configured-node-partition": "batch"})
    wait_for("the label", lambda: manager.shown.get("nodeLabels") == ["batch"])
    inside = both.submit(**{"am-container-node-label-expression": "batch"})
    outside = both.submit()
    assert (both.is_on_node_manager(inside), both.is_on_node_manager(outside)) == (True, False)
    both.kill(inside, outside)
    manager.configure({})
    wait_for("no label", lambda: not manager.shown.get("nodeLabels"))
    assert not manager.has_logged("were not Accepted by RM")


def test_container_of_its_rack_grows_and_shrinks(both: Both, shared_dir: pathlib.Path) -> None:
    """Its rack is the ResourceManager's to say; a container that asks for it alone runs there, and is resized."""
    (both.files / "racks").write_text("localhost /rack-9\n")
    both.nodes.refresh()
    assert both.node_manager.shown["rack"] == "/rack-9"
    report = shared_dir / "report"
    classes = f"{both.node_manager.conf_dir}:{jars('hadoop')}/*"
    command = f"$JAVA_HOME/bin/java -Xmx200m -cp '{classes}' {MASTER} /rack-9 {report} 2><LOG_DIR>/stderr"
    application_id = new_id(both.cluster)
    post(both.cluster, {**shell_of(application_id, command), "resource": {"memory": 512, "vCores": 1}})
    app = both.cluster.ended(application_id)
    assert app["finalStatus"] == "SUCCEEDED", app["diagnostics"]
    container, node_id = report.read_text().split()
    assert (node_id, both.is_on_node_manager(container)) == (both.node_manager.node_id, True)
    (both.files / "racks").write_text("")
    both.nodes.refresh()
    assert both.node_manager.shown["rack"] == "/default-rack"


def test_signals_reach_its_containers(both: Both, shared_dir: pathlib.Path) -> None:
    """A thread dump is for JVMs: a NodeManager starts everything else with that signal blocked."""
    asked = shared_dir / "asked"
    container = both.submit(f"trap 'touch {asked}' TERM; while true; do sleep 0.2; done")
    assert both.is_on_node_manager(container)
    both.yarn("container", "-signal", container, "GRACEFUL_SHUTDOWN")
    wait_for("the signal", asked.exists)
    assert both.row(container)["state"] == "RUNNING"
    both.yarn("container", "-signal", container, "FORCEFUL_SHUTDOWN")
    assert both.ends(container) == KILLED


def test_size_counts_and_its_newest_containers_are_preempted(both: Both) -> None:
    """It takes one container while it is small, and three more once it is large: those end for another queue."""
    cluster, manager = both.cluster, both.node_manager
    both.resize(512)
    job = both.start_shell("sleep 600", 11)
    try:
        application_id = job.application_id()
        wait_for("a full node of pods", lambda: cluster.application(application_id)["runningContainers"] == 9)
        assert kinds_of(cluster, application_id, manager) == {True: 1, False: 8}
        both.resize(SIZE.memory_mib)
        wait_for("full nodes", lambda: cluster.application(application_id)["runningContainers"] == 12)
        owner = both.submit(queue="owner", resource={"memory": 1024, "vCores": 1})
        assert both.is_on_node_manager(owner)
        went = [one for one in containers_of(cluster, application_id) if one["exit_status"] == PREEMPTED]
        assert [one["node_id"] for one in went] == [manager.node_id] * 2
        both.kill(owner, f"container_{application_id.removeprefix('application_')}")
    finally:
        job.stop()


def test_unhealthy_node_loses_its_containers_until_it_is_well(both: Both) -> None:
    container = both.submit(**{"max-app-attempts": 2})
    assert both.is_on_node_manager(container)
    (both.files / "broken").touch()
    wait_for("an unhealthy node", lambda: both.node_manager.state == "UNHEALTHY")
    assert "it is broken" in both.node_manager.shown["healthReport"]
    assert both.ends(container) == LOST
    again = both.runs(application_of(container), attempt=2)
    assert not both.is_on_node_manager(again)
    (both.files / "broken").unlink()
    wait_for("a healthy node", lambda: both.node_manager.state == "RUNNING")
    both.kill(again)


@pytest.mark.parametrize("how", [("-g", "600", "-server"), ()], ids=["graceful", "at-once"])
def test_node_that_is_excluded_is_drained(both: Both, how: tuple[str, ...]) -> None:
    """It ends by itself once it is out, and is let in again."""
    nodes, manager = both.nodes, both.node_manager
    container = both.submit()
    assert both.is_on_node_manager(container)
    nodes.exclude("localhost")
    nodes.refresh(*how)
    if how:
        assert manager.state == "DECOMMISSIONING"
        other = both.submit()
        assert (both.row(container)["state"], both.is_on_node_manager(other)) == ("RUNNING", False)
        both.kill(container, other)
    nodes.until("localhost", "DECOMMISSIONED")
    if not how:
        assert both.ends(container) == LOST
    wait_for("the end of the NodeManager", lambda: not manager.is_running)
    nodes.exclude()
    nodes.refresh()
    manager.start()


def test_page_about_the_move_is_right(tmp_path: pathlib.Path) -> None:
    """Its settings let a NodeManager in, which has a pool and queues of its own; its commands show it."""
    page = first_section((ROOT / "docs" / "coming-from-yarn.md").read_text())
    (toml,), lines = blocks(page, "toml"), "".join(blocks(page, "sh"))
    settings = tomllib.loads(toml) | {"nodes_include_path": str(hosts_file(tmp_path))}
    words = {
        f"YODEL_{name.upper()}": one if isinstance(one, str) else json.dumps(one) for name, one in settings.items()
    }
    with (
        running(nodes=1, minimum_mib=256, settings=words) as cluster,
        running_node_manager(cluster, size=SIZE) as manager,
    ):
        both = Both(cluster=cluster, node_manager=manager, files=tmp_path)
        shown = Reader(cluster, tmp_path).types(lines)
        assert f"{manager.node_id}\tRUNNING" in shown
        assert re.search(r"^yarn\b", shown, re.MULTILINE), shown
        inside, outside = both.submit(queue="hadoop"), both.submit(queue="default")
        assert (both.is_on_node_manager(inside), both.is_on_node_manager(outside)) == (True, False)
