from __future__ import annotations

from typing import Any

import pytest

from yodel.domain.pod import PodObservation, PodPhase
from yodel.translator import pod_events
from yodel.translator.pod_events import End


def a_pod(phase: PodPhase, **changes: Any) -> PodObservation:
    return PodObservation(name="p", uid="u", resource_version="1", phase=phase, **changes)


@pytest.mark.parametrize("phase", [PodPhase.PENDING, PodPhase.RUNNING, PodPhase.UNKNOWN])
def test_pod_that_has_not_ended_tells_no_end(phase: PodPhase) -> None:
    assert pod_events.end_of(a_pod(phase)) is None
    assert pod_events.end_of(a_pod(phase, deletion_requested=True)) is None


FAILED = PodPhase.FAILED


@pytest.mark.parametrize(
    ("pod", "exit_status", "words"),
    [
        (a_pod(PodPhase.SUCCEEDED, exit_code=0, terminated_reason="Completed"), 0, "exited with 0 (Completed)"),
        (a_pod(FAILED, exit_code=7, terminated_reason="Error"), 7, "exited with 7 (Error)"),
        (a_pod(FAILED, exit_code=7), 7, "exited with 7"),
        (a_pod(FAILED, exit_code=137, terminated_reason="OOMKilled"), -104, "'PHYSICAL' memory limit"),
        (a_pod(FAILED, exit_code=137, reason="Evicted", message="disk"), -102, "Evicted: disk"),
        (a_pod(FAILED, reason="Preempting"), -102, "Preempting"),
        (a_pod(FAILED, exit_code=137, reason="NodeLost"), -100, "NodeLost"),
        (a_pod(FAILED, exit_code=143, reason="NodeShutdown"), -100, "NodeShutdown"),
        (a_pod(FAILED), -100, "without an exit code"),
        (a_pod(FAILED, exit_code=143, deletion_requested=True), -100, "was deleted"),
    ],
)
def test_end_of_a_pod_in_yarns_words(pod: PodObservation, exit_status: int, words: str) -> None:
    end = pod_events.end_of(pod)
    assert end is not None
    assert end.exit_status == exit_status
    assert words in end.diagnostics


def test_deleted_pod_is_not_the_applications_fault() -> None:
    assert pod_events.deleted("p") == End(-100, "Container released: its pod p was deleted")


@pytest.mark.parametrize(("status", "is_it"), [(137, True), (143, True), (0, False), (1, False), (-100, False)])
def test_exits_that_a_deletion_would_cause_too(status: int, is_it: bool) -> None:
    assert pod_events.is_by_signal(status) is is_it
