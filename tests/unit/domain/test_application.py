from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support.records import a_submission, an_application, an_application_id, an_attempt_id
from yodel.domain.application import APPLICATION_MACHINE, DIAGNOSTICS_LENGTH_MAX, Application, is_tried_again
from yodel.domain.effects import CleanUpApplication, StartAttempt, Tell
from yodel.domain.events import (
    AttemptEnded,
    AttemptKillRequested,
    AttemptLaunched,
    AttemptRegistered,
    AttemptUnregistered,
    FailureExcused,
    KillRequested,
)
from yodel.domain.states import ApplicationState, AttemptState, FinalApplicationStatus, YarnApplicationState
from yodel.errors import IllegalTransition

ID = an_application_id()
NEW = an_application(current_attempt=1)
UNREGISTERED = AttemptUnregistered(FinalApplicationStatus.SUCCEEDED, "done", 50)


def after(application: Application, *events: Any) -> Application:
    for event in events:
        application = APPLICATION_MACHINE.apply(application, event).entity
    return application


def effects(application: Application, event: Any) -> tuple[Any, ...]:
    return APPLICATION_MACHINE.apply(application, event).effects


def failure(at_ms: int = 100, *, counts: bool = True) -> AttemptEnded:
    return AttemptEnded(an_attempt_id(), AttemptState.FAILED, counts, "the reason", at_ms)


RUNNING = after(NEW, AttemptLaunched(10), AttemptRegistered())


def test_application_is_accepted_runs_finishes_and_is_cleaned_up() -> None:
    assert NEW.yarn_state is YarnApplicationState.ACCEPTED
    assert (RUNNING.state, RUNNING.launched_ms) == (ApplicationState.RUNNING, 10)

    finishing = after(RUNNING, UNREGISTERED)
    assert (finishing.state, finishing.yarn_state) == (ApplicationState.FINISHING, YarnApplicationState.FINISHED)

    over = AttemptEnded(an_attempt_id(), AttemptState.FINISHED, False, "", 60)
    assert effects(finishing, over) == (CleanUpApplication(ID),)
    finished = after(finishing, over)
    assert (finished.state, finished.final_status) == (ApplicationState.FINISHED, FinalApplicationStatus.SUCCEEDED)
    assert (finished.diagnostics, finished.finished_ms) == ("done", 50)


def test_second_launch_keeps_the_first_launch_time() -> None:
    assert after(NEW, AttemptLaunched(10), failure(), AttemptLaunched(200)).launched_ms == 10


def test_failed_attempt_is_followed_by_another_while_there_are_some_left() -> None:
    again = APPLICATION_MACHINE.apply(RUNNING, failure())

    assert again.entity.state is ApplicationState.ACCEPTED
    assert again.effects == (StartAttempt(ID),)


def test_last_failure_fails_the_application_with_hadoops_text() -> None:
    failed = after(RUNNING, failure(), AttemptRegistered(), failure(200))

    assert (failed.state, failed.final_status) == (ApplicationState.FAILED, FinalApplicationStatus.FAILED)
    assert failed.diagnostics == (
        "Application application_1700000000000_0001 failed 2 times due to the reason. Failing the application."
    )
    assert failed.finished_ms == 200


def test_text_names_both_limits_when_they_differ() -> None:
    application = replace(NEW, submission=a_submission(max_attempts=1, global_max_attempts=4))

    assert "failed 1 times (global limit =4; local limit is =1) due to" in after(application, failure()).diagnostics


def test_failure_that_is_not_its_fault_does_not_count() -> None:
    application = after(NEW, *(failure(at_ms, counts=False) for at_ms in range(10)))

    assert application.state is ApplicationState.ACCEPTED
    assert application.failure_times_ms == ()


def test_failures_before_the_validity_interval_are_forgiven() -> None:
    patient = replace(NEW, submission=a_submission(attempt_failures_validity_interval_ms=1000))

    assert after(patient, failure(100), failure(1100)).state is ApplicationState.ACCEPTED
    failed = after(patient, failure(100), failure(1099))
    assert failed.state is ApplicationState.FAILED
    assert "failed 2 times in previous 1000 milliseconds due to" in failed.diagnostics


def test_only_failures_that_still_count_are_kept() -> None:
    patient = replace(NEW, submission=a_submission(attempt_failures_validity_interval_ms=1000, max_attempts=3))
    application = after(patient, *(failure(at_ms) for at_ms in range(0, 100_000, 500)))

    assert application.state is ApplicationState.ACCEPTED
    assert application.failure_times_ms == (99_000, 99_500)


def test_unmanaged_application_is_not_tried_again() -> None:
    unmanaged = replace(NEW, submission=a_submission(is_unmanaged=True))
    failed = after(unmanaged, failure())

    assert failed.state is ApplicationState.FAILED
    assert failed.diagnostics.startswith("Unmanaged application application_1700000000000_0001 failed due to")


@pytest.mark.parametrize(
    ("application", "shown"), [(NEW, YarnApplicationState.ACCEPTED), (RUNNING, YarnApplicationState.RUNNING)]
)
def test_killed_application_shows_its_former_state_until_its_attempt_is_over(
    application: Application, shown: YarnApplicationState
) -> None:
    assert effects(application, KillRequested("by alice", 70)) == (
        Tell(an_attempt_id(), AttemptKillRequested("by alice", 70)),
    )
    killing = after(application, KillRequested("by alice", 70))
    assert killing.yarn_state is shown

    killed = after(killing, AttemptEnded(an_attempt_id(), AttemptState.KILLED, False, "", 80))
    assert (killed.state, killed.final_status) == (ApplicationState.KILLED, FinalApplicationStatus.KILLED)
    assert (killed.diagnostics, killed.finished_ms) == ("by alice", 80)


def test_end_that_was_reported_stands_against_a_kill() -> None:
    finishing = after(RUNNING, UNREGISTERED)

    assert after(finishing, KillRequested("late", 70)) is finishing


def test_second_kill_changes_nothing() -> None:
    killing = after(RUNNING, KillRequested("first", 70))

    assert after(killing, KillRequested("second", 71)) is killing


def test_unregistering_without_registration_is_impossible() -> None:
    with pytest.raises(IllegalTransition):
        APPLICATION_MACHINE.apply(NEW, UNREGISTERED)


def test_last_part_of_long_diagnostics_is_kept() -> None:
    killing = after(RUNNING, KillRequested("a" * DIAGNOSTICS_LENGTH_MAX + "end", 70))

    assert len(killing.diagnostics) == DIAGNOSTICS_LENGTH_MAX
    assert killing.diagnostics.endswith("end")


def test_current_attempt_is_number_one_before_the_first() -> None:
    assert an_application(current_attempt=0).current_attempt_id == an_attempt_id(1, 1)
    assert an_application(current_attempt=3).current_attempt_id == an_attempt_id(1, 3)


@pytest.mark.parametrize("state", ApplicationState)
def test_every_state_has_a_public_face(state: ApplicationState) -> None:
    assert an_application(state=state).yarn_state in YarnApplicationState


def test_failure_that_turns_out_to_be_nobodys_fault_counts_no_more() -> None:
    again = after(RUNNING, failure(100))
    assert again.failure_times_ms == (100,)
    assert after(again, FailureExcused(99)).failure_times_ms == (100,)
    assert after(again, FailureExcused(100), FailureExcused(100)).failure_times_ms == ()


def test_whether_another_attempt_would_follow_is_known_before() -> None:
    assert is_tried_again(RUNNING, 100)
    assert not is_tried_again(after(RUNNING, failure(100)), 101)
