"""What is seen of a pod, to what it means for its container.

One table of meanings.  The node agent is the first to know of an end (an exit file beats the kubelet's status by
seconds); what is said here is used when there is no agent to ask, or when the pod is gone.
"""

from __future__ import annotations

from dataclasses import dataclass

from yodel.domain.pod import PodObservation, PodPhase
from yodel.domain.states import ContainerExitStatus

SIGKILLED, SIGTERMED = 137, 143


@dataclass(frozen=True, slots=True)
class End:
    """How a container ended, in YARN's words."""

    exit_status: int
    diagnostics: str


def deleted(pod_name: str) -> End:
    """Somebody deleted the pod: not the application's fault (ABORTED, as a container on a lost node)."""
    return End(ContainerExitStatus.ABORTED, f"Container released: its pod {pod_name} was deleted")


def end_of(pod: PodObservation) -> End | None:
    """The end that a pod's status tells; None while it has not ended."""
    if pod.phase not in (PodPhase.SUCCEEDED, PodPhase.FAILED):
        return None
    if pod.deletion_requested:
        return deleted(pod.name)
    if pod.terminated_reason == "OOMKilled":
        text = f"Container of pod {pod.name} is running beyond the 'PHYSICAL' memory limit: OOMKilled by the kernel."
        return End(ContainerExitStatus.KILLED_EXCEEDED_PMEM, text)
    if pod.reason in ("Evicted", "Preempting", "Preempted"):
        return End(ContainerExitStatus.PREEMPTED, f"Pod {pod.name}: {pod.reason}: {pod.message}")
    if pod.reason in ("NodeLost", "NodeShutdown", "Terminated"):
        return End(ContainerExitStatus.ABORTED, f"Pod {pod.name}: {pod.reason}: {pod.message}")
    if pod.exit_code is None:
        text = f"Pod {pod.name} ended without an exit code: {pod.reason} {pod.message}".strip()
        return End(ContainerExitStatus.ABORTED, text)
    reason = f" ({pod.terminated_reason})" if pod.terminated_reason else ""
    return End(pod.exit_code, f"Pod {pod.name} exited with {pod.exit_code}{reason}")


def is_by_signal(exit_status: int) -> bool:
    """An exit that a deletion of the pod would cause too."""
    return exit_status in (SIGKILLED, SIGTERMED)
