"""An application attempt's life: one run of an ApplicationMaster.

Follows RMAppAttemptImpl.  The AM's own container drives it up to LAUNCHED, the AM's calls from there on; an unmanaged
AM has no container and starts LAUNCHED.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from yodel.domain.effects import Effect, ForgetAttempt, LaunchAm, StopContainers, Tell
from yodel.domain.events import (
    AmContainerBound,
    AmContainerCompleted,
    AmContainerStarted,
    AmExpired,
    AmLaunched,
    AmLaunchFailed,
    AmRegistered,
    AmUnregistered,
    AttemptEnded,
    AttemptKillRequested,
    AttemptLaunched,
    AttemptRegistered,
    AttemptUnregistered,
    FailureExcused,
    ShuffleReported,
    TrackingUrlChanged,
)
from yodel.domain.ids import ApplicationAttemptId, ContainerId
from yodel.domain.machine import Go, Ignore, Impossible, StateMachine, Step, every_state
from yodel.domain.shuffle.decision import ShuffleDecision
from yodel.domain.states import AttemptState, ContainerExitStatus, FinalApplicationStatus

DIAGNOSTICS_LENGTH_MAX = 65536  # yarn.app.attempt.diagnostics.limit.kc: 64 KiB
NOT_THE_APPLICATIONS_FAULT = frozenset(
    {
        ContainerExitStatus.PREEMPTED,
        ContainerExitStatus.ABORTED,
        ContainerExitStatus.DISKS_FAILED,
        ContainerExitStatus.KILLED_BY_RESOURCEMANAGER,
    }
)
"""RMAppAttemptImpl.shouldCountTowardsMaxAttemptRetry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt.  ``rpc_port`` is -1 and ``host`` ``N/A`` until the AM registers; times are epoch milliseconds."""

    id: ApplicationAttemptId
    state: AttemptState = AttemptState.SCHEDULED
    am_container_id: ContainerId | None = None
    """None for an unmanaged AM."""
    host: str = "N/A"
    rpc_port: int = -1
    tracking_url: str = ""
    """As the AM gave it."""
    final_status: FinalApplicationStatus = FinalApplicationStatus.UNDEFINED
    diagnostics: str = ""
    started_ms: int
    finished_ms: int = 0
    keeps_containers: bool = False
    """Its running tasks outlive its failure (keepContainersAcrossApplicationAttempts)."""
    shuffle: ShuffleDecision | None = None
    """The decision from its queue's words on remote shuffle when its ApplicationMaster was about to be launched; None:
    the queue said nothing."""
    awaits_agent: bool = False
    """FAILED as the AM's pod told, while its node agent, who knows more, has not told."""
    client_key: bytes = field(default=b"", repr=False)
    """Signs the tokens that clients show to its ApplicationMaster (ClientToAMTokenSecretManagerInRM); empty for one
    that was started without security."""

    @property
    def is_unmanaged(self) -> bool:
        return self.am_container_id is None


def _bound(attempt: Attempt, event: AmContainerBound) -> Step[Attempt]:
    allocated = replace(attempt, state=AttemptState.ALLOCATED, shuffle=event.shuffle)
    return Step(allocated, (LaunchAm(attempt.id),))


def _launched(attempt: Attempt, event: AmLaunched) -> Step[Attempt]:
    launched = replace(attempt, state=AttemptState.LAUNCHED)
    return Step(launched, (Tell(attempt.id.application_id, AttemptLaunched(event.at_ms)),))


def _launched_late(attempt: Attempt, event: AmLaunched) -> Step[Attempt]:
    """The AM registered before the answer to its launch came back."""
    return Step(attempt, (Tell(attempt.id.application_id, AttemptLaunched(event.at_ms)),))


def _registered(attempt: Attempt, event: AmRegistered) -> Step[Attempt]:
    running = replace(
        attempt,
        state=AttemptState.RUNNING,
        host=event.host or "N/A",
        rpc_port=event.rpc_port,
        tracking_url=event.tracking_url,
    )
    return Step(running, (Tell(attempt.id.application_id, AttemptRegistered()),))


def _shuffle_reported(attempt: Attempt, event: ShuffleReported) -> Step[Attempt]:
    """Take a shuffle report in any state: an agent may report late, and an end comes with one."""
    if attempt.shuffle is None:
        return Step(attempt)
    return Step(replace(attempt, shuffle=attempt.shuffle.reported(event.report)))


def _url_changed(attempt: Attempt, event: TrackingUrlChanged) -> Step[Attempt]:
    return Step(replace(attempt, tracking_url=event.tracking_url))


def _unregistered(attempt: Attempt, event: AmUnregistered) -> Step[Attempt]:
    finishing = replace(
        attempt,
        state=AttemptState.FINISHING,
        final_status=event.final_status,
        diagnostics=event.diagnostics[-DIAGNOSTICS_LENGTH_MAX:],
        tracking_url=event.tracking_url,
    )
    told = Tell(attempt.id.application_id, AttemptUnregistered(event.final_status, event.diagnostics, event.at_ms))
    if attempt.is_unmanaged:
        return _over(finishing, AttemptState.FINISHED, event.diagnostics, event.at_ms, (told,))
    return Step(finishing, (told,))


def _completed(attempt: Attempt, event: AmContainerCompleted) -> Step[Attempt]:
    """The AM's process ended before it unregistered.

    As long as its node agent may tell more, another attempt starts meanwhile; where none would, this one ends, and with
    it the application, once the agent has told.
    """
    if event.awaits_agent and event.is_last:
        return Step(attempt)
    counts = event.exit_status not in NOT_THE_APPLICATIONS_FAULT
    is_last = event.exit_status == ContainerExitStatus.UNFIT_FOR_QUEUE
    step = _failed(attempt, _exited(attempt, event), event.at_ms, counts, is_last=is_last)
    return replace(step, entity=replace(step.entity, awaits_agent=event.awaits_agent))


def _explained(attempt: Attempt, event: AmContainerCompleted) -> Step[Attempt]:
    """The node agent told at last how the AM ended, or nothing more is expected of it."""
    if not attempt.awaits_agent or event.awaits_agent:
        return Step(attempt)
    told = replace(attempt, diagnostics=_exited(attempt, event)[-DIAGNOSTICS_LENGTH_MAX:], awaits_agent=False)
    if event.exit_status not in NOT_THE_APPLICATIONS_FAULT:
        return Step(told)
    return Step(told, (Tell(attempt.id.application_id, FailureExcused(attempt.finished_ms)),))


def _exited(attempt: Attempt, event: AmContainerCompleted) -> str:
    """RMAppAttemptImpl.getAMContainerExitedDiagnostics."""
    return (
        f"AM Container for {attempt.id} exited with  exitCode: {event.exit_status}\n"
        f"{_added(attempt, event.exit_status)}"
        f"Failing this attempt.Diagnostics: {event.diagnostics}"
    )


def _added(attempt: Attempt, exit_status: int) -> str:
    """Return a line if its own process ended before it registered, and its queue added settings that it may not
    know."""
    has_registered = attempt.rpc_port >= 0 or attempt.host != "N/A"
    shuffle = attempt.shuffle
    if shuffle is None or not shuffle.added or has_registered or exit_status < 0:
        return ""
    return (
        f"It ended before it registered, with settings that {shuffle.queue} adds for {shuffle.service}: "
        f"yodel app show {attempt.id.application_id} lists them.\n"
    )


def _launch_failed(attempt: Attempt, event: AmLaunchFailed) -> Step[Attempt]:
    """RMAppAttemptImpl.LaunchFailedTransition: AMLauncher's words and no others."""
    return _failed(attempt, event.diagnostics, event.at_ms, True)


def _finished(attempt: Attempt, event: AmContainerCompleted) -> Step[Attempt]:
    return _over(attempt, AttemptState.FINISHED, attempt.diagnostics, event.at_ms, ())


def _expired(attempt: Attempt, event: AmExpired) -> Step[Attempt]:
    text = f"ApplicationMaster for attempt {attempt.id} timed out"
    return _failed(attempt, text, event.at_ms, True)


def _finishing_expired(attempt: Attempt, event: AmExpired) -> Step[Attempt]:
    """It unregistered and its process stays: the end it asked for stands."""
    return _over(attempt, AttemptState.FINISHED, attempt.diagnostics, event.at_ms, ())


def _kill(attempt: Attempt, event: AttemptKillRequested) -> Step[Attempt]:
    if event.is_failure:
        return _failed(attempt, event.diagnostics, event.at_ms, True)
    killed = replace(attempt, final_status=FinalApplicationStatus.KILLED)
    return _over(killed, AttemptState.KILLED, event.diagnostics, event.at_ms, ())


def _failed(
    attempt: Attempt, diagnostics: str, at_ms: int, counts_as_failure: bool, *, is_last: bool = False
) -> Step[Attempt]:
    failed = replace(attempt, final_status=FinalApplicationStatus.FAILED)
    return _over(failed, AttemptState.FAILED, diagnostics, at_ms, (), counts_as_failure, is_last=is_last)


def _over(
    attempt: Attempt,
    state: AttemptState,
    diagnostics: str,
    at_ms: int,
    first: tuple[Effect, ...],
    counts_as_failure: bool = False,
    *,
    is_last: bool = False,
) -> Step[Attempt]:
    """The attempt is over: its containers go, what it asked for is forgotten, the application hears of it.

    When it failed it may leave its running tasks to the next attempt; should there be none, the application's own end
    stops them (``CleanUpApplication``).
    """
    diagnostics = diagnostics[-DIAGNOSTICS_LENGTH_MAX:]
    ended = replace(attempt, state=state, diagnostics=diagnostics, finished_ms=at_ms)
    text = (
        "Container of a completed application" if state is not AttemptState.FAILED else "Container of a failed attempt"
    )
    return Step(
        ended,
        (
            *first,
            StopContainers(
                attempt.id,
                ContainerExitStatus.KILLED_AFTER_APP_COMPLETION,
                text,
                are_running_kept=attempt.keeps_containers and state is AttemptState.FAILED,
            ),
            ForgetAttempt(attempt.id),
            Tell(
                attempt.id.application_id,
                AttemptEnded(attempt.id, state, counts_as_failure, diagnostics, at_ms, is_last),
            ),
        ),
    )


_S = AttemptState
_OVER = Ignore("the attempt has ended")
_FINAL = (_S.FINISHED, _S.FAILED, _S.KILLED)
_EVENTS = (
    AmContainerBound,
    AmContainerStarted,
    AmLaunched,
    AmLaunchFailed,
    AmContainerCompleted,
    AmRegistered,
    TrackingUrlChanged,
    AmUnregistered,
    AmExpired,
    AttemptKillRequested,
    ShuffleReported,
)

ATTEMPT_MACHINE: StateMachine[Attempt] = StateMachine(
    "ApplicationAttempt",
    AttemptState,
    _EVENTS,
    {
        **every_state(_S, AmContainerBound, Ignore("bound already")),
        **every_state(_S, AmContainerStarted, Ignore("only its registration matters")),
        **every_state(_S, AmLaunched, Ignore("launched already")),
        **every_state(_S, AmLaunchFailed, Ignore("it runs, even if the answer to its launch was lost")),
        **{(state, AmContainerCompleted): Go(_completed, (state, _S.FAILED)) for state in _S},
        **every_state(_S, AmRegistered, Impossible("an AM registers after its launch")),
        **every_state(_S, TrackingUrlChanged, Ignore("no AM is registered")),
        **every_state(_S, AmUnregistered, Impossible("an AM unregisters after it registered")),
        **every_state(_S, AmExpired, Go(_expired, (_S.FAILED,))),
        **every_state(_S, AttemptKillRequested, Go(_kill, (_S.KILLED, _S.FAILED))),
        (_S.SCHEDULED, AmContainerBound): Go(_bound, (_S.ALLOCATED,)),
        (_S.SCHEDULED, AmLaunched): Impossible("an AM is launched in a bound pod"),
        (_S.ALLOCATED, AmLaunched): Go(_launched, (_S.LAUNCHED,)),
        (_S.ALLOCATED, AmLaunchFailed): Go(_launch_failed, (_S.FAILED,)),
        # An AM can register before the answer to its launch has come back.
        (_S.ALLOCATED, AmRegistered): Go(_registered, (_S.RUNNING,)),
        (_S.LAUNCHED, AmRegistered): Go(_registered, (_S.RUNNING,)),
        (_S.RUNNING, AmLaunched): Go(_launched_late, (_S.RUNNING,)),
        # After a restart of the RM an AM registers again under the same attempt.
        (_S.RUNNING, AmRegistered): Go(_registered, (_S.RUNNING,)),
        (_S.RUNNING, TrackingUrlChanged): Go(_url_changed, (_S.RUNNING,)),
        (_S.RUNNING, AmUnregistered): Go(_unregistered, (_S.FINISHING, _S.FINISHED)),
        (_S.FINISHING, AmUnregistered): Ignore("reported already; the AM repeats it until the answer is true"),
        (_S.FINISHING, AmContainerCompleted): Go(_finished, (_S.FINISHED,)),
        (_S.FINISHING, AmExpired): Go(_finishing_expired, (_S.FINISHED,)),
        (_S.FINISHING, AttemptKillRequested): Ignore("it is finishing; the status that it reported stays"),
        **{(state, event): _OVER for state in _FINAL for event in _EVENTS},
        (_S.FAILED, AmContainerCompleted): Go(_explained, (_S.FAILED,)),
        **{(state, ShuffleReported): Go(_shuffle_reported, (state,)) for state in _S},
    },
)
