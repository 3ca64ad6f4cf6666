from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from yodel.domain.pod import PodObservation, PodPhase


def test_phases_are_kubernetes_own_words() -> None:
    assert [phase.value for phase in PodPhase] == ["Pending", "Running", "Succeeded", "Failed", "Unknown"]


def test_pod_just_seen_is_pending_and_has_neither_node_nor_exit() -> None:
    pod = PodObservation(name="p", uid="u", resource_version="1")
    assert (pod.phase, pod.node_name, pod.exit_code, pod.deletion_requested) == (PodPhase.PENDING, None, None, False)
    with pytest.raises(FrozenInstanceError):
        pod.name = "q"  # type: ignore[misc]
