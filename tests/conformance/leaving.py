"""Nodes in the test's hand: sent away and taken back with Hadoop's own ``yarn rmadmin``."""

from __future__ import annotations

import pathlib

from tests.conformance.cluster import Cluster, wait_for
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
        """Wait for a node's state by REST, which costs no JVM each time."""

        def reached() -> bool:
            listed = self.spark.cluster.rest(f"/nodes?states={state}")["nodes"] or {}
            return any(node["nodeHostName"] == host for node in listed.get("node", []))

        wait_for(f"{host} {state}", reached)


def hosts_of(cluster: Cluster, application_id: str, role: str) -> dict[str, str]:
    """The node's address by container."""
    by_name = {node["name"]: node["node_id"].partition(":")[0] for node in cluster.ready.nodes}
    listed = cluster.kubectl("get", "pods", "-o", "jsonpath={range .items[*]}{.metadata.name} {.spec.nodeName}\n{end}")
    placed = dict(line.split() for line in listed.splitlines() if len(line.split()) == 2)
    pods = cluster.pods(application_id, role)
    return {pod.container: by_name[placed[pod.name]] for pod in pods if pod.name in placed}
