"""A stock NodeManager of Hadoop 3.5.0 runs beside ``yodel local``, registered at its ResourceTracker port.

It shares the machine's files with Yodel's node (``file:///``), listens on 127.0.0.1 and keeps its data in a folder of
its own: after a restart it goes on with its containers.  ``settings_of`` lets it in.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.conformance.cluster import Cluster
from tests.support.hadoop import NODE_MANAGER, Daemon, DaemonSpec, PortTaken, new_servers
from tests.support.hadoop_conf import Files, NodeSize, Servers, server_files, write_files
from tests.support.hadoop_yodel import client_properties

HOST = "localhost"  # what 127.0.0.1 is called here
HEAP_MIB = 256
KEPT = ("yarn.resourcemanager.", "yarn.nodemanager.remote-app-log-dir", "yarn.log-aggregation")
"""Properties of the clients' that it has too: where the ResourceManager is, and where logs are aggregated."""
REGISTERED = "Registered with ResourceManager as"


class NodeManager(Daemon):
    """``node_id`` is that of all its lives."""

    def __init__(self, cluster: Cluster, servers: Servers, files: Files) -> None:
        self._files = files
        self.node_id = f"{HOST}:{servers.ports.nm_rpc}"
        spec = DaemonSpec(
            name="node-manager", main=NODE_MANAGER, heap_mib=HEAP_MIB, user="", is_ready=self._is_registered
        )
        super().__init__(spec, servers)
        self._cluster, self._registered_before = cluster, 0

    @property
    def conf_dir(self) -> Path:
        """Its configuration, which clients may have too."""
        return self._servers.conf_dir

    def launch(self) -> None:
        self._registered_before = self.registrations
        super().launch()

    def _is_registered(self) -> bool:
        """Return whether it is registered in this life: the ResourceManager may not know that an earlier one ended."""
        return self.registrations > self._registered_before and self.state == "RUNNING"

    @property
    def registrations(self) -> int:
        """Return how often it has registered, in all its lives."""
        return self.log_path.read_text().count(REGISTERED) if self.log_path.exists() else 0

    @property
    def shown(self) -> dict[str, Any]:
        """Return the ResourceManager's record of it; empty: it does not know it."""
        nodes = self._cluster.rest("/nodes")["nodes"]["node"]
        return next((node for node in nodes if node["id"] == self.node_id), {})

    @property
    def state(self) -> str:
        return str(self.shown.get("state", ""))

    def has_logged(self, words: str) -> bool:
        return words in self.log_path.read_text()

    def configure(self, properties: Mapping[str, str]) -> None:
        """Write further properties of YARN; earlier ones go.  It reads some while it runs."""
        files = {**self._files, "yarn-site.xml": {**self._files["yarn-site.xml"], **properties}}
        write_files(self.conf_dir, files, log_level="INFO")


def settings_of(directory: Path) -> dict[str, str]:
    """Return variables of ``yodel local``: a NodeManager is a node of the pool of pods, and comes first there."""
    return {
        "YODEL_NODE_MANAGERS": "network",
        "YODEL_NODE_MANAGERS_POOL": "native",
        "YODEL_NODE_MANAGERS_FIRST": "true",
        "YODEL_NODES_INCLUDE_PATH": str(hosts_file(directory)),
    }


def hosts_file(directory: Path) -> Path:
    """Write the hosts file, with the NodeManager and the nodes of ``yodel local``."""
    hosts = directory / "hosts"
    hosts.write_text("\n".join((HOST, *(f"node-{number}" for number in range(1, 4)))) + "\n")
    return hosts


@contextlib.contextmanager
def running_node_manager(
    cluster: Cluster,
    *,
    size: NodeSize | None = None,
    spark_shuffle_jars: str = "",
    more: Mapping[str, str] | None = None,
) -> Iterator[NodeManager]:
    """It is registered when this returns, and is ended with all that it started.  ``more``: properties of YARN."""
    servers = new_servers("yodel-node-manager-", node=size, spark_shuffle_jars=spark_shuffle_jars)
    directory, files = servers.directory, server_files(servers)
    del files["hdfs-site.xml"], files["capacity-scheduler.xml"]
    files["core-site.xml"]["fs.defaultFS"] = "file:///"
    # ApplicationMasters have noted it: maps that ended before a restart are fetched after it.
    files["mapred-site.xml"]["mapreduce.shuffle.port"] = str(servers.ports.history)
    recovery = {
        "yarn.nodemanager.recovery.enabled": "true",
        "yarn.nodemanager.recovery.supervised": "true",
        "yarn.nodemanager.recovery.dir": f"{directory}/recovery",
    }
    files["yarn-site.xml"] |= {**client_properties(cluster, KEPT), **recovery, **(more or {})}
    node_manager = NodeManager(cluster, servers, files)
    node_manager.configure({})
    try:
        node_manager.start()
        yield node_manager
    except PortTaken as error:
        raise AssertionError(f"a port was taken:\n{node_manager.log_tail()}") from error
    finally:
        node_manager.stop()
        shutil.rmtree(directory, ignore_errors=True)
