"""Spark's external shuffle service beside the node agent: executors go, their shuffle files stay and are read."""

from __future__ import annotations

import os
import pathlib
import signal
from collections.abc import Iterator

import psutil
import pytest

from tests.conformance.cluster import Cluster, running, wait_for
from tests.conformance.disturbed import WITHOUT_TRACKING, ShuffleReadTwice
from tests.conformance.shuffle_services import ONCE, Job, Listener, jar_of, say
from tests.conformance.spark_submit import Spark
from tests.support.ports import free_port
from tests.support.processes import command_of, has_ended
from tests.support.spark_shuffle import agent_settings, public_spark_jars


@pytest.fixture(params=["4.x", "3.5.x"])
def line(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def jars(line: str) -> Iterator[pathlib.Path]:
    with public_spark_jars(line) as folder:
        yield folder


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def served(jars: pathlib.Path, port: int) -> Iterator[Cluster]:
    """One node with the service."""
    with running(nodes=1, settings=agent_settings(jars, port)) as cluster:
        yield cluster


def service_process(cluster: Cluster) -> psutil.Process:
    """The service as the agent's child."""

    def probe() -> psutil.Process | None:
        agent = psutil.Process(cluster.ready.pids[cluster.ready.nodes[0]["name"]])
        found = [child for child in agent.children() if "ExternalShuffleService" in command_of(child)]
        return found[0] if found else None

    return wait_for("the shuffle service", probe)


def listens(process: psutil.Process, port: int) -> bool:
    sockets = process.net_connections(kind="tcp")
    return any(one.status == psutil.CONN_LISTEN and one.laddr.port == port for one in sockets)


@pytest.mark.timeout(900)
def test_shuffle_is_read_again_when_all_who_wrote_it_are_gone(
    line: str, served: Cluster, port: int, shared_dir: pathlib.Path
) -> None:
    """Even though the service itself was killed in between."""
    conf = {**WITHOUT_TRACKING, "spark.shuffle.service.port": str(port)}
    with ShuffleReadTwice(Spark(line, served), shared_dir, conf) as job:
        job.read_once()
        wait_for("no executor pod left", lambda: not served.pods(job.application_id, "task"))
        before = service_process(served)
        before.send_signal(signal.SIGKILL)
        wait_for("the end of the service", lambda: has_ended(before))
        wait_for("the next service", lambda: listens(service_process(served), port))
        job.read_again()
    application_id = job.application_id
    usercache = served.directory / "nodes" / served.ready.nodes[0]["name"] / "local" / "usercache"

    def folders() -> set[str]:
        """Files are being deleted meanwhile, which os.walk reads over."""
        return {name for _, names, _ in os.walk(usercache) for name in names}

    wait_for("the files gone with their application", lambda: application_id not in folders())


@pytest.mark.timeout(900)
@pytest.mark.parametrize("line", ["3.5.x"])
@pytest.mark.parametrize("allows", [False, True])
def test_uniffle_with_dynamic_allocation_on_nodes_that_have_it(
    line: str, allows: bool, served: Cluster, port: int, shared_dir: pathlib.Path
) -> None:
    conf = {
        "spark.dynamicAllocation.enabled": "true",
        "spark.executor.instances": "",
        "spark.shuffle.service.port": str(port),
        "spark.rss.client.assignment.retry.times": "1",
        "spark.rss.client.assignment.retry.interval": "100",
    }
    with Listener("uniffle", Spark(line, served), *(["allows"] if allows else [])) as listener:
        words = {"jar": f"local:{jar_of('uniffle')}", "spark_version": "3.5.9"}
        say(served, "default", service="uniffle", endpoints=listener.endpoint, **words)
        job = Job(served, shared_dir, "default", conf | ONCE)
        assert listener.said("access"), "whether it may was asked"
        assert bool(listener.said("assignment")) == allows, "its driver started, and wants servers"
    settings = job.settings()
    assert settings["spark.shuffle.sort.io.plugin.class"] == "org.apache.spark.shuffle.RssShuffleDataIo"
    assert settings["spark.rss.enabled"] == str(allows).lower()
    # The client of 0.10 asks for the service here ("true"), that of 0.9 leaves it and tracks shuffles.
    assert settings.get("spark.shuffle.service.enabled") == ("false" if allows else None)
    if not allows:
        assert job.result.returncode == 0, job.result.text[-6000:]
        assert job.is_right()
