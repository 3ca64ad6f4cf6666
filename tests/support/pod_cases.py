"""Pods as a real control plane and kubelet write them: one case a line of ``pod_events.TABLE``."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from yodel.domain.pod import PodObservation
from yodel.kube.decode import decode_pod
from yodel.translator.pod_events import ContainerOutcome

NOW_MS = int(datetime(2026, 1, 2, 3, 10, tzinfo=UTC).timestamp() * 1000)
BOUND_AT, LONG_AGO = "2026-01-02T03:09:30Z", "2026-01-02T03:04:05Z"


def read(*, node: str | None = "node-1", deleted_at: str | None = None, **status: Any) -> PodObservation:
    metadata: dict[str, Any] = {"name": "p", "uid": "u", "resourceVersion": "1", "creationTimestamp": LONG_AGO}
    if deleted_at:
        metadata |= {"deletionTimestamp": deleted_at, "deletionGracePeriodSeconds": 5}
    spec: dict[str, Any] = {"containers": [{"name": "main", "image": "x"}]}
    if node:
        spec["nodeName"] = node
    return decode_pod(json.dumps({"kind": "Pod", "metadata": metadata, "spec": spec, "status": status}).encode())


def condition(kind: str, status: str, reason: str = "", message: str = "", at: str = BOUND_AT) -> dict[str, Any]:
    words = {"reason": reason, "message": message} if reason else {}
    return {"type": kind, "status": status, "lastProbeTime": None, "lastTransitionTime": at, **words}


def scheduled(at: str = BOUND_AT) -> dict[str, Any]:
    return condition("PodScheduled", "True", at=at)


def disrupted(reason: str, message: str) -> list[dict[str, Any]]:
    return [condition("DisruptionTarget", "True", reason, message), condition("Ready", "True"), scheduled()]


def container(**state: Any) -> list[dict[str, Any]]:
    main = {"name": "main", "image": "x", "imageID": "", "ready": False, "restartCount": 0, "state": state}
    return [main | {"lastState": {}, "started": False}]


def terminated(exit_code: int, reason: str, message: str = "") -> list[dict[str, Any]]:
    words = {"message": message} if message else {}
    times = {"startedAt": LONG_AGO, "finishedAt": BOUND_AT, "containerID": "containerd://4242"}
    return container(terminated={"exitCode": exit_code, "reason": reason, **words, **times})


def waiting(reason: str, message: str = "") -> list[dict[str, Any]]:
    return container(waiting={"reason": reason, "message": message})


RUNS = container(running={"startedAt": LONG_AGO})
EVICTED = (
    "The node was low on resource: memory. Threshold quantity: 100Mi, available: 91Mi. Container main was using 2Gi, "
    "request is 0, has larger consumption of memory. "
)
BACK_OFF = 'Back-off pulling image "none/such:1"'

CASES: dict[str, tuple[PodObservation, ContainerOutcome, int | None, str]] = {
    "Memory limit exceeded (kernel)": (
        read(phase="Failed", containerStatuses=terminated(137, "OOMKilled")),
        ContainerOutcome.ENDS_WITH_POD,
        -104,
        "running beyond the 'PHYSICAL' memory limit",
    ),
    "Local storage limit exceeded": (
        read(
            phase="Failed",
            reason="Evicted",
            message="Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. ",
            containerStatuses=terminated(137, "Error"),
        ),
        ContainerOutcome.ENDS_WITH_POD,
        -109,
        "usage exceeds the total limit of containers 1Gi",
    ),
    "Evicted by the kubelet (node pressure)": (
        read(
            phase="Failed",
            reason="Evicted",
            message=EVICTED,
            conditions=disrupted("TerminationByKubelet", EVICTED),
            containerStatuses=terminated(137, "Error"),
        ),
        ContainerOutcome.ENDS_WITH_POD,
        -102,
        "The node was low on resource: memory",
    ),
    "Preempted by the kubelet (critical pod)": (
        read(
            phase="Failed",
            reason="Preempting",
            message="Preempted in order to admit critical pod",
            conditions=disrupted("TerminationByKubelet", "Pod was preempted by Kubelet to accommodate a critical pod."),
            containerStatuses=terminated(137, "Error"),
        ),
        ContainerOutcome.ENDS_WITH_POD,
        -102,
        "in order to admit critical pod",
    ),
    "Node shut down, or lost": (
        read(
            phase="Failed",
            reason="Terminated",
            message="Pod was terminated in response to imminent node shutdown.",
            conditions=disrupted("TerminationByKubelet", "Pod was terminated in response to imminent node shutdown."),
            containerStatuses=terminated(143, "Error"),
        ),
        ContainerOutcome.ENDS_WITH_POD,
        -100,
        "imminent node shutdown",
    ),
    "Pod stuck terminating": (
        read(phase="Running", deleted_at=LONG_AGO, conditions=[condition("Ready", "False")], containerStatuses=RUNS),
        ContainerOutcome.ENDS,
        -100,
        "does not finish terminating",
    ),
    "Preempted by a scheduler": (
        read(
            phase="Running",
            deleted_at=BOUND_AT,
            conditions=disrupted(
                "PreemptionByScheduler", "default-scheduler: preempting to accommodate a higher priority pod"
            ),
            containerStatuses=RUNS,
        ),
        ContainerOutcome.ENDS_WITH_POD,
        -102,
        "Container preempted by scheduler: pod p. PreemptionByScheduler: default-scheduler: preempting",
    ),
    "Drained, or evicted through the API": (
        read(
            phase="Failed",
            deleted_at=BOUND_AT,
            conditions=disrupted("EvictionByEvictionAPI", "Eviction API: evicting"),
            containerStatuses=terminated(143, "Error"),
        ),
        ContainerOutcome.ENDS_WITH_POD,
        -100,
        "Eviction API: evicting",
    ),
    "NoExecute taint (also of a node NotReady for too long)": (
        read(
            phase="Running",
            deleted_at=BOUND_AT,
            conditions=disrupted("DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint"),
            containerStatuses=RUNS,
        ),
        ContainerOutcome.ENDS_WITH_POD,
        -100,
        "due to NoExecute taint",
    ),
    "Node deleted": (
        read(
            phase="Failed",
            conditions=disrupted("DeletionByPodGC", "PodGC: node no longer exists"),
            containerStatuses=RUNS,
        ),
        ContainerOutcome.ENDS_WITH_POD,
        -100,
        "PodGC: node no longer exists",
    ),
    "Ended by the kubelet for another reason": (
        read(
            phase="Failed",
            conditions=disrupted("TerminationByKubelet", "a reason of the future"),
            containerStatuses=terminated(137, "Error"),
        ),
        ContainerOutcome.ENDS_WITH_POD,
        -102,
        "a reason of the future",
    ),
    "Node crashed": (
        read(phase="Failed", containerStatuses=terminated(255, "Unknown")),
        ContainerOutcome.ENDS_WITH_POD,
        -100,
        "the outcome of pod p is not known",
    ),
    "Pod deleted by hand": (
        read(phase="Failed", deleted_at=BOUND_AT, conditions=[scheduled()], containerStatuses=terminated(143, "Error")),
        ContainerOutcome.ENDS_WITH_POD,
        -100,
        "Container released: its pod p was deleted",
    ),
    "Refused by the kubelet": (
        read(
            phase="Failed",
            reason="OutOfcpu",
            message="Pod was rejected: Node didn't have enough resource: cpu, requested: 4000, used: 9, capacity: 4000",
        ),
        ContainerOutcome.ANOTHER_POD,
        -100,
        "Node didn't have enough resource: cpu",
    ),
    "Container could not be started": (
        read(
            phase="Failed",
            containerStatuses=terminated(
                128,
                "StartError",
                "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create "
                'failed: unable to start container process: exec: "/bin/sh": stat /bin/sh: no such file or directory',
            ),
        ),
        ContainerOutcome.ENDS_WITH_POD,
        -1000,
        'exec: "/bin/sh"',
    ),
    "Ended by itself": (
        read(phase="Failed", conditions=[scheduled()], containerStatuses=terminated(7, "Error")),
        ContainerOutcome.ENDS_WITH_POD,
        7,
        "Pod p exited with 7 (Error)",
    ),
    "Ended without an exit code": (
        read(phase="Failed", reason="DeadlineExceeded", message="Pod was active on the node longer than specified"),
        ContainerOutcome.ENDS_WITH_POD,
        -100,
        "without an exit code. DeadlineExceeded",
    ),
    "Image that cannot be pulled by its name": (
        read(
            phase="Pending",
            conditions=[scheduled()],
            containerStatuses=waiting(
                "InvalidImageName", 'Failed to apply default image tag "A b": couldn\'t parse image name'
            ),
        ),
        ContainerOutcome.ENDS,
        -1000,
        "couldn't parse image name",
    ),
    "Image pull fails for too long": (
        read(
            phase="Pending",
            conditions=[scheduled(LONG_AGO)],
            containerStatuses=waiting("ImagePullBackOff", BACK_OFF),
        ),
        ContainerOutcome.ENDS,
        -1000,
        BACK_OFF,
    ),
    "Image pull fails": (
        read(
            phase="Pending",
            conditions=[scheduled()],
            containerStatuses=waiting(
                "ErrImagePull", 'failed to pull and unpack image "none/such:1": failed to resolve reference'
            ),
        ),
        ContainerOutcome.STARTS,
        None,
        "failed to resolve reference",
    ),
    "Container cannot be created for too long": (
        read(
            phase="Pending",
            conditions=[scheduled(LONG_AGO)],
            containerStatuses=waiting("CreateContainerConfigError", 'secret "x" not found'),
        ),
        ContainerOutcome.ENDS,
        -1000,
        'secret "x" not found',
    ),
    "Container cannot be created": (
        read(
            phase="Pending",
            conditions=[scheduled()],
            containerStatuses=waiting("CreateContainerError", "failed to generate container spec"),
        ),
        ContainerOutcome.STARTS,
        None,
        "failed to generate container spec",
    ),
    "Node NotReady": (
        read(phase="Running", conditions=[condition("Ready", "False"), scheduled()], containerStatuses=RUNS),
        ContainerOutcome.RUNS,
        None,
        "is not ready",
    ),
    "Running": (
        read(phase="Running", conditions=[condition("Ready", "True"), scheduled()], containerStatuses=RUNS),
        ContainerOutcome.RUNS,
        None,
        "",
    ),
    "Unschedulable": (
        read(
            node=None,
            phase="Pending",
            conditions=[
                condition("PodScheduled", "False", "Unschedulable", "0/3 nodes are available: 3 Too many pods.")
            ],
        ),
        ContainerOutcome.WAITS,
        None,
        "cannot be scheduled: 0/3 nodes are available: 3 Too many pods.",
    ),
    "Created": (read(node=None, phase="Pending"), ContainerOutcome.WAITS, None, ""),
    "Bound": (
        read(phase="Pending", conditions=[scheduled()], containerStatuses=waiting("ContainerCreating")),
        ContainerOutcome.STARTS,
        None,
        "",
    ),
}
