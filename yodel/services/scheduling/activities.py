"""Scheduler activities: armed by whoever asks, told by the next tick, kept for ten minutes (ActivitiesManager).

While nobody asked, a tick is spared all of it; asking wakes the scheduler once.  What is kept is bounded by lines, and
what is old is dropped when somebody looks, so nothing runs for its sake.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import structlog

from yodel.domain.activities import (
    ActivityState,
    ApplicationActivity,
    Look,
    RequestActivity,
    application_activity,
    pods_activity,
    request_activity,
)
from yodel.domain.allocation.by_pool import PoolPart
from yodel.domain.allocation.demands import Decision, Demand, Plan
from yodel.domain.allocation.places import Places
from yodel.domain.ask_book import AskKey
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId
from yodel.domain.states import ContainerState
from yodel.ports.clock import Clock
from yodel.services.writer.state import ClusterState

TTL_MS = 600_000
"""yarn.resourcemanager.activities-manager.scheduler-activities.ttl-ms, and that of applications."""
LOOKS_MAX = 100
"""yarn.resourcemanager.activities-manager.app-activities.max-queue-length: of one application."""
WATCHED_MAX = 100
"""Applications whose activities are recorded or kept at once; of more, the one asked for first is forgotten."""
APPLICATIONS_MAX = 100
"""Applications told in a look at the cluster: those first in line."""
LINES_MAX = 100_000
"""The most lines of all that is kept of applications: some ten megabytes."""
NODES_ARMED_MAX = 1000
WAKE_INTERVAL_S = 0.25
"""Ticks that are made for those who ask are at least so far apart."""
log = structlog.get_logger("yodel.activities")
_Wish = tuple[ApplicationAttemptId, AskKey | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivityRequests:
    """Names the activities to record in one cycle: of the cluster (its first applications), of nodes, of watched
    applications."""

    is_cluster: bool
    nodes: frozenset[NodeId]
    in_line: tuple[ApplicationId, ...]
    watched: tuple[ApplicationId, ...]
    attempts: frozenset[ApplicationAttemptId]


class Activities:
    """``wake`` has the scheduler look at once."""

    def __init__(self, state: ClusterState, clock: Clock) -> None:
        self._state, self._clock = state, clock
        self.wake: Callable[[], None] = lambda: None
        self._is_armed = False
        self._armed_nodes: set[NodeId] = set()
        self._watched_until_ms: dict[ApplicationId, int] = {}
        self._last: Look | None = None
        self._last_of_node: dict[NodeId, Look] = {}
        self._shelf = _Shelf()
        self._looked = asyncio.Event()
        self._logged_until_ms = 0
        self._waking: asyncio.TimerHandle | None = None
        self._woken_s = float("-inf")

    # --- asking

    def arm(self, node_id: NodeId | None = None) -> None:
        """Have the next tick told, of one node or of the cluster."""
        if node_id is None:
            self._is_armed = True
        elif len(self._armed_nodes) < NODES_ARMED_MAX:
            self._armed_nodes.add(node_id)
        self._wake_soon()

    def watch(self, application_id: ApplicationId, duration_s: float) -> None:
        """Have what becomes of an application told for so long."""
        until = self._watched_until_ms
        until.pop(application_id, None)
        while len(until) >= WATCHED_MAX:
            del until[next(iter(until))]
        until[application_id] = self._clock.now_ms() + int(duration_s * 1000)
        self._wake_soon()

    def log_for(self, duration_s: float) -> None:
        """Have every tick of so long written into the log: what it did not serve, and why."""
        self._logged_until_ms = self._clock.now_ms() + int(duration_s * 1000)
        self._wake_soon()

    def last(self, node_id: NodeId | None = None) -> Look | None:
        """The last look at the cluster, or at a node; None before the first, and once it is old."""
        look = self._last if node_id is None else self._last_of_node.get(node_id)
        return look if look is not None and self._is_fresh(look) else None

    def of_application(self, application_id: ApplicationId) -> list[Look] | None:
        """Looks at the application alone, the oldest first; None before the first."""
        looks = self._shelf.of(application_id)
        if looks is None:
            return None
        return [look for look in looks if self._is_fresh(look)]

    async def next(self, timeout_s: float) -> Look | None:
        """Have the cluster looked at, and what was found; None when nothing was in time."""
        self._looked.clear()
        self.arm()
        try:
            async with asyncio.timeout(timeout_s):
                await self._looked.wait()
        except TimeoutError:
            return None
        return self.last()

    def _wake_soon(self) -> None:
        """Wake at once, or when the last time is long enough ago: readers do not set the scheduler's pace."""
        loop = asyncio.get_running_loop()
        if self._waking is not None:
            return
        delay_s = self._woken_s + WAKE_INTERVAL_S - loop.time()
        if delay_s > 0:
            self._waking = loop.call_later(delay_s, self._wake, loop)
        else:
            self._wake(loop)

    def _wake(self, loop: asyncio.AbstractEventLoop) -> None:
        self._waking, self._woken_s = None, loop.time()
        self.wake()

    # --- telling

    def asked(self, demands: Iterable[Demand]) -> ActivityRequests | None:
        """Return the activities to record in the cycle that begins; None, nearly always: there are none."""
        if not (self._is_armed or self._armed_nodes or self._watched_until_ms or self._logged_until_ms):
            return None
        now_ms = self._clock.now_ms()
        is_cluster = self._is_armed or bool(self._armed_nodes) or self._logged_until_ms >= now_ms
        if self._logged_until_ms < now_ms:
            self._logged_until_ms = 0
        self._watched_until_ms = {i: until for i, until in self._watched_until_ms.items() if until >= now_ms}
        in_line: list[Demand] = []
        if is_cluster:
            in_line = sorted(demands, key=lambda d: (-d.priority, d.submitted_ms, d.attempt_id))[:APPLICATIONS_MAX]
        applications = self._state.applications
        watched = [i for i in self._watched_until_ms if i in applications]
        asked = ActivityRequests(
            is_cluster=is_cluster,
            nodes=frozenset(self._armed_nodes),
            in_line=tuple(demand.attempt_id.application_id for demand in in_line),
            watched=tuple(watched),
            attempts=frozenset(demand.attempt_id for demand in in_line)
            | frozenset(applications[i].current_attempt_id for i in watched),
        )
        self._is_armed = False
        self._armed_nodes.clear()
        return asked

    def keep(
        self,
        asked: ActivityRequests,
        decision: Decision,
        parts: Sequence[PoolPart],
        planned: Iterable[tuple[Plan, ContainerId]] = (),
    ) -> None:
        """Record the decision about these parts, once it is on disk."""
        places_of = {demand.attempt_id: part.capacity.places for part in parts for demand in part.demands}
        containers: dict[_Wish, list[ContainerId]] = {}
        for plan, container_id in planned:
            containers.setdefault((plan.attempt_id, plan.key), []).append(container_id)
        told: dict[ApplicationAttemptId, dict[AskKey | None, RequestActivity]] = {}
        for outcome in decision.outcomes:
            made = request_activity(
                outcome,
                places_of.get(outcome.attempt_id),
                containers.get((outcome.attempt_id, outcome.key), ()),
            )
            told.setdefault(outcome.attempt_id, {})[outcome.key] = made
        if asked.is_cluster:
            self._keep_cluster(asked, told, [p.capacity.places for p in parts if p.capacity.places is not None])
        for application_id in asked.watched:
            activity = self._activity(application_id, told)
            if activity is not None:
                self._shelf.put(Look(at_ms=self._clock.now_ms(), applications=(activity,)), self._is_fresh)

    def _keep_cluster(
        self,
        asked: ActivityRequests,
        told: Mapping[ApplicationAttemptId, Mapping[AskKey | None, RequestActivity]],
        places: Sequence[Places],
    ) -> None:
        nodes = dict.fromkeys(node.id for own in places for node in own.nodes[:NODES_ARMED_MAX])
        found = (self._activity(application_id, told) for application_id in asked.in_line)
        look = Look(
            at_ms=self._clock.now_ms(),
            applications=tuple(activity for activity in found if activity is not None),
            queues=tuple(queue.path for queue in self._state.queues.values() if queue.is_leaf),
            node_ids=tuple(nodes)[:NODES_ARMED_MAX],
        )
        if self._logged_until_ms:
            _write_into_log(look)
        self._last = look
        self._last_of_node = {i: kept for i, kept in self._last_of_node.items() if self._is_fresh(kept)}
        self._last_of_node.update(dict.fromkeys(asked.nodes, look))
        self._looked.set()

    def _activity(
        self,
        application_id: ApplicationId,
        told: Mapping[ApplicationAttemptId, Mapping[AskKey | None, RequestActivity]],
    ) -> ApplicationActivity | None:
        application = self._state.applications.get(application_id)
        if application is None or application.state.is_final:
            return None
        attempt_id = application.current_attempt_id
        requests = dict(told.get(attempt_id, {}))
        for key, waits in self._under_way(attempt_id).items():
            requests.setdefault(key, pods_activity(key, waits))
        in_order = sorted(requests.values(), key=lambda request: (request.priority, request.allocation_request_id))
        submission = application.submission
        return application_activity(application_id, submission.queue, submission.priority, in_order)

    def _under_way(self, attempt_id: ApplicationAttemptId) -> dict[AskKey | None, list[str]]:
        """Wishes with containers that have no node yet, and what Kubernetes says of their pods."""
        state, found = self._state, dict[AskKey | None, list[str]]()
        runtime, attempt = state.masters.runtimes.get(attempt_id), state.attempts.get(attempt_id)
        wishes: list[tuple[AskKey | None, Iterable[ContainerId]]] = []
        if runtime is not None:
            wishes += runtime.wishes.in_flight.items()
        if attempt is not None and attempt.am_container_id is not None:
            wishes.append((None, (attempt.am_container_id,)))
        for key, container_ids in wishes:
            planned = [i for i in container_ids if i in state.containers and _has_no_node(state, i)]
            if planned:
                found[key] = [state.reasons.waits.get(i, "") for i in planned]
        return found

    def _is_fresh(self, look: Look) -> bool:
        return look.at_ms + TTL_MS > self._clock.now_ms()


class _Shelf:
    """Looks at single applications, the oldest first, and how many lines they all are."""

    def __init__(self) -> None:
        self._looks: dict[ApplicationId, deque[Look]] = {}
        self._lines = 0

    def of(self, application_id: ApplicationId) -> deque[Look] | None:
        return self._looks.get(application_id)

    def put(self, look: Look, is_fresh: Callable[[Look], bool]) -> None:
        """Room is made for it: of those nobody asks for any more first."""
        (activity,) = look.applications
        looks = self._looks.pop(activity.application_id, None) or deque()
        self._looks[activity.application_id] = looks
        looks.append(look)
        self._lines += look.size
        if len(looks) > LOOKS_MAX:
            self._lines -= looks.popleft().size
        for application_id in [i for i, old in self._looks.items() if not is_fresh(old[-1])]:
            self._drop(application_id)
        while len(self._looks) > WATCHED_MAX or (len(self._looks) > 1 and self._lines > LINES_MAX):
            self._drop(next(iter(self._looks)))
        while len(looks) > 1 and self._lines > LINES_MAX:
            self._lines -= looks.popleft().size

    def _drop(self, application_id: ApplicationId) -> None:
        self._lines -= sum(look.size for look in self._looks.pop(application_id))


def _write_into_log(look: Look) -> None:
    for application in look.applications:
        for request in application.requests:
            if request.state is not ActivityState.ALLOCATED or request.diagnostic:
                said = {"request": request.name, "state": request.state.value, "diagnostic": request.diagnostic}
                log.info("not served", application=str(application.application_id), **said)


def _has_no_node(state: ClusterState, container_id: ContainerId) -> bool:
    return state.containers[container_id].state is ContainerState.PLANNED


def of_node(look: Look, node_id: NodeId) -> Look:
    """The same look, with nothing said of other nodes."""

    def narrowed(activity: ApplicationActivity) -> ApplicationActivity:
        requests = (
            replace(request, nodes=tuple(n for n in request.nodes if n.node_id == node_id))
            for request in activity.requests
        )
        return replace(activity, requests=tuple(requests))

    return replace(look, applications=tuple(map(narrowed, look.applications)), node_ids=(node_id,))
