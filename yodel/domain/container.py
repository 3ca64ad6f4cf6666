"""A container's life: planned, bound, handed to its ApplicationMaster, running, completed.

Follows RMContainerImpl, with one difference: a container has a row and a pod before it has a node.  A stopped
container is COMPLETED at once (as Hadoop's RELEASED and KILLED): the row says the end, the reconciler makes the pod
follow.

A resize has three ends to bring together: the row, the pod and the ApplicationMaster.  An increase is reserved first
(``resize_to``), then the pod becomes larger, and only then the ApplicationMaster gets a token for it.  A decrease is
true at once; the pod and the node agent follow.  An increase stands once the node agent reports it; one that the
ApplicationMaster does not pass on goes back to the size that was confirmed last, as a decrease.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from yodel.domain.constraints import TagRule
from yodel.domain.effects import (
    CleanUpContainer,
    Effect,
    Forgettable,
    Grant,
    Reconcile,
    ReportCompleted,
    ReportUpdated,
    ReportUpdateRefused,
    Tell,
    UpdateOnNode,
    Withdraw,
)
from yodel.domain.events import (
    AmContainerBound,
    AmContainerCompleted,
    AmContainerStarted,
    ContainerAcquired,
    ContainerCompletionAcknowledged,
    ContainerEnded,
    ContainerStarted,
    ContainerUpdateAcknowledged,
    DecreaseRequested,
    IncreaseDecided,
    IncreaseExpired,
    NodeManagerChosen,
    PodBound,
    PodResized,
    PodResizeRefused,
    PodTurnedAway,
    SizeReported,
    StopRequested,
)
from yodel.domain.ids import ContainerId, NodeId
from yodel.domain.machine import Cell, Go, Ignore, Impossible, StateMachine, Step, every_state
from yodel.domain.resource import NONE, Resource
from yodel.domain.states import (
    ContainerExitStatus,
    ContainerState,
    ContainerType,
    ContainerUpdateType,
    ExecutionType,
)

DIAGNOSTICS_LENGTH_MAX = 65536  # YarnConfiguration.APP_ATTEMPT_DIAGNOSTICS_LIMIT_KC: 64 KiB


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Describes where a container may run: preferred hosts and racks, required if ``is_strict``, and hosts to avoid.

    ``nodes`` are hosts of the only nodes that satisfy its placement constraint, chosen by the ResourceManager; empty:
    any.  ``rules`` are the parts of a constraint that Kubernetes' scheduler keeps by itself.
    """

    hosts: tuple[str, ...] = ()
    racks: tuple[str, ...] = ()
    is_strict: bool = False
    avoid: tuple[str, ...] = ()
    node_label: str = ""
    nodes: tuple[str, ...] = ()
    rules: tuple[TagRule, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """One container: the row is the intent, its pod the fact.

    ``capability`` is what was granted, ``asked_capability`` what the AM asked for (the key of its ask); times are epoch
    milliseconds; ``exit_status`` is meaningful when COMPLETED.
    """

    id: ContainerId
    pod: str
    """The name of the pod that it runs in, also before that is there; empty: a NodeManager runs it, without a pod."""
    type: ContainerType
    user: str
    queue: str
    capability: Resource
    asked_capability: Resource
    priority: int
    allocation_request_id: int = -1
    execution_type: ExecutionType = ExecutionType.GUARANTEED
    asked_execution_type: ExecutionType = ExecutionType.GUARANTEED
    """As asked, which makes the key of its ask; what was granted may differ."""
    placement: Placement = Placement()
    allocation_tags: tuple[str, ...] = ()
    """By which placement constraints count it."""
    state: ContainerState = ContainerState.PLANNED
    node_id: NodeId | None = None
    created_ms: int
    finished_ms: int = 0
    exit_status: int = ContainerExitStatus.INVALID
    diagnostics: str = ""
    is_acknowledged: bool = False
    """The ApplicationMaster has seen the completion, or never has to."""
    awaits_agent: bool = False
    """COMPLETED as its pod told, while its node agent, who knows more, has not told: until then its ApplicationMaster
    does not hear of it.  What it held is free."""
    version: int = 0
    """Grows with every resize; a container token is good for one version."""
    resize_to: Resource = NONE
    """The size that its pod does not have yet; ``NONE`` when it has the one it should."""
    update_type: ContainerUpdateType | None = None
    """How it got its version, while the ApplicationMaster has not seen that."""
    confirmed: Resource = NONE
    """The size that its node agent works with while that is smaller (RMContainerImpl.lastConfirmedResource); ``NONE``
    when no increase waits to be passed on."""

    @property
    def reserved(self) -> Resource:
        """Return the size that counts in the cluster: the larger one from the moment an increase is decided."""
        return self.capability if self.resize_to == NONE else self.resize_to

    @property
    def is_am(self) -> bool:
        return self.type is ContainerType.APPLICATION_MASTER

    @property
    def is_live(self) -> bool:
        return self.state is not ContainerState.COMPLETED

    def end_as_its_pod_told(self, at_ms: int) -> ContainerEnded:
        """Nothing more is expected of its node agent."""
        return ContainerEnded(self.exit_status, self.diagnostics, at_ms)


def _bound(container: Container, event: PodBound) -> Step[Container]:
    bound = replace(container, state=ContainerState.ALLOCATED, node_id=event.node_id)
    if container.is_am:
        return Step(bound, (Tell(container.id.attempt_id, AmContainerBound()),))
    return Step(bound, (Grant(container.id),))


def _given(container: Container, event: NodeManagerChosen) -> Step[Container]:
    return _bound(replace(container, pod=""), PodBound(event.node_id))


def _turned_away(container: Container, _: PodTurnedAway) -> Step[Container]:
    """Nobody has heard of its node but an AM's attempt, which ends with the container."""
    if container.is_am:
        return Step(container)
    return Step(replace(container, state=ContainerState.PLANNED, node_id=None), (Withdraw(container.id),))


def _acquired(container: Container, _: ContainerAcquired) -> Step[Container]:
    return Step(replace(container, state=ContainerState.ACQUIRED))


def _started(container: Container, _: ContainerStarted) -> Step[Container]:
    effects: tuple[Effect, ...] = (Tell(container.id.attempt_id, AmContainerStarted()),) if container.is_am else ()
    return Step(replace(container, state=ContainerState.RUNNING), effects)


def _ended(container: Container, event: ContainerEnded) -> Step[Container]:
    """The process is over: its node agent or its pod said so."""
    return _completed(container, event, ())


def _explained(container: Container, event: ContainerEnded) -> Step[Container]:
    """The node agent told at last how it ended, or nothing more is expected of it."""
    if not container.awaits_agent or event.awaits_agent:
        return Step(container)
    told = replace(
        container,
        exit_status=event.exit_status,
        diagnostics=event.diagnostics[-DIAGNOSTICS_LENGTH_MAX:],
        awaits_agent=False,
    )
    return Step(told, (*_told(told, event.at_ms), Forgettable(container.id, container.node_id)))


def _stopped(container: Container, event: StopRequested) -> Step[Container]:
    """We want it gone: released, killed, or its application has ended."""
    cleanup = (CleanUpContainer(container.id, container.node_id),) if container.node_id is not None else ()
    return _completed(container, ContainerEnded(event.exit_status, event.diagnostics, event.at_ms), cleanup)


def _completed(container: Container, event: ContainerEnded, cleanup: tuple[Effect, ...]) -> Step[Container]:
    known_to_am = container.state in (ContainerState.ACQUIRED, ContainerState.RUNNING) and not container.is_am
    completed = replace(
        container,
        state=ContainerState.COMPLETED,
        exit_status=event.exit_status,
        diagnostics=event.diagnostics[-DIAGNOSTICS_LENGTH_MAX:],
        finished_ms=event.at_ms,
        is_acknowledged=not known_to_am,
        awaits_agent=event.awaits_agent,
    )
    return Step(completed, (*cleanup, Reconcile(container.id), *_told(completed, event.at_ms)))


def _told(completed: Container, at_ms: int) -> tuple[Effect, ...]:
    """Return the events for those who are notified of the end; an AM's attempt also if the node agent has not reported
    yet."""
    if completed.is_am:
        event = AmContainerCompleted(completed.exit_status, completed.diagnostics, at_ms, completed.awaits_agent)
        return (Tell(completed.id.attempt_id, event),)
    return () if completed.is_acknowledged or completed.awaits_agent else (ReportCompleted(completed.id),)


def _acknowledged(container: Container, _: ContainerCompletionAcknowledged) -> Step[Container]:
    return Step(replace(container, is_acknowledged=True), (Forgettable(container.id, container.node_id),))


def _increase(container: Container, event: IncreaseDecided) -> Step[Container]:
    if container.resize_to != NONE:
        return Step(container)  # decided in an earlier tick, and under way
    return Step(replace(container, resize_to=event.capability), (Reconcile(container.id),))


def _decrease(container: Container, event: DecreaseRequested) -> Step[Container]:
    return _decreased(container, event.capability)


def _decreased(container: Container, capability: Resource) -> Step[Container]:
    smaller = replace(
        container,
        capability=capability,
        resize_to=capability,
        version=container.version + 1,
        update_type=ContainerUpdateType.DECREASE_RESOURCE,
        confirmed=NONE if capability.fits_in(container.confirmed) else container.confirmed,
    )
    told = (UpdateOnNode(container.id, container.node_id),) if container.node_id is not None else ()
    return Step(smaller, (Reconcile(container.id), ReportUpdated(container.id), *told))


def _pod_resized(container: Container, event: PodResized) -> Step[Container]:
    if event.capability != container.resize_to:
        return Step(container)  # another size is wanted by now
    if container.capability == event.capability:
        return Step(replace(container, resize_to=NONE))
    larger = replace(
        container,
        capability=event.capability,
        resize_to=NONE,
        version=container.version + 1,
        update_type=ContainerUpdateType.INCREASE_RESOURCE,
        confirmed=container.capability if container.confirmed == NONE else container.confirmed,
    )
    return Step(larger, (ReportUpdated(container.id),))


def _pod_resize_refused(container: Container, event: PodResizeRefused) -> Step[Container]:
    """A pod that cannot shrink stays large, which harms nobody; one that cannot grow refuses the increase."""
    if event.capability != container.resize_to:
        return Step(container)
    refused = replace(container, resize_to=NONE)
    if container.capability == event.capability:
        return Step(refused)
    return Step(refused, (ReportUpdateRefused(container.id, event.capability, event.reason),))


def _update_acknowledged(container: Container, event: ContainerUpdateAcknowledged) -> Step[Container]:
    return Step(replace(container, update_type=None) if event.version == container.version else container)


def _size_reported(container: Container, event: SizeReported) -> Step[Container]:
    """RMContainerImpl.NMReportedContainerChangeIsDoneTransition; a size that is too large is told by the decrease."""
    if container.confirmed == NONE:
        return Step(container)
    if event.capability == container.capability:
        return Step(replace(container, confirmed=NONE))
    is_between = container.confirmed.fits_in(event.capability) and event.capability.fits_in(container.capability)
    if not is_between or event.capability == container.confirmed:
        return Step(container)
    return Step(replace(container, confirmed=event.capability))


def _increase_expired(container: Container, _: IncreaseExpired) -> Step[Container]:
    """CapacityScheduler.rollbackContainerUpdate; one that grows just now is looked at again when it has grown."""
    if container.confirmed == NONE or container.resize_to != NONE:
        return Step(container)
    return _decreased(container, container.confirmed)


_S = ContainerState
_HANDED_OUT = (_S.ACQUIRED, _S.RUNNING)
_STOP: Cell[Container] = Go(_stopped, (_S.COMPLETED,))
_END: Cell[Container] = Go(_ended, (_S.COMPLETED,))
_OVER = Ignore("the container has ended")
_NOT_RESIZED = Ignore("only a container that the ApplicationMaster has is resized")
_RESIZING = (
    IncreaseDecided,
    DecreaseRequested,
    PodResized,
    PodResizeRefused,
    ContainerUpdateAcknowledged,
    SizeReported,
    IncreaseExpired,
)

CONTAINER_MACHINE: StateMachine[Container] = StateMachine(
    "Container",
    ContainerState,
    (
        PodBound,
        NodeManagerChosen,
        PodTurnedAway,
        ContainerAcquired,
        ContainerStarted,
        ContainerEnded,
        StopRequested,
        ContainerCompletionAcknowledged,
        IncreaseDecided,
        DecreaseRequested,
        PodResized,
        PodResizeRefused,
        ContainerUpdateAcknowledged,
        SizeReported,
        IncreaseExpired,
    ),
    {
        **{(s, e): _NOT_RESIZED for s in _S for e in _RESIZING},
        **{(s, IncreaseDecided): Go(_increase, (s,)) for s in _HANDED_OUT},
        **{(s, DecreaseRequested): Go(_decrease, (s,)) for s in _HANDED_OUT},
        **{(s, PodResized): Go(_pod_resized, (s,)) for s in _HANDED_OUT},
        **{(s, PodResizeRefused): Go(_pod_resize_refused, (s,)) for s in _HANDED_OUT},
        **{(s, ContainerUpdateAcknowledged): Go(_update_acknowledged, (s,)) for s in _HANDED_OUT},
        **{(s, SizeReported): Go(_size_reported, (s,)) for s in _HANDED_OUT},
        **{(s, IncreaseExpired): Go(_increase_expired, (s,)) for s in _HANDED_OUT},
        **every_state(_S, PodBound, Ignore("already bound")),
        **every_state(_S, NodeManagerChosen, Ignore("it has a node already")),
        **every_state(_S, PodTurnedAway, Ignore("the ApplicationMaster has it, or it has no node")),
        **every_state(_S, ContainerAcquired, Impossible("only a bound container is handed out")),
        **every_state(_S, ContainerStarted, Ignore("already running")),
        **every_state(_S, ContainerEnded, _END),
        **every_state(_S, StopRequested, _STOP),
        **every_state(_S, ContainerCompletionAcknowledged, Impossible("only an end can be acknowledged")),
        (_S.PLANNED, PodBound): Go(_bound, (_S.ALLOCATED,)),
        (_S.PLANNED, NodeManagerChosen): Go(_given, (_S.ALLOCATED,)),
        (_S.ALLOCATED, PodTurnedAway): Go(_turned_away, (_S.ALLOCATED, _S.PLANNED)),
        (_S.ALLOCATED, ContainerAcquired): Go(_acquired, (_S.ACQUIRED,)),
        (_S.COMPLETED, ContainerAcquired): Ignore("it ended before the ApplicationMaster got it"),
        (_S.PLANNED, ContainerStarted): Ignore(
            "the binding has not been seen yet; the next heartbeat reports it again"
        ),
        (_S.ALLOCATED, ContainerStarted): Go(_started, (_S.RUNNING,)),
        (_S.ACQUIRED, ContainerStarted): Go(_started, (_S.RUNNING,)),
        (_S.COMPLETED, PodBound): _OVER,
        (_S.COMPLETED, NodeManagerChosen): _OVER,
        (_S.COMPLETED, ContainerStarted): _OVER,
        (_S.COMPLETED, ContainerEnded): Go(_explained, (_S.COMPLETED,)),
        (_S.COMPLETED, StopRequested): _OVER,
        (_S.COMPLETED, ContainerCompletionAcknowledged): Go(_acknowledged, (_S.COMPLETED,)),
    },
)
