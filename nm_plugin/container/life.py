"""A container's life on its node: one pure table.

Follows the states of ``ContainerImpl`` (Hadoop's NodeManager) without those of pausing, which is not served.
``CONTAINER_LIFE`` is the whole truth.  Handlers take a container and an event and return the new container and the
effects to perform, in order; they read no clock and touch nothing.

A kill's exit status wins over the process's own (ContainerExitStatus): it is fixed when the kill is requested.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import TypeAlias

from nm_plugin.container.retry import Retry, not_retried, retry_of
from nm_plugin.launch.members import Owner
from yodel.domain.ids import ContainerId
from yodel.domain.machine import Cell, Go, Ignore, StateMachine, Step, every_state
from yodel.domain.resource import Resource
from yodel.domain.shuffle.report import Report
from yodel.domain.states import ContainerExitStatus, ExecutionType
from yodel.hadoop_pb import yarn_protos_pb2 as pb

DIAGNOSTICS_LENGTH_MAX = 10_000  # yarn.nodemanager.container-diagnostics-maximum-size


class LifeState(Enum):
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


_COMPLETE = frozenset(
    {LifeState.LOCALIZATION_FAILED, LifeState.EXITED_WITH_SUCCESS, LifeState.EXITED_WITH_FAILURE, LifeState.DONE}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """One container of this node."""

    container_id: ContainerId
    user: str
    user_uid: int | None = None
    """As the node knew the user when the container was accepted; None: it did not."""
    pod_uid: str = ""
    """The uid of its pod, as the ResourceManager named it; empty: it has not yet."""
    resource: Resource
    priority: int = 0
    version: int = 0
    creation_ms: int = 0
    allocation_request_id: int = -1
    execution_type: ExecutionType = ExecutionType.GUARANTEED
    state: LifeState = LifeState.NEW
    exit_status: int = ContainerExitStatus.INVALID
    diagnostics: str = ""
    pid: int | None = None
    local_dir: str = ""
    log_dir: str = ""
    launch_context: bytes = field(default=b"", repr=False)
    log_aggregation: bytes = b""  # LogAggregationContextProto; kept by the logs' journal, not with the container
    is_master: bool = False
    shuffle: tuple[tuple[str, str], ...] = ()
    """The shuffle settings of its queue, from the container token (``nm_plugin.localization.shuffle_terms``)."""
    shuffle_report: Report | None = None
    """The outcome of these settings; only of an ApplicationMaster."""
    retry: Retry | None = None
    run: int = 0
    """How often it was started again in its place."""
    upgrade: bytes = field(default=b"", repr=False)
    """The launch context that takes over when the script has ended (reInitializeContainer)."""
    rollback: bytes = field(default=b"", repr=False)
    """The launch context before the last upgrade, until that is committed."""

    @property
    def owner(self) -> Owner | None:
        """Return the container's identity for finding its processes; None: it cannot have any yet."""
        if self.user_uid is None or not self.local_dir:
            return None
        return Owner(
            container_id=self.container_id,
            pod_uid=self.pod_uid,
            user_uid=self.user_uid,
            application_dir=Path(self.local_dir).parent,
            claimed_pid=self.pid,
        )


# Events: facts that happened.


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """startContainers accepted it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Localized:
    """Every local resource is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalizationFailed:
    """A resource is not available, or what the submitter set cannot go with what the queue says."""

    diagnostics: str
    exit_status: int = ContainerExitStatus.INVALID


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


class ContainerEffect(Enum):
    """Lists the actions that the manager performs after a transition."""

    LOCALIZE = "LOCALIZE"
    LAUNCH = "LAUNCH"
    RELAUNCH = "RELAUNCH"
    RESTART = "RESTART"
    PREPARE_UPGRADE = "PREPARE_UPGRADE"
    STOP_RUN = "STOP_RUN"
    TERMINATE = "TERMINATE"
    CLEAN_UP = "CLEAN_UP"
    REPORT = "REPORT"


def with_diagnostics(container: Container, text: str) -> Container:
    """Append, keeping the newest DIAGNOSTICS_LENGTH_MAX characters."""
    return replace(container, diagnostics=(container.diagnostics + text)[-DIAGNOSTICS_LENGTH_MAX:])


def _start(container: Container, _: Started) -> Step[Container]:
    return Step(replace(container, state=LifeState.LOCALIZING), (ContainerEffect.LOCALIZE,))


def _localized(container: Container, _: Localized) -> Step[Container]:
    return Step(replace(container, state=LifeState.SCHEDULED), (ContainerEffect.LAUNCH,))


def _localization_failed(container: Container, event: LocalizationFailed) -> Step[Container]:
    failed = replace(container, state=LifeState.LOCALIZATION_FAILED, exit_status=event.exit_status)
    return Step(with_diagnostics(failed, event.diagnostics), (ContainerEffect.REPORT, ContainerEffect.CLEAN_UP))


def _launched(container: Container, event: Launched) -> Step[Container]:
    return Step(replace(container, state=LifeState.RUNNING, pid=event.pid), (ContainerEffect.REPORT,))


def _launch_failed(container: Container, event: LaunchFailed) -> Step[Container]:
    failed = replace(container, state=LifeState.EXITED_WITH_FAILURE, exit_status=event.exit_status)
    return Step(with_diagnostics(failed, event.diagnostics), (ContainerEffect.REPORT, ContainerEffect.CLEAN_UP))


def _exited(container: Container, event: Exited) -> Step[Container]:
    if event.run not in (None, container.run):
        return Step(container)  # somebody else was told of that end too
    retry = container.retry.after_exit(event.exit_status, event.at_ms) if container.retry is not None else None
    if retry is not None:
        again = replace(container, state=LifeState.RELAUNCHING, retry=retry, run=container.run + 1, pid=None)
        return Step(with_diagnostics(again, event.diagnostics), (ContainerEffect.RELAUNCH,))
    if container.rollback and not not_retried(event.exit_status):
        undone = _with_context(replace(container, rollback=b""), container.rollback)
        noted = with_diagnostics(undone, f"{event.diagnostics}Container Re-init Auto Rolled-Back.\n")
        return Step(
            replace(noted, state=LifeState.RELAUNCHING, run=container.run + 1, pid=None), (ContainerEffect.RESTART,)
        )
    state = LifeState.EXITED_WITH_SUCCESS if event.exit_status == 0 else LifeState.EXITED_WITH_FAILURE
    ended = replace(container, state=state, exit_status=event.exit_status)
    return Step(
        with_diagnostics(ended, event.diagnostics + event.last_words),
        (ContainerEffect.REPORT, ContainerEffect.CLEAN_UP),
    )


def _restart(container: Container, event: RestartRequested) -> Step[Container]:
    noted = with_diagnostics(replace(container, state=LifeState.REINITIALIZING), event.diagnostics)
    if not event.context:
        return Step(noted, (ContainerEffect.STOP_RUN,))
    kept = container.launch_context if event.keeps_previous else b""
    return Step(replace(noted, upgrade=event.context, rollback=kept), (ContainerEffect.PREPARE_UPGRADE,))


def _upgrade_prepared(container: Container, _: Localized) -> Step[Container]:
    return Step(container, (ContainerEffect.STOP_RUN,))


def _upgrade_failed(container: Container, event: LocalizationFailed) -> Step[Container]:
    """The script runs on (ContainerImpl.ResourceLocalizationFailedWhileReInitTransition)."""
    undone = replace(container, state=LifeState.RUNNING, upgrade=b"", rollback=b"")
    return Step(with_diagnostics(undone, event.diagnostics))


def _stopped_for_restart(container: Container, event: Exited) -> Step[Container]:
    if event.run not in (None, container.run):
        return Step(container)
    if container.upgrade:
        container = _with_context(replace(container, upgrade=b""), container.upgrade)
    return Step(
        replace(container, state=LifeState.RELAUNCHING, run=container.run + 1, pid=None), (ContainerEffect.RESTART,)
    )


def _with_context(container: Container, context: bytes) -> Container:
    """Return the container with another launch context, and its retries unused."""
    retry = retry_of(pb.ContainerLaunchContextProto.FromString(context))
    return replace(container, launch_context=context, retry=retry)


def _kill_unstarted(container: Container, event: KillRequested) -> Step[Container]:
    return Step(replace(_kill(container, event).entity, state=LifeState.DONE), (ContainerEffect.REPORT,))


def _kill(container: Container, event: KillRequested) -> Step[Container]:
    killing = replace(container, state=LifeState.KILLING, exit_status=event.exit_status)
    return Step(with_diagnostics(killing, event.diagnostics), (ContainerEffect.TERMINATE,))


def _launched_while_killing(container: Container, event: Launched) -> Step[Container]:
    return Step(replace(container, pid=event.pid), (ContainerEffect.TERMINATE,))


def _killed(container: Container, event: Exited) -> Step[Container]:
    ended = replace(container, state=LifeState.DONE)
    return Step(with_diagnostics(ended, event.diagnostics), (ContainerEffect.REPORT, ContainerEffect.CLEAN_UP))


def _cleaned_up(container: Container, _: CleanedUp) -> Step[Container]:
    return Step(_without_contexts(replace(container, state=LifeState.DONE)))


def _forget_context(container: Container, _: CleanedUp) -> Step[Container]:
    return Step(_without_contexts(container))


def _without_contexts(container: Container) -> Container:
    return replace(container, launch_context=b"", upgrade=b"", rollback=b"")


_S = LifeState
_LATE: Cell[Container] = Ignore("the container was stopped or killed before that work was done")
_AGAIN: Cell[Container] = Ignore("a repeated request; the first one counts")
_NOT_RUNNING: Cell[Container] = Ignore("only a running container can be restarted; the caller gets an error")
_NOT_YET: Cell[Container] = Ignore("cannot be produced by this state's effects; harmless after an agent restart")
_KILL: Cell[Container] = Go(_kill, (_S.KILLING,))
_LAUNCHED: Cell[Container] = Go(_launched, (_S.RUNNING,))
_LAUNCH_FAILED: Cell[Container] = Go(_launch_failed, (_S.EXITED_WITH_FAILURE,))
_ENDED = (_S.RELAUNCHING, _S.EXITED_WITH_SUCCESS, _S.EXITED_WITH_FAILURE)

CONTAINER_LIFE: StateMachine[Container] = StateMachine(
    "Container on its node",
    LifeState,
    (
        Started,
        Localized,
        LocalizationFailed,
        Launched,
        LaunchFailed,
        Exited,
        RestartRequested,
        KillRequested,
        CleanedUp,
    ),
    {
        **every_state(_S, Started, _AGAIN),
        **every_state(_S, Localized, _LATE),
        **every_state(_S, LocalizationFailed, _LATE),
        **every_state(_S, Launched, _LATE),
        **every_state(_S, LaunchFailed, _LATE),
        **every_state(_S, Exited, _LATE),
        **every_state(_S, RestartRequested, _NOT_RUNNING),
        **every_state(_S, KillRequested, _AGAIN),
        **every_state(_S, CleanedUp, _NOT_YET),
        (_S.NEW, Started): Go(_start, (_S.LOCALIZING,)),
        (_S.NEW, KillRequested): Go(_kill_unstarted, (_S.DONE,)),
        (_S.LOCALIZING, Localized): Go(_localized, (_S.SCHEDULED,)),
        (_S.LOCALIZING, LocalizationFailed): Go(_localization_failed, (_S.LOCALIZATION_FAILED,)),
        (_S.LOCALIZING, KillRequested): _KILL,
        (_S.SCHEDULED, Launched): _LAUNCHED,
        (_S.SCHEDULED, LaunchFailed): _LAUNCH_FAILED,
        (_S.SCHEDULED, Exited): Go(_exited, (_S.SCHEDULED, *_ENDED)),
        (_S.SCHEDULED, KillRequested): _KILL,
        (_S.RUNNING, Exited): Go(_exited, (_S.RUNNING, *_ENDED)),
        (_S.RUNNING, RestartRequested): Go(_restart, (_S.REINITIALIZING,)),
        (_S.RUNNING, KillRequested): _KILL,
        (_S.REINITIALIZING, Localized): Go(_upgrade_prepared, (_S.REINITIALIZING,)),
        (_S.REINITIALIZING, LocalizationFailed): Go(_upgrade_failed, (_S.RUNNING,)),
        (_S.REINITIALIZING, Exited): Go(_stopped_for_restart, (_S.REINITIALIZING, _S.RELAUNCHING)),
        (_S.REINITIALIZING, KillRequested): _KILL,
        (_S.RELAUNCHING, Launched): _LAUNCHED,
        (_S.RELAUNCHING, LaunchFailed): _LAUNCH_FAILED,
        (_S.RELAUNCHING, Exited): Go(_exited, _ENDED),
        (_S.RELAUNCHING, KillRequested): _KILL,
        (_S.KILLING, Launched): Go(_launched_while_killing, (_S.KILLING,)),
        (_S.KILLING, Exited): Go(_killed, (_S.DONE,)),
        (_S.LOCALIZATION_FAILED, CleanedUp): Go(_cleaned_up, (_S.DONE,)),
        (_S.EXITED_WITH_SUCCESS, CleanedUp): Go(_cleaned_up, (_S.DONE,)),
        (_S.EXITED_WITH_FAILURE, CleanedUp): Go(_cleaned_up, (_S.DONE,)),
        (_S.DONE, CleanedUp): Go(_forget_context, (_S.DONE,)),
    },
)
