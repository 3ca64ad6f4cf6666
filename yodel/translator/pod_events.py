"""Maps what Kubernetes does to a pod to the state of its YARN container, in one table.

The first line that applies is used; ``docs/pod-to-container.md`` is made from the same lines.  The node agent is the
first to know of an end (an exit file is seconds ahead of the kubelet's status); this table is used when there is no
agent to ask, when the pod is gone, or when the process died of a signal that Kubernetes can explain.

Statuses and not texts decide about blame, because ApplicationMasters look at the exit status only.  ABORTED and
PREEMPTED are nobody's fault in Spark (``YarnAllocator``), MapReduce (``RMContainerAllocator``) and the RM itself
(``RMAppAttemptImpl.shouldCountTowardsMaxAttemptRetry``); DISKS_FAILED is one in MapReduce and therefore not used.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from yodel.domain.attempt import NOT_THE_APPLICATIONS_FAULT
from yodel.domain.pod import PodObservation, PodPhase
from yodel.domain.states import ContainerExitStatus

SIGKILLED, SIGTERMED = 137, 143
IMAGE_PATIENCE_S = 120.0
"""How long a kubelet may try to pull an image or to create a container before the container has failed: registries and
secrets are repaired within minutes or not at all, and its own pauses between two tries grow to five minutes."""
TERMINATING_PATIENCE_S = 60.0
"""How long after its grace period a pod may go on terminating: the kubelet that should end it is not there."""
QUOTED_MAX = 2_000
"""Characters of a message of Kubernetes' that go into diagnostics."""

_STORAGE = re.compile(r"local ephemeral storage|ephemeral local storage|Usage of EmptyDir volume")
_NOT_ADMITTED = re.compile(
    r"OutOf[\w./-]+|(Unexpected)?Admission\w*|Unexpected\w*|UnknownReason|TaintToleration|NodeAffinity|NodeName|"
    r"NodePorts|Topology\w*|InvalidNodeInfo|PodOSSelectorNodeLabelDoesNotMatch|\w*NotSupported|PodFeatureUnsupported|"
    r"\w*Forbidden|AppArmor|ResourceManager\w*"
)
_NODE_WENT = ("NodeLost", "NodeShutdown", "Shutdown", "Terminated")
_NO_STATUS = ("Unknown", "ContainerStatusUnknown")
_BAD_IMAGE_NAME = ("InvalidImageName", "ErrImageNeverPull")
_NO_IMAGE = (
    "ErrImagePull",
    "ImagePullBackOff",
    "ImageInspectError",
    "RegistryUnavailable",
    "SignatureValidationFailed",
)
_NOT_CREATED = ("CreateContainerError", "CreateContainerConfigError", "RunContainerError", "PreCreateHookError")
_NOT_STARTED = ("StartError", "ContainerCannotRun")


@dataclass(frozen=True, slots=True)
class End:
    """Describes the end of a container in YARN's words.  ``awaits_agent``: its node agent may report more, and is
    waited for."""

    exit_status: int
    diagnostics: str
    awaits_agent: bool = False


class ContainerOutcome(Enum):
    """Lists the effects of a line on the container."""

    WAITS = "waits to be scheduled"
    STARTS = "is scheduled, not started yet"
    RUNS = "continues"
    ANOTHER_POD = "gets another pod if the ApplicationMaster does not have it yet; otherwise it ends"
    ENDS_WITH_POD = "ends when its pod has ended or is gone"
    ENDS = "ends at once"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodEventRow:
    """One line of the table.

    ``seen`` says in Kubernetes' fields what ``applies`` tests, which gets the pod and the time in epoch milliseconds.
    ``exit_status`` None means the process's own.  ``text`` is a template over the pod.
    """

    what: str
    seen: str
    applies: Callable[[PodObservation, int], bool]
    becomes: ContainerOutcome
    exit_status: ContainerExitStatus | None = None
    text: str = ""
    awaits_agent: bool = False
    """The process ended by itself: its node agent has its last words."""

    @property
    def is_the_applications_fault(self) -> bool | None:
        """Return True if an end counts against the application; None if the process's exit decides, or nothing ends."""
        return None if self.exit_status is None else self.exit_status not in NOT_THE_APPLICATIONS_FAULT

    def diagnostics(self, pod: PodObservation) -> str:
        return " ".join(self.text.format(pod=pod, why=_why(pod)).replace("()", "").split())

    def end(self, pod: PodObservation) -> End:
        """The end this line tells of.  Only for lines that end something."""
        status = self.exit_status if self.exit_status is not None else pod.exit_code
        known = ContainerExitStatus.ABORTED if status is None else int(status)
        return End(known, self.diagnostics(pod), self.awaits_agent)


def _why(pod: PodObservation) -> str:
    """Kubernetes' own words, the most telling first."""
    pairs = (
        (pod.reason, pod.message),
        (pod.disruption_reason, pod.disruption_message),
        (pod.waiting_reason, pod.waiting_message),
        (pod.terminated_reason, pod.terminated_message),
    )
    return "; ".join(f"{reason}: {message}".removesuffix(": ") for reason, message in pairs if reason)[:QUOTED_MAX]


def is_over(pod: PodObservation) -> bool:
    """The kubelet or the pod garbage collector has said that nothing of it runs."""
    return pod.phase in (PodPhase.SUCCEEDED, PodPhase.FAILED)


def _disrupted(*reasons: str) -> Callable[[PodObservation, int], bool]:
    def applies(pod: PodObservation, now_ms: int) -> bool:
        return pod.disruption_reason in reasons and pod.exit_code != 0

    return applies


def _waits(*reasons: str) -> Callable[[PodObservation, int], bool]:
    def applies(pod: PodObservation, now_ms: int) -> bool:
        return pod.waiting_reason in reasons and not is_over(pod) and not pod.deletion_requested

    return applies


def _waits_too_long(*reasons: str) -> Callable[[PodObservation, int], bool]:
    def applies(pod: PodObservation, now_ms: int) -> bool:
        since_ms = pod.scheduled_ms or pod.created_ms
        return _waits(*reasons)(pod, now_ms) and now_ms - since_ms > IMAGE_PATIENCE_S * 1000

    return applies


def is_terminating(pod: PodObservation, now_ms: int) -> bool:
    """Return True if the pod was deleted and is expected to be gone soon."""
    return pod.deletion_requested and not _is_stuck(pod, now_ms)


def _is_stuck(pod: PodObservation, now_ms: int) -> bool:
    due_ms = pod.deletion_due_ms
    return due_ms is not None and not is_over(pod) and now_ms - due_ms > TERMINATING_PATIENCE_S * 1000


ABORTED, PREEMPTED = ContainerExitStatus.ABORTED, ContainerExitStatus.PREEMPTED
INVALID = ContainerExitStatus.INVALID

DELETED = PodEventRow(
    what="Pod deleted by hand",
    seen="`metadata.deletionTimestamp` without a `DisruptionTarget` condition, or the pod is gone",
    applies=lambda pod, _: pod.deletion_requested and pod.exit_code != 0,
    becomes=ContainerOutcome.ENDS_WITH_POD,
    exit_status=ABORTED,
    text="Container released: its pod {pod.name} was deleted {why}",
)

TABLE: tuple[PodEventRow, ...] = (
    PodEventRow(
        what="Memory limit exceeded (kernel)",
        seen="`terminated.reason` `OOMKilled`",
        applies=lambda pod, _: pod.terminated_reason == "OOMKilled",
        becomes=ContainerOutcome.ENDS_WITH_POD,
        exit_status=ContainerExitStatus.KILLED_EXCEEDED_PMEM,
        text="Container of pod {pod.name} is running beyond the 'PHYSICAL' memory limit: OOMKilled by the kernel. "
        "Killing container. {pod.message}",
        awaits_agent=True,
    ),
    PodEventRow(
        what="Local storage limit exceeded",
        seen="`status.reason` `Evicted`, `status.message` names the pod's own storage limit",
        applies=lambda pod, _: pod.reason == "Evicted" and bool(_STORAGE.search(pod.message)),
        becomes=ContainerOutcome.ENDS_WITH_POD,
        exit_status=ContainerExitStatus.KILLED_FOR_EXCESS_LOGS,
        text="Container of pod {pod.name} wrote more than its local storage limit. {why}",
    ),
    PodEventRow(
        what="Evicted by the kubelet (node pressure)",
        seen="`status.reason` `Evicted`",
        applies=lambda pod, _: pod.reason == "Evicted",
        becomes=ContainerOutcome.ENDS_WITH_POD,
        exit_status=PREEMPTED,
        text="Container preempted: pod {pod.name} was evicted by its node. {why}",
    ),
    PodEventRow(
        what="Preempted by the kubelet (critical pod)",
        seen="`status.reason` `Preempting`",
        applies=lambda pod, _: pod.reason in ("Preempting", "Preempted"),
        becomes=ContainerOutcome.ENDS_WITH_POD,
        exit_status=PREEMPTED,
        text="Container preempted: pod {pod.name} was preempted for a critical pod. {why}",
    ),
    PodEventRow(
        what="Node shut down, or lost",
        seen="`status.reason` `Terminated`, `NodeShutdown` or `NodeLost`",
        applies=lambda pod, now_ms: pod.reason in _NODE_WENT and not _is_stuck(pod, now_ms),
        becomes=ContainerOutcome.ENDS_WITH_POD,
        exit_status=ABORTED,
        text="Container released on a *lost* node: pod {pod.name}. {why}",
    ),
    PodEventRow(
        what="Pod stuck terminating",
        seen=f"`metadata.deletionTimestamp` more than {TERMINATING_PATIENCE_S:g} s ago and no end",
        applies=_is_stuck,
        becomes=ContainerOutcome.ENDS,
        exit_status=ABORTED,
        text="Container released on a *lost* node: pod {pod.name} does not finish terminating. {why}",
    ),
    PodEventRow(
        what="Preempted by a scheduler",
        seen="`DisruptionTarget` with reason `PreemptionByScheduler`",
        applies=_disrupted("PreemptionByScheduler"),
        becomes=ContainerOutcome.ENDS_WITH_POD,
        exit_status=PREEMPTED,
        text="Container preempted by scheduler: pod {pod.name}. {why}",
    ),
    PodEventRow(
        what="Drained, or evicted through the API",
        seen="`DisruptionTarget` with reason `EvictionByEvictionAPI`",
        applies=_disrupted("EvictionByEvictionAPI"),
        becomes=ContainerOutcome.ENDS_WITH_POD,
        exit_status=ABORTED,
        text="Container released on a *lost* node: pod {pod.name} was evicted through the API. {why}",
    ),
    PodEventRow(
        what="NoExecute taint (also of a node NotReady for too long)",
        seen="`DisruptionTarget` with reason `DeletionByTaintManager`",
        applies=_disrupted("DeletionByTaintManager"),
        becomes=ContainerOutcome.ENDS_WITH_POD,
        exit_status=ABORTED,
        text="Container released on a *lost* node: pod {pod.name} was evicted by a taint of its node. {why}",
    ),
    PodEventRow(
        what="Node deleted",
        seen="`DisruptionTarget` with reason `DeletionByPodGC`",
        applies=_disrupted("DeletionByPodGC"),
        becomes=ContainerOutcome.ENDS_WITH_POD,
        exit_status=ABORTED,
        text="Container released on a *lost* node: the node of pod {pod.name} was deleted. {why}",
    ),
    PodEventRow(
        what="Ended by the kubelet for another reason",
        seen="`DisruptionTarget` with reason `TerminationByKubelet`",
        applies=_disrupted("TerminationByKubelet"),
        becomes=ContainerOutcome.ENDS_WITH_POD,
        exit_status=PREEMPTED,
        text="Container preempted: pod {pod.name} was ended by its node. {why}",
    ),
    PodEventRow(
        what="Node crashed",
        seen="`terminated.reason` `Unknown` (exit code 255) or `ContainerStatusUnknown` (137)",
        applies=lambda pod, _: pod.terminated_reason in _NO_STATUS,
        becomes=ContainerOutcome.ENDS_WITH_POD,
        exit_status=ABORTED,
        text="Container released on a *lost* node: the outcome of pod {pod.name} is not known. {why}",
    ),
    DELETED,
    PodEventRow(
        what="Refused by the kubelet",
        seen="phase `Failed`, `status.reason` `OutOfcpu`, `OutOfmemory`, `UnexpectedAdmissionError`, `NodeAffinity`, "
        "…; no container statuses",
        applies=lambda pod, _: is_over(pod) and pod.exit_code is None and bool(_NOT_ADMITTED.fullmatch(pod.reason)),
        becomes=ContainerOutcome.ANOTHER_POD,
        exit_status=ABORTED,
        text="Container released: its node did not admit pod {pod.name}. {why}",
    ),
    PodEventRow(
        what="Container could not be started",
        seen="`terminated.reason` `StartError` or `ContainerCannotRun` (exit code 128 or 127)",
        applies=lambda pod, _: pod.terminated_reason in _NOT_STARTED,
        becomes=ContainerOutcome.ENDS_WITH_POD,
        exit_status=INVALID,
        text="Exception from container-launch: pod {pod.name} could not be started. {why}",
    ),
    PodEventRow(
        what="Ended by itself",
        seen="phase `Succeeded` or `Failed`, `terminated.exitCode`",
        applies=lambda pod, _: is_over(pod) and pod.exit_code is not None,
        becomes=ContainerOutcome.ENDS_WITH_POD,
        text="Pod {pod.name} exited with {pod.exit_code} ({pod.terminated_reason})",
        awaits_agent=True,
    ),
    PodEventRow(
        what="Ended without an exit code",
        seen="phase `Succeeded` or `Failed`, nothing else",
        applies=lambda pod, _: is_over(pod),
        becomes=ContainerOutcome.ENDS_WITH_POD,
        exit_status=ABORTED,
        text="Pod {pod.name} ended without an exit code. {why}",
    ),
    PodEventRow(
        what="Image that cannot be pulled by its name",
        seen="`waiting.reason` `InvalidImageName` or `ErrImageNeverPull`",
        applies=_waits(*_BAD_IMAGE_NAME),
        becomes=ContainerOutcome.ENDS,
        exit_status=INVALID,
        text="Exception from container-launch: no image for pod {pod.name}. {why}",
    ),
    PodEventRow(
        what="Image pull fails for too long",
        seen=f"`waiting.reason` `ErrImagePull` or `ImagePullBackOff`, {IMAGE_PATIENCE_S:g} s after the pod was bound",
        applies=_waits_too_long(*_NO_IMAGE),
        becomes=ContainerOutcome.ENDS,
        exit_status=INVALID,
        text="Exception from container-launch: no image for pod {pod.name}. {why}",
    ),
    PodEventRow(
        what="Image pull fails",
        seen="`waiting.reason` `ErrImagePull` or `ImagePullBackOff`",
        applies=_waits(*_NO_IMAGE),
        becomes=ContainerOutcome.STARTS,
        text="Pod {pod.name} waits for its image. {why}",
    ),
    PodEventRow(
        what="Container cannot be created for too long",
        seen="`waiting.reason` `CreateContainerError`, `CreateContainerConfigError` or `RunContainerError`, "
        f"{IMAGE_PATIENCE_S:g} s after the pod was bound",
        applies=_waits_too_long(*_NOT_CREATED),
        becomes=ContainerOutcome.ENDS,
        exit_status=INVALID,
        text="Exception from container-launch: pod {pod.name} could not be created. {why}",
    ),
    PodEventRow(
        what="Container cannot be created",
        seen="`waiting.reason` `CreateContainerError`, `CreateContainerConfigError` or `RunContainerError`",
        applies=_waits(*_NOT_CREATED),
        becomes=ContainerOutcome.STARTS,
        text="Pod {pod.name} cannot be created yet. {why}",
    ),
    PodEventRow(
        what="Node NotReady",
        seen="phase `Running`, condition `Ready` `False`; it ends when its agent is lost or by the NoExecute taint",
        applies=lambda pod, _: pod.phase in (PodPhase.RUNNING, PodPhase.UNKNOWN) and pod.is_ready is False,
        becomes=ContainerOutcome.RUNS,
        text="The node of pod {pod.name} is not ready",
    ),
    PodEventRow(
        what="Running",
        seen="phase `Running`",
        applies=lambda pod, _: pod.phase in (PodPhase.RUNNING, PodPhase.UNKNOWN),
        becomes=ContainerOutcome.RUNS,
    ),
    PodEventRow(
        what="Unschedulable",
        seen="condition `PodScheduled` `False`",
        applies=lambda pod, _: pod.node_name is None and bool(pod.unschedulable_message),
        becomes=ContainerOutcome.WAITS,
        text="Pod {pod.name} cannot be scheduled: {pod.unschedulable_message}",
    ),
    PodEventRow(
        what="Created",
        seen="phase `Pending`, no `spec.nodeName`",
        applies=lambda pod, _: pod.node_name is None,
        becomes=ContainerOutcome.WAITS,
    ),
    PodEventRow(
        what="Bound",
        seen="phase `Pending`, `spec.nodeName`",
        applies=lambda pod, _: True,
        becomes=ContainerOutcome.STARTS,
    ),
)


def meaning_of(pod: PodObservation, now_ms: int) -> PodEventRow:
    """The first line that applies; the last applies to everything."""
    return next(line for line in TABLE if line.applies(pod, now_ms))


def end_of(pod: PodObservation, now_ms: int) -> End | None:
    """The end that a pod's status tells; None while it has not ended.

    One that is stuck ends by whatever is known of it: of a main container that ran out of memory while another
    container goes on, that.
    """
    line = meaning_of(pod, now_ms)
    if line.becomes is ContainerOutcome.ENDS or is_over(pod) or _is_stuck(pod, now_ms):
        return line.end(pod)
    return None


def end_of_gone(name: str, last: PodObservation | None, now_ms: int) -> End:
    """The end of a container whose pod is not there any more; ``last`` is how it was last seen."""
    if last is not None:
        line = meaning_of(last, now_ms)
        if is_over(last) or line.becomes in (ContainerOutcome.ENDS, ContainerOutcome.ENDS_WITH_POD):
            return line.end(last)
    return deleted(name)


def end_by_signal(pod: PodObservation, now_ms: int) -> End | None:
    """Kubernetes' explanation for a process that died of a signal: None when it has none."""
    line = meaning_of(pod, now_ms)
    explains = line.exit_status is not None and line.becomes in (ContainerOutcome.ENDS, ContainerOutcome.ENDS_WITH_POD)
    return line.end(pod) if explains else None


def may_change_unseen(pod: PodObservation, now_ms: int) -> bool:
    """Time alone may change what it means: it has to be looked at again."""
    return not is_over(pod) and (pod.deletion_requested or meaning_of(pod, now_ms).becomes is ContainerOutcome.STARTS)


def deleted(pod_name: str) -> End:
    """Nobody saw how it went: not the application's fault (ABORTED, as a container on a lost node)."""
    return End(ContainerExitStatus.ABORTED, f"Container released: its pod {pod_name} was deleted")


def is_by_signal(exit_status: int) -> bool:
    """An exit that a deletion of the pod would cause too."""
    return exit_status in (SIGKILLED, SIGTERMED)
