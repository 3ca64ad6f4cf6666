"""Limits the connections of a web port, in total and for each address, and chooses which to close.

First to go is the connection that has been idle for longest, then the one whose body has taken longest to arrive.  A
new one is refused only if all others are being answered.  An address behind a gateway is many callers, so its share is
large and it loses its own idle connections.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from yodel.telemetry.limit import Limit
from yodel.telemetry.limits import REFUSALS

REFUSED_MAX = 256
"""Newcomers that are being told that there is no room; more are closed without a word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """``of_all`` and ``of_address`` are the rows by which refusals are told."""

    connections_max: int
    per_address_max: int
    of_all: Limit
    of_address: Limit


class Evictable(Protocol):
    """A connection, as this table sees it."""

    def make_room(self, limit: Limit, maximum: int) -> None:
        """Close, as ``limit`` is reached: ``left`` is called before this returns."""


class Full(Exception):
    """No room, and nobody to make some: all others are being answered."""

    def __init__(self, limit: Limit, maximum: int) -> None:
        self.limit, self.maximum = limit, maximum
        super().__init__(limit.name)


@dataclass(slots=True)
class _AddressConnections:
    """Dictionaries are used as ordered sets: the first has been there for longest."""

    held: int = 0
    idle: dict[Evictable, None] = field(default_factory=dict)
    sending: dict[Evictable, None] = field(default_factory=dict)


class Connections:
    """Counts the connections of one web port.  Every call takes the same time, however many there are."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self._everybody = _AddressConnections()
        self._addresses: dict[str, _AddressConnections] = {}
        self._refused = 0

    @property
    def held(self) -> int:
        """Connections that have a place."""
        return self._everybody.held

    def admit(self, connection: Evictable, address: str) -> None:
        """A place for it, at somebody else's cost where it must be.  Raises Full."""
        limits = self.limits
        own = self._addresses.get(address)
        if own is not None and own.held >= limits.per_address_max:
            self._make_room(own, address, limits.of_address, limits.per_address_max)
        elif self._everybody.held >= limits.connections_max:
            self._make_room(self._everybody, address, limits.of_all, limits.connections_max)
        own = self._addresses.setdefault(address, _AddressConnections())
        for count in (own, self._everybody):
            count.held += 1
            count.idle[connection] = None

    def has_room_to_refuse(self) -> bool:
        """Return True if one more connection may be refused with an answer; ``refused_left`` frees its place."""
        if self._refused >= REFUSED_MAX:
            return False
        self._refused += 1
        return True

    def refused_left(self) -> None:
        self._refused -= 1

    def asks_nothing(self, connection: Evictable, address: str) -> None:
        """An answer has ended."""
        for count in self._counts(address):
            count.sending.pop(connection, None)
            count.idle.pop(connection, None)
            count.idle[connection] = None

    def is_asking(self, connection: Evictable, address: str) -> None:
        """A head is whole."""
        for count in self._counts(address):
            count.idle.pop(connection, None)

    def is_sending(self, connection: Evictable, address: str) -> None:
        """Its body has begun and is not whole."""
        for count in self._counts(address):
            count.sending.setdefault(connection)

    def is_answered(self, connection: Evictable, address: str) -> None:
        """Its body is whole."""
        for count in self._counts(address):
            count.sending.pop(connection, None)

    def left(self, connection: Evictable, address: str) -> None:
        """It is gone, or as good as gone."""
        for count in self._counts(address):
            count.held -= 1
            count.idle.pop(connection, None)
            count.sending.pop(connection, None)
        if not self._addresses[address].held:
            del self._addresses[address]

    def _counts(self, address: str) -> tuple[_AddressConnections, _AddressConnections]:
        return self._addresses[address], self._everybody

    def _make_room(self, among: _AddressConnections, caller: str, limit: Limit, maximum: int) -> None:
        REFUSALS.tell(limit, caller=caller, value=among.held + 1, maximum=maximum)
        going = next(iter(among.idle), None) or next(iter(among.sending), None)
        if going is None:
            raise Full(limit, maximum)
        going.make_room(limit, maximum)
