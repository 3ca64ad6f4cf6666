"""Keeps recent transitions of applications, containers and nodes, in a bounded ring that readers follow.

``published`` is called with committed rows and only takes notes.  Readers hold a position and nothing else: one that is
slower than the ring has lost what it did not read, and gets an error; it never makes anything grow.  The ring is in
memory: after a restart the epoch is another one, and readers with an older position have to list again.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from yodel.domain.application import Application
from yodel.domain.container import Container
from yodel.domain.ids import ApplicationId, ContainerId, NodeId
from yodel.domain.node import Node
from yodel.domain.states import ApplicationState, ContainerState, NodeState
from yodel.errors import Unavailable, YodelError
from yodel.ports.clock import Clock
from yodel.services.writer.state import ClusterState
from yodel.telemetry.limits import EVENT_STREAMS, EVENT_STREAMS_OF_ADDRESS, EVENT_STREAMS_OF_OWNER, REFUSALS

KEPT_MAX = 10_000
"""Transitions that are remembered: ten minutes of a cluster that starts five containers a second."""
READERS_MAX = 64
"""Streams that may be open: each costs a connection and the writing of everything that happens."""
READERS_OF_ONE_MAX = 16
"""The most of these for one caller: a user, or a host where nobody gives a name."""
READERS_OF_HOST_MAX = 48
"""One host's, whoever calls from there: names are asserted, so that names alone must not shut others out."""
TEXT_MAX = 512
"""Characters of a reason: the whole text is in the row."""


class TransitionKind(Enum):
    APPLICATION = "application"
    CONTAINER = "container"
    NODE = "node"


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """One step.  ``before`` is None for what is new, ``after`` for what was forgotten; ``at_ms`` is epoch milliseconds.

    ``application`` is whose it is, for who may see it: without its context and diagnostics, and None for a node's.
    """

    sequence: int
    at_ms: int
    kind: TransitionKind
    subject: str
    before: str | None
    after: str | None
    application: Application | None = None
    node_id: NodeId | None = None
    exit_status: int | None = None
    reason: str = ""


class FellBehind(YodelError):
    """A reader lost transitions: they left the ring before it came for them."""

    def __init__(self, lost: int) -> None:
        self.lost = lost
        super().__init__(f"the reader was too slow: {lost} events were dropped")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderOwner:
    """Identifies the reader of a stream: ``user`` is None without a name, ``host`` is the connection's address."""

    user: str | None = None
    host: str = ""

    def is_same(self, other: ReaderOwner) -> bool:
        return self.user == other.user and (self.user is not None or self.host == other.host)


class TransitionsClosed(YodelError):
    """No transition will come any more: the ResourceManager stops."""

    def __init__(self) -> None:
        super().__init__("the ResourceManager is stopping")


class TransitionReader:
    """A position in the ring.  ``position`` is the sequence of the last transition read, ``owner`` who reads."""

    def __init__(self, transitions: Transitions, position: int, owner: ReaderOwner) -> None:
        self._transitions, self.position, self.owner = transitions, position, owner
        self._news = asyncio.Event()
        self._news.set()

    def wake(self) -> None:
        self._news.set()

    async def next(self, count_max: int) -> Sequence[Transition]:
        """The next ones, at least one, oldest first; waits for them.

        Raises:
            FellBehind: some are gone.
            Closed: there will be none.
        """
        while True:
            await self._news.wait()
            found = self._transitions.after(self.position, count_max)
            if found:
                self.position = found[-1].sequence
                return found
            if self._transitions.is_closed:
                raise TransitionsClosed
            self._news.clear()


class Transitions:
    """A follower of the engine (``published``) and the ring.  ``epoch`` tells one life of the RM from the next."""

    def __init__(
        self, state: ClusterState, clock: Clock, *, kept_max: int = KEPT_MAX, readers_max: int = READERS_MAX
    ) -> None:
        self._clock, self._readers_max = clock, readers_max
        self.epoch = state.identity.epoch
        self._ring: deque[Transition] = deque(maxlen=kept_max)
        self.last = 0
        """The sequence of the newest; they count from 1."""
        self.is_closed = False
        self._readers: set[TransitionReader] = set()
        self._applications = {row.id: _slim(row) for row in state.applications.values()}
        self._containers: dict[ContainerId, ContainerState] = {
            row.id: ContainerState.RUNNING if row.awaits_agent else row.state
            for row in state.containers.values()
            if row.is_live or row.awaits_agent
        }
        self._nodes: dict[NodeId, NodeState] = {row.id: row.state for row in state.nodes.values()}

    # --- notes ------------------------------------------------------------------------------------------------------

    def published(self, rows: Sequence[object], removed: Sequence[ApplicationId]) -> None:
        """Rows that were committed and applications that were forgotten.  Never waits."""
        before = self.last
        for row in rows:  # first, so that a container's application is known whatever their order
            if isinstance(row, Application):
                self._note_application(row)
        for row in rows:
            if isinstance(row, Container):
                self._note_container(row)
            elif isinstance(row, Node):
                self._note_node(row)
        for application_id in removed:
            gone = self._applications.pop(application_id, None)
            if gone is not None:
                self._put(TransitionKind.APPLICATION, application_id, gone.state, None, application=gone)
        if self.last != before:
            for reader in self._readers:
                reader.wake()

    def _note_application(self, row: Application) -> None:
        old = self._applications.get(row.id)
        if old is not None and old.state is row.state and old.submission.queue == row.submission.queue:
            return
        known = self._applications[row.id] = _slim(row)
        before = old.state if old is not None else None
        if before is not row.state:
            reason = row.diagnostics if row.state.is_final or row.state is ApplicationState.KILLING else ""
            self._put(TransitionKind.APPLICATION, row.id, before, row.state, application=known, reason=reason)

    def _note_container(self, row: Container) -> None:
        before = self._containers.get(row.id)
        if before is row.state or row.awaits_agent or (before is None and not row.is_live):
            return  # nothing new, an end that its agent is to explain, or a row of the dead that is written again
        if row.is_live:
            self._containers[row.id] = row.state
        else:
            del self._containers[row.id]
        self._put(
            TransitionKind.CONTAINER,
            row.id,
            before,
            row.state,
            application=self._applications.get(row.id.application_id),
            node_id=row.node_id,
            exit_status=None if row.is_live else row.exit_status,
            reason="" if row.is_live else row.diagnostics,
        )

    def _note_node(self, row: Node) -> None:
        before = self._nodes.get(row.id)
        if before is not row.state:
            self._nodes[row.id] = row.state
            old = before.name if before is not None else None
            self._put(TransitionKind.NODE, row.id, old, row.state.name, node_id=row.id, reason=row.health_report)

    def _put(
        self,
        kind: TransitionKind,
        subject: object,
        before: Enum | str | None,
        after: Enum | str | None,
        *,
        application: Application | None = None,
        node_id: NodeId | None = None,
        exit_status: int | None = None,
        reason: str = "",
    ) -> None:
        self.last += 1
        self._ring.append(
            Transition(
                sequence=self.last,
                at_ms=self._clock.now_ms(),
                kind=kind,
                subject=str(subject),
                before=before.name if isinstance(before, Enum) else before,
                after=after.name if isinstance(after, Enum) else after,
                application=application,
                node_id=node_id,
                exit_status=exit_status,
                reason=reason[:TEXT_MAX],
            )
        )

    # --- readers ----------------------------------------------------------------------------------------------------

    def newest_first(self) -> Sequence[Transition]:
        """All that is remembered."""
        return list(reversed(self._ring))

    def holds_after(self, position: int) -> bool:
        """Return True if nothing after this sequence has left the ring."""
        return self.last - len(self._ring) <= position <= self.last

    def after(self, position: int, count_max: int) -> Sequence[Transition]:
        """Oldest first; none when there are none.  Raises FellBehind."""
        unread = self.last - position
        if unread > len(self._ring):
            raise FellBehind(unread - len(self._ring))
        return [self._ring[index - unread] for index in range(min(unread, count_max))]

    def open(self, position: int, owner: ReaderOwner) -> TransitionReader:
        """Follow from after this sequence; ``close`` it in the end.

        Raises:
            Unavailable: as many as may read do, of all callers or of this one.
        """
        if self.is_closed:
            raise Unavailable(str(TransitionsClosed()))
        owners = [reader.owner for reader in self._readers]
        of_one, of_host = sum(map(owner.is_same, owners)), sum(other.host == owner.host for other in owners)
        for limit, held, maximum, words in (
            (EVENT_STREAMS, len(owners), self._readers_max, "are already open; try again when one has been closed"),
            (EVENT_STREAMS_OF_OWNER, of_one, READERS_OF_ONE_MAX, "of yours are already open; close one and try again"),
            (
                EVENT_STREAMS_OF_ADDRESS,
                of_host,
                READERS_OF_HOST_MAX,
                "of your host are already open; close one and try again",
            ),
        ):
            if held >= maximum:
                REFUSALS.tell(limit, caller=f"{owner.user or ''}@{owner.host}", value=held + 1, maximum=maximum)
                raise Unavailable(f"{maximum} event streams {words}")
        reader = TransitionReader(self, position, owner)
        self._readers.add(reader)
        return reader

    def close(self, reader: TransitionReader) -> None:
        self._readers.discard(reader)

    def end(self) -> None:
        """Let every reader go, once it has read what there is."""
        self.is_closed = True
        for reader in self._readers:
            reader.wake()


def _slim(row: Application) -> Application:
    """Return the row without its large fields: a forgotten application must not be kept whole for its transitions."""
    return replace(row, submission=replace(row.submission, context=b""), diagnostics="")
