"""Laws of what a pod's end means, over the whole product of what a pod may look like.

The table of lines has its cases one by one in ``test_pod_events``; here is what holds of all pods, whichever line is
theirs, so that a line that is moved, widened or narrowed is noticed where two of them overlap.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from yodel.domain.attempt import NOT_THE_APPLICATIONS_FAULT
from yodel.domain.pod import PodObservation, PodPhase
from yodel.translator import pod_events
from yodel.translator.pod_events import TABLE, ContainerOutcome, End

NOW_MS = 1_767_323_400_000
DISRUPTIONS = (
    "PreemptionByScheduler",
    "EvictionByEvictionAPI",
    "DeletionByTaintManager",
    "DeletionByPodGC",
    "TerminationByKubelet",
)
PATIENT, LATE = NOW_MS - 1_000, NOW_MS - 3_600_000
REASONS = ("", "Evicted", "Preempting", "NodeLost", "OutOfcpu", "New")
ENDS = (
    *((None, ""), (0, "Completed"), (1, "Error"), (143, "Error")),
    *((137, "OOMKilled"), (255, "Unknown"), (128, "StartError")),
)
WAITS = ("", "ContainerCreating", "ErrImagePull", "InvalidImageName", "CreateContainerError")
STATES = (*((end, "") for end in ENDS), *((ENDS[0], waits) for waits in WAITS[1:]))
"""The states of its container: one that has ended waits for nothing."""
DELETIONS = ((False, None), (True, PATIENT), (True, LATE))
OF_NODES_AND_CLUSTERS = frozenset({*DISRUPTIONS, "Evicted", "Preempting", "NodeLost"})
"""Reasons by which others act on a pod.  "Evicted" may also be its own storage, by its message, which is not here."""


def a_pod(phase: PodPhase, **changes: Any) -> PodObservation:
    return PodObservation(name="p", uid="u", resource_version="1", phase=phase, **changes)


def all_pods() -> list[PodObservation]:
    """Return pods of every phase, with every reason, end, wait, disruption and deletion, on a node or on none."""
    return [
        a_pod(
            phase,
            reason=reason,
            exit_code=exit_code,
            terminated_reason=terminated_reason,
            waiting_reason=waits,
            disruption_reason=disruption,
            deletion_requested=is_deleted,
            deletion_due_ms=due_ms,
            node_name=None if scheduled_ms is None else "node-1",
            scheduled_ms=scheduled_ms,
            created_ms=LATE,
        )
        for phase, reason, ((exit_code, terminated_reason), waits), disruption, (is_deleted, due_ms), scheduled_ms in (
            product(PodPhase, REASONS, STATES, ("", *DISRUPTIONS), DELETIONS, (None, PATIENT))
        )
    ]


@pytest.fixture(scope="module")
def meanings() -> list[tuple[PodObservation, pod_events.PodEventRow]]:
    return [(pod, pod_events.meaning_of(pod, NOW_MS)) for pod in all_pods()]


Meanings = list[tuple[PodObservation, pod_events.PodEventRow]]


def test_every_pod_means_something_and_no_line_is_never_meant(meanings: Meanings) -> None:
    never = {line.what for line in TABLE} - {line.what for _, line in meanings}
    assert never == {"Local storage limit exceeded", "Node NotReady", "Unschedulable"}  # by words that are not drawn


def test_exit_0_of_a_pod_that_is_over_is_success_unless_its_node_took_it(meanings: Meanings) -> None:
    """Whatever the cluster wanted with it meanwhile; only its kubelet's own "Evicted" and the like say otherwise."""
    for pod, _ in meanings:
        if pod_events.is_over(pod) and pod.exit_code == 0 and pod.reason not in OF_NODES_AND_CLUSTERS:
            text = pod_events.meaning_of(pod, NOW_MS).diagnostics(pod)
            assert pod_events.end_of(pod, NOW_MS) == End(0, text, awaits_agent=True), pod


def test_no_success_without_an_exit_code_of_0(meanings: Meanings) -> None:
    for pod, _ in meanings:
        for end in (pod_events.end_of(pod, NOW_MS), pod_events.end_of_gone("p", pod, NOW_MS)):
            assert end is None or end.exit_status != 0 or pod.exit_code == 0, pod


def test_pod_that_is_over_is_not_stuck_and_one_that_is_not_ends_by_patience_alone(meanings: Meanings) -> None:
    for pod, line in meanings:
        if pod_events.is_over(pod):
            assert line.what != "Pod stuck terminating", pod
            assert line.becomes not in (
                ContainerOutcome.ENDS,
                ContainerOutcome.RUNS,
                ContainerOutcome.WAITS,
                ContainerOutcome.STARTS,
            ), pod
            assert pod_events.end_of(pod, NOW_MS) is not None, pod
        elif pod_events.end_of(pod, NOW_MS) is not None:
            is_stuck = pod.deletion_due_ms == LATE
            is_unstartable = bool(pod.waiting_reason) and pod.waiting_reason != "ContainerCreating"
            assert is_stuck or (is_unstartable and not pod.deletion_requested), pod
        if pod.deletion_due_ms == LATE and not pod_events.is_over(pod):
            assert pod_events.end_of(pod, NOW_MS) is not None, pod


def test_what_nodes_and_clusters_did_is_never_the_applications_fault(meanings: Meanings) -> None:
    """Its own memory is; whoever else is to blame, the kernel's word comes first."""
    for pod, line in meanings:
        was_taken = pod.disruption_reason in OF_NODES_AND_CLUSTERS or pod.reason in OF_NODES_AND_CLUSTERS
        end = pod_events.end_of(pod, NOW_MS)
        if end is None or not was_taken or pod.exit_code == 0 or pod.terminated_reason == "OOMKilled":
            continue
        is_wait = line.becomes is ContainerOutcome.ENDS and pod.waiting_reason
        assert end.exit_status in NOT_THE_APPLICATIONS_FAULT or is_wait, pod


def test_kernels_word_on_memory_is_the_applications_fault_whatever_else_happened(meanings: Meanings) -> None:
    for pod, line in meanings:
        if pod.terminated_reason == "OOMKilled":
            assert line.end(pod).exit_status == -104, pod
            assert line.is_the_applications_fault


def test_end_without_anybody_elses_hand_is_the_process_own(meanings: Meanings) -> None:
    for pod, line in meanings:
        is_plain = not (pod.reason or pod.disruption_reason or pod.deletion_requested)
        if (
            is_plain
            and pod_events.is_over(pod)
            and pod.exit_code is not None
            and pod.terminated_reason in ("", "Error")
        ):
            assert line.end(pod).exit_status == pod.exit_code, pod
            assert line.is_the_applications_fault is None


def test_another_pod_only_where_nothing_of_it_can_have_run(meanings: Meanings) -> None:
    for pod, line in meanings:
        if line.becomes is ContainerOutcome.ANOTHER_POD:
            assert pod.phase is PodPhase.FAILED or pod.phase is PodPhase.SUCCEEDED, pod
            assert pod.exit_code is None, pod
            assert not pod.deletion_requested, pod


def test_gone_pod_ends_as_one_that_is_over_does(meanings: Meanings) -> None:
    """And one that was only seen to run, wait or start was deleted, which is nobody's fault."""
    for pod, line in meanings:
        end = pod_events.end_of_gone("p", pod, NOW_MS)
        if pod_events.is_over(pod):
            assert end == pod_events.end_of(pod, NOW_MS), pod
        elif line.becomes in (ContainerOutcome.RUNS, ContainerOutcome.WAITS, ContainerOutcome.STARTS):
            assert end == pod_events.deleted("p"), pod
        elif line.becomes is not ContainerOutcome.ANOTHER_POD:
            assert end == line.end(pod), pod
        if pod.disruption_reason and pod.exit_code is None and not pod_events.is_over(pod) and not pod.reason:
            assert end.exit_status in NOT_THE_APPLICATIONS_FAULT, pod


def test_signal_is_explained_by_what_others_did_and_by_nothing_else(meanings: Meanings) -> None:
    for pod, line in meanings:
        end = pod_events.end_by_signal(pod, NOW_MS)
        assert end is None or line.exit_status is not None, pod
        if end is None:
            assert not pod.deletion_requested or pod.exit_code == 0, pod
            assert pod.disruption_reason == "" or pod.exit_code == 0, pod
        if pod.disruption_reason and pod.exit_code not in (0, None) and not pod.reason:
            assert end is not None, pod


def test_image_has_its_patience_from_the_binding_on(meanings: Meanings) -> None:
    for pod, line in meanings:
        if pod.waiting_reason != "ErrImagePull" or pod_events.is_over(pod) or pod.deletion_requested:
            continue
        if pod.reason or pod.disruption_reason:
            continue
        is_late = pod.scheduled_ms != PATIENT  # on no node: since it was created
        assert line.becomes is (ContainerOutcome.ENDS if is_late else ContainerOutcome.STARTS), pod
        assert pod_events.may_change_unseen(pod, NOW_MS) is not is_late, pod
