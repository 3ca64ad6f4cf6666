"""Collects what one work item decides: committed rows under its own changes, and the effects once they are on disk.

An event that ends thousands of containers is not processed in one go: the rest is continued (``go_on``) until all of it
``is_told``, by the engine, which lets others have the loop meanwhile, or by the next reader.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypeVar, cast

from yodel.domain.application import APPLICATION_MACHINE, Application, is_tried_again, tracking_page_hint
from yodel.domain.attempt import ATTEMPT_MACHINE, Attempt
from yodel.domain.container import CONTAINER_MACHINE, Container
from yodel.domain.effects import (
    CleanUpApplication,
    ExpectAttempt,
    ForgetAttempt,
    Forgettable,
    OutsideEffect,
    StartAttempt,
    StopContainers,
    StopContainersOnNode,
    Tell,
)
from yodel.domain.events import AmContainerBound, AmContainerCompleted, StopRequested
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId
from yodel.domain.node import NODE_MACHINE, Node
from yodel.domain.past import PastUsage, PastUsageId, remembered
from yodel.domain.shuffle.decision import MasterLaunch, ShuffleDecision, decided
from yodel.domain.states import AttemptState, ContainerExitStatus, ContainerState
from yodel.errors import ApplicationAttemptNotFound, ApplicationNotFound, ContainerNotFound, NodeNotFound
from yodel.pb_convert.submission import launch_of
from yodel.ports.store import Row
from yodel.services.writer.row_changes import QueueChanges, SecretChanges
from yodel.services.writer.state import ClusterState
from yodel.services.writer.submission_room import without_launch_context

TELLS_MAX = 100_000
"""Events one work item may cause; a cycle between tables would otherwise spin for ever."""
TOLD_AT_ONCE = 300
"""Events delivered, or containers looked at, in one go: four milliseconds of processor time."""

NOTHING: Mapping[Any, int] = MappingProxyType({})
TargetId = ApplicationId | ApplicationAttemptId | ContainerId | NodeId
EntityId = TargetId | PastUsageId
KeyT = TypeVar("KeyT")


def add(counts: dict[KeyT, int], key: KeyT, count: int) -> None:
    """Add to a key's count; a key whose count is 0 is not there.  A Counter takes several times as long."""
    total = counts.get(key, 0) + count
    if total:
        counts[key] = total
    else:
        counts.pop(key, None)


class Transaction:
    """One work item's view: committed rows under its own changes."""

    def __init__(
        self,
        state: ClusterState,
        below: dict[EntityId, Row],
        now_ms: int,
        contexts_below: Mapping[str, int] = NOTHING,
        client_key: Callable[[], bytes] = bytes,
        new_below: Mapping[tuple[str, str], int] = NOTHING,
    ) -> None:
        """``contexts_below``: by how much the batch so far changes ``ApplicationIndex.context_bytes``; ``client_key``
        draws that of an attempt; ``new_below``: the ``new_applications`` of the batch so far."""
        self._client_key = client_key
        self._state, self._below = state, below
        self._contexts_below, self._new_below = contexts_below, new_below
        self.context_bytes: dict[str, int] = {}
        self.new_live: dict[tuple[str, str], int] = {}
        self.now_ms = now_ms
        self.rows: dict[EntityId, Row] = {}
        self.effects: list[OutsideEffect] = []
        self.application_sequence: int | None = None
        self.queues = QueueChanges()
        self.removed_applications: list[ApplicationId] = []
        self.removed_attempts: list[ApplicationAttemptId] = []
        self.forgotten: list[Container] = []
        self.secrets = SecretChanges()
        self._untold: deque[Tell | Iterator[Tell | None]] = deque()
        """In their order.  What comes of an iterator's turn is None where nothing has to be told."""
        self._told_count = 0
        self._is_telling = False

    def application(self, application_id: ApplicationId) -> Application:
        row = self._find(application_id, self._state.applications)
        if row is None:
            raise ApplicationNotFound(application_id)
        return cast(Application, row)

    def attempt(self, attempt_id: ApplicationAttemptId) -> Attempt:
        row = self._find(attempt_id, self._state.attempts)
        if row is None:
            raise ApplicationAttemptNotFound(attempt_id)
        return cast(Attempt, row)

    def container(self, container_id: ContainerId) -> Container:
        row = self._find(container_id, self._state.containers)
        if row is None:
            raise ContainerNotFound(container_id)
        return cast(Container, row)

    def node(self, node_id: NodeId) -> Node:
        row = self._find(node_id, self._state.nodes)
        if row is None:
            raise NodeNotFound(node_id)
        return cast(Node, row)

    def has(self, entity_id: EntityId) -> bool:
        self._finish()
        return entity_id in self.rows or entity_id in self._below or entity_id in table_of(self._state, entity_id)

    def new_applications(self) -> Mapping[tuple[str, str], int]:
        """Return the number of applications accepted in this batch and not committed yet that have not ended, by queue
        and user."""
        self._finish()
        found = dict(self._new_below)
        for key, count in self.new_live.items():
            add(found, key, count)
        return found

    def put(self, row: Application | Attempt | Container | Node) -> None:
        self._finish()
        if isinstance(row, Application):
            row = without_launch_context(row)
            self._weigh(row)
        self.rows[row.id] = row

    def live_context_bytes(self, user: str) -> int:
        """Return the context bytes of the user's applications that have not ended, with the changes of this batch."""
        self._finish()
        changed = self._contexts_below.get(user, 0) + self.context_bytes.get(user, 0)
        return self._state.index.context_bytes[user] + changed

    def _weigh(self, row: Application) -> None:
        before = self._find(row.id, self._state.applications)
        for application, sign in ((before, -1), (row, 1)):
            if isinstance(application, Application) and not application.state.is_final:
                submission = application.submission
                add(self.context_bytes, submission.user, sign * len(submission.context))
                if row.id not in self._state.applications:
                    add(self.new_live, (submission.queue, submission.user), sign)

    def forget(self, container_id: ContainerId) -> None:
        """One that has ended leaves memory; its application keeps what it used.  Once a container and a batch."""
        container = self.container(container_id)
        usage_id = PastUsageId(container_id.application_id, container.node_id)
        usage = self._find(usage_id, self._state.past_usage)
        self.rows[usage_id] = cast(PastUsage, usage or PastUsage(id=usage_id)).plus(container)
        self.forgotten.append(remembered(container))

    def forget_attempt(self, attempt_id: ApplicationAttemptId) -> None:
        """One that has ended leaves memory and the store, with its ApplicationMaster's container.  Once a batch."""
        master_id = self.attempt(attempt_id).am_container_id
        if master_id is not None and self.has(master_id):
            self.forget(master_id)
        self.removed_attempts.append(attempt_id)

    def tell(self, target: TargetId, event: Any) -> None:
        """Deliver an event and, in order, all that it causes within this transaction; of very much a part now.

        Raises:
            NotFound: no such entity.
            IllegalTransition: the entity's table forbids it.
        """
        self._finish()
        self._told_count = 0
        self._untold.append(Tell(target, event))
        self.go_on()

    @property
    def is_told(self) -> bool:
        """Nothing is left to ``go_on`` with."""
        return not self._untold

    def go_on(self) -> None:
        """The next part of what was told.  Raises as ``tell`` does."""
        self._is_telling = True
        try:
            for _ in range(TOLD_AT_ONCE):
                told = self._next()
                if told is not None:
                    self._deliver(told)
                if not self._untold:
                    return
        finally:
            self._is_telling = False

    def _finish(self) -> None:
        """Whoever asks sees all of what was told before."""
        while self._untold and not self._is_telling:
            self.go_on()

    def _next(self) -> Tell | None:
        told = self._untold[0]
        if isinstance(told, Tell):
            self._untold.popleft()
            return told
        try:
            return next(told)
        except StopIteration:
            self._untold.popleft()
            return None

    def _deliver(self, told: Tell) -> None:
        self._told_count += 1
        if self._told_count > TELLS_MAX:
            raise RuntimeError(f"more than {TELLS_MAX} events from one, the last a {type(told.event).__name__}")
        for effect in self._step(told.target, told.event):
            if isinstance(effect, Tell):
                self._untold.append(self._completed(effect))
            elif isinstance(effect, StopContainers | StopContainersOnNode):
                self._untold.append(self._stops(effect))
            elif isinstance(effect, CleanUpApplication):
                # An application that has ended has no live container, whichever attempt of it they are of.
                attempt_ids = self._attempt_ids(effect.application_id)
                self._untold.extend(self._stops_of_completed(attempt_id) for attempt_id in attempt_ids)
                self.effects.append(effect)
                self._untold.extend(map(self._forgettables, attempt_ids))
            elif isinstance(effect, ForgetAttempt):
                # What this attempt has not heard of, nobody may have to hear any more.
                self.effects.append(effect)
                self._untold.append(self._forgettables(effect.attempt_id))
            elif isinstance(effect, StartAttempt):
                application = self.application(effect.application_id)
                self.start_attempt(replace(application, current_attempt=application.current_attempt + 1))
            else:
                self.effects.append(effect)

    def start_attempt(self, application: Application) -> None:
        """Put the application with its current attempt, which is new.  An unmanaged AM has no container and counts as
        launched (RMAppAttemptImpl)."""
        self.put(application)
        attempt_id = application.current_attempt_id
        is_unmanaged = application.submission.is_unmanaged
        epoch = self._state.identity.epoch
        attempt = Attempt(
            id=attempt_id,
            state=AttemptState.LAUNCHED if is_unmanaged else AttemptState.SCHEDULED,
            am_container_id=None if is_unmanaged else ContainerId.of(attempt_id, 1, epoch),
            started_ms=self.now_ms,
            keeps_containers=application.submission.keep_containers_across_attempts and not is_unmanaged,
            shuffle=self._shuffle(application.id) if is_unmanaged else None,
            client_key=self._client_key(),
        )
        self.put(attempt)
        self.effects.append(ExpectAttempt(attempt_id))

    def _step(self, target: TargetId, event: Any) -> tuple[Any, ...]:
        if isinstance(target, ContainerId):
            container = CONTAINER_MACHINE.apply(self.container(target), event)
            self.put(container.entity)
            return container.effects
        if isinstance(target, ApplicationAttemptId):
            attempt = ATTEMPT_MACHINE.apply(self.attempt(target), event)
            self.put(attempt.entity)
            return attempt.effects
        if isinstance(target, ApplicationId):
            application = APPLICATION_MACHINE.apply(self.application(target), event)
            self.put(application.entity)
            return application.effects
        node = NODE_MACHINE.apply(self.node(target), event)
        self.put(node.entity)
        return node.effects

    def _completed(self, told: Tell) -> Tell:
        """Complete an event with what only is known here: the page that tells more of the end of an AM, whether another
        attempt would follow, and its queue's words."""
        if not isinstance(told.target, ApplicationAttemptId):
            return told
        if isinstance(told.event, AmContainerCompleted):
            hint = tracking_page_hint(self._state.web_address, told.target.application_id)
            is_last = not is_tried_again(self.application(told.target.application_id), told.event.at_ms)
            event = replace(told.event, diagnostics=told.event.diagnostics + hint, is_last=is_last)
            return replace(told, event=event)
        if isinstance(told.event, AmContainerBound):
            return replace(told, event=AmContainerBound(self._shuffle(told.target.application_id, told.target)))
        return told

    def _shuffle(
        self, application_id: ApplicationId, attempt_id: ApplicationAttemptId | None = None
    ) -> ShuffleDecision | None:
        """Decided in the commit that lets the AM be launched, so that every launch finds the same.

        ``attempt_id`` is of one whose AM has a node.
        """
        application = self.application(application_id)
        submission = application.submission
        queue = self._state.queues.get(submission.queue)
        if queue is None or not queue.shuffle:
            return None
        command, environment, resources = launch_of(submission.context)
        launch = MasterLaunch(
            user=submission.user,
            application=str(application.id),
            tags=submission.tags,
            command=command,
            environment=environment,
            resources=resources,
            is_unmanaged=submission.is_unmanaged,
            node_clients=None if attempt_id is None else self._clients_on(attempt_id),
        )
        return decided(queue.path, queue.shuffle, launch, self._state.endpoints.away(queue.shuffle))

    def _clients_on(self, attempt_id: ApplicationAttemptId) -> tuple[str, ...] | None:
        am_id = self.attempt(attempt_id).am_container_id
        node_id = self.container(am_id).node_id if am_id is not None else None
        return self.node(node_id).shuffle_clients if node_id is not None and self.has(node_id) else None

    def _stops(self, effect: StopContainers | StopContainersOnNode) -> Iterator[Tell | None]:
        """Yield the events that stop containers, each read when its turn comes; containers of a lost agent end as their
        pods did."""
        stop = StopRequested(effect.exit_status, effect.diagnostics, self.now_ms)
        if isinstance(effect, StopContainers):
            committed = self._state.container_ids_of(effect.attempt_id)
        else:
            committed = self._state.container_ids_on(effect.node_id)
        for entity_id in (*committed, *self._below, *self.rows):
            container = self.container(entity_id) if isinstance(entity_id, ContainerId) else None
            if container is None or not _is_meant(effect, container):
                yield None
            else:
                event = stop if container.is_live else container.end_as_its_pod_told(self.now_ms)
                yield Tell(container.id, event)

    def _stops_of_completed(self, attempt_id: ApplicationAttemptId) -> Iterator[Tell | None]:
        status, text = ContainerExitStatus.KILLED_AFTER_APP_COMPLETION, "Container of a completed application"
        return self._stops(StopContainers(attempt_id, status, text))

    def _forgettables(self, attempt_id: ApplicationAttemptId) -> Iterator[None]:
        """Yield once for each ended container of an attempt, which may now leave memory as far as the attempt is
        concerned."""
        for container_id in self._state.container_ids_of(attempt_id):
            container = self.container(container_id)
            if not container.is_live:
                self.effects.append(Forgettable(container_id, container.node_id))
            yield None

    def _attempt_ids(self, application_id: ApplicationId) -> list[ApplicationAttemptId]:
        ids = {attempt.id for attempt in self._state.attempts_of(application_id)}
        for rows in (self._below, self.rows):
            ids |= {i for i in rows if isinstance(i, ApplicationAttemptId) and i.application_id == application_id}
        return sorted(ids)

    def _find(self, entity_id: EntityId, table: dict[Any, Any]) -> Row | None:
        self._finish()
        row = self.rows.get(entity_id) or self._below.get(entity_id)
        return row if row is not None else table.get(entity_id)


def _is_meant(effect: StopContainers | StopContainersOnNode, container: Container) -> bool:
    if isinstance(effect, StopContainers):
        is_kept = effect.are_running_kept and container.state is ContainerState.RUNNING and not container.is_am
        return container.is_live and container.id.attempt_id == effect.attempt_id and not is_kept
    is_open = container.is_live or (container.awaits_agent and effect.is_agent_gone)
    return is_open and container.node_id == effect.node_id


def table_of(state: ClusterState, entity_id: EntityId) -> dict[Any, Any]:
    if isinstance(entity_id, ContainerId):
        return state.containers
    if isinstance(entity_id, ApplicationAttemptId):
        return state.attempts
    if isinstance(entity_id, ApplicationId):
        return state.applications
    return state.past_usage if isinstance(entity_id, PastUsageId) else state.nodes
