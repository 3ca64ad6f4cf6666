"""Drives pods to what their rows want, and tells rows what happened to their pods.

One round looks at one container: its row (the intent) and its pod as last seen (the fact).  What is missing is done;
all of it is idempotent, so rounds may be lost, doubled or late.  The watch is a hint, the list is the truth.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

import structlog

from yodel.domain.attempt import NOT_THE_APPLICATIONS_FAULT
from yodel.domain.backoff import Backoff
from yodel.domain.container import Container
from yodel.domain.events import (
    ContainerEnded,
    NodeManagerChosen,
    PodBound,
    PodResized,
    PodResizeRefused,
    PodTurnedAway,
)
from yodel.domain.ids import ContainerId
from yodel.domain.pod import PodObservation
from yodel.domain.resource import NONE
from yodel.domain.states import ApplicationState, ContainerExitStatus, ContainerState
from yodel.errors import Refused, YodelError
from yodel.ports.clock import Clock
from yodel.ports.pods import Manifest, Pods
from yodel.services.pods.binder import Binder, NoPlace
from yodel.services.pods.held import held_for_others
from yodel.services.pods.node_manager_chooser import NO_ROOM, NodeManagerChooser, WithoutPod
from yodel.services.writer.engine import Engine
from yodel.services.writer.transaction import Transaction
from yodel.translator import names, pod_events, refusals

AGENT_REPORT_WAIT_S = 3.0
"""How long after its pod says that it has ended a container is over, whether its node agent has told of it or not."""
REFUSED_RETRY_S = 30.0
"""After Kubernetes refused something for good by its own words: quotas and rights are changed by people."""
EXPLANATION_LOOK_S = 0.1
REPLACE_LOOK_S = 1.0
CHANGING_LOOK_S = 5.0
"""How often a pod is looked at that time alone may end: one that terminates, or waits for its image."""
SLICE = 500
"""Pods or containers looked at in one piece; the event loop is let go between two (about 5 µs each)."""
GONE_MAX = 10_000
"""Pods that are gone and whose last state is kept until their containers have been told of it."""
ANOTHER_POD_BACKOFF = Backoff(initial_s=1.0, cap_s=60.0)
"""Between the pods of one container that kubelets refuse: a node that is full stays so for a while."""
SHUT_OUT_LOOK_S = 5.0
"""How often a pod that was kept from closed nodes and waits is looked at: they may be open again."""
log = structlog.get_logger("yodel.reconciler")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconcilerSettings:
    """``pod_retention_s``: how long the pod of a container that ended by itself stays, for ``kubectl logs``.

    ``explanation_wait_s``: how long the kubelet's word on an end by signal is waited for.  The kernel kills all of a
    container that is out of memory and the kubelet signals what it evicts, so the agent only sees that it is gone; the
    kubelet tells why when the pod has ended."""

    pod_retention_s: float = 600.0
    stop_grace_s: int | None = None
    resync_interval_s: float = 60.0
    explanation_wait_s: float = 4.0


@dataclass(frozen=True, slots=True)
class _TurnedAway:
    """The last pod that a kubelet refused, how many there were, and when another may be created (monotonic)."""

    uid: str = ""
    count: int = 0
    not_before_s: float = float("-inf")


class Reconciler:
    """A ``PodSink`` and the handler of the work queue keyed by container."""

    def __init__(
        self,
        engine: Engine,
        pods: Pods,
        clock: Clock,
        manifest_of: Callable[[Container], Manifest],
        settings: ReconcilerSettings,
        enqueue: Callable[[ContainerId], object],
        node_managers: NodeManagerChooser,
        binder: Binder | None = None,
        forget: Callable[[ContainerId], object] = lambda _: None,
    ) -> None:
        """``node_managers`` chooses for containers that need no pod, ``binder`` for pods where a queue wants that;
        without one Kubernetes always does.  ``forget`` hears of containers that ended and have no pod any more."""
        self._binder = binder or Binder(engine.state, clock, "", lambda _: False, enqueue)
        self._engine, self._pods, self._clock = engine, pods, clock
        self._manifest_of, self._settings, self._enqueue = manifest_of, settings, enqueue
        self._forget, self._node_managers = forget, node_managers
        self._observed: dict[str, PodObservation] = {}
        self._unexplained_since_s: dict[ContainerId, float] = {}
        self._gone: dict[str, PodObservation] = {}
        """Last states of pods that are gone, by name: they tell why."""
        self._left: dict[ContainerId, str] = {}
        """Pods that are still there of containers that are over, whose rows may be gone."""
        self._turned_away: dict[ContainerId, _TurnedAway] = {}
        """Containers whose pods kubelets refused."""
        self._shut_out: dict[ContainerId, frozenset[str]] = {}
        """Nodes that a waiting pod was kept from when it was created."""
        self._in_vain: set[ContainerId] = set()
        """Containers whose pods no node had room for, while a NodeManager had."""
        self.refused_count = 0
        """Pods that kubelets did not admit (OutOf…), whose containers got others."""
        self.lost_count = 0
        """Containers that ended with their pods, by nobody's fault: taints, evictions, deletions, nodes that went."""
        self.is_synced = False
        """True after the first full listing: until then a missing pod means nothing."""

    # --- what the adapter sees -------------------------------------------------------------------------------------

    def pods_listed(self, pods: Sequence[PodObservation]) -> None:
        listed, before = {pod.name: pod for pod in pods}, self._observed
        gone = [pod for name, pod in before.items() if name not in listed]
        news = [pod for pod in pods if not _is_same(pod, before.get(pod.name))]
        self._observed = listed
        self.is_synced = True
        self._gone = {name: pod for name, pod in self._gone.items() if name not in listed}
        for pod in gone:
            self._remember(pod)
        self._look_at(iter([*news, *gone, *self._engine.state.live_containers()]))

    def pod_seen(self, pod: PodObservation) -> None:
        self._observed[pod.name] = pod
        self._gone.pop(pod.name, None)
        self._enqueue_pod(pod)

    def pod_gone(self, pod: PodObservation) -> None:
        self._observed.pop(pod.name, None)
        self._remember(pod)
        self._enqueue_pod(pod)

    def observed(self, container_id: ContainerId) -> PodObservation | None:
        """The container's pod; none once that is another container's."""
        state = self._engine.state
        container = state.containers.get(container_id)
        name = (container.pod if container is not None else "") or self._left.get(container_id, "")
        if state.container_index.of_pod(name) not in (None, container_id):
            return None
        return self._observed.get(name)

    def has_pod(self, container_id: ContainerId) -> bool:
        """Return True if the pod exists, so that work on it comes before pods that are yet to be created."""
        return self.observed(container_id) is not None

    def observed_pods(self) -> Sequence[PodObservation]:
        return list(self._observed.values())

    async def end_from_outside(self, container_id: ContainerId, exit_status: int) -> pod_events.End | None:
        """Return how Kubernetes ended the pod of a process that ended by a signal from elsewhere; None: it did not."""
        container = self._engine.state.containers.get(container_id)
        if container is None or not container.pod:
            return None
        end = await self._seen_end(container_id, exit_status)
        self.lost_count += end is not None and end.exit_status in NOT_THE_APPLICATIONS_FAULT
        return end

    async def _seen_end(self, container_id: ContainerId, exit_status: int) -> pod_events.End | None:
        if pod_events.is_by_signal(exit_status):
            await self._kubelets_word(container_id)
        container, now_ms = self._engine.state.containers.get(container_id), self._clock.now_ms()
        if container is None:
            return None
        name, pod = container.pod, self.observed(container_id)
        if pod is not None:
            end = pod_events.end_by_signal(pod, now_ms)
            if end is not None:
                return end
        try:
            pod = await self._pods.get(name)
        except YodelError:
            return None
        if pod is None:
            return pod_events.end_of_gone(name, self._gone.get(name), now_ms)
        return pod_events.end_by_signal(pod, now_ms)

    async def _kubelets_word(self, container_id: ContainerId) -> None:
        """Wait until the pod has ended, is being deleted or is gone, or the time is over."""
        for _ in range(round(self._settings.explanation_wait_s / EXPLANATION_LOOK_S)):
            pod = self.observed(container_id)
            if pod is None or pod.deletion_requested or pod_events.is_over(pod):
                return
            await asyncio.sleep(EXPLANATION_LOOK_S)

    async def run_resync(self) -> None:
        """Look at everything now and then: whatever was missed is found."""
        while True:
            await asyncio.sleep(self._settings.resync_interval_s)
            everything: list[PodObservation | Container] = [
                *self._engine.state.live_containers(),
                *self.observed_pods(),
            ]
            for start in range(0, len(everything), SLICE):
                for thing in everything[start : start + SLICE]:
                    self._enqueue_thing(thing)
                await asyncio.sleep(0)

    # --- one round -------------------------------------------------------------------------------------------------

    async def reconcile(self, container_id: ContainerId) -> float | None:
        """Compare and act.  Returns the seconds after which to look again, or None.

        Raises:
            Unavailable: Kubernetes or the store did not answer; the queue tries again.
        """
        if not self.is_synced:
            return 0.2
        container = self._engine.state.containers.get(container_id)
        pod = self.observed(container_id)
        if container is None or not container.is_live:
            return await self._remove(container, container_id, pod)
        if not container.pod:
            return await self._follow_without_pod(container, pod)
        if pod is None:
            return await self._create_or_end(container)
        return await self._follow(container, pod)

    async def _create_or_end(self, container: Container) -> float | None:
        if container.state is not ContainerState.PLANNED:
            end = pod_events.end_of_gone(container.pod, self._gone.get(container.pod), self._clock.now_ms())
            await self._end(container.id, end)
            return None
        is_in_vain = container.id in self._in_vain
        if (without_pod := self._node_managers.choose(container, is_pod_in_vain=is_in_vain)) is not None:
            return await self._place_without_pod(container, without_pod)
        pause_s = self._turned_away.get(container.id, _TurnedAway()).not_before_s - self._clock.monotonic_s()
        if pause_s > 0:
            return pause_s
        try:
            closed = self._shut(container)
            manifest = self._manifest_of(container)
            placed = self._binder.place(container, manifest)
            if isinstance(placed, NoPlace):
                without_pod = self._node_managers.choose(container, is_pod_in_vain=True)
                if without_pod is not None:
                    return await self._place_without_pod(container, without_pod)
                reason = f"{placed.reason}{self._node_managers.why_not(container)}"
                self._engine.state.reasons.explain_wait(container.id, reason)
                return placed.again_s
            await self._pods.create(placed)
            self._binder.created(container)
            self._shut_out.pop(container.id, None)
            if closed and placed is manifest:
                self._shut_out[container.id] = closed
        except Refused as error:
            self._binder.not_created(container)
            log.error("pod refused", container_id=str(container.id), error=str(error))
            if not container.is_am or refusals.meaning_of(str(error)).may_pass:
                # Ending it would plan the next one at once.  As in YARN, what cannot be had stays asked for.
                self._engine.state.reasons.explain_wait(container.id, refusals.explained(str(error)))
                return REFUSED_RETRY_S
            text = f"Pod {container.pod} could not be created: {error}"
            await self._end(container.id, pod_events.End(ContainerExitStatus.INVALID, text))
        return None

    async def _place_without_pod(self, container: Container, chosen: WithoutPod) -> float | None:
        """A NodeManager launches it: all that is to be done is in its row."""
        if chosen.node_id is None:
            self._engine.state.reasons.explain_wait(container.id, NO_ROOM)
            return REPLACE_LOOK_S
        self._node_managers.given(container, chosen.node_id)
        try:
            await self._tell(container.id, NodeManagerChosen(chosen.node_id))
        finally:
            self._node_managers.written(container.id)
        self._in_vain.discard(container.id)
        self._engine.state.reasons.explain_wait(container.id, "")
        return None

    async def _follow_without_pod(self, container: Container, pod: PodObservation | None) -> float | None:
        """Nothing is expected of Kubernetes; a pod whose creation came true late goes."""
        if pod is not None and not pod.deletion_requested:
            await self._pods.delete(pod.name, grace_s=self._settings.stop_grace_s)
        if container.resize_to != NONE:
            await self._tell(container.id, PodResized(container.resize_to))
        return None

    async def _follow(self, container: Container, pod: PodObservation) -> float | None:
        now_ms = self._clock.now_ms()
        if container.state is ContainerState.PLANNED and self._is_for_node_manager(container, pod):
            return await self._place_anew(container, pod, REPLACE_LOOK_S)
        if container.state is ContainerState.PLANNED and (
            pod_events.is_terminating(pod, now_ms) or self._is_misplaced(container, pod)
        ):
            # Nothing of it has started: the same container gets another pod once this one is gone.
            return await self._place_anew(container, pod, REPLACE_LOOK_S)
        if container.state is ContainerState.PLANNED and self._is_awaited(container, pod):
            return REPLACE_LOOK_S
        if self._is_refused(container.id, pod, now_ms):
            container = await self._taken_back(container)
            if container.state is ContainerState.PLANNED:
                self._count_turned_away(container, pod)
                return await self._place_anew(container, pod, REPLACE_LOOK_S)
        if container.state is ContainerState.PLANNED and pod.node_name is not None:
            node = self._engine.state.node_index.of_kubernetes(pod.node_name)
            if node is None:
                return 0.5  # bound to a node whose agent has not registered yet
            wait_s = self._binder.admission_left_s(container, pod)
            if wait_s > 0:
                return wait_s
            self._shut_out.pop(container.id, None)
            await self._tell(container.id, PodBound(node.id))
        self._explain(container, pod, now_ms)
        end = pod_events.end_of(pod, now_ms)
        if end is None:
            if container.resize_to != NONE and not pod.deletion_requested:
                await self._resize(container)
            if pod_events.may_change_unseen(pod, now_ms):
                return CHANGING_LOOK_S
            may_change = container.id in self._shut_out or self._waits_for_either(container, pod)
            return SHUT_OUT_LOOK_S if may_change else None
        since_s = self._unexplained_since_s.setdefault(container.id, self._clock.monotonic_s())
        left_s = AGENT_REPORT_WAIT_S - (self._clock.monotonic_s() - since_s)
        if left_s > 0:
            return left_s
        await self._end(container.id, end)
        return None

    async def _place_anew(self, container: Container, pod: PodObservation, look_s: float) -> float:
        """Delete the pod; the next round, after ``look_s``, finds none and creates another."""
        if not pod.deletion_requested:
            log.info(
                "container gets another pod", container_id=str(container.id), node=pod.node_name, reason=pod.reason
            )
            await self._pods.delete(pod.name, grace_s=self._settings.stop_grace_s)
        return look_s

    def _is_refused(self, container_id: ContainerId, pod: PodObservation, now_ms: int) -> bool:
        """Return True if its kubelet refused it; also once its deletion is all that can be seen."""
        line = pod_events.meaning_of(pod, now_ms)
        known = self._turned_away.get(container_id)
        return line.becomes is pod_events.ContainerOutcome.ANOTHER_POD or (known is not None and known.uid == pod.uid)

    async def _taken_back(self, container: Container) -> Container:
        """A container that is offered and not handed over yet is planned again; others stay what they are."""
        if container.state is ContainerState.ALLOCATED:
            await self._tell(container.id, PodTurnedAway())
        return self._engine.state.containers.get(container.id, container)

    def _count_turned_away(self, container: Container, pod: PodObservation) -> None:
        """The pause grows with every pod that a kubelet refused."""
        container_id = container.id
        before = self._turned_away.get(container_id, _TurnedAway())
        if before.uid == pod.uid:
            return
        self._binder.refused(container, pod)
        self.refused_count += 1
        count = before.count + 1
        pause_s = ANOTHER_POD_BACKOFF.delay_s(count, lambda: 1.0)
        self._turned_away[container_id] = _TurnedAway(pod.uid, count, self._clock.monotonic_s() + pause_s)

    def _explain(self, container: Container, pod: PodObservation, now_ms: int) -> None:
        """Record for reports why a container waits; nothing if it does not."""
        line = pod_events.meaning_of(pod, now_ms)
        waits = line.becomes in (pod_events.ContainerOutcome.WAITS, pod_events.ContainerOutcome.STARTS)
        text = line.diagnostics(pod) if waits else ""
        if text and pod.node_name is None:
            text += self._node_managers.why_not(container)
        if text and container.id not in self._engine.state.reasons.waits:
            log.info("container is waiting", container_id=str(container.id), reason=text)
        self._engine.state.reasons.explain_wait(container.id, text)

    def _remember(self, pod: PodObservation) -> None:
        while len(self._gone) >= GONE_MAX:
            del self._gone[next(iter(self._gone))]
        self._gone[pod.name] = pod

    def _is_for_node_manager(self, container: Container, pod: PodObservation) -> bool:
        """Return whether a NodeManager has room for a container for whose pod there is none."""
        if pod.deletion_requested:
            return container.id in self._in_vain
        if pod.node_name is not None or not pod.unschedulable_message:
            return False
        if self._node_managers.choose(container, is_pod_in_vain=True) is None:
            return False
        self._in_vain.add(container.id)
        return True

    def _waits_for_either(self, container: Container, pod: PodObservation) -> bool:
        """Return whether it has a pod without a node, and may go to a NodeManager as soon as one has room."""
        is_shared = self._engine.state.pools.has_node_managers(container.queue)
        return is_shared and container.state is ContainerState.PLANNED and pod.node_name is None

    def _is_misplaced(self, container: Container, pod: PodObservation) -> bool:
        """Return True if it is on a node that has been closed since; or, while it waits for a place, is kept from one
        that is open again, or not from one that is held for another."""
        state = self._engine.state
        if pod.node_name is not None:
            return state.is_closed_for(container.queue, pod.node_name)
        held = held_for_others(state, container)
        shut_out = self._shut_out.get(container.id)
        if shut_out is None:  # an earlier life knew from which nodes; this one keeps it from those that are closed now
            return bool(held) or names.KEPT_FROM in pod.annotations
        if not held <= shut_out:
            return True
        return any(name not in held and state.is_open_for(container.queue, name) for name in shut_out)

    def _is_awaited(self, container: Container, pod: PodObservation) -> bool:
        """Return True if it is on a node of which is not known yet, since this RM started, what it lends."""
        return pod.node_name is not None and self._engine.state.is_awaited_for(container.queue, pod.node_name)

    def _shut(self, container: Container) -> frozenset[str]:
        """Nodes that its pod is kept from."""
        state = self._engine.state
        return state.closed_for(container.queue) | held_for_others(state, container)

    async def _resize(self, container: Container) -> None:
        """Make the pod as large as its row wants it."""
        size = container.resize_to
        event: PodResized | PodResizeRefused = PodResized(size)
        try:
            await self._pods.resize(self._manifest_of(replace(container, capability=size)))
        except Refused as error:
            log.warning("pod resize refused", container_id=str(container.id), error=str(error))
            event = PodResizeRefused(size, str(error))
        await self._tell(container.id, event)

    async def _remove(
        self, container: Container | None, container_id: ContainerId, pod: PodObservation | None
    ) -> float | None:
        self._unexplained_since_s.pop(container_id, None)
        self._shut_out.pop(container_id, None)
        self._in_vain.discard(container_id)
        self._turned_away.pop(container_id, None)
        self._binder.over(container_id)
        if container is not None:
            self._gone.pop(container.pod, None)
        if pod is None:
            self._left.pop(container_id, None)
            self._forget(container_id)
            return None
        self._left[container_id] = pod.name
        if pod.deletion_requested:
            return None
        left_s = self._retention_left_s(container)
        if left_s > 0:
            return left_s
        try:
            await self._pods.delete(pod.name, grace_s=self._settings.stop_grace_s)
        except Refused as error:
            log.error("pod deletion refused", container_id=str(container_id), error=str(error))
            return REFUSED_RETRY_S
        return None

    def _retention_left_s(self, container: Container | None) -> float:
        """Pods that ended by themselves stay a while; those we stop, and all of a killed application, go at once."""
        if container is None or container.exit_status < 0:
            return 0.0
        application = self._engine.state.applications.get(container.id.application_id)
        if application is None or application.state is ApplicationState.KILLED:
            return 0.0
        # An end that lies ahead was noted before the wall clock was set back: a pod must not stay until it is reached.
        age_s = abs(self._clock.now_ms() - container.finished_ms) / 1000
        return self._settings.pod_retention_s - age_s

    async def _end(self, container_id: ContainerId, end: pod_events.End) -> None:
        self._unexplained_since_s.pop(container_id, None)
        self.lost_count += end.exit_status in NOT_THE_APPLICATIONS_FAULT
        event = ContainerEnded(end.exit_status, end.diagnostics, self._clock.now_ms(), end.awaits_agent)
        await self._tell(container_id, event)

    async def _tell(
        self,
        container_id: ContainerId,
        event: PodBound | NodeManagerChosen | PodTurnedAway | ContainerEnded | PodResized | PodResizeRefused,
    ) -> None:
        """Observed, and observed again should it be lost: nobody waits for an answer."""

        def work(tx: Transaction) -> None:
            if not tx.has(container_id):
                return
            if isinstance(event, ContainerEnded) and not _has_agent(tx, tx.container(container_id)):
                tx.tell(container_id, replace(event, awaits_agent=False))
            else:
                tx.tell(container_id, event)

        await self._engine.do(work, may_wait=True)

    def _look_at(self, things: Iterator[PodObservation | Container]) -> None:
        """Ask for rounds, a slice now and the others as soon as the loop has done what else there is.

        Of containers only those without a pod: the others are meant by their pods.
        """
        for thing in islice(things, SLICE):
            if isinstance(thing, PodObservation) or thing.pod not in self._observed:
                self._enqueue_thing(thing)
        rest = next(things, None)
        if rest is not None:
            asyncio.get_running_loop().call_soon(self._look_at, chain((rest,), things))

    def _enqueue_thing(self, thing: PodObservation | Container) -> None:
        if isinstance(thing, Container):
            self._enqueue(thing.id)
        else:
            self._enqueue_pod(thing)

    def _enqueue_pod(self, pod: PodObservation) -> None:
        """Enqueue the container that has the pod; without a row, the one that its label names."""
        container_id = self._engine.state.container_index.of_pod(pod.name)
        if container_id is None:
            container_id = names.container_of(pod.labels)
            if container_id is None:
                return
            self._left[container_id] = pod.name
        self._enqueue(container_id)


def _has_agent(tx: Transaction, container: Container) -> bool:
    """Return True if its node's agent is expected to report it, or to be lost."""
    return container.node_id is not None and tx.has(container.node_id) and tx.node(container.node_id).is_registered


def _is_same(pod: PodObservation, before: PodObservation | None) -> bool:
    return before is not None and pod.uid == before.uid and pod.resource_version == before.resource_version
