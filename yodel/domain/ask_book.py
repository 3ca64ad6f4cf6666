"""An attempt's outstanding asks.

YARN's asks are absolute: a newer ask with the same key replaces the count, it is never added.  Host, rack and ``*``
lines are views of one wish, and only the ``*`` count says how many containers are wanted (AppSchedulingInfo).  A
container in flight (planned or bound, not handed over yet) still belongs to the ApplicationMaster's count, so the
number to plan is the count less what is in flight; the count falls when a container is *handed over*, as the AM's own
table then does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from yodel.domain.constraints import Constraint
from yodel.domain.container import Placement
from yodel.domain.resource import Resource, total_of
from yodel.domain.states import ExecutionType
from yodel.errors import InvalidResourceRequest, TooMuchAsked

ANY = "*"
ANYWHERE = Placement()
LINES_MAX = 50_000
"""Lines an attempt's book may hold: a MapReduce job names each host of its input once per priority."""


@dataclass(frozen=True, slots=True)
class AskKey:
    """Identifies a wish; asks with an equal key are views of the same one."""

    priority: int
    allocation_request_id: int
    execution_type: ExecutionType
    capability: Resource
    """As asked, not as rounded: the AM's next ask must find it."""

    def __hash__(self) -> int:
        """Hash the numbers directly, which saves calls in each heartbeat that asks."""
        return hash((self.priority, self.allocation_request_id, self.capability.memory_mib, self.capability.vcores))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One ResourceRequest."""

    key: AskKey
    resource_name: str
    count: int
    relax_locality: bool = True
    node_label: str = ""
    is_execution_type_enforced: bool = False
    request: SchedulingAsk | None = None
    """In reports: the SchedulingRequest that the line stands for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulingAsk:
    """One SchedulingRequest: anywhere its constraint allows.  ``message`` is the request as it came, for the answer
    that it was rejected."""

    key: AskKey
    count: int
    tags: tuple[str, ...] = ()
    constraint: Constraint | None = None
    message: bytes = b""


class Wish(NamedTuple):
    """Holds the ``number`` of pending containers of one key; ``request`` is set for a SchedulingRequest.

    A tuple, for hundreds of thousands are made and compared where many applications ask.
    """

    key: AskKey
    number: int
    placement: Placement
    request: SchedulingAsk | None = None


@dataclass(slots=True)
class _Lines:
    any_count: int = 0
    is_strict: bool = False
    node_label: str = ""
    places: dict[str, int] = field(default_factory=dict)
    """Host and rack lines with a count above zero."""
    closed_racks: set[str] = field(default_factory=set)
    """Racks that are only named because of their hosts: with strict locality nothing may go elsewhere in them."""
    request: SchedulingAsk | None = None
    wish: Wish | None = field(default=None, compare=False)
    """The wish that these lines describe, made when it is read; None after a change."""

    def copy(self) -> _Lines:
        return replace(self, places=dict(self.places), closed_racks=set(self.closed_racks))


@dataclass(slots=True)
class Tally:
    """Containers wanted by all books that share it."""

    count: int = 0


class AskBook:
    """The asks of one attempt.  Pure: holds values, performs nothing."""

    def __init__(self, tally: Tally | None = None) -> None:
        self._lines: dict[AskKey, _Lines] = {}
        self._line_count = 0
        self._count = 0
        """Containers wanted of all keys: this book's part of the tally."""
        self._size: Resource | None = None
        """Their capability as asked; None after a change, until it is read."""
        self._tally = tally if tally is not None else Tally()

    def clear(self) -> None:
        """Nothing is wanted any more."""
        self._add(-self._count)
        self._lines.clear()
        self._line_count = 0

    def take(self, asks: Sequence[Ask | SchedulingAsk], count_max: int) -> bool:
        """Set all these lines, or none of them; False if they were so already.  ``count_max``: containers that the book
        may want in all.

        Raises:
            InvalidResourceRequest: the book is full.
        """
        if all(map(self._has, asks)):  # an ApplicationMaster may repeat what it waits for in each heartbeat
            return False
        before = {ask.key: self._lines.get(ask.key) for ask in asks}
        kept = {key: lines.copy() if lines is not None else None for key, lines in before.items()}
        count, line_count = self._count, self._line_count
        try:
            for ask in asks:
                self.replace(ask) if isinstance(ask, Ask) else self.request(ask)
            if self._count > max(count, count_max):  # who is above it may still ask for less
                raise TooMuchAsked(
                    "asked_containers",
                    self._count,
                    count_max,
                    f"Too many containers requested: {self._count} in total; one ApplicationMaster may have at most "
                    f"{count_max} (asked_containers_max)",
                )
        except InvalidResourceRequest:
            for key, lines in kept.items():
                self._lines.pop(key, None)
                if lines is not None:
                    self._lines[key] = lines
            self._add(count - self._count)
            self._line_count = line_count
            raise
        return any(self._lines.get(key) != lines for key, lines in kept.items())

    def _has(self, ask: Ask | SchedulingAsk) -> bool:
        """Return True if setting the line would change nothing."""
        lines = self._lines.get(ask.key)
        if lines is None:
            return ask.count <= 0
        if isinstance(ask, SchedulingAsk):
            return lines.request == ask and self._has(_anywhere(ask))
        if ask.resource_name == ANY:
            found = lines.any_count, lines.is_strict, lines.node_label
            return found == (ask.count, not ask.relax_locality, ask.node_label)
        is_open = ask.resource_name not in lines.closed_racks
        is_same = ask.count <= 0 or is_open == ask.relax_locality
        return is_same and lines.places.get(ask.resource_name, 0) == max(ask.count, 0)

    def replace(self, ask: Ask) -> None:
        """Set a line to its new absolute count.

        Raises:
            InvalidResourceRequest: the book is full.
        """
        lines = self._lines.get(ask.key)
        if lines is None:
            if ask.count <= 0:
                return
            self._require_room(1 if ask.resource_name == ANY else 2)
            lines = self._lines[ask.key] = _Lines()
        lines.wish = None
        if ask.resource_name == ANY:
            self._add(ask.count - lines.any_count)
            lines.any_count, lines.is_strict, lines.node_label = ask.count, not ask.relax_locality, ask.node_label
        elif ask.count > 0:
            if ask.resource_name not in lines.places:
                self._require_room(1)
                self._line_count += 1
            lines.places[ask.resource_name] = ask.count
            (lines.closed_racks.discard if ask.relax_locality else lines.closed_racks.add)(ask.resource_name)
        elif lines.places.pop(ask.resource_name, None) is not None:
            self._line_count -= 1
        if lines.any_count <= 0 and not lines.places:
            del self._lines[ask.key]

    def request(self, ask: SchedulingAsk) -> None:
        """Set a SchedulingRequest to its new absolute count.

        Raises:
            InvalidResourceRequest: the book is full.
        """
        self.replace(_anywhere(ask))
        if ask.count > 0:
            self._lines[ask.key].request = ask

    def scheduling_ask(self, key: AskKey) -> SchedulingAsk | None:
        """The SchedulingRequest behind a wish."""
        lines = self._lines.get(key)
        return lines.request if lines is not None else None

    def withdraw(self, key: AskKey, *, but: int = 0) -> None:
        """No more of this key is wanted but so many."""
        self.replace(Ask(key=key, resource_name=ANY, count=but))

    def handed_over(self, key: AskKey, host: str, rack: str) -> None:
        """A container of this wish went into an allocate response: one less is wanted, there and in total."""
        lines = self._lines.get(key)
        if lines is None:
            return
        lines.wish = None
        if lines.any_count > 0:
            lines.any_count -= 1
            self._add(-1)
        for name in (host, rack):
            if name in lines.places:
                lines.places[name] -= 1
                if lines.places[name] <= 0:
                    del lines.places[name]
                    self._line_count -= 1
        if lines.any_count <= 0 and not lines.places:
            del self._lines[key]

    def wishes(self) -> list[Wish]:
        """Every wish with a count, most important (lowest) priority first."""
        found = [lines.wish or _wish(key, lines) for key, lines in self._lines.items() if lines.any_count > 0]
        found.sort(key=lambda wish: wish.key.priority)
        return found

    def count(self, key: AskKey) -> int:
        """Containers still wanted of this key."""
        lines = self._lines.get(key)
        return lines.any_count if lines else 0

    def pending(self) -> tuple[int, Resource]:
        """Containers wanted in total, and their capability as asked."""
        if self._size is None:
            self._size = total_of(key.capability * lines.any_count for key, lines in self._lines.items())
        return self._count, self._size

    def lines(self) -> list[Ask]:
        """Every line as the ApplicationMaster would see it (REST resourceRequests)."""
        found = []
        for key, lines in self._lines.items():
            relax = not lines.is_strict
            request, count = lines.request, lines.any_count
            found.append(Ask(key=key, resource_name=ANY, count=count, relax_locality=relax, request=request))
            found += [Ask(key=key, resource_name=name, count=count) for name, count in lines.places.items()]
        return found

    def _add(self, count: int) -> None:
        self._count += count
        self._size = None
        self._tally.count += count

    def _require_room(self, more: int) -> None:
        lines = self._line_count + len(self._lines) + more
        if lines > LINES_MAX:
            text = f"Too many outstanding resource requests: at most {LINES_MAX} lines are kept"
            raise TooMuchAsked("ask_lines", lines, LINES_MAX, text)


def _wish(key: AskKey, lines: _Lines) -> Wish:
    lines.wish = Wish(key, lines.any_count, _placement(lines), lines.request)
    return lines.wish


def _anywhere(ask: SchedulingAsk) -> Ask:
    """Return the line that stands for a SchedulingRequest."""
    return Ask(key=ask.key, resource_name=ANY, count=ask.count)


def _placement(lines: _Lines) -> Placement:
    if not lines.places:
        return Placement(node_label=lines.node_label) if lines.node_label else ANYWHERE
    hosts = tuple(sorted(name for name in lines.places if not name.startswith("/")))
    racks = tuple(sorted(name for name in lines.places if name.startswith("/")))
    if lines.is_strict:
        racks = tuple(rack for rack in racks if rack not in lines.closed_racks)
    is_strict = lines.is_strict and bool(hosts or racks)
    return Placement(hosts=hosts, racks=racks, is_strict=is_strict, node_label=lines.node_label)
