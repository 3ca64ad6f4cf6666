"""A Spark job and a MapReduce job that last as long as a test wants, so that one pair lives through many faults.

Both ApplicationMasters, and the ResourceManager, are on the first node, which has room for nothing else and which no
scenario hurts unless it means them.  The Spark job has three executors and works in rounds.  A map of the MapReduce job
is held, its real process stopped by a signal; when that is lost with its pod, the next attempt is held.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil

from tests.conformance.clients.mapreduce import start_sleep
from tests.conformance.cluster import wait_for
from tests.conformance.held_mapreduce import processes_of
from tests.conformance.spark_submit import Submission
from tests.e2e.kube_cluster import KubeCluster, Pod
from tests.rigs.kubernetes.install import COLOCATION
from tests.support.processes import has_ended

UNTIL_TOLD = str(Path(__file__).parent / "spark_jobs" / "until_told.py")
EXECUTORS = 3
ATTEMPTS_MAX = 20  # of an AM as the frameworks count it; the ResourceManager counts those that are somebody's fault
START_TIMEOUT_S = 240
END_TIMEOUT_S = 240
HELD = "_m_000000_"
NEVER_S = 100_000
MAP_S = 10  # of the clock, also while it is held: long enough to be found, and soon over once it is let go
MASTERS_NODE = "node1"
MASTER_BYTES = 1024 << 20


class LongJobs:
    """Both, running.  ``finish`` or ``stop`` ends them."""

    def __init__(self, cluster: KubeCluster) -> None:
        self.cluster = cluster
        self.folder = cluster.target.folder()
        self._held: psutil.Process | None = None
        self._held_container = ""
        self.spark = self.mapreduce = ""
        self._clients: list[Submission] = []
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def _start(self) -> None:
        cluster = self.cluster
        # One master after the other, each with room for it alone: nobody's tasks take it, however slowly they start.
        others = [name for name in cluster.node_names() if name != MASTERS_NODE]
        cluster.kubectl("cordon", *others)
        self._lend_room(MASTER_BYTES, MASTERS_NODE)
        try:
            self._bring_resource_manager()
            self._clients.append(self._start_spark())
            self.spark = self._clients[0].application_id()
            cluster.running_pods(self.spark, "am", 1)
        finally:
            cluster.kubectl("uncordon", *others)
        wait_for("all executors", self._executors_run)
        self._lend_room(0, *others)
        self._lend_room(2 * MASTER_BYTES, MASTERS_NODE)
        try:
            self._clients.append(self._start_mapreduce())
            self.mapreduce = self._clients[1].application_id()
            cluster.running_pods(self.mapreduce, "am", 1)
        finally:
            cluster.lend(COLOCATION, nodes=others)
        self.until_whole()

    def _lend_room(self, room_bytes: int, *nodes: str) -> None:
        self.cluster.lend({**COLOCATION, "kubernetes.io/batch-memory": room_bytes}, nodes=nodes)

    def _bring_resource_manager(self) -> None:
        """Bring the ResourceManager to the masters' node, while that is the only one that is open."""
        words = ("--namespace", self.cluster.namespace, "--selector", "app.kubernetes.io/component=resourcemanager")
        pods = self.cluster.get("pods", *words)["items"]
        if all(pod["spec"].get("nodeName") == MASTERS_NODE for pod in pods):
            return
        self.cluster.kubectl("delete", "pod", *words)
        wait_for("the ResourceManager", self.cluster.serves)

    def _start_spark(self) -> Submission:
        conf = {
            "spark.executor.instances": str(EXECUTORS),
            "spark.yarn.maxAppAttempts": str(ATTEMPTS_MAX),
            "spark.hadoop.yarn.resourcemanager.am.max-attempts": str(ATTEMPTS_MAX),
        }
        return self.cluster.spark().start(
            "cluster", UNTIL_TOLD, f"{self.cluster.hdfs.default_fs}{self.folder}", conf=conf
        )

    def _start_mapreduce(self) -> Submission:
        more = {
            "mapreduce.am.max-attempts": ATTEMPTS_MAX,
            "yarn.resourcemanager.am.max-attempts": ATTEMPTS_MAX,
            "mapreduce.job.reduce.slowstart.completedmaps": 1.0,  # none beside the map
            "yarn.client.nodemanager-connect.max-wait-ms": 10_000,  # with a dead node; else three minutes
            "yarn.client.nodemanager-connect.retry-interval-ms": 1_000,
            "mapreduce.task.timeout": 0,
            "mapreduce.task.stuck.timeout-ms": NEVER_S * 1000,
        }
        return start_sleep(self.cluster.target, maps=2, reduces=1, seconds=MAP_S, more=more)

    @property
    def applications(self) -> tuple[str, str]:
        return self.spark, self.mapreduce

    def tasks(self, node: str = "") -> list[Pod]:
        """Live pods of executors and of the held map, of one node or of all."""
        found = [pod for application_id in self.applications for pod in self.cluster.live_pods(application_id, "task")]
        return [pod for pod in found if node in ("", pod.node)]

    def masters(self) -> list[Pod]:
        return [pod for application_id in self.applications for pod in self.cluster.live_pods(application_id, "am")]

    def node_with_work(self) -> str:
        """A node with an executor, and with the map if it has one of both."""
        maps = [pod.node for pod in self.cluster.live_pods(self.mapreduce, "task")]
        executors = [pod.node for pod in self.cluster.live_pods(self.spark, "task")]
        found = sorted({node for node in executors if node != MASTERS_NODE}, key=lambda node: node not in maps)
        assert found, f"no executor is apart from the masters: {executors}"
        return found[0]

    def until_whole(self, lost: frozenset[str] = frozenset()) -> None:
        """Until every executor runs and the map is held, none of them in a container of ``lost``."""
        wait_for("the map", lambda: self._hold(lost), every_s=0.1)  # first: it would be through soon
        wait_for("all executors", lambda: self._executors_run(lost))

    def until_steady(self) -> None:
        """Until there is nothing but what is meant to last: a map that is not held is soon over."""
        wait_for("nothing that passes", lambda: len(self.tasks()) == EXECUTORS + 1)

    def until_replaced(self, pods: Sequence[Pod]) -> None:
        """Until those are over and others do their work.  The next map begins before all are over: it is held then."""
        lost = frozenset(pod.container for pod in pods)

        def are_over() -> bool:
            self._hold(lost)
            return not lost & {pod.container for pod in self.tasks()}

        wait_for("the end of those pods", are_over)
        self.until_whole(lost)

    def until_told_of(self, pods: Sequence[Pod], words: str) -> None:
        """Until Spark's driver has written that each of its executors among the pods ended, in those words."""
        executors = [pod.container for pod in pods if _application(pod) == self.spark]
        assert executors, "no executor was hurt"

        def told() -> bool:
            lines = [line for line in self.driver_log().splitlines() if words in line]
            return all(any(container in line for line in lines) for container in executors)

        try:
            wait_for("the driver's word", told)
        except AssertionError:
            lines = [line for line in self.driver_log().splitlines() if any(c in line for c in executors)]
            raise AssertionError(f"{words!r} is not in: {lines[-20:]}") from None

    def driver_log(self) -> str:
        """Return what ``kubectl logs`` shows of the newest driver."""
        (pod,) = self.cluster.live_pods(self.spark, "am")
        return self.cluster.kubectl("logs", pod.name, "--namespace", self.cluster.container_namespace)

    def rounds(self) -> int:
        """Stages that the Spark job is through with."""
        return self.driver_log().count(" is right")

    def finish(self) -> dict[str, str]:
        """Lets both end, as they must: successfully.  What ``yarn logs`` prints of each, by application."""
        self.cluster.hdfs.hdfs.put(f"{self.folder}/end", b"", user="hdfs")
        self._release()
        self.cluster.lend(COLOCATION)
        with ThreadPoolExecutor(len(self._clients)) as beside:
            logs = dict(zip(self.applications, beside.map(self._ended, self.applications, self._clients), strict=True))
        assert "rounds were right" in logs[self.spark], logs[self.spark][-4000:]
        return logs

    def _ended(self, application_id: str, client: Submission) -> str:
        result = client.result(END_TIMEOUT_S)
        assert result.returncode == 0, result.text[-6000:]
        assert self.cluster.application(application_id)["finalStatus"] == "SUCCEEDED"
        return self.cluster.logs(application_id)

    def stop(self) -> None:
        """Stop the jobs of whoever gave up: nothing of them is left."""
        self._release()
        self.cluster.lend(COLOCATION)
        for client in self._clients:
            client.stop()
        for application_id in filter(None, self.applications):
            self.cluster.target.yarn("application", "-kill", application_id)

    def attempts(self, application_id: str) -> list[int]:
        listed = self.cluster.rest(f"/apps/{application_id}/appattempts")
        return [attempt["id"] for attempt in listed["appAttempts"]["appAttempt"]]

    def _assert_alive(self, application_id: str) -> None:
        with contextlib.suppress(OSError):  # the ResourceManager may be what was hurt
            app = self.cluster.application(application_id)
            assert app["state"] in ("ACCEPTED", "RUNNING"), app["diagnostics"]

    def _executors_run(self, lost: frozenset[str] = frozenset()) -> bool:
        self._assert_alive(self.spark)
        pods = [pod for pod in self.cluster.live_pods(self.spark, "task") if pod.phase == "Running"]
        return len([pod for pod in pods if pod.container not in lost]) >= EXECUTORS

    def _hold(self, lost: frozenset[str]) -> bool:
        if self._held is not None and self._held_container not in lost and not has_ended(self._held):
            return True
        self._assert_alive(self.mapreduce)
        for process in processes_of(self.mapreduce):
            with contextlib.suppress(psutil.NoSuchProcess):
                is_map = process.name() == "java" and any(HELD in word for word in process.cmdline())
                container = process.environ().get("CONTAINER_ID", "")
                if is_map and container not in lost:
                    process.send_signal(signal.SIGSTOP)
                    self._held, self._held_container = process, container
                    return True
        return False

    def _release(self) -> None:
        if self._held is not None:
            with contextlib.suppress(psutil.NoSuchProcess):
                self._held.send_signal(signal.SIGCONT)


def _application(pod: Pod) -> str:
    """``container_e01_1700000000000_0001_02_000003`` without an epoch: of application_1700000000000_0001."""
    words = pod.container.split("_")
    return f"application_{words[-4]}_{words[-3]}"
