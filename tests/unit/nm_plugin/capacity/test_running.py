"""Which containers are bounded."""

from __future__ import annotations

from dataclasses import replace

from nm_plugin.capacity.running import RunningBatch
from nm_plugin.container.life import Container, State
from tests.support.node_agent import container_id
from yodel.domain.resource import Resource


def _container(number: int, uid: int | None, state: State = State.RUNNING) -> Container:
    found = container_id(number)
    return Container(
        container_id=found, user="u", user_uid=uid, resource=Resource(64, 2), state=state, local_dir=f"/l/a/{found}"
    )


def test_running_containers_are_described_once_and_again_when_they_have_changed() -> None:
    there = [
        replace(_container(1, 7), is_master=True),
        _container(2, 7),
        _container(3, None),
        _container(4, 7, State.LOCALIZING),
    ]
    running = RunningBatch(lambda: there)
    first = running()
    assert [(one.container_id, one.owner.user_uid, one.memory_mib, one.vcores, one.is_master) for one in first] == [
        (container_id(1), 7, 64, 2, True),
        (container_id(2), 7, 64, 2, False),
    ]
    there[1:3] = [replace(there[2], user_uid=8, resource=Resource(128, 4))]
    again = running()
    assert again[0] is first[0]
    assert [(one.container_id, one.owner.user_uid, one.memory_mib, one.vcores) for one in again[1:]] == [
        (container_id(3), 8, 128, 4)
    ]
