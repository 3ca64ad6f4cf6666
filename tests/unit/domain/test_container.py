from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support.records import a_container, an_attempt_id
from yodel.domain.container import CONTAINER_MACHINE, DIAGNOSTICS_LENGTH_MAX, Container
from yodel.domain.effects import CleanUpContainer, Forgettable, Grant, Reconcile, ReportCompleted, Tell, Withdraw
from yodel.domain.events import (
    AmContainerBound,
    AmContainerCompleted,
    AmContainerStarted,
    ContainerAcquired,
    ContainerCompletionAcknowledged,
    ContainerEnded,
    ContainerStarted,
    PodBound,
    PodTurnedAway,
    StopRequested,
)
from yodel.domain.ids import NodeId
from yodel.domain.states import ContainerState, ContainerType
from yodel.errors import IllegalTransition

NODE = NodeId("node-1", 8041)
TASK = a_container()
AM = a_container(container=1, type=ContainerType.APPLICATION_MASTER)


def after(container: Container, *events: Any) -> Container:
    for event in events:
        container = CONTAINER_MACHINE.apply(container, event).entity
    return container


def effects(container: Container, event: Any) -> tuple[Any, ...]:
    return CONTAINER_MACHINE.apply(container, event).effects


def test_task_is_planned_bound_handed_out_started_ended_and_acknowledged() -> None:
    bound = CONTAINER_MACHINE.apply(TASK, PodBound(NODE))
    assert (bound.entity.state, bound.entity.node_id) == (ContainerState.ALLOCATED, NODE)
    assert bound.effects == (Grant(TASK.id),)

    running = after(bound.entity, ContainerAcquired(), ContainerStarted())
    assert running.state is ContainerState.RUNNING

    ended = CONTAINER_MACHINE.apply(running, ContainerEnded(3, "boom", 77))
    assert (ended.entity.exit_status, ended.entity.diagnostics, ended.entity.finished_ms) == (3, "boom", 77)
    assert not ended.entity.is_live
    assert ended.effects == (Reconcile(TASK.id), ReportCompleted(TASK.id))

    assert not ended.entity.is_acknowledged
    assert after(ended.entity, ContainerCompletionAcknowledged()).is_acknowledged


def test_am_container_speaks_to_its_attempt_and_is_never_granted() -> None:
    assert effects(AM, PodBound(NODE)) == (Tell(an_attempt_id(), AmContainerBound()),)
    bound = after(AM, PodBound(NODE))
    assert effects(bound, ContainerStarted()) == (Tell(an_attempt_id(), AmContainerStarted()),)
    running = after(bound, ContainerStarted())
    assert effects(running, ContainerEnded(1, "x", 5)) == (
        Reconcile(AM.id),
        Tell(an_attempt_id(), AmContainerCompleted(1, "x", 5)),
    )
    assert after(running, ContainerEnded(1, "x", 5)).is_acknowledged


def test_task_whose_pod_was_refused_is_planned_again_until_it_is_handed_out() -> None:
    bound = after(TASK, PodBound(NODE))
    assert after(bound, PodTurnedAway()) == TASK
    assert effects(bound, PodTurnedAway()) == (Withdraw(TASK.id),)
    acquired = after(bound, ContainerAcquired())
    assert after(acquired, PodTurnedAway()) is acquired
    assert after(TASK, PodTurnedAway()) is TASK


def test_am_whose_pod_was_refused_keeps_its_node_for_its_attempt_knows_it() -> None:
    bound = after(AM, PodBound(NODE))
    assert after(bound, PodTurnedAway()) is bound
    assert effects(bound, PodTurnedAway()) == ()


def test_container_that_started_before_its_grant_was_collected_runs() -> None:
    assert after(TASK, PodBound(NODE), ContainerStarted()).state is ContainerState.RUNNING


def test_stop_before_the_binding_needs_no_node_agent() -> None:
    assert effects(TASK, StopRequested(-105, "released", 9)) == (Reconcile(TASK.id),)


@pytest.mark.parametrize("known_to_am", [False, True])
def test_stop_after_the_binding_cleans_up_and_is_reported_once_the_am_knows(known_to_am: bool) -> None:
    container = after(TASK, PodBound(NODE), *([ContainerAcquired()] if known_to_am else []))
    step = CONTAINER_MACHINE.apply(container, StopRequested(-102, "preempted", 9))

    reported = (ReportCompleted(TASK.id),) if known_to_am else ()
    assert step.effects == (CleanUpContainer(TASK.id, NODE), Reconcile(TASK.id), *reported)
    assert step.entity.is_acknowledged is not known_to_am


def test_first_end_stands() -> None:
    stopped = after(TASK, PodBound(NODE), StopRequested(-105, "released", 9))

    assert after(stopped, ContainerEnded(0, "", 10), StopRequested(-106, "again", 11), PodBound(NODE)) == stopped


def test_grant_that_races_with_the_end_changes_nothing() -> None:
    completed = after(TASK, PodBound(NODE), ContainerEnded(1, "", 5))

    assert after(completed, ContainerAcquired()) is completed


def test_pod_bound_twice_stays_where_it_is() -> None:
    bound = after(TASK, PodBound(NODE))

    assert after(bound, PodBound(NodeId("elsewhere", 1))) is bound


def test_unbound_container_cannot_be_handed_out() -> None:
    with pytest.raises(IllegalTransition):
        CONTAINER_MACHINE.apply(TASK, ContainerAcquired())


def test_live_container_cannot_be_acknowledged() -> None:
    with pytest.raises(IllegalTransition):
        CONTAINER_MACHINE.apply(replace(TASK, state=ContainerState.RUNNING), ContainerCompletionAcknowledged())


def test_last_part_of_long_diagnostics_is_kept() -> None:
    ended = after(TASK, ContainerEnded(1, "a" * DIAGNOSTICS_LENGTH_MAX + "end", 5))

    assert len(ended.diagnostics) == DIAGNOSTICS_LENGTH_MAX
    assert ended.diagnostics.endswith("end")


def test_end_that_its_pod_told_is_reported_once_its_node_agent_has_told_and_once_only() -> None:
    running = after(TASK, PodBound(NODE), ContainerAcquired(), ContainerStarted())
    by_pod = ContainerEnded(7, "Pod p exited with 7", 5, awaits_agent=True)
    assert effects(running, by_pod) == (Reconcile(TASK.id),)
    over = after(running, by_pod)
    assert (over.is_live, over.awaits_agent, over.exit_status) == (False, True, 7)
    assert after(over, by_pod, StopRequested(-100, "Container released by application", 6)) == over

    told = CONTAINER_MACHINE.apply(over, ContainerEnded(7, "a" * DIAGNOSTICS_LENGTH_MAX + "last words", 9))
    assert told.effects == (ReportCompleted(TASK.id), Forgettable(TASK.id, NODE))
    assert (told.entity.awaits_agent, told.entity.finished_ms) == (False, 5)
    assert told.entity.diagnostics.endswith("last words")
    assert len(told.entity.diagnostics) == DIAGNOSTICS_LENGTH_MAX
    assert CONTAINER_MACHINE.apply(told.entity, ContainerEnded(1, "again", 10)).entity == told.entity


def test_attempt_hears_of_its_masters_end_from_the_pod_and_from_the_node_agent() -> None:
    over = CONTAINER_MACHINE.apply(after(AM, PodBound(NODE)), ContainerEnded(7, "pod", 5, awaits_agent=True))
    assert over.effects[-1] == Tell(an_attempt_id(), AmContainerCompleted(7, "pod", 5, awaits_agent=True))
    told = effects(over.entity, over.entity.end_as_its_pod_told(9))
    assert told == (Tell(an_attempt_id(), AmContainerCompleted(7, "pod", 9)), Forgettable(AM.id, NODE))
