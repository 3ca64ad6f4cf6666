"""A release is waited for until it is ready, and diagnosed when it does not become so."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.rigs.kubernetes.daemons import pause
from tests.rigs.kubernetes.tools import InstallFailed, Tools

READY_TIMEOUT_S = 300.0
LOOK_EVERY_S = 0.5
LOG_LINES = 30
COMPONENT = "app.kubernetes.io/component"
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Progress:
    """Count how many of a workload's pods are there, of the newest make."""

    name: str
    ready: int
    wanted: int

    @property
    def is_done(self) -> bool:
        return self.ready >= self.wanted > 0

    def __str__(self) -> str:
        return f"{self.name} {self.ready}/{self.wanted}"


def wait(tools: Tools, namespaces: Sequence[str], selector: str, say: Say) -> None:
    """Until all workloads of the label are ready.  Raises InstallFailed with what there is to see."""
    give_up_at = time.monotonic() + READY_TIMEOUT_S
    told = ""
    while True:
        found = list(_progress(tools, namespaces, selector))
        now = ", ".join(map(str, found))
        if now != told:
            say(f"ready: {now}")
            told = now
        if found and all(one.is_done for one in found):
            return
        if time.monotonic() > give_up_at:
            look = diagnosis(tools, namespaces)
            raise InstallFailed(f"not ready after {READY_TIMEOUT_S:.0f} s: {now}\n{look}")
        pause(LOOK_EVERY_S)


def _progress(tools: Tools, namespaces: Sequence[str], selector: str) -> Iterator[Progress]:
    """Yield workloads in the order in which they become ready."""
    kinds = "statefulsets,deployments,daemonsets"
    found: list[Mapping[str, Any]] = []
    for namespace in dict.fromkeys(namespaces):
        found += tools.get(kinds, namespace=namespace, selector=selector)["items"]
    order = ("StatefulSet", "Deployment", "DaemonSet")
    for item in sorted(found, key=lambda one: order.index(one["kind"])):
        yield workload_progress(item)


def workload_progress(item: Mapping[str, Any]) -> Progress:
    """A workload whose controller has not yet seen its newest make has nothing ready."""
    status, name = item.get("status", {}), item["metadata"]["name"]
    is_seen = status.get("observedGeneration", 0) >= item["metadata"]["generation"]
    if item["kind"] == "DaemonSet":
        wanted = status.get("desiredNumberScheduled", 0)
        counts = (status.get("updatedNumberScheduled", 0), status.get("numberAvailable", 0))
    else:
        wanted = item["spec"].get("replicas", 1)
        if item["metadata"].get("labels", {}).get(COMPONENT) == "resourcemanager":
            wanted = min(wanted, 1)  # its standbys are never ready
        counts = (status.get("updatedReplicas", 0), status.get("availableReplicas", 0))
    return Progress(name, min(counts) if is_seen else 0, wanted)


def diagnosis(tools: Tools, namespaces: Sequence[str]) -> str:
    """Pods, warnings, and the logs of containers that are not ready."""
    parts: list[str] = []
    for namespace in dict.fromkeys(namespaces):
        place = ("--namespace", namespace)
        parts.append(tools.kubectl("get", "pods", *place, "--output=wide", check=False))
        warnings = tools.kubectl(
            "get", "events", *place, "--field-selector=type=Warning", "--sort-by=.lastTimestamp", check=False
        )
        parts.append("\n".join(warnings.splitlines()[-LOG_LINES:]))
        for pod in tools.get("pods", namespace=namespace)["items"]:
            parts += [_log(tools, namespace, pod["metadata"]["name"], name) for name in unready(pod)]
    return "\n".join(parts)


def _log(tools: Tools, namespace: str, pod: str, container: str) -> str:
    options = ("--namespace", namespace, "--container", container, f"--tail={LOG_LINES}")
    return f"--- {namespace}/{pod} {container}\n{tools.kubectl('logs', pod, *options, check=False)}"


def unready(pod: Mapping[str, Any]) -> list[str]:
    """Containers that have not done what they are for."""
    status = pod.get("status", {})
    if status.get("phase") == "Succeeded":
        return []
    states = [*status.get("initContainerStatuses", []), *status.get("containerStatuses", [])]
    return [one["name"] for one in states if not one.get("ready")]
