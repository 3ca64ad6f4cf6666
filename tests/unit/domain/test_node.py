from __future__ import annotations

from typing import Any

import pytest

from tests.support.records import a_node
from yodel.domain.effects import NodeChanged, NodeRelabelled, StopContainersOnNode
from yodel.domain.events import (
    NodeCapabilityOrdered,
    NodeDecommissioned,
    NodeDecommissionStarted,
    NodeExpired,
    NodeHealthReported,
    NodePlaced,
    NodeRecommissioned,
    NodeRegistered,
    NodeUnregistered,
)
from yodel.domain.node import NODE_MACHINE, Node
from yodel.domain.resource import Resource
from yodel.domain.states import NodeState
from yodel.errors import IllegalTransition

NEW = a_node()
REGISTERED = NodeRegistered(8042, Resource(8192, 8), "k8s-node-1", "3.5.0", 10)


def after(node: Node, *events: Any) -> Node:
    for event in events:
        node = NODE_MACHINE.apply(node, event).entity
    return node


RUNNING = after(NEW, REGISTERED)


def test_registered_node_is_usable_with_what_it_said() -> None:
    assert RUNNING.is_usable
    assert (RUNNING.capability, RUNNING.kubernetes_node_name) == (Resource(8192, 8), "k8s-node-1")
    assert (RUNNING.version, RUNNING.last_health_ms, RUNNING.http_address) == ("3.5.0", 10, "node-1:8042")
    assert NODE_MACHINE.apply(NEW, REGISTERED).effects == (NodeChanged(NEW.id),)


def test_unhealthy_node_is_not_usable_until_it_is_healthy_again() -> None:
    sick = NODE_MACHINE.apply(RUNNING, NodeHealthReported(False, "disk full", 20))
    assert (sick.entity.state, sick.entity.health_report) == (NodeState.UNHEALTHY, "disk full")
    assert not sick.entity.is_usable
    lost = StopContainersOnNode(NEW.id, -100, "Container released on a *lost* node", is_agent_gone=False)
    assert sick.effects == (lost, NodeChanged(NEW.id))

    assert after(sick.entity, NodeHealthReported(True, "", 30)).is_usable


def test_new_report_of_the_same_health_is_kept_without_telling_anyone() -> None:
    step = NODE_MACHINE.apply(RUNNING, NodeHealthReported(True, "fine", 20))

    assert (step.entity.health_report, step.entity.last_health_ms) == ("fine", 20)
    assert step.effects == ()


@pytest.mark.parametrize(
    ("event", "state"), [(NodeExpired(40), NodeState.LOST), (NodeUnregistered(40), NodeState.SHUTDOWN)]
)
def test_node_that_goes_is_not_heard_until_it_registers_again(event: Any, state: NodeState) -> None:
    gone = NODE_MACHINE.apply(RUNNING, event)
    assert gone.entity.state is state
    lost = StopContainersOnNode(NEW.id, -100, "Container released on a *lost* node")
    assert gone.effects == (lost, NodeChanged(NEW.id))

    assert after(gone.entity, NodeHealthReported(True, "", 50), NodeExpired(60)) is gone.entity
    back = after(gone.entity, REGISTERED)
    assert back.is_usable
    assert back.health_report == ""


@pytest.mark.parametrize(
    "event",
    [NodeHealthReported(True, "", 1), NodeExpired(1), NodeUnregistered(1), NodeDecommissionStarted(60, 1)],
)
def test_node_registers_before_anything_else(event: Any) -> None:
    with pytest.raises(IllegalTransition):
        NODE_MACHINE.apply(NEW, event)


def test_decommissioning_node_may_leave() -> None:
    assert after(a_node(state=NodeState.DECOMMISSIONING), NodeUnregistered(5)).state is NodeState.SHUTDOWN


LEAVING = after(RUNNING, NodeDecommissionStarted(60, 100))


def test_leaving_node_is_closed_and_loses_nothing() -> None:
    step = NODE_MACHINE.apply(RUNNING, NodeDecommissionStarted(60, 100))
    assert step.effects == (NodeChanged(NEW.id),)
    assert (LEAVING.decommissioning_since_ms, LEAVING.decommissioning_timeout_s) == (100, 60)
    assert LEAVING.is_closed
    assert not LEAVING.is_usable


def test_repeated_order_to_leave_changes_only_the_time_allowed() -> None:
    again = after(LEAVING, NodeDecommissionStarted(-1, 900))
    assert (again.decommissioning_since_ms, again.decommissioning_timeout_s) == (100, -1)


@pytest.mark.parametrize("is_healthy", [True, False])
def test_leaving_node_goes_on_leaving_whatever_its_health(is_healthy: bool) -> None:
    step = NODE_MACHINE.apply(LEAVING, NodeHealthReported(is_healthy, "words", 200))
    assert (step.entity.state, step.entity.health_report) == (NodeState.DECOMMISSIONING, "words")
    assert step.effects == ()


def test_agent_that_restarts_changes_neither_the_order_nor_the_health() -> None:
    assert after(LEAVING, REGISTERED).state is NodeState.DECOMMISSIONING
    sick = after(RUNNING, NodeHealthReported(False, "disk full", 20), REGISTERED)
    assert (sick.state, sick.health_report) == (NodeState.UNHEALTHY, "disk full")


def test_decommissioned_node_loses_its_containers_once_and_may_come_back() -> None:
    step = NODE_MACHINE.apply(LEAVING, NodeDecommissioned("empty", 300))
    assert (step.entity.state, step.entity.health_report) == (NodeState.DECOMMISSIONED, "empty")
    assert isinstance(step.effects[0], StopContainersOnNode)
    assert after(step.entity, NodeDecommissioned("again", 400), NodeUnregistered(401)) is step.entity
    assert after(step.entity, REGISTERED).is_usable


def test_order_to_leave_is_taken_back() -> None:
    assert after(LEAVING, NodeRecommissioned(500)).is_usable
    assert after(RUNNING, NodeRecommissioned(500)) is RUNNING


def test_ordered_capability_outlives_what_the_agent_says() -> None:
    step = NODE_MACHINE.apply(RUNNING, NodeCapabilityOrdered(Resource(1024, 2)))
    assert step.entity.capability == Resource(1024, 2)
    assert step.effects == (NodeChanged(NEW.id),)
    assert after(step.entity, NodeExpired(600), REGISTERED).capability == Resource(1024, 2)


def test_node_may_be_ordered_to_have_nothing() -> None:
    assert after(RUNNING, NodeCapabilityOrdered(Resource(0, 0)), REGISTERED).capability == Resource(0, 0)


@pytest.mark.parametrize("state", NodeState)
def test_place_is_known_in_every_state_and_told_when_it_changes(state: NodeState) -> None:
    node = a_node(state=state)
    step = NODE_MACHINE.apply(node, NodePlaced("/r1", ("gpu",)))
    assert (step.entity.rack, step.entity.labels, step.entity.state) == ("/r1", ("gpu",), state)
    assert step.effects == (NodeRelabelled(node.id),)
    assert NODE_MACHINE.apply(step.entity, NodePlaced("/r1", ("gpu",))).effects == ()
