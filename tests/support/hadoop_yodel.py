"""Yodel beside the rig's Hadoop: ``yodel local`` with the rig's HDFS as default file system and its JobHistoryServer.

Import the fixtures ``hadoop`` (from ``tests.support.hadoop``) and ``yodel_cluster``, or use ``running_yodel`` as a
context manager.  A client finds it through ``client_conf``.
"""

from __future__ import annotations

import contextlib
import xml.etree.ElementTree as xml
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.conformance.cluster import Cluster, running
from tests.support.hadoop import Hadoop
from tests.support.hadoop_conf import MAX_PRIORITY, REMOTE_LOGS


@pytest.fixture(scope="session")
def yodel_cluster(hadoop: Hadoop) -> Iterator[Cluster]:
    """One node of the rig's size."""
    with running_yodel(hadoop) as started:
        yield started


@contextlib.contextmanager
def running_yodel(hadoop: Hadoop, *, nodes: int = 1, settings: Mapping[str, str] | None = None) -> Iterator[Cluster]:
    """``settings`` are environment variables of ``yodel local`` and all it starts."""
    size = hadoop.servers.node
    agent_conf = hadoop.conf_for("yodel-agents", "3.5", {})  # the ResourceManager's ports are not known yet
    known = {
        "YODEL_NM_HADOOP_CONF_DIR": str(agent_conf),
        "YODEL_MAX_PRIORITY": str(MAX_PRIORITY),
        **({"YODEL_NM_HOST": "localhost"} if nodes == 1 else {}),  # as the rig's own node: blocks are at that name
        "YODEL_NM_LOG_AGGREGATION_ENABLED": "true",
        "YODEL_NM_REMOTE_APP_LOG_DIR": f"{hadoop.servers.default_fs}{REMOTE_LOGS}",
        **(settings or {}),
    }
    with running(
        nodes=nodes,
        memory_mib=size.memory_mib,
        vcores=size.vcores,
        minimum_mib=size.minimum_mib,
        settings=known,
    ) as cluster:
        hadoop.conf_for("yodel-agents", "3.5", rm_addresses(cluster))
        yield cluster


def client_conf(hadoop: Hadoop, cluster: Cluster, line: str = "3.5") -> Path:
    """A client's configuration folder for the release line: Yodel's addresses, the rig's HDFS and history."""
    return hadoop.conf_for(f"yodel-{line}-{cluster.process.pid}", line, rm_addresses(cluster))


def rm_addresses(cluster: Cluster) -> dict[str, str]:
    """Return the addresses that ``yodel local`` wrote about its ResourceManager."""
    return client_properties(cluster, ("yarn.resourcemanager.",))


def client_properties(cluster: Cluster, prefixes: tuple[str, ...]) -> dict[str, str]:
    """Return those properties of YARN that ``yodel local`` wrote for its clients and that begin so."""
    root = xml.parse(cluster.ready.hadoop_conf_dir / "yarn-site.xml").getroot()
    found = {p.findtext("name", ""): p.findtext("value", "") for p in root.iter("property")}
    return {name: value for name, value in found.items() if name.startswith(prefixes)}
