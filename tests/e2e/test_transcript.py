"""The session in docs/transcript.md, run on the real cluster.

With YODEL_WRITE_DOCS set the page gets what was printed; without, the two must say the same.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.conformance.cluster import ROOT, TOOLS
from tests.conformance.spark_submit import SMALL
from tests.e2e.kube_cluster import PREFIX, USER, KubeCluster
from tests.support.java import java_home
from tests.support.transcript import masked, replayed, rewritten, steps

PAGE = ROOT / "docs" / "transcript.md"
COMMAND_TIMEOUT_S = 240
YARN = """case "$1" in
  application) main=ApplicationCLI ;;
  logs) main=LogsCLI; shift ;;
esac
exec {java} -Xmx256m -cp {classes} org.apache.hadoop.yarn.client.cli.$main "$@"
"""


class Terminal:
    """A shell as a user of the cluster has it: stock clients, their configuration, and the two names the page uses."""

    def __init__(self, cluster: KubeCluster, home: Path) -> None:
        self.cluster, self.application_id = cluster, ""
        self._programs = home / "bin"
        self._programs.mkdir()
        spark = cluster.spark()
        lines = [f"{key} {value}" for key, value in (SMALL | cluster.spark_conf()).items()]
        (home / "spark-defaults.conf").write_text("\n".join(lines))
        target = cluster.target
        classes = shlex.quote(f"{target.conf_dir}:{target.jars}/*")
        self._program("yarn", YARN.format(java=f"{java_home()}/bin/java", classes=classes))
        self._program("spark-submit", f'exec {spark.home}/bin/spark-submit "$@"\n')
        namespace = f"--namespace={cluster.container_namespace}"
        self._program("kubectl", f'exec {TOOLS}/kubectl --kubeconfig={cluster.state.kubeconfig} {namespace} "$@"\n')
        self._environment = {
            **spark.environment,
            "SPARK_CONF_DIR": str(home),
            "PATH": f"{self._programs}:{os.environ['PATH']}",
            "HADOOP_USER_NAME": USER,
        }

    def run(self, command: str) -> str:
        """Return what it printed; AssertionError when it failed."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=ROOT,
            env=self._environment | self._names(),
            capture_output=True,
            text=True,
            timeout=COMMAND_TIMEOUT_S,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr[-4000:]}"
        if not self.application_id:
            self.application_id = done.stdout.split()[-1]
        return done.stdout

    def _names(self) -> dict[str, str]:
        masters = self.cluster.pods(self.application_id, "am") if self.application_id else []
        return {"APP": self.application_id} | ({"MASTER": masters[0].name} if masters else {})

    def _program(self, name: str, text: str) -> None:
        path = self._programs / name
        path.write_text(f"#!/bin/bash\n{text}")
        path.chmod(0o755)


@pytest.fixture
def terminal(cluster: KubeCluster, tmp_path: Path) -> Terminal:
    """Return a terminal on a cluster on which nobody left anything to see."""
    cluster.heal()
    namespace = f"--namespace={cluster.container_namespace}"
    cluster.kubectl("delete", "pods", namespace, f"--selector={PREFIX}application", "--wait")
    cluster.kubectl("delete", "yarnapplications", namespace, "--all")
    return Terminal(cluster, tmp_path)


@pytest.mark.timeout(600)
def test_page_tells_what_happens(terminal: Terminal) -> None:
    page = PAGE.read_text()
    outputs = replayed(page, terminal.run)
    if os.environ.get("YODEL_WRITE_DOCS"):
        PAGE.write_text(rewritten(page, outputs))
        page = PAGE.read_text()
    said = {step.command: masked(step.output) for step in steps(page)}
    assert {step.command: masked(output) for step, output in zip(steps(page), outputs, strict=True)} == said
