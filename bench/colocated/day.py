"""A day of a node in minutes: requests follow the hours, Yodel publishes what is idle, and short containers use it."""

from __future__ import annotations

import math
import threading
import time
import urllib.request
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from bench.colocated.limits import FAILURES, TimeLimit
from bench.colocated.measuring import BOUNDED, ON
from bench.colocated.runs import DAY, LATE_PART, Day, Plan, Sample
from tests.conformance.clients import shell
from tests.conformance.clients.target import ENDED
from tests.conformance.cluster import wait_for
from tests.e2e import colocated
from tests.e2e.colocated import ServiceNode, beside
from tests.e2e.kube_cluster import KubeCluster
from tests.e2e.lending import published, unpublish
from tests.rigs.kubernetes.install import COLOCATION
from tests.rigs.kubernetes.readiness import Say
from yodel.domain.states import ContainerExitStatus

HOURS = 24
RATE_LEAST, RATE_MOST = 40, 420
CONTAINER_MIB, CONTAINER_S = 256, 3
COMMAND = f"timeout {CONTAINER_S} sh -c 'while :; do :; done'; true"
REASON_LENGTH = 200
NOTICES, REFUSED = "yodel_colocation_preemption_notices_total", "yodel_pods_refused_by_nodes_total"
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

    def keep(self, end: threading.Event) -> None:
        """Take samples until the end is said; one that fails, as a call that takes too long, is left out."""
        node, began = self.node, time.monotonic()
        first, last = _counted(node, NOTICES), self._used()
        while not end.wait(1.0):
            with suppress(*FAILURES):
                last = self._take(began, first, last)

    def _used(self) -> tuple[float, float, float]:
        node = self.node
        return time.monotonic(), node.cpu_s(f"{node.root}/kubepods"), node.cpu_s(node.best_effort)

    def _take(self, began: float, first: int, last: tuple[float, float, float]) -> tuple[float, float, float]:
        node, now = self.node, self._used()
        pods, batch = ((now[index] - last[index]) / (now[0] - last[0]) for index in (1, 2))
        self.found.append(
            Sample(
                at_s=round(now[0] - began, 2),
                rate=self.rate,
                service_cores=round(max(0.0, pods - batch), 4),
                batch_cores=round(batch, 4),
                lent_cores=(published(node.cluster, node.name) or 0) / 1000,
                notices=_counted(node, NOTICES) - first,
            )
        )
        return now


def a_day(node: ServiceNode, plan: Plan, say: Say, limit: TimeLimit) -> Day:
    """Measure a day, and what became of its containers.

    Raises:
        TookTooLong: it did not end in its time.
    """
    with limit.part(DAY, plan.day_most_s):
        return _a_day(node, plan, say)


def _a_day(node: ServiceNode, plan: Plan, say: Say) -> Day:
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
    cluster, samples, before = node.cluster, _Samples(node), _counted(node, REFUSED)
    words = ("-shell_command", COMMAND, "-num_containers", plan.containers, "-container_memory", CONTAINER_MIB)
    with node.chosen(), colocated.idle_spinner():
        job = shell.start(cluster.target, *words, "-container_vcores", 1, "-queue", "default")
        application_id = job.application_id()
        try:
            wait_for("a container of the day", lambda: cluster.live_pods(application_id, "task"))
            with beside(samples.keep):
                _ask_all_day(node, plan, samples, say)
            late_s = time.monotonic() + plan.day_s * LATE_PART
            while time.monotonic() < late_s and cluster.application(application_id)["state"] not in ENDED:
                node.asked("night", 3, samples.rate)
        finally:
            job.stop()
            node.end(application_id)
        return day_of(cluster, application_id, tuple(samples.found), _counted(node, REFUSED) - before)


def _ask_all_day(node: ServiceNode, plan: Plan, samples: _Samples, say: Say) -> None:
    for hour in range(HOURS):
        samples.rate = rate_at(hour + 0.5)
        node.asked(f"hour-{hour}", max(1, plan.day_s // HOURS), samples.rate)
        if hour % 4 == 3 and samples.found:
            last = samples.found[-1]
            say(
                f"day, {hour + 1:2}:00: {samples.rate} requests a second, services {last.service_cores:.2f}, batch "
                f"{last.batch_cores:.2f}, lent {last.lent_cores:.2f} cores, {last.notices} notices"
            )


def day_of(cluster: KubeCluster, application_id: str, samples: tuple[Sample, ...], refused: int) -> Day:
    """Count the containers that have ended by themselves or early: neither ApplicationMasters nor those that ended with
    their application.

    Early is every other end than by itself with status 0: preempted, lost, failed, and refused by the kubelet after the
    ApplicationMaster had it.  A container whose pod was refused before, and replaced, has not ended.
    """
    ended: list[dict[str, Any]] = []
    path = f"/applications/{application_id}/containers?limit=500"
    cursor: str | None = ""
    while cursor is not None:
        page = cluster.api(f"{path}&cursor={cursor}" if cursor else path)
        tasks = (one for one in page["items"] if not one["is_am"])
        ended += [one for one in tasks if one["exit_status"] not in (None, *WITH_APPLICATION)]
        cursor = page["next_cursor"]
    app = cluster.application(application_id)
    failures = (f"{application_id}: {app['diagnostics']}",) if app["finalStatus"] == "FAILED" else ()
    early = [one for one in ended if one["exit_status"] != ContainerExitStatus.SUCCESS]
    reasons = tuple(f"{one['exit_status']}: {one['diagnostics'][:REASON_LENGTH]}" for one in early)
    return Day(
        samples=samples,
        containers=len(ended),
        ended_early=len(early),
        refused=refused,
        failures=failures,
        early=reasons,
    )


def _counted(node: ServiceNode, name: str) -> int:
    """Return a counter of the ResourceManager's."""
    with urllib.request.urlopen(f"{node.cluster.state.rest_url}/prom", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    return sum(int(float(line.split()[-1])) for line in lines if line.startswith(name))
