from __future__ import annotations

from typing import Any

import pytest

from tests.support.records import an_application_id, an_attempt
from yodel.domain.attempt import ATTEMPT_MACHINE, NOT_THE_APPLICATIONS_FAULT, Attempt
from yodel.domain.effects import ForgetAttempt, LaunchAm, StopContainers, Tell
from yodel.domain.events import (
    AmContainerBound,
    AmContainerCompleted,
    AmContainerStarted,
    AmExpired,
    AmLaunched,
    AmRegistered,
    AmUnregistered,
    AttemptEnded,
    AttemptKillRequested,
    AttemptLaunched,
    AttemptRegistered,
    AttemptUnregistered,
    TrackingUrlChanged,
)
from yodel.domain.states import AttemptState, ContainerExitStatus, FinalApplicationStatus
from yodel.errors import IllegalTransition

APPLICATION = an_application_id()
REGISTERED = AmRegistered("10.0.0.1", 4040, "http://am:4040")
SUCCEEDED = AmUnregistered(FinalApplicationStatus.SUCCEEDED, "done", "", 50)


def after(attempt: Attempt, *events: Any) -> Attempt:
    for event in events:
        attempt = ATTEMPT_MACHINE.apply(attempt, event).entity
    return attempt


def effects(attempt: Attempt, event: Any) -> tuple[Any, ...]:
    return ATTEMPT_MACHINE.apply(attempt, event).effects


def ended(attempt: Attempt, event: Any) -> AttemptEnded:
    """Return what the application is told of the end."""
    told = [effect.event for effect in effects(attempt, event) if isinstance(effect, Tell)]
    assert isinstance(told[-1], AttemptEnded)
    return told[-1]


SCHEDULED = an_attempt()
LAUNCHED = after(SCHEDULED, AmContainerBound(), AmLaunched(10))
RUNNING = after(LAUNCHED, REGISTERED)


def test_attempt_is_bound_launched_registered_unregistered_and_finished() -> None:
    assert effects(SCHEDULED, AmContainerBound()) == (LaunchAm(SCHEDULED.id),)
    allocated = after(SCHEDULED, AmContainerBound())
    assert allocated.state is AttemptState.ALLOCATED
    assert effects(allocated, AmLaunched(10)) == (Tell(APPLICATION, AttemptLaunched(10)),)

    assert effects(LAUNCHED, REGISTERED) == (Tell(APPLICATION, AttemptRegistered()),)
    assert (RUNNING.state, RUNNING.host, RUNNING.rpc_port) == (AttemptState.RUNNING, "10.0.0.1", 4040)

    unregistered = AttemptUnregistered(FinalApplicationStatus.SUCCEEDED, "done", 50)
    assert effects(RUNNING, SUCCEEDED) == (Tell(APPLICATION, unregistered),)
    finishing = after(RUNNING, SUCCEEDED)
    assert (finishing.state, finishing.tracking_url) == (AttemptState.FINISHING, "")

    finished = ATTEMPT_MACHINE.apply(finishing, AmContainerCompleted(0, "", 60))
    assert (finished.entity.state, finished.entity.finished_ms) == (AttemptState.FINISHED, 60)
    assert finished.effects == (
        StopContainers(
            SCHEDULED.id, ContainerExitStatus.KILLED_AFTER_APP_COMPLETION, "Container of a completed application"
        ),
        ForgetAttempt(SCHEDULED.id),
        Tell(APPLICATION, AttemptEnded(SCHEDULED.id, AttemptState.FINISHED, False, "done", 60)),
    )


def test_am_may_register_before_the_answer_to_its_launch() -> None:
    allocated = after(SCHEDULED, AmContainerBound())

    assert after(allocated, REGISTERED, AmLaunched(10)).state is AttemptState.RUNNING


def test_am_registers_again_after_a_restart_with_its_new_address() -> None:
    again = after(RUNNING, AmRegistered("10.0.0.2", 5, "http://new"))

    assert (again.state, again.host, again.tracking_url) == (AttemptState.RUNNING, "10.0.0.2", "http://new")


def test_am_without_a_host_is_not_applicable() -> None:
    assert after(LAUNCHED, AmRegistered("", -1, "")).host == "N/A"


def test_tracking_url_follows_the_am_only_while_it_runs() -> None:
    assert after(RUNNING, TrackingUrlChanged("http://other")).tracking_url == "http://other"
    assert after(LAUNCHED, TrackingUrlChanged("http://other")).tracking_url == ""


@pytest.mark.parametrize("state", [s for s in AttemptState if not s.is_final and s is not AttemptState.FINISHING])
def test_am_that_exits_before_it_unregisters_fails_the_attempt_with_hadoops_text(state: AttemptState) -> None:
    told = ended(an_attempt(state=state), AmContainerCompleted(13, "Exception in thread main", 60))

    assert (told.state, told.counts_as_failure) == (AttemptState.FAILED, True)
    assert told.diagnostics == (
        "AM Container for appattempt_1700000000000_0001_000001 exited with  exitCode: 13\n"
        "Failing this attempt.Diagnostics: Exception in thread main"
    )


@pytest.mark.parametrize("exit_status", sorted(ContainerExitStatus))
def test_which_ends_of_a_master_count_against_the_application(exit_status: ContainerExitStatus) -> None:
    """RMAppAttemptImpl.shouldCountTowardsMaxAttemptRetry, for every exit status there is."""
    not_its_fault = {"PREEMPTED", "ABORTED", "DISKS_FAILED", "KILLED_BY_RESOURCEMANAGER"}
    counts = ended(RUNNING, AmContainerCompleted(exit_status, "", 60)).counts_as_failure
    assert counts is (exit_status.name not in not_its_fault)


@pytest.mark.parametrize("exit_status", sorted(NOT_THE_APPLICATIONS_FAULT))
def test_end_that_is_not_the_applications_fault_does_not_count(exit_status: int) -> None:
    assert not ended(RUNNING, AmContainerCompleted(exit_status, "", 60)).counts_as_failure


def test_failed_attempt_says_so_of_its_containers() -> None:
    stop = effects(RUNNING, AmContainerCompleted(1, "", 60))[0]

    assert stop.diagnostics == "Container of a failed attempt"
    assert after(RUNNING, AmContainerCompleted(1, "", 60)).final_status is FinalApplicationStatus.FAILED


def test_silent_am_fails_the_attempt() -> None:
    told = ended(RUNNING, AmExpired(99))

    assert told.diagnostics == "ApplicationMaster for attempt appattempt_1700000000000_0001_000001 timed out"
    assert told.counts_as_failure


def test_am_that_unregistered_and_stays_has_finished_when_it_expires() -> None:
    finished = after(RUNNING, SUCCEEDED, AmExpired(99))

    assert (finished.state, finished.final_status) == (AttemptState.FINISHED, FinalApplicationStatus.SUCCEEDED)


def test_killed_attempt_is_killed_and_no_failure() -> None:
    told = ended(RUNNING, AttemptKillRequested("by alice", 70))

    assert (told.state, told.counts_as_failure, told.diagnostics) == (AttemptState.KILLED, False, "by alice")


def test_attempt_failed_by_an_operator_counts() -> None:
    told = ended(RUNNING, AttemptKillRequested("failed by admin", 70, is_failure=True))

    assert (told.state, told.counts_as_failure) == (AttemptState.FAILED, True)


def test_end_that_was_reported_stands_against_a_kill() -> None:
    finishing = after(RUNNING, SUCCEEDED)

    assert after(finishing, AttemptKillRequested("late", 70), SUCCEEDED) is finishing


def test_unmanaged_am_has_finished_when_it_unregisters() -> None:
    unmanaged = after(an_attempt(am_container_id=None, state=AttemptState.LAUNCHED), REGISTERED)
    step = ATTEMPT_MACHINE.apply(unmanaged, SUCCEEDED)

    assert step.entity.state is AttemptState.FINISHED
    assert [type(effect.event) for effect in step.effects if isinstance(effect, Tell)] == [
        AttemptUnregistered,
        AttemptEnded,
    ]


@pytest.mark.parametrize("event", [REGISTERED, SUCCEEDED])
def test_am_that_was_not_launched_cannot_speak(event: Any) -> None:
    with pytest.raises(IllegalTransition):
        ATTEMPT_MACHINE.apply(SCHEDULED, event)


def test_started_container_alone_changes_nothing() -> None:
    assert after(LAUNCHED, AmContainerStarted()) is LAUNCHED
