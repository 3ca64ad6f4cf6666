"""Keeps which endpoints of shuffle services are there, as the leader has found them.

Nothing of it is stored: another leader looks for itself, before it serves anybody.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum

from yodel.domain.shuffle.word import ShuffleProperty
from yodel.domain.shuffle.words import endpoints_of

FAILURES = 2
"""In a row, until an endpoint counts as down: one may be a restart."""
Endpoint = tuple[str, int]


class Presence(Enum):
    """Lists the known states of an endpoint."""

    UNKNOWN = "unknown"
    UP = "up"
    DOWN = "down"


class EndpointBook:
    """Told by who looks; everybody else reads."""

    def __init__(self) -> None:
        self._failures: dict[Endpoint, int] = {}
        self._presence: dict[Endpoint, Presence] = {}

    def presence(self, endpoint: Endpoint) -> Presence:
        return self._presence.get(endpoint, Presence.UNKNOWN)

    def away(self, words: Sequence[ShuffleProperty]) -> str:
        """Return why the service that a queue's words name cannot be reached; empty: as far as is known it can.

        One that answers is enough: they are replicas.
        """
        endpoints = endpoints_of(words)
        if not endpoints or any(self.presence(endpoint) is not Presence.DOWN for endpoint in endpoints):
            return ""
        named = ", ".join(f"{host}:{port}" for host, port in endpoints)
        return f"none of yodel.remote-shuffle.endpoints of the queue answers ({named})"

    def tell(self, endpoint: Endpoint, *, has_answered: bool) -> bool:
        """Record an answer or failure; return True if it changes the endpoint's state."""
        before = self.presence(endpoint)
        self._failures[endpoint] = 0 if has_answered else self._failures.get(endpoint, 0) + 1
        if has_answered:
            self._presence[endpoint] = Presence.UP
        elif self._failures[endpoint] >= FAILURES:
            self._presence[endpoint] = Presence.DOWN
        return self.presence(endpoint) is not before

    def forget_others(self, endpoints: Iterable[Endpoint]) -> None:
        """Than these, which queues still name."""
        kept = set(endpoints)
        self._failures = {one: count for one, count in self._failures.items() if one in kept}
        self._presence = {one: found for one, found in self._presence.items() if one in kept}
