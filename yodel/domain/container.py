"""A container's life: planned, bound, handed to its ApplicationMaster, running, completed.

Follows RMContainerImpl, with one difference: a container has a row and a pod before it has a node.  ``state`` is what
is so, ``target`` what we want.  A stopped container is COMPLETED at once (as Hadoop's RELEASED and KILLED): the row
says the end, the reconciler makes the pod follow.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from yodel.domain.effects import CleanUpContainer, Effect, Grant, Reconcile, ReportCompleted, Tell
from yodel.domain.events import (
    AmContainerBound,
    AmContainerCompleted,
    AmContainerStarted,
    ContainerAcquired,
    ContainerCompletionAcknowledged,
    ContainerEnded,
    ContainerStarted,
    PodBound,
    StopRequested,
)
from yodel.domain.ids import ContainerId, NodeId
from yodel.domain.machine import Cell, Go, Ignore, Impossible, Machine, Step, every_state
from yodel.domain.resource import Resource
from yodel.domain.states import ContainerExitStatus, ContainerState, ContainerTarget, ContainerType, ExecutionType

DIAGNOSTICS_LENGTH_MAX = 65536  # YarnConfiguration.APP_ATTEMPT_DIAGNOSTICS_LIMIT_KC: 64 KiB


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where a container may go: hosts and racks preferred, strict when locality is not relaxed, hosts to avoid."""

    hosts: tuple[str, ...] = ()
    racks: tuple[str, ...] = ()
    is_strict: bool = False
    avoid: tuple[str, ...] = ()
    node_label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """One container: the row is the intent, its pod the fact.

    ``capability`` is what was granted, ``asked_capability`` what the AM asked for (the key of its ask); times are epoch
    milliseconds; ``exit_status`` is meaningful when COMPLETED.
    """

    id: ContainerId
    type: ContainerType
    user: str
    queue: str
    capability: Resource
    asked_capability: Resource
    priority: int
    allocation_request_id: int = -1
    execution_type: ExecutionType = ExecutionType.GUARANTEED
    placement: Placement = Placement()
    state: ContainerState = ContainerState.PLANNED
    target: ContainerTarget = ContainerTarget.RUN
    node_id: NodeId | None = None
    created_ms: int
    finished_ms: int = 0
    exit_status: int = ContainerExitStatus.INVALID
    diagnostics: str = ""
    is_acknowledged: bool = False
    """The ApplicationMaster has seen the completion, or never has to."""

    @property
    def is_am(self) -> bool:
        return self.type is ContainerType.APPLICATION_MASTER

    @property
    def is_live(self) -> bool:
        return self.state is not ContainerState.COMPLETED


def _bound(container: Container, event: PodBound) -> Step[Container]:
    bound = replace(container, state=ContainerState.ALLOCATED, node_id=event.node_id)
    if container.is_am:
        return Step(bound, (Tell(container.id.attempt_id, AmContainerBound()),))
    return Step(bound, (Grant(container.id),))


def _acquired(container: Container, _: ContainerAcquired) -> Step[Container]:
    return Step(replace(container, state=ContainerState.ACQUIRED))


def _started(container: Container, _: ContainerStarted) -> Step[Container]:
    effects: tuple[Effect, ...] = (Tell(container.id.attempt_id, AmContainerStarted()),) if container.is_am else ()
    return Step(replace(container, state=ContainerState.RUNNING), effects)


def _ended(container: Container, event: ContainerEnded) -> Step[Container]:
    """The process is over: its node agent or its pod said so."""
    return _completed(container, event.exit_status, event.diagnostics, event.at_ms, ())


def _stopped(container: Container, event: StopRequested) -> Step[Container]:
    """We want it gone: released, killed, or its application has ended."""
    cleanup = (CleanUpContainer(container.id, container.node_id),) if container.node_id is not None else ()
    return _completed(container, event.exit_status, event.diagnostics, event.at_ms, cleanup)


def _completed(
    container: Container, exit_status: int, diagnostics: str, at_ms: int, cleanup: tuple[Effect, ...]
) -> Step[Container]:
    known_to_am = container.state in (ContainerState.ACQUIRED, ContainerState.RUNNING) and not container.is_am
    completed = replace(
        container,
        state=ContainerState.COMPLETED,
        target=ContainerTarget.STOP,
        exit_status=exit_status,
        diagnostics=diagnostics[-DIAGNOSTICS_LENGTH_MAX:],
        finished_ms=at_ms,
        is_acknowledged=not known_to_am,
    )
    effects: list[Effect] = [*cleanup, Reconcile(container.id)]
    if known_to_am:
        effects.append(ReportCompleted(container.id))
    if container.is_am:
        effects.append(Tell(container.id.attempt_id, AmContainerCompleted(exit_status, completed.diagnostics, at_ms)))
    return Step(completed, tuple(effects))


def _acknowledged(container: Container, _: ContainerCompletionAcknowledged) -> Step[Container]:
    return Step(replace(container, is_acknowledged=True))


_S = ContainerState
_STOP: Cell[Container] = Go(_stopped, (_S.COMPLETED,))
_END: Cell[Container] = Go(_ended, (_S.COMPLETED,))
_OVER = Ignore("the container is over")

CONTAINER_MACHINE: Machine[Container] = Machine(
    "Container",
    ContainerState,
    (PodBound, ContainerAcquired, ContainerStarted, ContainerEnded, StopRequested, ContainerCompletionAcknowledged),
    {
        **every_state(_S, PodBound, Ignore("already bound")),
        **every_state(_S, ContainerAcquired, Impossible("only a bound container is handed out")),
        **every_state(_S, ContainerStarted, Ignore("already running")),
        **every_state(_S, ContainerEnded, _END),
        **every_state(_S, StopRequested, _STOP),
        **every_state(_S, ContainerCompletionAcknowledged, Impossible("only an end can be acknowledged")),
        (_S.PLANNED, PodBound): Go(_bound, (_S.ALLOCATED,)),
        (_S.ALLOCATED, ContainerAcquired): Go(_acquired, (_S.ACQUIRED,)),
        (_S.COMPLETED, ContainerAcquired): Ignore("it ended while its grant was on the way"),
        (_S.PLANNED, ContainerStarted): Ignore("the binding has not been seen yet; the next heartbeat says it again"),
        (_S.ALLOCATED, ContainerStarted): Go(_started, (_S.RUNNING,)),
        (_S.ACQUIRED, ContainerStarted): Go(_started, (_S.RUNNING,)),
        (_S.COMPLETED, PodBound): _OVER,
        (_S.COMPLETED, ContainerStarted): _OVER,
        (_S.COMPLETED, ContainerEnded): _OVER,
        (_S.COMPLETED, StopRequested): _OVER,
        (_S.COMPLETED, ContainerCompletionAcknowledged): Go(_acknowledged, (_S.COMPLETED,)),
    },
)
