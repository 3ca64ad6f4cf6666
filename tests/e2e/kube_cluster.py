"""The rig as scenarios see it: kubectl, REST, clients outside the cluster, and hands on nodes."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tests.conformance.clients.target import ENDED, Target
from tests.conformance.cluster import TOOLS, wait_for
from tests.conformance.spark_submit import Spark, spark_venv
from tests.rigs.kubernetes import rig as rigs
from tests.rigs.kubernetes.cluster import RACK_LABEL, binaries
from tests.rigs.kubernetes.control_plane import ControlPlane
from tests.rigs.kubernetes.daemons import Daemons
from tests.rigs.kubernetes.hdfs import ClusterHdfs
from tests.rigs.kubernetes.install import CHART, COLOCATION, RELEASE
from tests.rigs.kubernetes.layout import node_name, rack
from tests.rigs.kubernetes.node import Node
from tests.rigs.kubernetes.tools import Tools
from tests.support.hdfs import Hdfs

CALL_TIMEOUT_S = 10
KUBECTL_TIMEOUT_S = 120
HEAL_TIMEOUT_S = 180
LOGS_TIMEOUT_S = 60
UPLOADS_AT_ONCE = 4
"""The uploads at once, of hundreds of jars: each waits for its answers most of the time."""
IS_SHORT = os.environ.get("YODEL_E2E") == "short"
"""Whether what takes minutes is left out."""
END_FILE = "/tmp/yodel-e2e-end"
UNTIL_ENDED = f"until [ -e {END_FILE} ]; do sleep 1; done"
"""A command of a container that lasts as long as a test wants, instead of a time that somebody guessed."""
USER = "yodel-alice"
PREFIX = "yodel.io/"
SPARK_JARS = "/spark-jars"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """A pod of a container, as ``kubectl get pods -o json`` tells it."""

    name: str
    application: str
    container: str
    role: str
    node: str
    phase: str
    deleting: bool
    body: Mapping[str, Any]

    @property
    def is_live(self) -> bool:
        return self.phase in ("Pending", "Running") and not self.deleting


class KubeCluster:
    """``ready`` is this object itself: Spark asks it for the client's configuration."""

    def __init__(self, state: rigs.State, *, stays: bool = True) -> None:
        """``stays``: it is there when the tests are through, and as they found it."""
        self.state, self.stays = state, stays
        self.namespace, self.container_namespace = state.namespace, state.container_namespace
        self.daemons = Daemons(rigs.HOME)
        self.hdfs = ClusterHdfs(rigs.HOME, self.daemons, state.nodes)

    @property
    def ready(self) -> KubeCluster:
        return self

    @property
    def hadoop_conf_dir(self) -> Path:
        return Path(self.state.conf_dir)

    @cached_property
    def target(self) -> Target:
        """Hadoop's newest client, as an ordinary user."""
        return self.target_as(USER)

    def target_as(self, user: str) -> Target:
        address = self.state.rest_url.removeprefix("http://")
        addresses = {"yarn.resourcemanager.webapp.address": address}
        return Target(name="kubernetes", line="3.5", addresses=addresses, hadoop=_Beside(self), user=user)

    def node(self, number: int) -> Node:
        return Node(rigs.HOME, self.daemons, binaries("kubernetes"), number)

    @cached_property
    def control_plane(self) -> ControlPlane:
        return ControlPlane(rigs.HOME, self.daemons, binaries("kubernetes"), binaries("etcd"))

    def kubectl(self, *words: str, given: str | None = None, check: bool = True) -> str:
        """Standard output of stock kubectl; AssertionError with what it said when it fails."""
        done = self.kubectl_said(*words, given=given)
        assert done.returncode == 0 or not check, f"kubectl {' '.join(words)}: {done.stderr}"
        return done.stdout

    def kubectl_said(self, *words: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
        """All of it, whether it succeeded or not."""
        command = [str(TOOLS / "kubectl"), f"--kubeconfig={self.state.kubeconfig}", *words]
        return subprocess.run(command, timeout=KUBECTL_TIMEOUT_S, capture_output=True, text=True, input=given)

    def get(self, *words: str) -> Any:
        """The JSON of ``kubectl get``."""
        return json.loads(self.kubectl("get", *words, "--output=json"))

    def pods(self, application_id: str, role: str = "") -> list[Pod]:
        """All that the API server has of an application."""
        return self.pods_with(f"{PREFIX}application={application_id}" + (f",{PREFIX}role={role}" if role else ""))

    def pods_with(self, selector: str) -> list[Pod]:
        """Pods of containers that a label selector selects."""
        listing = self.get("pods", "--namespace", self.container_namespace, "--selector", selector)
        return [_pod(item) for item in listing["items"]]

    def live_pods(self, application_id: str, role: str = "") -> list[Pod]:
        return [pod for pod in self.pods(application_id, role) if pod.is_live]

    @contextlib.contextmanager
    def watched_pods(self, selector: str) -> Iterator[Callable[[], list[Pod]]]:
        """Every state of every pod that a label selector selects, from now on, whenever one asks."""
        words = ("get", "pods", "--watch", "--output=json", "--namespace", self.container_namespace)
        command = [str(TOOLS / "kubectl"), f"--kubeconfig={self.state.kubeconfig}", *words, f"--selector={selector}"]
        with tempfile.TemporaryFile() as said, subprocess.Popen(command, stdout=said) as process:
            try:
                yield lambda: _pods_in(os.pread(said.fileno(), os.fstat(said.fileno()).st_size, 0).decode())
            finally:
                process.terminate()

    def running_pods(self, application_id: str, role: str, count: int) -> list[Pod]:
        """Return the pods that run, once there are ``count``."""

        def probe() -> list[Pod] | None:
            with contextlib.suppress(urllib.error.HTTPError):  # a client names the id before it submits
                app = self.application(application_id)
                assert app["state"] not in ENDED, app["diagnostics"]
            found = [pod for pod in self.live_pods(application_id, role) if pod.phase == "Running"]
            return found if len(found) >= count else None

        return wait_for(f"{count} running pods of {application_id}", probe)

    def delete_pod(self, pod: Pod) -> None:
        self.kubectl("delete", "pod", pod.name, "--wait=false", "--namespace", self.container_namespace)

    def tell_to_end(self, pods: Sequence[Pod]) -> None:
        """Tell pods to end whose command was ``UNTIL_ENDED``."""
        for pod in pods:
            self.kubectl("exec", pod.name, "--namespace", self.container_namespace, "--", "touch", END_FILE)

    def delete_pods(self, application_id: str) -> None:
        """Delete the pods of an application that is over, which would stay some minutes; none may be live."""
        wait_for("no live pod", lambda: not self.live_pods(application_id))
        selector = f"--selector={PREFIX}application={application_id}"
        self.kubectl("delete", "pods", "--namespace", self.container_namespace, selector)

    def rest(self, path: str) -> Any:
        """The JSON at ``/ws/v1/cluster`` + path."""
        with urllib.request.urlopen(f"{self.state.rest_url}/ws/v1/cluster{path}", timeout=CALL_TIMEOUT_S) as answer:
            return json.load(answer)

    def api(self, path: str) -> Any:
        """The JSON at ``/api/v1`` + path."""
        with urllib.request.urlopen(f"{self.state.rest_url}/api/v1{path}", timeout=CALL_TIMEOUT_S) as answer:
            return json.load(answer)

    def serves(self) -> bool:
        """Return whether a ResourceManager answers."""
        try:
            return bool(self.rest("/info")["clusterInfo"]["state"] == "STARTED")
        except OSError:
            return False

    def call(self, method: str, path: str, user: str, body: Mapping[str, Any]) -> tuple[int, str]:
        """Status and text of the answer."""
        url = f"{self.state.rest_url}/ws/v1/cluster{path}?{urlencode({'user.name': user})}"
        head = {"Content-Type": "application/json"}
        request = urllib.request.Request(url, json.dumps(body).encode(), head, method=method)
        try:
            with urllib.request.urlopen(request, timeout=CALL_TIMEOUT_S) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(errors="replace")

    def yodel(self, *words: str, given: str | None = None) -> str:
        """The command line as the administrator, where the ResourceManager is."""
        return self.kubectl(*self._in_manager("yodel", *words), given=given)

    def yodel_said(self, *words: str) -> tuple[int, str]:
        """Its exit status, and all that it printed."""
        done = self.kubectl_said(*self._in_manager("yodel", *words))
        return done.returncode, done.stdout + done.stderr

    def _in_manager(self, *words: str) -> tuple[str, ...]:
        pod = ("deployment/yodel-rm", "--container=resourcemanager", "--namespace", self.namespace)
        return ("exec", "--stdin", *pod, "--", "env", "HADOOP_USER_NAME=yodel", *words)

    def submit(self, user: str, context: Mapping[str, Any]) -> tuple[int, str, str]:
        """Submit by REST, which lets one say everything, and return status, text and the application's id."""
        status, text = self.call("POST", "/apps/new-application", user, {})
        if status != 200:
            return status, text, ""
        application_id: str = json.loads(text)["application-id"]
        status, text = self.call("POST", "/apps", user, {"application-id": application_id, **context})
        return status, text, application_id

    def kill(self, user: str, application_id: str) -> None:
        """Asked once; it takes a moment."""
        status, text = self.call("PUT", f"/apps/{application_id}/state", user, {"state": "KILLED"})
        assert status in (200, 202), text

    def printed(self, application_id: str) -> str:
        """Return what ``kubectl logs`` shows of its ApplicationMasters, which may have ended."""
        pods = self.pods(application_id, "am")
        return "".join(self.kubectl("logs", pod.name, "--namespace", self.container_namespace) for pod in pods)

    def application(self, application_id: str) -> dict[str, Any]:
        app: dict[str, Any] = self.rest(f"/apps/{application_id}")["app"]
        return app

    def ended(self, application_id: str) -> dict[str, Any]:
        """The application once it is over."""

        def probe() -> dict[str, Any] | None:
            app = self.application(application_id)
            return app if app["state"] in ENDED else None

        return wait_for(f"the end of {application_id}", probe)

    def spark(self, line: str = "4.x") -> Spark:
        return _ClusterSpark(line, self)

    def spark_conf(self, line: str = "4.x") -> dict[str, str]:
        """Jars that are in HDFS already, and the user; everything else is Spark's default for small jobs."""
        return {"spark.yarn.jars": f"{self.hdfs.default_fs}{SPARK_JARS}/{line}/*"}

    def placed(self, application_id: str, role: str) -> set[str]:
        """Names of the pods that have been on a node, ended ones too."""
        return {pod.name for pod in self.pods(application_id, role) if pod.node}

    def yarn_node(self, name: str) -> dict[str, Any]:
        """The node in YARN's words."""
        address = self.get("node", name)["status"]["addresses"]
        host = next(one["address"] for one in address if one["type"] == "InternalIP")
        nodes = self.rest("/nodes")["nodes"]["node"]
        found: dict[str, Any] = next(node for node in nodes if node["nodeHostName"] == host)
        return found

    def node_names(self) -> list[str]:
        return [node["metadata"]["name"] for node in self.get("nodes")["items"]]

    def node_is_ready(self, name: str) -> bool:
        return _is_ready(self.get("node", name))

    def logs(self, application_id: str) -> str:
        """Return what ``yarn logs`` prints once all nodes say that theirs are written; AssertionError when it fails."""

        def is_written() -> bool:
            return self.application(application_id)["logAggregationStatus"] in ("SUCCEEDED", "FAILED", "TIME_OUT")

        wait_for(f"the logs of {application_id}", is_written)
        result = self.target.yarn("logs", "-applicationId", application_id, timeout_s=KUBECTL_TIMEOUT_S)
        assert result.returncode == 0, result.text[-4000:]
        return result.stdout

    @cached_property
    def tools(self) -> Tools:
        return Tools(
            kubeconfig=Path(self.state.kubeconfig),
            kubectl_program=TOOLS / "kubectl",
            helm_program=binaries("helm") / "helm",
            namespace=self.namespace,
        )

    def upgrade(self, *values: str, is_open: bool = True) -> None:
        """The release with further values, NAME=VALUE, once its ResourceManager is ready; unless it ``is_open``, nobody
        may ask it without a token."""
        self.tools.helm("upgrade", RELEASE, str(CHART), "--reuse-values", *(f"--set={value}" for value in values))
        deployment = f"deployment/{RELEASE}-rm"
        self.kubectl("rollout", "status", deployment, "--namespace", self.namespace, "--timeout=90s")
        if is_open:
            wait_for("the ResourceManager", self.serves)

    def lend(self, amounts: Mapping[str, int], nodes: Sequence[str] = ()) -> None:
        """Publish what an engine's agent does, on all nodes or on some."""
        known = {name: str(amount) for name, amount in amounts.items()}
        for node in nodes or self.node_names():
            self.patch_node(node, {"status": {"capacity": known, "allocatable": known}}, "--subresource=status")

    def heal(self) -> None:
        """All nodes are there, Ready, open, and lend what they had."""
        self.start_control_plane()
        known = {node["metadata"]["name"]: node for node in self.get("nodes")["items"]}
        for number in range(1, self.state.nodes + 1):
            if not _is_well(known.get(node_name(number)), number):
                self._heal_node(number)
        wait_for("the ResourceManager and its nodes", self.is_whole)

    def _heal_node(self, number: int) -> None:
        name = node_name(number)
        if not self._works(name):
            self.node(number).restart()
            wait_for(f"{name} Ready", lambda: self._works(name))
        self.kubectl("uncordon", name)
        self.kubectl("taint", "node", name, f"{PREFIX}e2e-", check=False)
        self.kubectl("label", "node", name, "--overwrite", f"{RACK_LABEL}={rack(number)}")
        if not COLOCATION.keys() <= self.get("node", name)["status"]["allocatable"].keys():
            self.lend(COLOCATION, (name,))  # it was deleted, and is there anew

    def start_control_plane(self) -> None:
        """Start what of it does not run."""
        plane = self.control_plane
        if not plane.is_ready():
            plane.start_api_server()
            wait_for("the API server", plane.is_ready)
            plane.start_controllers()

    def hold(self, seconds: float) -> None:
        """Let time pass in which nothing should happen."""
        threading.Event().wait(seconds)

    def _works(self, name: str) -> bool:
        try:
            return self.node_is_ready(name)
        except AssertionError:
            return False

    def is_whole(self) -> bool:
        """Return whether it serves, and all its nodes are there."""
        try:
            metrics = self.rest("/metrics")["clusterMetrics"]
        except OSError:
            return False
        return bool(metrics["activeNodes"] == self.state.nodes)

    def patch_node(self, name: str, body: Mapping[str, Any], *more: str) -> None:
        self.kubectl("patch", "node", name, "--type=merge", f"--patch={json.dumps(body)}", *more)


def _is_ready(node: Mapping[str, Any]) -> bool:
    conditions = node["status"].get("conditions", [])
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def _is_well(node: Mapping[str, Any] | None, number: int) -> bool:
    """Return whether there is nothing to heal: it is Ready, open, in its rack, and lends what it should."""
    if node is None or not _is_ready(node):
        return False
    spec, labels = node["spec"], node["metadata"]["labels"]
    is_open = not spec.get("unschedulable") and not spec.get("taints")
    return (
        is_open and labels.get(RACK_LABEL) == rack(number) and COLOCATION.keys() <= node["status"]["allocatable"].keys()
    )


def upload_spark(hdfs: Hdfs, line: str = "4.x") -> None:
    """Upload Spark as an operator does once, so that each submission does not."""
    folder = f"{SPARK_JARS}/{line}"
    hdfs.make_dir(folder, user="hdfs", mode="755")
    present = set(hdfs.names(folder))
    home = next(spark_venv(line).glob("lib/python3*/site-packages")) / "pyspark"
    missing = [jar for jar in sorted((home / "jars").glob("*.jar")) if jar.name not in present]
    with ThreadPoolExecutor(UPLOADS_AT_ONCE) as threads:
        list(threads.map(lambda jar: hdfs.put(f"{folder}/{jar.name}", jar.read_bytes(), user="hdfs"), missing))


class _ClusterSpark(Spark):
    """Submits as an ordinary user; the interpreter of driver and executors is the image's, of the same version."""

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, "HADOOP_USER_NAME": USER, "PYSPARK_PYTHON": "python3"}

    def command(
        self,
        deploy_mode: str,
        job: str,
        *arguments: object,
        conf: Mapping[str, str] | None = None,
        more: tuple[str, ...] = (),
    ) -> list[str]:
        assert isinstance(self.cluster, KubeCluster)
        conf = {**self.cluster.spark_conf(self.line), **(conf or {})}
        return super().command(deploy_mode, job, *arguments, conf=conf, more=more)


class _Beside:
    """The surroundings of a target."""

    def __init__(self, cluster: KubeCluster) -> None:
        self._cluster = cluster
        self.hdfs = cluster.hdfs.hdfs
        self.default_fs, self.history_url, self.home = cluster.hdfs.default_fs, cluster.hdfs.history_url, rigs.FOLDER

    def conf_for(self, name: str, line: str, rm: Mapping[str, str]) -> Path:
        return self._cluster.hadoop_conf_dir


def _pod(item: Mapping[str, Any]) -> Pod:
    labels = item["metadata"].get("labels", {})
    return Pod(
        name=item["metadata"]["name"],
        application=labels.get(f"{PREFIX}application", ""),
        container=labels.get(f"{PREFIX}container-id", ""),
        role=labels.get(f"{PREFIX}role", ""),
        node=item["spec"].get("nodeName", ""),
        phase=item["status"].get("phase", ""),
        deleting="deletionTimestamp" in item["metadata"],
        body=item,
    )


def _pods_in(text: str) -> list[Pod]:
    """Return the pods of objects one after the other; the last may be half written."""
    found, decoder = [], json.JSONDecoder()
    while text := text.lstrip():
        try:
            item, end = decoder.raw_decode(text)
        except ValueError:
            break
        found.append(_pod(item))
        text = text[end:]
    return found


def nodes_of(pods: Sequence[Pod]) -> set[str]:
    return {pod.node for pod in pods}


def environment_of_rig() -> Path | None:
    """KUBECONFIG when it names a cluster of somebody's own."""
    path = os.environ.get("KUBECONFIG")
    return Path(path) if path and Path(path) != rigs.KUBECONFIG else None
