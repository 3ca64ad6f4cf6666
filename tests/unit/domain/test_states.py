"""The public enums carry the numbers of yarn_protos.proto and yarn_service_protos.proto."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import pytest

from yodel.domain import states
from yodel.domain.queues.queue import QueueState
from yodel.hadoop_pb import yarn_protos_pb2 as pb


@pytest.mark.parametrize(
    ("ours", "theirs", "prefix"),
    [
        (states.YarnApplicationState, pb.YarnApplicationStateProto, ""),
        (states.FinalApplicationStatus, pb.FinalApplicationStatusProto, "APP_"),
        (states.YarnApplicationAttemptState, pb.YarnApplicationAttemptStateProto, "APP_ATTEMPT_"),
        (states.NodeState, pb.NodeStateProto, "NS_"),
        (states.ExecutionType, pb.ExecutionTypeProto, ""),
        (QueueState, pb.QueueStateProto, "Q_"),
    ],
)
def test_enum_has_the_names_and_numbers_of_the_wire(ours: type[IntEnum], theirs: Any, prefix: str) -> None:
    assert {f"{prefix}{state.name}": state.value for state in ours} == dict(theirs.items())


def test_every_attempt_state_has_a_public_one() -> None:
    assert {state.name for state in states.AttemptState} <= {s.name for s in states.YarnApplicationAttemptState}


@pytest.mark.parametrize("kind", [states.ApplicationState, states.AttemptState])
def test_three_states_are_final(kind: type[states.ApplicationState] | type[states.AttemptState]) -> None:
    assert {state.name for state in kind if state.is_final} == {"FINISHED", "FAILED", "KILLED"}
