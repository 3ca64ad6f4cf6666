"""The conformance tests share one cluster, one HDFS, Spark's two release lines and a folder that pods can reach.

A session fixture that two modules import is two: here it is one.
"""

from __future__ import annotations

import pathlib
import shutil
import tempfile
from collections.abc import Iterator

import pytest

from tests.conformance.cluster import RUNNING, Cluster, running
from tests.conformance.secured import Secured, running_secured
from tests.conformance.spark_submit import Spark
from tests.conformance.spoken import Listener, ports_of
from tests.runs.record import PORTS
from tests.support.hadoop import Hadoop, running_hadoop
from tests.support.hdfs import Hdfs
from tests.support.node_manager import settings_of

LISTENER = pytest.StashKey[Listener]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Notes on which ports of a cluster the test speaks, what it brings up for itself included."""
    item.stash[LISTENER] = Listener()
    try:
        return (yield)
    finally:
        item.stash[LISTENER].stop()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    try:
        return (yield)
    finally:
        seen = item.stash[LISTENER].stop()
        known = {here: number for one in RUNNING for here, number in ports_of(one.directory, one.ready).items()}
        item.user_properties.append((PORTS, sorted({known[port] for port in seen & known.keys()})))


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Run one ``yodel local`` with two nodes of 8 GiB, open to a NodeManager; at the end nothing of it may be left."""
    with running(settings=settings_of(tmp_path_factory.mktemp("node-managers"))) as started:
        yield started


@pytest.fixture(scope="session")
def rig() -> Iterator[Hadoop]:
    """HDFS and JobHistoryServer of a real Hadoop, for tests that bring a ResourceManager."""
    with running_hadoop() as hadoop:
        hadoop.start_history()
        yield hadoop


@pytest.fixture(scope="session")
def hdfs(rig: Hadoop) -> Hdfs:
    """Its file system."""
    return rig.hdfs


@pytest.fixture(scope="session", params=["4.x", "3.5.x"])
def any_spark(request: pytest.FixtureRequest, cluster: Cluster) -> Spark:
    """Each of Spark's release lines in turn."""
    return Spark(request.param, cluster)


@pytest.fixture(scope="session")
def spark(cluster: Cluster) -> Spark:
    """The newest Spark."""
    return Spark("4.x", cluster)


@pytest.fixture(scope="session")
def secured() -> Iterator[Secured]:
    """One cluster with a KDC."""
    with running_secured() as started:
        yield started


@pytest.fixture
def shared_dir() -> Iterator[pathlib.Path]:
    """A folder that test, driver and executors see under the same path, whichever OS user they are."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="yodel-shared-"))
    folder.chmod(0o1777)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
