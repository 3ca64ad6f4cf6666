"""Containers on the wire."""

from __future__ import annotations

import pytest

from nm_plugin.container.life import Container, LifeState
from nm_plugin.container.statuses import container_status, registration_status
from tests.support.node_agent import container_id
from yodel.domain.resource import Resource
from yodel.hadoop_pb import yarn_protos_pb2 as pb


def in_state(state: LifeState) -> Container:
    return Container(
        container_id=container_id(2),
        user="alice",
        resource=Resource(512, 1),
        state=state,
        exit_status=-105,
        priority=4,
        version=2,
        creation_ms=9,
        allocation_request_id=5,
    )


@pytest.mark.parametrize(
    ("state", "public", "exit_status"),
    [
        (LifeState.NEW, pb.C_RUNNING, -1000),
        (LifeState.LOCALIZING, pb.C_RUNNING, -1000),
        (LifeState.SCHEDULED, pb.C_RUNNING, -1000),
        (LifeState.RUNNING, pb.C_RUNNING, -1000),
        (LifeState.KILLING, pb.C_RUNNING, -1000),
        (LifeState.LOCALIZATION_FAILED, pb.C_COMPLETE, -105),
        (LifeState.EXITED_WITH_SUCCESS, pb.C_COMPLETE, -105),
        (LifeState.EXITED_WITH_FAILURE, pb.C_COMPLETE, -105),
        (LifeState.DONE, pb.C_COMPLETE, -105),
    ],
)
def test_public_state_and_exit_status(state: LifeState, public: int, exit_status: int) -> None:
    status = container_status(in_state(state), {"HOST": "h"})
    assert (status.state, status.exit_status) == (public, exit_status)
    assert status.capability.memory == 512
    assert status.container_attributes[0].key == "HOST"


def test_registration_carries_what_a_new_rm_needs() -> None:
    status = registration_status(in_state(LifeState.RUNNING))
    assert (status.priority.priority, status.version, status.creation_time) == (4, 2, 9)
    assert (status.allocation_request_id, status.container_state) == (5, pb.C_RUNNING)
