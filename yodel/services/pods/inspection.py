"""Keeps what ``kubectl`` shows of applications and containers close to the rows: best effort, beside everything.

``published`` is called with committed rows and only takes notes; two tasks write, each at a bounded pace.  Applications
coalesce: a line is written from the state at the time of writing, so a hundred changes in between are one write, and a
line that would be the same is not written.  Events do not coalesce (each is a fact), so their queue is bounded and the
oldest are dropped.  When Kubernetes refuses (no right, no such resource), the writer rests and what came meanwhile is
forgotten; nothing here is retried, and nothing else ever waits for it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import inf

import structlog

from yodel.domain.allocation.demands import Misfit
from yodel.domain.application import Application
from yodel.domain.container import Container
from yodel.domain.ids import ApplicationId, ContainerId
from yodel.domain.notices import PreemptionNotice
from yodel.domain.pod import PodObservation
from yodel.domain.states import ContainerExitStatus, ContainerState
from yodel.errors import Refused, Unavailable
from yodel.ports.clock import Clock
from yodel.ports.inspection import ApplicationBoard, ListedApplication, PodEvent, PodEvents
from yodel.services.writer.state import ClusterState
from yodel.services.writer.usage import Usage

EVENTS_MAX = 2_000
WITHOUT_PODS_MAX = 20
"""Containers without pods that one application's object names."""
TEXT_MAX = 512
"""Characters of one text in an event or a line: an object of the API server is no place for logs."""
log = structlog.get_logger("yodel.inspection")

_REASONS = {
    ContainerState.ALLOCATED: ("Allocated", "Container {id} was allocated: {amount}"),
    ContainerState.RUNNING: ("Launched", "Container {id} was launched"),
}
_NOT_FOR_EVENTS = (ContainerExitStatus.KILLED_AFTER_APP_COMPLETION, ContainerExitStatus.KILLED_BY_APPMASTER)


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectionSettings:
    """Both paces are averages; ``rest_s`` is the pause after a refusal, ``write_timeout_s`` the deadline of a write."""

    events_per_second: float = 10.0
    applications_per_second: float = 5.0
    rest_s: float = 300.0
    write_timeout_s: float = 30.0


class Inspection:
    """A follower of the engine (``published``) and two writers (``run``).  None switches a writer off."""

    def __init__(
        self,
        state: ClusterState,
        observed: Callable[[ContainerId], PodObservation | None],
        clock: Clock,
        settings: InspectionSettings,
        *,
        events: PodEvents | None,
        board: ApplicationBoard | None,
    ) -> None:
        self._state, self._observed, self._clock, self._settings = state, observed, clock, settings
        self._events, self._board = events, board
        self._waiting: deque[PodEvent] = deque(maxlen=EVENTS_MAX)
        self._changed: dict[ApplicationId, None] = {}
        self._shown: dict[ApplicationId, ListedApplication] = {}
        self._told = {
            container.id: ContainerState.RUNNING if container.awaits_agent else container.state
            for container in state.containers.values()
            if container.is_live or container.awaits_agent
        }
        """The states that events told of live containers; an end is told of those only."""
        self._has_events, self._has_changes = asyncio.Event(), asyncio.Event()
        self.dropped = 0
        """Events that were not written: too many, refused, or no answer."""

    # --- notes ------------------------------------------------------------------------------------------------------

    def published(self, rows: Sequence[object], removed: Sequence[ApplicationId]) -> None:
        """Rows that were committed and applications that were forgotten.  Never waits."""
        for row in rows:
            if isinstance(row, Container):
                self._note(row.id.application_id)
                self._note_event(row)
            elif isinstance(row, Application):
                self._note(row.id)
        for application_id in removed:
            self._note(application_id)

    def noticed(self, notices: Mapping[ContainerId, PreemptionNotice]) -> None:
        """Note on their pods which containers will be stopped, and why.  Never waits."""
        for container_id, notice in notices.items() if self._events is not None else ():
            pod = self._observed(container_id)
            if pod is not None:
                left_s = max(0.0, notice.deadline_s - self._clock.monotonic_s())
                when = f" in {left_s:.0f} s" if left_s < inf else ""
                text = f"Container {container_id} will be stopped{when}: {notice.why}"
                self._put(
                    PodEvent(
                        pod_name=pod.name,
                        pod_uid=pod.uid,
                        reason="Preempting",
                        message=text[:TEXT_MAX],
                        at_ms=self._clock.now_ms(),
                        is_warning=True,
                    )
                )

    def misfit(self, misfit: Misfit) -> None:
        """A wish that no node can serve: told on the pod of its ApplicationMaster.  Never waits."""
        attempt = self._state.attempts.get(misfit.attempt_id)
        master = attempt.am_container_id if attempt is not None else None
        pod = self._observed(master) if master is not None else None
        self._note(misfit.attempt_id.application_id)
        if self._events is None or pod is None:
            return
        self._put(
            PodEvent(
                pod_name=pod.name,
                pod_uid=pod.uid,
                reason="ContainerUnschedulable",
                message=str(misfit)[:TEXT_MAX],
                at_ms=self._clock.now_ms(),
                is_warning=True,
            )
        )

    def _put(self, event: PodEvent) -> None:
        self.dropped += len(self._waiting) == EVENTS_MAX
        self._waiting.append(event)
        self._has_events.set()

    def _note(self, application_id: ApplicationId) -> None:
        if self._board is not None:
            self._changed.setdefault(application_id)
            self._has_changes.set()

    def _note_event(self, container: Container) -> None:
        is_told = self._told.get(container.id) is container.state or container.awaits_agent
        if self._events is None or is_told:
            return
        before = self._told.pop(container.id, None)
        if container.is_live:
            self._told[container.id] = container.state
        elif before is None:
            return
        pod = self._observed(container.id)
        event = _event(container, pod.uid if pod is not None else "", before, self._clock.now_ms())
        if event is None or pod is None:
            return  # events of pods that nobody has seen would hang in the air
        self._put(event)

    # --- writers ----------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Write until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            if self._events is not None:
                tasks.create_task(self._write_events(self._events), name="pod events")
            if self._board is not None:
                tasks.create_task(self._write_applications(self._board), name="application board")

    async def _write_events(self, events: PodEvents) -> None:
        """Pause before each event, so that none is written in the moment in which its container is allocated."""
        while True:
            await self._has_events.wait()
            if not self._waiting:
                self._has_events.clear()
                continue
            await asyncio.sleep(1 / self._settings.events_per_second)
            if not await self._try(events.tell(self._waiting.popleft()), "event"):
                self.dropped += 1 + len(self._waiting)
                self._waiting.clear()

    async def _write_applications(self, board: ApplicationBoard) -> None:
        await self._compare(board)
        while True:
            await self._has_changes.wait()
            if not self._changed:
                self._has_changes.clear()
                continue
            application_id = next(iter(self._changed))
            del self._changed[application_id]
            if await self._bring_up_to_date(board, application_id):
                await asyncio.sleep(1 / self._settings.applications_per_second)

    async def _compare(self, board: ApplicationBoard) -> None:
        """After a start: lines of applications that we do not know any more go, all others are renewed."""
        lines: list[ApplicationId] = []

        async def read() -> None:
            lines.extend(await board.shown())

        while not await self._try(read(), "list of applications"):
            lines.clear()
        self._shown.clear()
        for application_id in (*lines, *self._state.applications):
            self._note(application_id)

    async def _bring_up_to_date(self, board: ApplicationBoard, application_id: ApplicationId) -> bool:
        """False when there was nothing to write."""
        application = self._state.applications.get(application_id)
        if application is None:
            self._shown.pop(application_id, None)
            await self._try(board.hide(application_id), "application")
            return True
        summary = _summary(self._state, application)
        if self._shown.get(application_id) == summary:
            return False
        if await self._try(board.show(summary), "application"):
            self._shown[application_id] = summary
        return True

    async def _try(self, write: Awaitable[None], what: str) -> bool:
        """Return True if the write succeeded.  After a failure it waits before it returns."""
        try:
            async with asyncio.timeout(self._settings.write_timeout_s):
                await write
        except Refused as error:
            log.info("inspection refused", what=what, error=str(error), rest_s=self._settings.rest_s)
            await asyncio.sleep(self._settings.rest_s)
            return False
        except (Unavailable, TimeoutError) as error:
            log.info("inspection not written", what=what, error=str(error))
            await asyncio.sleep(1.0)
            return False
        return True


def _event(container: Container, pod_uid: str, before: ContainerState | None, at_ms: int) -> PodEvent | None:
    """Return the pod's event for a container's new state; None for states without one."""
    if container.is_live:
        found = _REASONS.get(container.state)
        if found is None:
            return None
        reason, text, is_warning = (
            found[0],
            found[1].format(id=container.id, amount=container.capability.with_units),
            False,
        )
    else:
        if container.exit_status in _NOT_FOR_EVENTS:
            return None
        reason, is_warning = _end_reason(container, before), container.exit_status != ContainerExitStatus.SUCCESS
        text = f"Container {container.id} ended with {container.exit_status}: {container.diagnostics}".rstrip(": ")
    return PodEvent(
        pod_name=container.pod,
        pod_uid=pod_uid,
        reason=reason,
        message=text[:TEXT_MAX],
        at_ms=at_ms,
        is_warning=is_warning,
    )


def _end_reason(container: Container, before: ContainerState | None) -> str:
    """A node agent that could not localize answers INVALID before anything was launched (ContainerImpl)."""
    if container.exit_status == ContainerExitStatus.SUCCESS:
        return "Completed"
    if container.exit_status == ContainerExitStatus.INVALID and "ocaliz" in container.diagnostics:
        return "LocalizationFailed"
    if container.exit_status == ContainerExitStatus.INVALID or before is ContainerState.ALLOCATED:
        return "LaunchFailed"
    return "Preempted" if container.exit_status == ContainerExitStatus.PREEMPTED else "Ended"


def _summary(state: ClusterState, application: Application) -> ListedApplication:
    submission, usage = application.submission, state.usage.by_application.get(application.id, Usage())
    return ListedApplication(
        id=application.id,
        name=submission.name[:TEXT_MAX],
        type=submission.application_type[:TEXT_MAX],
        user=submission.user[:TEXT_MAX],
        queue=submission.queue[:TEXT_MAX],
        state=application.yarn_state.name,
        final_status=application.final_status.name,
        containers=usage.containers,
        memory_mib=usage.resource.memory_mib,
        vcores=usage.resource.vcores,
        submitted_ms=application.submitted_ms,
        finished_ms=application.finished_ms,
        waits_for=_wait(state, application)[:TEXT_MAX],
        diagnostics=application.diagnostics[-TEXT_MAX:],
        without_pods=tuple(islice(_without_pods(state, application), WITHOUT_PODS_MAX)),
    )


def _without_pods(state: ClusterState, application: Application) -> Iterator[tuple[str, str]]:
    for attempt in state.attempts_of(application.id) if state.node_index.has_node_managers else ():
        for container in state.containers_of(attempt.id):
            if container.is_live and not container.pod:
                yield str(container.id), str(container.node_id)


def _wait(state: ClusterState, application: Application) -> str:
    """The ApplicationMaster's before those of tasks."""
    if application.state.is_final:
        return ""
    reasons = state.reasons
    own = [container_id for container_id in reasons.waits if container_id.application_id == application.id]
    masters = [container_id for container_id in own if state.containers[container_id].is_am]
    if masters or not reasons.misfits:
        return reasons.waits[[*masters, *own][0]] if own else ""
    misfits = [str(misfit) for key, misfit in reasons.misfits.items() if key[0].application_id == application.id]
    return next(iter(misfits), reasons.waits[own[0]] if own else "")
