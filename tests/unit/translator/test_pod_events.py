"""One case a line of the table: a pod as a real control plane and kubelet write it, and what its AM hears."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.pod_cases import CASES, NOW_MS, read
from yodel.domain.pod import PodObservation, PodPhase
from yodel.translator import pod_events
from yodel.translator.pod_events import TABLE, ContainerOutcome, End


@pytest.mark.parametrize("line", TABLE, ids=lambda line: line.what)
def test_line(line: pod_events.PodEventRow) -> None:
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
    assert [pod_events.is_terminating(pod, NOW_MS + 60_000 + late_ms) for late_ms in (0, 1)] == [True, False]
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
    assert pod_events.meaning_of(read(phase="Failed", reason=reason), NOW_MS).becomes is ContainerOutcome.ANOTHER_POD


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
