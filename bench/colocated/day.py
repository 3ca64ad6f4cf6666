"""A day of a node in minutes: requests follow the hours, Yodel publishes what is idle, and short containers use it."""

from __future__ import annotations

import math
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from bench.colocated.measuring import BOUNDED, ON, Say
from bench.colocated.runs import Day, Plan, Sample
from tests.conformance.clients import shell
from tests.conformance.clients.target import ENDED
from tests.conformance.cluster import wait_for
from tests.e2e import colocated
from tests.e2e.colocated import ServiceNode
from tests.e2e.kube_cluster import KubeCluster
from tests.e2e.lending import published, unpublish
from tests.rigs.kubernetes.install import COLOCATION
from yodel.domain.states import ContainerExitStatus

HOURS = 24
RATE_LEAST, RATE_MOST = 40, 420
LATE_FACTOR = 1.0
"""Containers that are left at the end of the day have so much of its length more."""
CONTAINER_MIB, CONTAINER_S = 256, 3
COMMAND = f"timeout {CONTAINER_S} sh -c 'while :; do :; done'; true"
REASON_LENGTH = 200
COUNTERS = ("yodel_colocation_preemption_notices_total",)
WITH_APPLICATION = (ContainerExitStatus.KILLED_BY_RESOURCEMANAGER, ContainerExitStatus.KILLED_AFTER_APP_COMPLETION)


def rate_at(hour: float) -> int:
    """Return the requests a second at an hour: least at four, most at noon and in the evening."""
    noon, evening = (math.exp(-(((hour - peak) / width) ** 2)) for peak, width in ((12.5, 3.2), (20, 2.2)))
    return round(RATE_LEAST + (RATE_MOST - RATE_LEAST) * min(1.0, 0.9 * noon + evening))


@dataclass(slots=True)
class _Samples:
    """Samples of a node, once a second."""

    node: ServiceNode
    rate: int = 0
    found: list[Sample] = field(default_factory=list)
    _end: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def kept(self) -> Iterator[None]:
        thread = threading.Thread(target=self._keep)
        thread.start()
        try:
            yield
        finally:
            self._end.set()
            thread.join()

    def _keep(self) -> None:
        node, began = self.node, time.monotonic()
        first, last = _counted(node), (began, node.cpu_s(f"{node.root}/kubepods"), node.cpu_s(node.best_effort))
        while not self._end.wait(1.0):
            now = time.monotonic(), node.cpu_s(f"{node.root}/kubepods"), node.cpu_s(node.best_effort)
            pods, batch = ((now[index] - last[index]) / (now[0] - last[0]) for index in (1, 2))
            self.found.append(
                Sample(
                    at_s=round(now[0] - began, 2),
                    rate=self.rate,
                    service_cores=round(max(0.0, pods - batch), 4),
                    batch_cores=round(batch, 4),
                    lent_cores=(published(node.cluster, node.name) or 0) / 1000,
                    notices=_counted(node) - first,
                )
            )
            last = now


def a_day(node: ServiceNode, plan: Plan, say: Say) -> Day:
    """Measure a day, and what became of its containers."""
    cluster = node.cluster
    unpublish(cluster)
    cluster.yodel(*ON, "cpu.share-percent=85", "memory.share-percent=90", *BOUNDED)
    try:
        wait_for("lent capacity", lambda: (published(cluster, node.name) or 0) >= 100)
        return _with_containers(node, plan, say)
    finally:
        cluster.yodel("colocation", "off", "--now", "--wait", "60")
        cluster.lend(COLOCATION)


def _with_containers(node: ServiceNode, plan: Plan, say: Say) -> Day:
    cluster, samples = node.cluster, _Samples(node)
    words = ("-shell_command", COMMAND, "-num_containers", plan.containers, "-container_memory", CONTAINER_MIB)
    with node.chosen(), colocated.idle_spinner():
        job = shell.start(cluster.target, *words, "-container_vcores", 1, "-queue", "default")
        application_id = job.application_id()
        try:
            wait_for("a container of the day", lambda: cluster.live_pods(application_id, "task"))
            with samples.kept():
                _ask_all_day(node, plan, samples, say)
            late_s = time.monotonic() + plan.day_s * LATE_FACTOR
            while time.monotonic() < late_s and cluster.application(application_id)["state"] not in ENDED:
                node.asked("night", 3, samples.rate)
        finally:
            job.stop()
            node.end(application_id)
        return day_of(cluster, application_id, tuple(samples.found))


def _ask_all_day(node: ServiceNode, plan: Plan, samples: _Samples, say: Say) -> None:
    for hour in range(HOURS):
        samples.rate = rate_at(hour + 0.5)
        node.asked(f"hour-{hour}", max(1, plan.day_s // HOURS), samples.rate)
        if hour % 4 == 3:
            last = samples.found[-1]
            say(
                f"day, {hour + 1:2}:00: {samples.rate} requests a second, services {last.service_cores:.2f}, batch "
                f"{last.batch_cores:.2f}, lent {last.lent_cores:.2f} cores, {last.notices} notices"
            )


def day_of(cluster: KubeCluster, application_id: str, samples: tuple[Sample, ...]) -> Day:
    """Count the containers that have ended by themselves or early: not those that ended with their application."""
    ended: list[dict[str, Any]] = []
    path = f"/applications/{application_id}/containers?limit=500"
    cursor: str | None = ""
    while cursor is not None:
        page = cluster.api(f"{path}&cursor={cursor}" if cursor else path)
        ended += [one for one in page["items"] if one["exit_status"] not in (None, *WITH_APPLICATION)]
        cursor = page["next_cursor"]
    app = cluster.application(application_id)
    failures = (f"{application_id}: {app['diagnostics']}",) if app["finalStatus"] == "FAILED" else ()
    early = [one for one in ended if one["exit_status"] != ContainerExitStatus.SUCCESS]
    reasons = tuple(f"{one['exit_status']}: {one['diagnostics'][:REASON_LENGTH]}" for one in early)
    return Day(samples=samples, containers=len(ended), ended_early=len(early), failures=failures, early=reasons)


def _counted(node: ServiceNode) -> int:
    """Return how many containers have had a preemption notice because of lent capacity."""
    with urllib.request.urlopen(f"{node.cluster.state.rest_url}/prom", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    return sum(int(float(line.split()[-1])) for line in lines if line.startswith(COUNTERS))
