"""A container's life on its node: one pure table.

Follows the states of ``ContainerImpl`` (Hadoop's NodeManager) without those of pausing, which is not served.
``TABLE`` is the whole truth: a pair that is not in it and not in ``IGNORED`` is a bug.
Handlers take a container and an event and return the new container and the effects to perform, in order; they read no
clock and touch nothing.  ``transitions()`` exports the table for the documentation.

A kill's exit status wins over the process's own (ContainerExitStatus): it is fixed when the kill is requested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TypeAlias

from nm_plugin.container.retry import Retry, not_retried, retry_of
from yodel.domain.ids import ContainerId
from yodel.domain.resource import Resource
from yodel.domain.states import ContainerExitStatus, ExecutionType
from yodel.errors import IllegalTransition
from yodel.hadoop_pb import yarn_protos_pb2 as pb

DIAGNOSTICS_LENGTH_MAX = 10_000  # yarn.nodemanager.container-diagnostics-maximum-size


class State(Enum):
    """ContainerState of the NodeManager."""

    NEW = "NEW"
    LOCALIZING = "LOCALIZING"
    LOCALIZATION_FAILED = "LOCALIZATION_FAILED"
    SCHEDULED = "SCHEDULED"
    RUNNING = "RUNNING"
    REINITIALIZING = "REINITIALIZING"
    RELAUNCHING = "RELAUNCHING"
    EXITED_WITH_SUCCESS = "EXITED_WITH_SUCCESS"
    EXITED_WITH_FAILURE = "EXITED_WITH_FAILURE"
    KILLING = "KILLING"
    DONE = "DONE"

    @property
    def is_complete(self) -> bool:
        """True when the exit status is final (C_COMPLETE on the wire)."""
        return self in _COMPLETE


_COMPLETE = frozenset({State.LOCALIZATION_FAILED, State.EXITED_WITH_SUCCESS, State.EXITED_WITH_FAILURE, State.DONE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """One container of this node."""

    container_id: ContainerId
    user: str
    resource: Resource
    priority: int = 0
    version: int = 0
    creation_ms: int = 0
    allocation_request_id: int = -1
    execution_type: ExecutionType = ExecutionType.GUARANTEED
    state: State = State.NEW
    exit_status: int = ContainerExitStatus.INVALID
    diagnostics: str = ""
    pid: int | None = None
    local_dir: str = ""
    log_dir: str = ""
    launch_context: bytes = field(default=b"", repr=False)
    log_aggregation: bytes = b""  # LogAggregationContextProto; kept by the logs' journal, not with the container
    is_master: bool = False
    retry: Retry | None = None
    run: int = 0
    """How often it was started again in its place."""
    upgrade: bytes = field(default=b"", repr=False)
    """The launch context that takes over when the script has ended (reInitializeContainer)."""
    rollback: bytes = field(default=b"", repr=False)
    """The launch context before the last upgrade, until that is committed."""


# Events: facts that happened.


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """startContainers accepted it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Localized:
    """Every local resource is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalizationFailed:
    """A resource cannot be had."""

    diagnostics: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Launched:
    """The parked shell started the script; ``pid`` as the shell sees it."""

    pid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchFailed:
    """The script could not be handed over."""

    diagnostics: str
    exit_status: int = ContainerExitStatus.INVALID


@dataclass(frozen=True, slots=True, kw_only=True)
class Exited:
    """The script ended; 128+n for signal n.  ``at_ms`` is for the window of retries; ``run`` says which, if known."""

    exit_status: int
    diagnostics: str = ""
    last_words: str = ""  # more diagnostics, if the container ends with its script
    at_ms: int = 0
    run: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartRequested:
    """The ApplicationMaster wants the script to end and to be started again, with another ``context`` if there is one.

    ``keeps_previous`` until that is committed: the upgrade may be rolled back, and is when it fails.
    """

    context: bytes = field(default=b"", repr=False)
    keeps_previous: bool = False
    diagnostics: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KillRequested:
    """Somebody wants it dead; ``exit_status`` says who (ContainerExitStatus)."""

    exit_status: int
    diagnostics: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanedUp:
    """Nothing of the container is left but its logs."""


Event: TypeAlias = (
    Started
    | Localized
    | LocalizationFailed
    | Launched
    | LaunchFailed
    | Exited
    | RestartRequested
    | KillRequested
    | CleanedUp
)
EVENT_TYPES: tuple[type[Event], ...] = (
    Started,
    Localized,
    LocalizationFailed,
    Launched,
    LaunchFailed,
    Exited,
    RestartRequested,
    KillRequested,
    CleanedUp,
)


class Effect(Enum):
    """What the manager has to do after a transition."""

    LOCALIZE = "LOCALIZE"
    LAUNCH = "LAUNCH"
    RELAUNCH = "RELAUNCH"
    RESTART = "RESTART"
    PREPARE_UPGRADE = "PREPARE_UPGRADE"
    STOP_RUN = "STOP_RUN"
    TERMINATE = "TERMINATE"
    CLEAN_UP = "CLEAN_UP"
    REPORT = "REPORT"


Outcome: TypeAlias = tuple[Container, tuple[Effect, ...]]
Handler: TypeAlias = Callable[[Container, Event], Outcome]


def step(container: Container, event: Event) -> Outcome:
    """Apply one event.

    Raises:
        IllegalTransition: neither handled nor ignored for a reason.
    """
    key = (container.state, type(event))
    handler = TABLE.get(key)
    if handler is not None:
        return handler(container, event)
    if key in IGNORED:
        return container, ()
    raise IllegalTransition("container", container.state.value, type(event).__name__)


def with_diagnostics(container: Container, text: str) -> Container:
    """Append, keeping the newest DIAGNOSTICS_LENGTH_MAX characters."""
    return replace(container, diagnostics=(container.diagnostics + text)[-DIAGNOSTICS_LENGTH_MAX:])


def _start(container: Container, event: Event) -> Outcome:
    return replace(container, state=State.LOCALIZING), (Effect.LOCALIZE,)


def _localized(container: Container, event: Event) -> Outcome:
    return replace(container, state=State.SCHEDULED), (Effect.LAUNCH,)


def _localization_failed(container: Container, event: Event) -> Outcome:
    assert isinstance(event, LocalizationFailed)
    failed = replace(container, state=State.LOCALIZATION_FAILED, exit_status=ContainerExitStatus.INVALID)
    return with_diagnostics(failed, event.diagnostics), (Effect.REPORT, Effect.CLEAN_UP)


def _launched(container: Container, event: Event) -> Outcome:
    assert isinstance(event, Launched)
    return replace(container, state=State.RUNNING, pid=event.pid), (Effect.REPORT,)


def _launch_failed(container: Container, event: Event) -> Outcome:
    assert isinstance(event, LaunchFailed)
    failed = replace(container, state=State.EXITED_WITH_FAILURE, exit_status=event.exit_status)
    return with_diagnostics(failed, event.diagnostics), (Effect.REPORT, Effect.CLEAN_UP)


def _exited(container: Container, event: Event) -> Outcome:
    assert isinstance(event, Exited)
    if event.run not in (None, container.run):
        return container, ()  # somebody else was told of that end too
    retry = container.retry.after_exit(event.exit_status, event.at_ms) if container.retry is not None else None
    if retry is not None:
        again = replace(container, state=State.RELAUNCHING, retry=retry, run=container.run + 1, pid=None)
        return with_diagnostics(again, event.diagnostics), (Effect.RELAUNCH,)
    if container.rollback and not not_retried(event.exit_status):
        undone = _with_context(replace(container, rollback=b""), container.rollback)
        noted = with_diagnostics(undone, f"{event.diagnostics}Container Re-init Auto Rolled-Back.\n")
        return replace(noted, state=State.RELAUNCHING, run=container.run + 1, pid=None), (Effect.RESTART,)
    state = State.EXITED_WITH_SUCCESS if event.exit_status == 0 else State.EXITED_WITH_FAILURE
    ended = replace(container, state=state, exit_status=event.exit_status)
    return with_diagnostics(ended, event.diagnostics + event.last_words), (Effect.REPORT, Effect.CLEAN_UP)


def _restart(container: Container, event: Event) -> Outcome:
    assert isinstance(event, RestartRequested)
    noted = with_diagnostics(replace(container, state=State.REINITIALIZING), event.diagnostics)
    if not event.context:
        return noted, (Effect.STOP_RUN,)
    kept = container.launch_context if event.keeps_previous else b""
    return replace(noted, upgrade=event.context, rollback=kept), (Effect.PREPARE_UPGRADE,)


def _upgrade_prepared(container: Container, event: Event) -> Outcome:
    return container, (Effect.STOP_RUN,)


def _upgrade_failed(container: Container, event: Event) -> Outcome:
    """The script runs on (ContainerImpl.ResourceLocalizationFailedWhileReInitTransition)."""
    assert isinstance(event, LocalizationFailed)
    undone = replace(container, state=State.RUNNING, upgrade=b"", rollback=b"")
    return with_diagnostics(undone, event.diagnostics), ()


def _stopped_for_restart(container: Container, event: Event) -> Outcome:
    assert isinstance(event, Exited)
    if event.run not in (None, container.run):
        return container, ()
    if container.upgrade:
        container = _with_context(replace(container, upgrade=b""), container.upgrade)
    return replace(container, state=State.RELAUNCHING, run=container.run + 1, pid=None), (Effect.RESTART,)


def _with_context(container: Container, context: bytes) -> Container:
    """With another launch context, and its retries unused."""
    retry = retry_of(pb.ContainerLaunchContextProto.FromString(context))
    return replace(container, launch_context=context, retry=retry)


def _kill_unstarted(container: Container, event: Event) -> Outcome:
    killing, _ = _kill(container, event)
    return replace(killing, state=State.DONE), (Effect.REPORT,)


def _kill(container: Container, event: Event) -> Outcome:
    assert isinstance(event, KillRequested)
    killing = replace(container, state=State.KILLING, exit_status=event.exit_status)
    return with_diagnostics(killing, event.diagnostics), (Effect.TERMINATE,)


def _launched_while_killing(container: Container, event: Event) -> Outcome:
    assert isinstance(event, Launched)
    return replace(container, pid=event.pid), (Effect.TERMINATE,)


def _killed(container: Container, event: Event) -> Outcome:
    assert isinstance(event, Exited)
    ended = replace(container, state=State.DONE)
    return with_diagnostics(ended, event.diagnostics), (Effect.REPORT, Effect.CLEAN_UP)


def _cleaned_up(container: Container, event: Event) -> Outcome:
    return _without_contexts(replace(container, state=State.DONE)), ()


def _forget_context(container: Container, event: Event) -> Outcome:
    return _without_contexts(container), ()


def _without_contexts(container: Container) -> Container:
    return replace(container, launch_context=b"", upgrade=b"", rollback=b"")


TABLE: dict[tuple[State, type[Event]], Handler] = {
    (State.NEW, Started): _start,
    (State.NEW, KillRequested): _kill_unstarted,
    (State.LOCALIZING, Localized): _localized,
    (State.LOCALIZING, LocalizationFailed): _localization_failed,
    (State.LOCALIZING, KillRequested): _kill,
    (State.SCHEDULED, Launched): _launched,
    (State.SCHEDULED, LaunchFailed): _launch_failed,
    (State.SCHEDULED, Exited): _exited,
    (State.SCHEDULED, KillRequested): _kill,
    (State.RUNNING, Exited): _exited,
    (State.RUNNING, RestartRequested): _restart,
    (State.RUNNING, KillRequested): _kill,
    (State.REINITIALIZING, Localized): _upgrade_prepared,
    (State.REINITIALIZING, LocalizationFailed): _upgrade_failed,
    (State.REINITIALIZING, Exited): _stopped_for_restart,
    (State.REINITIALIZING, KillRequested): _kill,
    (State.RELAUNCHING, Launched): _launched,
    (State.RELAUNCHING, LaunchFailed): _launch_failed,
    (State.RELAUNCHING, Exited): _exited,
    (State.RELAUNCHING, KillRequested): _kill,
    (State.KILLING, Launched): _launched_while_killing,
    (State.KILLING, Exited): _killed,
    (State.LOCALIZATION_FAILED, CleanedUp): _cleaned_up,
    (State.EXITED_WITH_SUCCESS, CleanedUp): _cleaned_up,
    (State.EXITED_WITH_FAILURE, CleanedUp): _cleaned_up,
    (State.DONE, CleanedUp): _forget_context,
}

_LATE = "the work it reports was overtaken by an end or a kill"
_AGAIN = "a repeated request; the first one counts"
_NOT_RUNNING = "only what runs can be started again; the caller was told so"
_IMPOSSIBLE = "cannot be produced by this state's effects; harmless after an agent restart"

_LOCALIZED = (State.LOCALIZING, State.REINITIALIZING)
_TO_BE_LAUNCHED = (State.SCHEDULED, State.RELAUNCHING)
_LIVE = (*_TO_BE_LAUNCHED, State.RUNNING, State.REINITIALIZING, State.KILLING)

IGNORED: dict[tuple[State, type[Event]], str] = {
    **{(s, Started): _AGAIN for s in State if s is not State.NEW},
    **{(s, Localized): _LATE for s in State if s not in _LOCALIZED},
    **{(s, LocalizationFailed): _LATE for s in State if s not in _LOCALIZED},
    **{(s, Launched): _LATE for s in State if s not in (*_TO_BE_LAUNCHED, State.KILLING)},
    **{(s, LaunchFailed): _LATE for s in State if s not in _TO_BE_LAUNCHED},
    **{(s, Exited): _LATE for s in State if s not in _LIVE},
    **{(s, RestartRequested): _NOT_RUNNING for s in State if s is not State.RUNNING},
    **{(s, KillRequested): _AGAIN for s in (State.KILLING, *(s for s in State if s.is_complete))},
    **{(s, CleanedUp): _IMPOSSIBLE for s in State if not s.is_complete},
}


def transitions() -> Iterator[tuple[State, str, str]]:
    """The table as rows (state, event, handler or the reason for ignoring), for the generated documentation."""
    for (state, event), handler in TABLE.items():
        yield state, event.__name__, handler.__name__.strip("_").replace("_", " ")
    for (state, event), reason in IGNORED.items():
        yield state, event.__name__, f"ignored: {reason}"
