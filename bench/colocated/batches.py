"""Runs batch on the measured node without a pause: Spark, terasort, and a program that uses memory bandwidth.

Each takes a core's worth of vcores, prints the seconds of each of its rounds, and checks its answer: a wrong one fails
the application, which ``Batches.failures`` finds.
"""

from __future__ import annotations

import contextlib
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from tests.conformance.clients import mapreduce
from tests.conformance.clients.target import ENDED, settings
from tests.conformance.cluster import wait_for
from tests.e2e.colocated import ServiceNode, beside
from tests.e2e.kube_cluster import KubeCluster

VCORES = 20
"""The most of one container, and all of one kind of batch: a core, with MILLI_PER_VCORE."""
MILLI_PER_VCORE = 50
NUMBERS, PARTITIONS = 200_000, 8
WARM_ROUNDS = 3
"""The first rounds of Spark are slow, until the compiler of the JVM has seen them."""
ROWS = 100_000
"""Terasort's, of 100 bytes each: a job of seconds, most of them its containers' starts."""
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Terasort's JVMs live for seconds."""
SHUFFLE_JOB = Path(__file__).parents[2] / "tests" / "e2e" / "spark_jobs" / "shuffle_rounds.py"
COPIES = """
import multiprocessing, time
SIZE = 32 << 20
def work(_):
    one, other = bytearray(bytes([7])) * SIZE, bytearray(SIZE)
    for _ in range(10):
        other[:] = one
        one[:] = other
    return one.count(7)
with multiprocessing.Pool(4) as pool:
    while True:
        began = time.monotonic()
        if pool.map(work, range(4), chunksize=1) != [SIZE] * 4:
            raise SystemExit(3)
        print(round(time.monotonic() - began, 3), flush=True)
"""


@dataclass(slots=True, kw_only=True)
class Running:
    """Batch on the node: seconds of the rounds that have ended, and its applications so far."""

    rounds: Callable[[], list[float]]
    applications: list[str] = field(default_factory=list)

    def failures(self, cluster: KubeCluster) -> list[str]:
        """Return what became of applications that failed."""
        known = (cluster.application(one) for one in self.applications)
        return [f"{one['id']}: {one['diagnostics']}" for one in known if one["finalStatus"] == "FAILED"]


def batch(kind: str, node: ServiceNode, queue: str) -> AbstractContextManager[Running]:
    """Run batch of a kind in a queue, from its first rounds on."""
    return {"Spark": _spark, "terasort": _terasort, "memory": _memory}[kind](node, queue)


KINDS = ("Spark", "terasort", "memory")


@contextlib.contextmanager
def _memory(node: ServiceNode, queue: str) -> Iterator[Running]:
    with node.running(queue, COPIES, VCORES) as found:
        wait_for("a round of copies", lambda: len(found.rounds()) > 0)
        yield Running(rounds=found.rounds, applications=[found.application_id])


@contextlib.contextmanager
def _spark(node: ServiceNode, queue: str) -> Iterator[Running]:
    """Run the shuffle in one executor, next to its driver."""
    cluster = node.cluster
    conf = {"spark.driver.cores": "10", "spark.executor.cores": "10", "spark.task.cpus": "3", "spark.yarn.queue": queue}
    conf |= {"spark.yarn.submit.waitAppCompletion": "false", "spark.yarn.maxAppAttempts": "1"}
    with node.chosen():
        submission = cluster.spark().start("cluster", str(SHUFFLE_JOB), NUMBERS, PARTITIONS, conf=conf)
        application_id = submission.application_id()
        try:
            (master,) = cluster.running_pods(application_id, "am", 1)
            log = node.printed(master)

            def is_warm() -> bool:
                is_over = cluster.application(application_id)["state"] in ENDED
                return len(numbers(log)) >= WARM_ROUNDS or is_over

            wait_for("rounds of Spark", is_warm)
            submission.result()
            yield Running(rounds=lambda: numbers(log), applications=[application_id])
        finally:
            submission.stop()
            node.end(application_id)


@contextlib.contextmanager
def _terasort(node: ServiceNode, queue: str) -> Iterator[Running]:
    """Sort the same rows again and again; the last output is validated."""
    sorts = _Sorts(node, queue)
    with node.chosen(), sorts.going():
        yield Running(rounds=lambda: list(sorts.seconds), applications=sorts.applications)


@dataclass(slots=True)
class _Sorts:
    node: ServiceNode
    queue: str
    seconds: list[float] = field(default_factory=list)
    applications: list[str] = field(default_factory=list)
    _errors: list[str] = field(default_factory=list)

    @contextlib.contextmanager
    def going(self) -> Iterator[None]:
        rows = terasort_rows(self.node.cluster)
        with beside(lambda end: self._go_on(rows, end)) as end:
            try:
                wait_for("a container of a sort", lambda: self._runs() or self._errors)
                yield
            finally:
                end.set()
                for application_id in tuple(self.applications):
                    self.node.end(application_id)
        if self._errors:
            raise RuntimeError(self._errors[0])

    def _runs(self) -> bool:
        cluster = self.node.cluster
        return any(one.phase == "Running" for name in self.applications for one in cluster.live_pods(name, "task"))

    def _go_on(self, rows: str, end: threading.Event) -> None:
        try:
            while not end.is_set():
                self._sort(rows, end)
        except (AssertionError, OSError, RuntimeError, subprocess.SubprocessError) as error:
            self._errors.append(f"terasort failed: {error}")

    def _sort(self, rows: str, end: threading.Event) -> None:
        target = self.node.cluster.target
        sizes: dict[str, object] = {f"mapreduce.{one}.cpu.vcores": 12 for one in ("map", "reduce")}
        sizes |= {f"mapreduce.{one}.java.opts": f"-Xmx512m {JAVA_OPTIONS}" for one in ("map", "reduce")}
        sizes |= {"yarn.app.mapreduce.am.resource.cpu-vcores": 8, "mapreduce.job.reduces": 1}
        sizes["yarn.app.mapreduce.am.command-opts"] = f"-Xmx512m {JAVA_OPTIONS}"
        words = settings({**sizes, "mapreduce.job.queuename": self.queue, "mapreduce.am.max-attempts": 1})
        out, began = f"{target.folder()}/out", time.monotonic()
        job = mapreduce.start_example(target, "terasort", *words, f"{rows}/in", out)
        self.applications.append(job.application_id())
        result = job.result()
        if end.is_set():
            return
        if result.returncode != 0 or len(target.hadoop.hdfs.names(out)) < 2:
            raise RuntimeError(result.text[-2000:])
        self.seconds.append(round(time.monotonic() - began, 3))


def terasort_rows(cluster: KubeCluster) -> str:
    """Return the folder of the rows to sort, which the first caller makes."""
    target, folder = cluster.target, "/user/conformance/rows"
    hdfs = target.hadoop.hdfs
    hdfs.make_dir(folder, user="hdfs", mode="1777")
    if "in" not in hdfs.names(folder):
        made = mapreduce.example(target, "teragen", *settings({"mapreduce.job.maps": 1}), ROWS, f"{folder}/in")
        if made.returncode != 0:
            raise RuntimeError(f"teragen failed: {made.text[-2000:]}")
    return folder


def numbers(log: Path) -> list[float]:
    """Return the seconds of rounds; a driver prints other lines, too."""
    found = []
    for line in log.read_text().splitlines() if log.exists() else ():
        with contextlib.suppress(ValueError):
            found.append(float(line))
    return found
