"""One case a line of the table: a pod as a real control plane and kubelet write it, and what its AM hears."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from yodel.domain.pod import PodObservation, PodPhase
from yodel.kube.decode import decode_pod
from yodel.translator import pod_events
from yodel.translator.pod_events import TABLE, Becomes, End

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

CASES: dict[str, tuple[PodObservation, Becomes, int | None, str]] = {
    "Memory limit exceeded (kernel)": (
        read(phase="Failed", containerStatuses=terminated(137, "OOMKilled")),
        Becomes.ENDS_WITH_POD,
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
        Becomes.ENDS_WITH_POD,
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
        Becomes.ENDS_WITH_POD,
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
        Becomes.ENDS_WITH_POD,
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
        Becomes.ENDS_WITH_POD,
        -100,
        "imminent node shutdown",
    ),
    "Pod stuck terminating": (
        read(phase="Running", deleted_at=LONG_AGO, conditions=[condition("Ready", "False")], containerStatuses=RUNS),
        Becomes.ENDS,
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
        Becomes.ENDS_WITH_POD,
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
        Becomes.ENDS_WITH_POD,
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
        Becomes.ENDS_WITH_POD,
        -100,
        "due to NoExecute taint",
    ),
    "Node deleted": (
        read(
            phase="Failed",
            conditions=disrupted("DeletionByPodGC", "PodGC: node no longer exists"),
            containerStatuses=RUNS,
        ),
        Becomes.ENDS_WITH_POD,
        -100,
        "PodGC: node no longer exists",
    ),
    "Ended by the kubelet for another reason": (
        read(
            phase="Failed",
            conditions=disrupted("TerminationByKubelet", "a reason of the future"),
            containerStatuses=terminated(137, "Error"),
        ),
        Becomes.ENDS_WITH_POD,
        -102,
        "a reason of the future",
    ),
    "Node crashed": (
        read(phase="Failed", containerStatuses=terminated(255, "Unknown")),
        Becomes.ENDS_WITH_POD,
        -100,
        "how pod p ended is not known",
    ),
    "Pod deleted by hand": (
        read(phase="Failed", deleted_at=BOUND_AT, conditions=[scheduled()], containerStatuses=terminated(143, "Error")),
        Becomes.ENDS_WITH_POD,
        -100,
        "Container released: its pod p was deleted",
    ),
    "Refused by the kubelet": (
        read(
            phase="Failed",
            reason="OutOfcpu",
            message="Pod was rejected: Node didn't have enough resource: cpu, requested: 4000, used: 9, capacity: 4000",
        ),
        Becomes.ANOTHER_POD,
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
        Becomes.ENDS_WITH_POD,
        -1000,
        'exec: "/bin/sh"',
    ),
    "Ended by itself": (
        read(phase="Failed", conditions=[scheduled()], containerStatuses=terminated(7, "Error")),
        Becomes.ENDS_WITH_POD,
        7,
        "Pod p exited with 7 (Error)",
    ),
    "Ended without an exit code": (
        read(phase="Failed", reason="DeadlineExceeded", message="Pod was active on the node longer than specified"),
        Becomes.ENDS_WITH_POD,
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
        Becomes.ENDS,
        -1000,
        "couldn't parse image name",
    ),
    "Image pull fails for too long": (
        read(
            phase="Pending",
            conditions=[scheduled(LONG_AGO)],
            containerStatuses=waiting("ImagePullBackOff", BACK_OFF),
        ),
        Becomes.ENDS,
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
        Becomes.STARTS,
        None,
        "failed to resolve reference",
    ),
    "Container cannot be created for too long": (
        read(
            phase="Pending",
            conditions=[scheduled(LONG_AGO)],
            containerStatuses=waiting("CreateContainerConfigError", 'secret "x" not found'),
        ),
        Becomes.ENDS,
        -1000,
        'secret "x" not found',
    ),
    "Container cannot be created": (
        read(
            phase="Pending",
            conditions=[scheduled()],
            containerStatuses=waiting("CreateContainerError", "failed to generate container spec"),
        ),
        Becomes.STARTS,
        None,
        "failed to generate container spec",
    ),
    "Node NotReady": (
        read(phase="Running", conditions=[condition("Ready", "False"), scheduled()], containerStatuses=RUNS),
        Becomes.RUNS,
        None,
        "is not ready",
    ),
    "Running": (
        read(phase="Running", conditions=[condition("Ready", "True"), scheduled()], containerStatuses=RUNS),
        Becomes.RUNS,
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
        Becomes.WAITS,
        None,
        "cannot be scheduled: 0/3 nodes are available: 3 Too many pods.",
    ),
    "Created": (read(node=None, phase="Pending"), Becomes.WAITS, None, ""),
    "Bound": (
        read(phase="Pending", conditions=[scheduled()], containerStatuses=waiting("ContainerCreating")),
        Becomes.STARTS,
        None,
        "",
    ),
}


@pytest.mark.parametrize("line", TABLE, ids=lambda line: line.what)
def test_line(line: pod_events.Line) -> None:
    pod, becomes, exit_status, words = CASES[line.what]
    meaning = pod_events.meaning_of(pod, NOW_MS)
    assert meaning.what == line.what
    assert meaning.becomes is becomes
    assert words in meaning.diagnostics(pod)
    if exit_status is not None:
        assert meaning.end(pod).exit_status == exit_status


def test_every_line_has_one_case() -> None:
    assert [line.what for line in TABLE] == sorted(CASES, key=[line.what for line in TABLE].index)


@pytest.mark.parametrize(
    ("what", "is_fault"),
    [
        ("Memory limit exceeded (kernel)", True),
        ("Local storage limit exceeded", True),
        ("Image pull fails for too long", True),
        ("Evicted by the kubelet (node pressure)", False),
        ("Preempted by a scheduler", False),
        ("Drained, or evicted through the API", False),
        ("Node crashed", False),
        ("Pod deleted by hand", False),
        ("Ended by itself", None),
        ("Running", None),
    ],
)
def test_whose_fault_it_is(what: str, is_fault: bool | None) -> None:
    (line,) = [line for line in TABLE if line.what == what]
    assert line.is_the_applications_fault is is_fault


def a_pod(phase: PodPhase, **changes: Any) -> PodObservation:
    return PodObservation(name="p", uid="u", resource_version="1", phase=phase, **changes)


@pytest.mark.parametrize("phase", [PodPhase.PENDING, PodPhase.RUNNING, PodPhase.UNKNOWN])
def test_pod_that_has_not_ended_tells_no_end(phase: PodPhase) -> None:
    assert pod_events.end_of(a_pod(phase), NOW_MS) is None
    assert pod_events.end_of(a_pod(phase, deletion_requested=True, deletion_due_ms=NOW_MS), NOW_MS) is None


def test_terminating_pod_has_a_minute_after_its_grace() -> None:
    pod = a_pod(PodPhase.RUNNING, deletion_requested=True, deletion_due_ms=NOW_MS)
    assert pod_events.may_change_unseen(pod, NOW_MS)
    assert pod_events.end_of(pod, NOW_MS + 60_000) is None
    end = pod_events.end_of(pod, NOW_MS + 60_001)
    assert end is not None
    assert end.exit_status == -100


@pytest.mark.parametrize(
    ("pod", "exit_status"),
    [
        (a_pod(PodPhase.SUCCEEDED, exit_code=0, terminated_reason="Completed"), 0),
        (a_pod(PodPhase.SUCCEEDED, exit_code=0, deletion_requested=True), 0),
        (a_pod(PodPhase.FAILED, exit_code=143, deletion_requested=True), -100),
        (a_pod(PodPhase.FAILED, exit_code=137, terminated_reason="ContainerStatusUnknown"), -100),
        (a_pod(PodPhase.FAILED, exit_code=137, reason="NodeLost"), -100),
        (a_pod(PodPhase.FAILED, reason="UnexpectedAdmissionError"), -100),
    ],
)
def test_end_of_a_pod_in_yarns_words(pod: PodObservation, exit_status: int) -> None:
    end = pod_events.end_of(pod, NOW_MS)
    assert end is not None
    assert end.exit_status == exit_status


def test_pod_that_is_gone_is_told_by_how_it_was_last_seen() -> None:
    preempted, _, _, _ = CASES["Preempted by a scheduler"]
    assert pod_events.end_of_gone("p", preempted, NOW_MS).exit_status == -102
    assert pod_events.end_of_gone("p", a_pod(PodPhase.RUNNING), NOW_MS) == pod_events.deleted("p")
    assert pod_events.end_of_gone("p", None, NOW_MS) == End(-100, "Container released: its pod p was deleted")
    finished = a_pod(PodPhase.FAILED, exit_code=3, terminated_reason="Error")
    assert pod_events.end_of_gone("p", finished, NOW_MS).exit_status == 3


def test_signal_is_explained_by_what_kubernetes_did() -> None:
    preempted, _, _, _ = CASES["Preempted by a scheduler"]
    end = pod_events.end_by_signal(preempted, NOW_MS)
    assert end is not None
    assert end.exit_status == -102
    assert pod_events.end_by_signal(a_pod(PodPhase.RUNNING), NOW_MS) is None
    assert pod_events.end_by_signal(a_pod(PodPhase.FAILED, exit_code=143), NOW_MS) is None


def test_what_kubernetes_quotes_is_bounded() -> None:
    pod = a_pod(PodPhase.FAILED, reason="Evicted", message="x" * 100_000)
    assert len(pod_events.meaning_of(pod, NOW_MS).diagnostics(pod)) < 3_000


@pytest.mark.parametrize(("status", "is_it"), [(137, True), (143, True), (0, False), (1, False), (-100, False)])
def test_exits_that_a_deletion_would_cause_too(status: int, is_it: bool) -> None:
    assert pod_events.is_by_signal(status) is is_it


@pytest.mark.parametrize(
    "reason", ["OutOfpods", "OutOfkubernetes.io/batch-cpu", "OutOfexample.com/gpu_2", "NodeAffinity", "TaintToleration"]
)
def test_refusals_of_kubelets_name_any_resource(reason: str) -> None:
    assert pod_events.meaning_of(read(phase="Failed", reason=reason), NOW_MS).becomes is Becomes.ANOTHER_POD


DISRUPTIONS = (
    "PreemptionByScheduler",
    "EvictionByEvictionAPI",
    "DeletionByTaintManager",
    "DeletionByPodGC",
    "TerminationByKubelet",
)


@pytest.mark.parametrize("is_deleted", [False, True])
@pytest.mark.parametrize("reason", ["", *DISRUPTIONS])
def test_exit_0_is_success_whatever_else_happened_to_the_pod(reason: str, is_deleted: bool) -> None:
    pod = a_pod(PodPhase.SUCCEEDED, exit_code=0, disruption_reason=reason, deletion_requested=is_deleted)
    end = pod_events.end_of(pod, NOW_MS)
    assert end is not None
    assert end.exit_status == 0


@pytest.mark.parametrize("exit_code", [0, 3])
def test_pod_that_ended_is_not_stuck_however_long_its_object_stays(exit_code: int) -> None:
    phase = PodPhase.SUCCEEDED if exit_code == 0 else PodPhase.FAILED
    pod = a_pod(phase, exit_code=exit_code, deletion_requested=True, deletion_due_ms=NOW_MS - 3_600_000)
    meaning = pod_events.meaning_of(pod, NOW_MS)
    assert meaning.what != "Pod stuck terminating"
    assert meaning.end(pod).exit_status == (0 if exit_code == 0 else -100)


def test_pod_that_is_being_deleted_waits_for_no_image_any_more() -> None:
    waits = a_pod(PodPhase.PENDING, waiting_reason="ErrImagePull", scheduled_ms=1, created_ms=1)
    assert pod_events.meaning_of(waits, NOW_MS).what == "Image pull fails for too long"
    leaves = a_pod(
        PodPhase.PENDING, waiting_reason="ErrImagePull", scheduled_ms=1, created_ms=1, deletion_requested=True
    )
    assert pod_events.meaning_of(leaves, NOW_MS).what == "Pod deleted by hand"


def test_end_of_which_nothing_is_known_is_no_success() -> None:
    pod = a_pod(PodPhase.FAILED)
    end = pod_events.end_of(pod, NOW_MS)
    assert end is not None
    assert end.exit_status == -100
