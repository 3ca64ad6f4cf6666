"""Wall time of Spark's Pi on three ways to run it: Yodel on Kubernetes, Spark on Kubernetes without Yodel, real YARN.

    python -m bench.kube_pi [--runs 3]

The same spark-submit in cluster mode, two executors, from its start to its exit, in turn.  Yodel and Spark's own
Kubernetes support use the same three nodes (``make cluster``) and the same image; Spark's files are on the machine and
mounted, so no way pays for uploading them.  Real YARN is Hadoop 3.5.0 on the same machine with one node: its
NodeManager starts processes, where the others start pods.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.machine import print_machine
from bench.pi import spark_home
from tests.conformance.cluster import TOOLS
from tests.e2e.kube_cluster import USER, KubeCluster, upload_spark
from tests.rigs.kubernetes.images import build_images
from tests.rigs.kubernetes.layout import HOST_ADDRESS
from tests.rigs.kubernetes.rig import State, read_state
from tests.support.hadoop import running_hadoop
from tests.support.hadoop_conf import addresses
from tests.support.java import java_home

ROOT = Path(__file__).parent.parent
TIMEOUT_S = 300
SIDE = "4000"
NAMESPACE = "spark-native"
JOB_DIR = "/opt/yodel-bench"
API_SERVER = f"https://{HOST_ADDRESS}:6443"  # by address: there is no DNS
SIZES = {
    "spark.executor.instances": "2",
    "spark.executor.cores": "1",
    "spark.executor.memory": "512m",
    "spark.driver.memory": "512m",
    "spark.ui.enabled": "false",
}
ENTRY = """#!/bin/bash
# What the entry point of Spark's image does: the driver is a client-mode submission, an executor a backend.
set -euo pipefail
role=$1
shift
export SPARK_HOME={package} PYSPARK_PYTHON=python3 PYSPARK_DRIVER_PYTHON=python3
case "$role" in
  driver)
    exec $SPARK_HOME/bin/spark-submit --conf "spark.driver.bindAddress=$SPARK_DRIVER_BIND_ADDRESS" \\
      --conf "spark.driver.host=$SPARK_DRIVER_BIND_ADDRESS" --deploy-mode client "$@" ;;
  executor)
    mapfile -t options < <(env | grep ^SPARK_JAVA_OPT_ | sort -t_ -k4 -n | sed 's/[^=]*=//')
    exec java "${{options[@]}}" "-Xms$SPARK_EXECUTOR_MEMORY" "-Xmx$SPARK_EXECUTOR_MEMORY" -cp "$SPARK_HOME/jars/*" \\
      org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend --driver-url "$SPARK_DRIVER_URL" \\
      --executor-id "$SPARK_EXECUTOR_ID" --cores "$SPARK_EXECUTOR_CORES" --app-id "$SPARK_APPLICATION_ID" \\
      --hostname "$SPARK_EXECUTOR_POD_IP" --resourceProfileId "$SPARK_RESOURCE_PROFILE_ID" \\
      --podName "$SPARK_EXECUTOR_POD_NAME" ;;
esac
"""


class Runner:
    """spark-submit with what all three have in common."""

    def __init__(self, venv: Path) -> None:
        self.venv = venv
        self.package = next(venv.glob("lib/python*/site-packages/pyspark"))

    def wall_s(self, conf: dict[str, str], environment: dict[str, str], job: str) -> float:
        """Seconds from start to exit.  Raises RuntimeError with the client's words when the job fails."""
        options = [word for key, value in {**SIZES, **conf}.items() for word in ("--conf", f"{key}={value}")]
        command = [f"{self.package}/bin/spark-submit", "--deploy-mode", "cluster", *options, job, SIDE]
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "HADOOP_", "YARN_", "PYSPARK_"))}
        begin_s = time.perf_counter()
        done = subprocess.run(
            command,
            env={**kept, "JAVA_HOME": str(java_home()), **environment},
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
        )
        taken_s = time.perf_counter() - begin_s
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}\n{done.stderr[-4000:]}")
        return taken_s

    def on_yarn(self, conf_dir: Path, python: str, user: str = "", jars: str = "") -> float:
        conf = {
            "spark.master": "yarn",
            "spark.yarn.jars": jars or f"local:{self.package}/jars/*",
            "spark.yarn.appMasterEnv.PYSPARK_PYTHON": python,
            "spark.executorEnv.PYSPARK_PYTHON": python,
        }
        environment = {"HADOOP_CONF_DIR": str(conf_dir), "PYSPARK_PYTHON": python}
        named = {"HADOOP_USER_NAME": user} if user else {}
        return self.wall_s(conf, environment | named, str(ROOT / "examples" / "pi.py"))


class Native:
    """Spark's own Kubernetes support, on the rig's cluster."""

    def __init__(self, runner: Runner, state: State, folder: Path) -> None:
        self._runner, self._state, self._folder = runner, state, folder
        images = build_images()
        self._image = images.hadoop_runtime.name
        (folder / "entry.sh").write_text(ENTRY.format(package=runner.package))
        (folder / "entry.sh").chmod(0o755)
        (folder / "pi.py").write_text((ROOT / "examples" / "pi.py").read_text())
        (folder / "pod.json").write_text(json.dumps(self._template()))
        self._kubectl("create", "namespace", NAMESPACE)
        self._kubectl("create", "serviceaccount", "spark", f"--namespace={NAMESPACE}")
        self._kubectl(
            "create", "rolebinding", "spark", "--clusterrole=edit", f"--serviceaccount={NAMESPACE}:spark",
            f"--namespace={NAMESPACE}",
        )  # fmt: skip

    def close(self) -> None:
        self._kubectl("delete", "namespace", NAMESPACE)

    def run(self) -> float:
        conf = {
            "spark.master": f"k8s://{self._server()}",
            "spark.kubernetes.namespace": NAMESPACE,
            "spark.kubernetes.container.image": self._image,
            "spark.kubernetes.container.image.pullPolicy": "Never",
            "spark.kubernetes.authenticate.driver.serviceAccountName": "spark",
            "spark.kubernetes.driver.podTemplateFile": str(self._folder / "pod.json"),
            "spark.kubernetes.executor.podTemplateFile": str(self._folder / "pod.json"),
            "spark.kubernetes.driver.master": API_SERVER,
            "spark.kubernetes.driver.request.cores": "0.1",
            "spark.kubernetes.executor.request.cores": "0.1",
            "spark.kubernetes.memoryOverheadFactor": "0.6",
        }
        environment = {"KUBECONFIG": self._state.kubeconfig}
        return self._runner.wall_s(conf, environment, f"local://{JOB_DIR}/pi.py")

    def _template(self) -> dict[str, object]:
        folders = {"spark": str(self._runner.venv), "job": str(self._folder)}
        paths = {"spark": str(self._runner.venv), "job": JOB_DIR}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "spec": {
                "securityContext": {"runAsUser": 0},
                "hostNetwork": True,  # as Yodel's containers, and there is no DNS to find a driver's Service with
                "volumes": [{"name": name, "hostPath": {"path": path}} for name, path in folders.items()],
                "containers": [
                    {
                        "name": "spark",
                        "command": [f"{JOB_DIR}/entry.sh"],
                        "volumeMounts": [{"name": n, "mountPath": p, "readOnly": True} for n, p in paths.items()],
                    }
                ],
            },
        }

    def _server(self) -> str:
        view = self._kubectl("config", "view", "--minify", "--output=jsonpath={.clusters[0].cluster.server}")
        return view.strip()

    def _kubectl(self, *words: str) -> str:
        command = [str(TOOLS / "kubectl"), f"--kubeconfig={self._state.kubeconfig}", *words]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=TIMEOUT_S).stdout


def measured(ways: dict[str, Callable[[], float]], runs: int) -> dict[str, list[float]]:
    """Wall times by way, in turn, after one run of each that warms up."""
    for run in ways.values():
        run()
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(runs):
        for name, run in ways.items():
            taken[name].append(run())
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    runs = parser.parse_args().runs
    state = read_state()
    if state is None:
        raise SystemExit("no cluster: make cluster")
    runner = Runner(spark_home())
    cluster = KubeCluster(state)
    upload_spark(cluster.hdfs.hdfs)
    jars = cluster.spark_conf()["spark.yarn.jars"]
    with tempfile.TemporaryDirectory(prefix="yodel-bench-") as folder, running_hadoop() as hadoop:
        Path(folder).chmod(0o755)
        hadoop.start_yarn()
        conf_dir = hadoop.conf_for("bench-pi", "3.5", addresses(hadoop.servers.ports))
        native = Native(runner, state, Path(folder))
        try:
            taken = measured(
                {
                    "Yodel on Kubernetes": lambda: runner.on_yarn(Path(state.conf_dir), "python3", USER, jars),
                    "Spark on Kubernetes, without Yodel": native.run,
                    "YARN (Hadoop 3.5.0)": lambda: runner.on_yarn(conf_dir, f"{runner.venv}/bin/python"),
                },
                runs,
            )
        finally:
            native.close()
    print(f"| Pi, spark-submit's start to exit | median of {runs} | all |\n|---|---|---|")
    for name, times in taken.items():
        print(f"| {name} | {statistics.median(times):.1f} s | {', '.join(f'{t:.1f}' for t in times)} |", flush=True)


if __name__ == "__main__":
    print_machine()
    main()
