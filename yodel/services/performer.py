"""Performs effects: passes each to the service that acts on it.  Nothing here waits."""

from __future__ import annotations

from collections.abc import Callable

import structlog

from yodel.domain.container_update import OUT_OF_RANGE, UpdateError, UpdateRequest
from yodel.domain.effects import (
    CleanUpApplication,
    CleanUpContainer,
    ExpectAttempt,
    ForgetAttempt,
    Forgettable,
    Grant,
    LaunchAm,
    NodeChanged,
    OutsideEffect,
    Planned,
    Reconcile,
    ReportCompleted,
    ReportUpdated,
    ReportUpdateRefused,
    UpdateOnNode,
    Withdraw,
)
from yodel.domain.ids import ApplicationAttemptId, ContainerId
from yodel.domain.states import ContainerUpdateType
from yodel.ports.clock import Clock
from yodel.services.nodes.agents import Agents
from yodel.services.writer.attempt_runtime import AttemptRuntime
from yodel.services.writer.outbox import AttemptOutbox
from yodel.services.writer.state import ClusterState, ask_key

log = structlog.get_logger("yodel.performer")


class EffectPerformer:
    """See ``engine.Performer``."""

    def __init__(
        self,
        state: ClusterState,
        nodes: Agents,
        clock: Clock,
        reconcile: Callable[[ContainerId], object],
        launch: Callable[[ApplicationAttemptId], object],
    ) -> None:
        self._state, self._nodes, self._clock = state, nodes, clock
        self._reconcile, self._launch = reconcile, launch

    def perform(self, effect: OutsideEffect) -> None:
        match effect:
            case Reconcile(container_id):
                self._changed(container_id)
            case Planned(container_id):
                self._planned(container_id)
            case Forgettable(container_id, node_id):
                self._nodes.forget_container(container_id, node_id)
                self._reconcile(container_id)
            case Grant(container_id):
                self._runtime(container_id, lambda runtime: self._grant(runtime, container_id))
            case Withdraw(container_id):
                self._runtime(container_id, lambda runtime: runtime.outbox.withdraw(container_id))
            case ReportCompleted(container_id):
                self._runtime(container_id, lambda runtime: _completed(runtime, container_id))
            case ReportUpdated(container_id):
                self._runtime(container_id, lambda runtime: runtime.outbox.resized(container_id))
            case ReportUpdateRefused():
                self._runtime(effect.container_id, lambda runtime: self._update_refused(runtime, effect))
            case UpdateOnNode():
                self._nodes.update_container(effect)
            case LaunchAm(attempt_id):
                self._launch(attempt_id)
            case CleanUpContainer():
                self._nodes.clean_up_container(effect)
            case CleanUpApplication():
                self._nodes.clean_up_application(effect)
            case ExpectAttempt(attempt_id):
                now_s = self._clock.monotonic_s()
                outbox = AttemptOutbox.of(self._state.unheard_completions(attempt_id))
                self._state.masters.expect(attempt_id, now_s, outbox)
            case ForgetAttempt(attempt_id):
                self._state.masters.give_up(attempt_id)
            case NodeChanged(node_id):
                for runtime in self._state.masters.runtimes.values():
                    runtime.dialogue.token_lost(node_id)
                    if runtime.dialogue.is_registered:
                        runtime.outbox.node_changed(node_id)

    def _changed(self, container_id: ContainerId) -> None:
        container = self._state.containers[container_id]
        if not container.is_live:
            runtime = self._state.masters.runtimes.get(container_id.attempt_id)
            if runtime is not None and not container.is_am:
                runtime.wishes.take_off(ask_key(container), container_id)
                runtime.outbox.withdraw(container_id)
        self._reconcile(container_id)

    def _update_refused(self, runtime: AttemptRuntime, refused: ReportUpdateRefused) -> None:
        """Kubernetes' words are the operator's; the AM hears what Hadoop says of a size that is not available."""
        container = self._state.containers[refused.container_id]
        log.warning("resize refused", container_id=str(container.id), reason=refused.reason)
        request = UpdateRequest(
            container_id=container.id,
            version=container.version,
            type=ContainerUpdateType.INCREASE_RESOURCE,
            capability=refused.capability,
        )
        error = UpdateError(request=request, reason=OUT_OF_RANGE, current_version=container.version)
        runtime.outbox.not_resized(error)

    def _planned(self, container_id: ContainerId) -> None:
        """It may be over already: ended in the batch that planned it."""
        container, runtime = (
            self._state.containers[container_id],
            self._state.masters.runtimes.get(container_id.attempt_id),
        )
        if runtime is not None and container.is_live and not container.is_am:
            runtime.wishes.planned(ask_key(container), container_id)

    def _grant(self, runtime: AttemptRuntime, container_id: ContainerId) -> None:
        """Only what this life planned: one that another life planned and could not give back expires unused."""
        if container_id in runtime.wishes.in_flight.get(ask_key(self._state.containers[container_id]), ()):
            runtime.outbox.grant(container_id)

    def _runtime(self, container_id: ContainerId, act: Callable[[AttemptRuntime], object]) -> None:
        """An attempt that keeps containers across attempts hands their news to the attempt that lives."""
        runtimes = self._state.masters.runtimes
        runtime = runtimes.get(container_id.attempt_id)
        if runtime is None:
            application = self._state.applications.get(container_id.application_id)
            if application is not None and application.submission.keep_containers_across_attempts:
                runtime = runtimes.get(application.current_attempt_id)
        if runtime is not None:
            act(runtime)


def _completed(runtime: AttemptRuntime, container_id: ContainerId) -> None:
    runtime.outbox.complete(container_id, is_taken_over=container_id.attempt_id != runtime.attempt_id)
    runtime.wishes.ended(container_id)
