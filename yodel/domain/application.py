"""An application's life.  Follows RMAppImpl; a submission that cannot run is made as FAILED, as Hadoop shows it.

The machine decides between another attempt and the end; attempts and containers have machines of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from yodel.domain.effects import CleanUpApplication, Effect, StartAttempt, Tell
from yodel.domain.events import (
    AttemptEnded,
    AttemptKillRequested,
    AttemptLaunched,
    AttemptRegistered,
    AttemptUnregistered,
    FailureExcused,
    KillRequested,
)
from yodel.domain.ids import ApplicationAttemptId, ApplicationId
from yodel.domain.machine import Go, Ignore, Impossible, StateMachine, Step, every_state
from yodel.domain.resource import Resource
from yodel.domain.states import ApplicationState, FinalApplicationStatus, YarnApplicationState

DIAGNOSTICS_LENGTH_MAX = 65536


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """Holds the validated request of the submitter; ``context`` is the unchanged ApplicationSubmissionContextProto."""

    name: str
    user: str
    queue: str
    application_type: str = "YARN"
    tags: tuple[str, ...] = ()
    priority: int = 0
    max_attempts: int = 2
    global_max_attempts: int = 2
    """The cluster's own limit when it was submitted; only named in texts."""
    attempt_failures_validity_interval_ms: int = -1
    keep_containers_across_attempts: bool = False
    is_unmanaged: bool = False
    am_capability: Resource
    am_asked_capability: Resource
    am_node_label: str = ""
    node_label: str = ""
    view_acl: str = " "
    modify_acl: str = " "
    lifetime_s: int = -1
    context: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """One application.  Times are epoch milliseconds; 0 means "not yet"."""

    id: ApplicationId
    submission: Submission
    state: ApplicationState = ApplicationState.ACCEPTED
    final_status: FinalApplicationStatus = FinalApplicationStatus.UNDEFINED
    diagnostics: str = ""
    current_attempt: int = 0
    failure_times_ms: tuple[int, ...] = ()
    """When attempts failed by the application's own fault, within the validity interval before the last of them."""
    submitted_ms: int
    launched_ms: int = 0
    finished_ms: int = 0
    expires_ms: int = 0
    """When its lifetime ends (ApplicationTimeoutType.LIFETIME); 0 means never."""

    @property
    def current_attempt_id(self) -> ApplicationAttemptId:
        """The attempt that runs or ran last; number 1 before the first was made."""
        return ApplicationAttemptId(self.id, max(1, self.current_attempt))

    @property
    def yarn_state(self) -> YarnApplicationState:
        """Return the state for clients (RMServerUtils.createApplicationState): KILLING shows the state before the
        kill."""
        if self.state is ApplicationState.FINISHING:
            return YarnApplicationState.FINISHED
        if self.state is ApplicationState.KILLING:
            return YarnApplicationState.RUNNING if self.launched_ms else YarnApplicationState.ACCEPTED
        return YarnApplicationState[self.state.name]


def capped_priority_note(asked: int, has: int) -> str:
    """Return the note that the priority was reduced at submission; the RPC response has no field for it."""
    return (
        f"Priority {asked} was requested and reduced to {has}, the highest allowed: max_priority "
        "(yarn.cluster.max-application-priority)."
    )


def tracking_page_hint(web_address: str, application_id: ApplicationId) -> str:
    """Ends the diagnostics of every AM that failed (RMAppAttemptImpl.getAMContainerCrashedDiagnostics)."""
    return (
        f"For more detailed output, check the application tracking page: http://{web_address}/cluster/app/"
        f"{application_id} Then click on links to logs of each attempt.\n"
    )


def _launched(app: Application, event: AttemptLaunched) -> Step[Application]:
    return Step(replace(app, launched_ms=app.launched_ms or event.at_ms))


def _registered(app: Application, _: AttemptRegistered) -> Step[Application]:
    return Step(replace(app, state=ApplicationState.RUNNING))


def _unregistered(app: Application, event: AttemptUnregistered) -> Step[Application]:
    finishing = replace(
        app,
        state=ApplicationState.FINISHING,
        final_status=event.final_status,
        diagnostics=event.diagnostics[-DIAGNOSTICS_LENGTH_MAX:],
        finished_ms=event.at_ms,
    )
    return Step(finishing)


def _finished(app: Application, event: AttemptEnded) -> Step[Application]:
    return Step(
        replace(app, state=ApplicationState.FINISHED, finished_ms=app.finished_ms or event.at_ms),
        (CleanUpApplication(app.id),),
    )


def _attempt_ended(app: Application, event: AttemptEnded) -> Step[Application]:
    """Try again, or give up with the text that users know (RMAppImpl.getAppAttemptFailedDiagnostics)."""
    recent = _recent_failures(app, event.at_ms, counts=event.counts_as_failure)
    if _has_attempts_left(app, recent) and not event.is_last:
        return Step(replace(app, state=ApplicationState.ACCEPTED, failure_times_ms=recent), (StartAttempt(app.id),))
    window_ms = app.submission.attempt_failures_validity_interval_ms
    times = f"{len(recent)} times" + ("" if window_ms <= 0 else f" in previous {window_ms} milliseconds")
    local_limit, global_limit = app.submission.max_attempts, app.submission.global_max_attempts
    if local_limit != global_limit:
        times += f" (global limit ={global_limit}; local limit is ={local_limit})"
    text = f"Application {app.id} failed {times} due to {event.diagnostics}. Failing the application."
    if app.submission.is_unmanaged:
        text = f"Unmanaged application {app.id} failed due to {event.diagnostics}. Failing the application."
    failed = replace(app, failure_times_ms=recent)
    return _over(failed, ApplicationState.FAILED, FinalApplicationStatus.FAILED, text, event.at_ms)


def is_tried_again(app: Application, at_ms: int) -> bool:
    """Return True if another attempt follows a failure by the application's own fault at ``at_ms``."""
    return _has_attempts_left(app, _recent_failures(app, at_ms, counts=True))


def _recent_failures(app: Application, at_ms: int, *, counts: bool) -> tuple[int, ...]:
    """Return the failures within the validity interval; with ``counts`` including one at ``at_ms``."""
    failures = (*app.failure_times_ms, at_ms) if counts else app.failure_times_ms
    window_ms = app.submission.attempt_failures_validity_interval_ms
    return tuple(t for t in failures if window_ms <= 0 or t > at_ms - window_ms)


def _has_attempts_left(app: Application, failures: tuple[int, ...]) -> bool:
    return len(failures) < app.submission.max_attempts and not app.submission.is_unmanaged


def _excused(app: Application, event: FailureExcused) -> Step[Application]:
    left = list(app.failure_times_ms)
    if event.failed_ms in left:
        left.remove(event.failed_ms)
    return Step(replace(app, failure_times_ms=tuple(left)))


def _kill(app: Application, event: KillRequested) -> Step[Application]:
    killing = replace(app, state=ApplicationState.KILLING, diagnostics=event.diagnostics[-DIAGNOSTICS_LENGTH_MAX:])
    return Step(killing, (Tell(app.current_attempt_id, AttemptKillRequested(event.diagnostics, event.at_ms)),))


def _killed(app: Application, event: AttemptEnded) -> Step[Application]:
    return _over(app, ApplicationState.KILLED, FinalApplicationStatus.KILLED, app.diagnostics, event.at_ms)


def _over(
    app: Application, state: ApplicationState, status: FinalApplicationStatus, diagnostics: str, at_ms: int
) -> Step[Application]:
    ended = replace(
        app,
        state=state,
        final_status=status,
        diagnostics=diagnostics[-DIAGNOSTICS_LENGTH_MAX:],
        finished_ms=at_ms,
    )
    effects: tuple[Effect, ...] = (CleanUpApplication(app.id),)
    return Step(ended, effects)


_S = ApplicationState
_EVENTS = (
    AttemptLaunched,
    AttemptRegistered,
    AttemptUnregistered,
    AttemptEnded,
    FailureExcused,
    KillRequested,
)
_OVER = Ignore("the application has ended")

APPLICATION_MACHINE: StateMachine[Application] = StateMachine(
    "Application",
    ApplicationState,
    _EVENTS,
    {
        **every_state(_S, AttemptLaunched, Ignore("the application is ending")),
        **every_state(_S, AttemptRegistered, Ignore("the application is ending")),
        **every_state(_S, AttemptUnregistered, Ignore("the application is ending")),
        **every_state(_S, FailureExcused, Ignore("the application is ending")),
        **{(state, FailureExcused): Go(_excused, (state,)) for state in (_S.ACCEPTED, _S.RUNNING)},
        (_S.ACCEPTED, AttemptLaunched): Go(_launched, (_S.ACCEPTED,)),
        (_S.RUNNING, AttemptLaunched): Go(_launched, (_S.RUNNING,)),
        (_S.ACCEPTED, AttemptRegistered): Go(_registered, (_S.RUNNING,)),
        (_S.RUNNING, AttemptRegistered): Go(_registered, (_S.RUNNING,)),
        (_S.ACCEPTED, AttemptUnregistered): Impossible("an AM unregisters after it registered"),
        (_S.RUNNING, AttemptUnregistered): Go(_unregistered, (_S.FINISHING,)),
        (_S.ACCEPTED, AttemptEnded): Go(_attempt_ended, (_S.ACCEPTED, _S.FAILED)),
        (_S.RUNNING, AttemptEnded): Go(_attempt_ended, (_S.ACCEPTED, _S.FAILED)),
        (_S.FINISHING, AttemptEnded): Go(_finished, (_S.FINISHED,)),
        (_S.KILLING, AttemptEnded): Go(_killed, (_S.KILLED,)),
        (_S.ACCEPTED, KillRequested): Go(_kill, (_S.KILLING,)),
        (_S.RUNNING, KillRequested): Go(_kill, (_S.KILLING,)),
        (_S.FINISHING, KillRequested): Ignore("it is finishing; the status that it reported stays"),
        (_S.KILLING, KillRequested): Ignore("it is being killed already"),
        **{(state, event): _OVER for state in (_S.FINISHED, _S.FAILED, _S.KILLED) for event in _EVENTS},
    },
)
