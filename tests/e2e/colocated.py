"""A service and a batch job on one node of the rig that has a core of its own, and what is measured of them.

The service is PostgreSQL: stateful, one process a request, some milliseconds of processor time each and no disk.  Its
clients are an open loop (``pgbench --rate``): a request's latency counts from when it was due, so that a service that
stands still is not asked less.  The log of all latencies stays in the folder.  The batch is an application whose only
container hashes in four processes and prints how long each round of a fixed size took.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.conformance.clients.target import ENDED
from tests.conformance.cluster import wait_for
from tests.e2e.kube_cluster import PREFIX, USER, KubeCluster, Pod
from tests.rigs.kubernetes.layout import CGROUP
from tests.rigs.kubernetes.node import CGROUPS
from yodel.client.service_load import percentile

OWN_CORE, OTHER_CORE = 1, 0
SERVICE_MILLI = 900
"""With batch pods of a core next to it, and the node's own pods, all of the node's two."""
RATE, CLIENTS = 150, 8
BATCH_MIB = 512
PERIOD_US = 100_000
PORT = 5432
QUERY = "SELECT sum(hashtext(i::text)) FROM generate_series(1, 8000) AS i;\n"
CALL_TIMEOUT_S = 10
PGBENCH_LATE_S = 30
SPINNER_END_S, BESIDE_END_S = 20, 60
GENERATOR = ("chrt", "--fifo", "10", "taskset", "--cpu-list", str(OTHER_CORE))
"""Before the command of the clients: whatever else runs on their core, a request is sent when it is due."""
SERVICE = """
apiVersion: v1
kind: Pod
metadata: {name: service, namespace: default}
spec:
  nodeName: NODE
  restartPolicy: Never
  terminationGracePeriodSeconds: 0
  securityContext: {runAsUser: 999, runAsGroup: 999, fsGroup: 999}
  containers:
    - name: main
      image: IMAGE
      env:
        - {name: POSTGRES_USER, value: bench}
        - {name: POSTGRES_DB, value: bench}
        - {name: POSTGRES_PASSWORD, value: bench}
        - {name: PGDATA, value: /var/lib/postgresql/data/pgdata}
      resources: {requests: {cpu: MILLIm, memory: 256Mi}, limits: {memory: 512Mi}}
      volumeMounts: [{name: data, mountPath: /var/lib/postgresql/data}, {name: run, mountPath: /var/run/postgresql}]
  volumes: [{name: data, emptyDir: {}}, {name: run, emptyDir: {}}]
"""
BATCH = """
import hashlib, multiprocessing, time
BLOCK = bytes(8 << 20)
def work(_):
    for _ in range(10):
        hashlib.sha256(BLOCK).digest()
with multiprocessing.Pool(4) as pool:
    while True:
        began = time.monotonic()
        pool.map(work, range(4), chunksize=1)
        print(round(time.monotonic() - began, 2), flush=True)
"""

LEAK = """
import time
time.sleep(5)
held = []
while True:
    held.append(bytes([1]) * (1 << 20))
"""
SLEEP = "import time; time.sleep(3600)"
SPINNER = """
import os
parent = os.getppid()
while os.getppid() == parent:
    for _ in range(10**6):
        pass
"""
"""Ends by itself when whoever started it was killed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Hold the figures of one condition.  Latencies in milliseconds, ``rounds`` in seconds.  ``pressure`` is the part
    of the time in which some process of the service waited for a processor, ``node_cores`` what all pods of the node
    used."""

    latencies: Sequence[float]
    service_cores: float
    node_cores: float
    pressure: float
    rounds: Sequence[float]

    seconds: float

    @property
    def cpu_ms_a_request(self) -> float:
        return self.service_cores * self.seconds * 1000 / len(self.latencies)

    def percentile(self, percent: float) -> float:
        return percentile(self.latencies, percent)

    def line(self, name: str) -> str:
        jobs = f"{sum(self.rounds) / len(self.rounds):5.2f} s a round ({len(self.rounds)})" if self.rounds else "no job"
        times = " ".join(f"{self.percentile(percent):6.1f}" for percent in (50, 99, 99.9))
        return (
            f"{name:34} P50, P99, P99.9 {times} ms  node {self.node_cores:4.2f} service {self.service_cores:4.2f} "
            f"cores  cpu.pressure {self.pressure:5.1%}  {jobs}  {len(self.latencies)} requests of "
            f"{self.cpu_ms_a_request:.2f} ms"
        )


@dataclass(slots=True, kw_only=True)
class Batch:
    """An application of one container, on the node."""

    application_id: str
    log: Path

    def rounds(self) -> list[float]:
        return [float(line) for line in self.log.read_text().split()] if self.log.exists() else []


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceNode:
    """The node with a core of its own: where nothing of Yodel's control plane runs."""

    cluster: KubeCluster
    name: str
    folder: Path
    service_address: str = ""
    service_group: str = ""

    @property
    def root(self) -> str:
        return f"{CGROUP}/{self.name}"

    @property
    def best_effort(self) -> str:
        return f"{self.root}/kubepods/besteffort"

    @property
    def login(self) -> tuple[str, ...]:
        return "--host", self.service_address, "--username=bench"

    def read(self, controller: str, group: str, file: str) -> str:
        return (CGROUPS / controller / group / file).read_text()

    def cpu_s(self, group: str) -> float:
        return int(self.read("cpuacct", group, "cpuacct.usage")) / 1e9

    def stalled_s(self) -> float:
        """Return how long some process of the service waited for a processor."""
        found = re.match(r"some .*total=(\d+)", self.read("unified", self.service_group, "cpu.pressure"))
        assert found is not None
        return int(found[1]) / 1e6

    def files(self) -> dict[str, str]:
        """All that an agent may write to, and what stands there; of pods that are there."""
        of_pods = {"cpu": "cpu.shares", "memory": "memory.limit_in_bytes"}
        of_root = [("cpu", "cpu.shares"), ("cpu", "cpu.cfs_quota_us"), ("cpu", "cpu.cfs_period_us"), *of_pods.items()]
        paths = [CGROUPS / controller / self.best_effort / file for controller, file in of_root]
        for controller, file in of_pods.items():
            paths += (CGROUPS / controller / self.best_effort).glob(f"pod*/{file}")
        return {str(path): path.read_text().strip() for path in paths}

    @property
    def agent(self) -> Any:
        """The pod of its node agent."""
        namespace = ("--namespace", self.cluster.container_namespace)
        chosen = ("--selector=app.kubernetes.io/component=node-agent", f"--field-selector=spec.nodeName={self.name}")
        (pod,) = self.cluster.get("pods", *namespace, *chosen)["items"]
        return pod

    def quotas_told(self) -> list[tuple[float, int]]:
        """Return from the agent's own log when it decided on another quota, and for what use of online pods (milli)."""
        name = self.agent["metadata"]["name"]
        text = self.cluster.kubectl("logs", name, "--namespace", self.cluster.container_namespace)
        events = [json.loads(line) for line in text.splitlines() if '"quota_decided"' in line]
        return [(datetime.fromisoformat(one["timestamp"]).timestamp(), one["online_milli"]) for one in events]

    def kill_agent(self) -> None:
        """Kill the agent as the machine would: it cannot say good-bye.  Its kubelet starts another."""
        pod = self.agent
        group = CGROUPS / "cpu" / self.root / "kubepods" / "burstable" / f"pod{pod['metadata']['uid']}"
        pids = {int(pid) for path in group.glob("*/cgroup.procs") for pid in path.read_text().split()}
        agents = [pid for pid in pids if b"yodel" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        assert agents
        for pid in agents:
            os.kill(pid, signal.SIGKILL)

    def explained(self) -> Any:
        """Return what `yodel node explain` shows."""
        known = next(one["id"] for one in self.cluster.api("/nodes")["items"] if one["kubernetes_node"] == self.name)
        return self.cluster.api(f"/nodes/{known}/capacity")

    def quota_us(self) -> int:
        return int(self.read("cpu", self.best_effort, "cpu.cfs_quota_us"))

    def measure(
        self, name: str, seconds: int, rounds_so_far: Callable[[], list[float]] = list, rate: int = RATE
    ) -> Figures:
        """Ask the service for so long; ``rounds_so_far`` of the batch next to it."""
        groups = {"service": self.service_group, "node": self.root}
        before = {one: self.cpu_s(path) for one, path in groups.items()}
        stalled, rounds = self.stalled_s(), len(rounds_so_far())
        began = time.monotonic()
        latencies = self.asked(name, seconds, rate)
        lasted = time.monotonic() - began
        used = {one: (self.cpu_s(path) - before[one]) / lasted for one, path in groups.items()}
        return Figures(
            latencies=latencies,
            seconds=lasted,
            service_cores=used["service"],
            node_cores=used["node"],
            pressure=(self.stalled_s() - stalled) / lasted,
            rounds=rounds_so_far()[rounds:],
        )

    def answer(self) -> str:
        """Return what the service answers to the question that clients ask; empty where it does not."""
        words = [str(Path(pgbench()).parent / "psql"), *self.login, "--tuples-only", f"--command={QUERY}", "bench"]
        environment = {**os.environ, "PGPASSWORD": "bench", "PGCONNECT_TIMEOUT": "5"}
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=CALL_TIMEOUT_S)
        return done.stdout.strip()

    def asked(self, name: str, seconds: int, rate: int, clients: int = CLIENTS) -> list[float]:
        """Latencies from when each request was due, in milliseconds; the log stays."""
        (self.folder / "query.sql").write_text(QUERY)
        words = [*GENERATOR, pgbench(), "--no-vacuum", f"--file={self.folder}/query.sql"]
        words += [f"--rate={rate}", f"--client={clients}", "--jobs=1", f"--time={seconds}", "--protocol=prepared"]
        words += ["--log", f"--log-prefix={self.folder}/{name}", *self.login, "bench"]
        done = subprocess.run(
            words,
            env={**os.environ, "PGPASSWORD": "bench"},
            capture_output=True,
            text=True,
            timeout=seconds + PGBENCH_LATE_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        logs = self.folder.glob(f"{name}.*")
        return [int(line.split()[2]) / 1000 for log in logs for line in log.read_text().splitlines()]

    @contextlib.contextmanager
    def chosen(self) -> Iterator[None]:
        """Keep new pods away from all other nodes; a cordon would end the agents there."""
        others = [one for one in self.cluster.node_names() if one != self.name]
        self.cluster.kubectl("taint", "node", *others, f"{PREFIX}e2e=elsewhere:NoSchedule", "--overwrite")
        try:
            yield
        finally:
            self.cluster.kubectl("taint", "node", *others, f"{PREFIX}e2e-")

    def printed(self, container: Pod) -> Path:
        """Return the standard output of a container here."""
        logs = Path(self.cluster.state.conf_dir).parent / "logs" / self.name
        return logs / container.application / container.container / "stdout"

    def end(self, application_id: str) -> None:
        """Kill it unless it has ended, and wait until none of its pods is left."""
        if self.cluster.application(application_id)["state"] not in ENDED:
            self.cluster.kill(USER, application_id)
        wait_for("no live pod", lambda: not self.cluster.live_pods(application_id))

    @contextlib.contextmanager
    def running(self, queue: str, program: str, vcores: int = 1) -> Iterator[Batch]:
        """Run an application whose only container runs a Python program here."""
        with self.chosen():
            script = f"exec python3 -c '{program}' 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr"
            status, text, application_id = self.cluster.submit(
                USER,
                {
                    "application-name": "batch",
                    "application-type": "PYTHON",
                    "queue": queue,
                    "max-app-attempts": 1,
                    "am-container-spec": {"commands": {"command": script}},
                    "resource": {"memory": BATCH_MIB, "vCores": vcores},
                },
            )
            assert status == 202, text
            (pod,) = self.cluster.running_pods(application_id, "am", 1)
        assert pod.node == self.name
        try:
            yield Batch(application_id=application_id, log=self.printed(pod))
        finally:
            self.end(application_id)

    @contextlib.contextmanager
    def batch(self, queue: str) -> Iterator[Batch]:
        """One that burns all it gets of the processor."""
        with self.running(queue, BATCH) as batch:
            wait_for("a round of the batch", lambda: len(batch.rounds()) > 0)
            yield batch


def pgbench() -> str:
    return str(max(Path("/usr/lib/postgresql").glob("*/bin/pgbench")))


@contextlib.contextmanager
def idle_spinner() -> Iterator[None]:
    """Keep the core awake and take nothing from anybody: an idle virtual processor sleeps, and wakes late."""
    process = subprocess.Popen([sys.executable, "-c", SPINNER])
    try:
        os.sched_setscheduler(process.pid, os.SCHED_IDLE, os.sched_param(0))
        os.sched_setaffinity(process.pid, {OWN_CORE})
        yield
    finally:
        # On a full core a process of the idle class gets no time, not even to end; elsewhere and as any other it does.
        os.sched_setaffinity(process.pid, {OTHER_CORE})
        with contextlib.suppress(PermissionError):  # who is not root may not take it back
            os.sched_setscheduler(process.pid, os.SCHED_OTHER, os.sched_param(0))
        process.kill()
        process.wait(SPINNER_END_S)


@contextlib.contextmanager
def beside(work: Callable[[threading.Event], None]) -> Iterator[threading.Event]:
    """Do something in a thread as long as this lasts; it has to end soon after the event is set."""
    end = threading.Event()
    thread = threading.Thread(target=work, args=(end,), daemon=True)
    thread.start()
    try:
        yield end
    finally:
        end.set()
        thread.join(BESIDE_END_S)


@contextlib.contextmanager
def service_on(cluster: KubeCluster, folder: Path) -> Iterator[ServiceNode]:
    """PostgreSQL on a node without the ResourceManager or its database."""
    lasting = "--selector=app.kubernetes.io/component in (resourcemanager,postgres)"
    pods = cluster.get("pods", "--namespace", cluster.namespace, lasting)["items"]
    taken = {pod["spec"].get("nodeName") for pod in pods}
    node = next(name for name in cluster.node_names() if name not in taken)
    (database,) = cluster.get("statefulset", "--namespace", cluster.namespace)["items"]
    image = database["spec"]["template"]["spec"]["containers"][0]["image"]
    manifest = SERVICE.replace("NODE", node).replace("IMAGE", image).replace("MILLI", str(SERVICE_MILLI))
    cluster.kubectl("apply", "--filename=-", given=manifest)
    try:
        pod = ("pod", "service", "--namespace=default")
        address = wait_for("the service's address", lambda: cluster.get(*pod)["status"].get("podIP"))
        uid = cluster.get(*pod)["metadata"]["uid"]
        group = f"{CGROUP}/{node}/kubepods/burstable/pod{uid}"
        made = ServiceNode(cluster=cluster, name=node, folder=folder, service_address=address, service_group=group)
        wait_for("the service", made.answer)
        yield made
    finally:
        cluster.kubectl("delete", "pod", "service", "--namespace=default", "--ignore-not-found", "--now")


@dataclass(slots=True)
class Trace:
    """Record what online pods use and what the quota is, ten times a second, from the kernel's files."""

    node: ServiceNode
    seconds: list[tuple[float, float, int]] = field(default_factory=list)
    """When, cores of online pods over the last second, quota in microseconds of a period."""

    @contextlib.contextmanager
    def kept(self) -> Iterator[Trace]:
        with beside(self._keep):
            yield self

    def _keep(self, end: threading.Event) -> None:
        used: list[tuple[float, float]] = []
        while not end.wait(0.1):
            now = time.time()  # as the agent's log has it
            pods, batch = (self.node.cpu_s(group) for group in (f"{self.node.root}/kubepods", self.node.best_effort))
            used.append((now, pods - batch))
            used = [one for one in used if now - one[0] <= 1.05]
            (first, before), (last, after) = used[0], used[-1]
            cores = (after - before) / (last - first) if last > first else 0.0
            self.seconds.append((now, cores, self.node.quota_us()))

    def spike(self, since: float) -> Spike:
        """Return what came of more requests, ``since`` when they came.

        AssertionError: online pods did not use more, or the quota did not fall by it.
        """
        before = [one for one in self.seconds if one[0] < since][-10:]
        after = [one for one in self.seconds if one[0] >= since]
        used, quota = (sum(one[index] for one in before) / len(before) for index in (1, 2))
        most, least = max(one[1] for one in after), min(one[2] for one in after)
        assert (quota - least) / PERIOD_US > (most - used) / 2 > 0.1, (used, most, quota, least)
        more, less = (used + most) / 2, (quota + least) / 2
        rose = next(one[0] for one in after if one[1] >= more)
        told = next((one for one in self.node.quotas_told() if one[0] >= since and one[1] >= more * 1000), None)
        assert told is not None, "the agent's log tells of no quota for so much use"
        return Spike(
            told_s=told[0] - rose,
            followed_s=next(one[0] for one in after if one[2] <= less) - rose,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Spike:
    """Tell how long after online pods used half of what they then used more the agent's log told of a quota for that
    use, and how long after half of the quota's fall stood in the kernel's file.  Below zero where a reading came
    first."""

    told_s: float
    followed_s: float
