"""Containers as their pods are bounded."""

from __future__ import annotations

from dataclasses import replace

from nm_plugin.capacity.running import Batches
from nm_plugin.container.life import Container, LifeState
from tests.support.node_agent import container_id
from yodel.domain.resource import Resource


def _container(number: int, pod_uid: str, state: LifeState = LifeState.RUNNING) -> Container:
    return Container(
        container_id=container_id(number), user="u", pod_uid=pod_uid, resource=Resource(64, 2), state=state
    )


def test_containers_are_described_once_and_again_when_they_have_changed() -> None:
    there = [replace(_container(1, "0a"), is_master=True), _container(2, ""), _container(4, "0c", LifeState.LOCALIZING)]
    running = Batches(lambda: there)
    first = running()
    assert [(one.pod_uid, one.memory_mib, one.vcores, one.is_master, one.is_running) for one in first] == [
        ("0a", 64, 2, True, True),
        ("", 64, 2, False, True),
        ("0c", 64, 2, False, False),
    ]
    there[1:] = [replace(there[1], pod_uid="0b", resource=Resource(128, 4))]
    again = running()
    assert again[0] is first[0]
    assert [(one.container_id, one.pod_uid, one.memory_mib, one.vcores) for one in again[1:]] == [
        (container_id(2), "0b", 128, 4)
    ]
