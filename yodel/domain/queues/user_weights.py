"""Weights of users in a queue: its own, and below them those of the queue above, which are one table for all who have
them.  Pure.

A thousand users in each of four queues, one below the other, are four thousand weights, however many leaves there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from weakref import ReferenceType, ref

Pairs = tuple[tuple[str, float], ...]


class UserWeights:
    """Equal to another that is said in the same way, and to the pairs of a user and his weight that count, sorted by
    user.  Never changed."""

    __slots__ = ("__weakref__", "_equal", "_own", "above", "least", "most")

    def __init__(self, own: Iterable[tuple[str, float]] = (), above: UserWeights | None = None) -> None:
        self._own, self.above = dict(own), above
        self._equal: ReferenceType[UserWeights] | None = None
        """The table that it was found to be equal to last: many leaves have one pair of tables above them."""
        found = [*self._own.values(), *((above.least, above.most) if above else ())]
        self.least: float = min(found, default=1.0)
        self.most: float = max(found, default=1.0)
        """No weight is outside of these two."""

    @property
    def own(self) -> Pairs:
        """Return the weights set on the queue itself."""
        return tuple(sorted(self._own.items()))

    def get(self, user: str, default: float = 1.0) -> float:
        table: UserWeights | None = self
        while table is not None:
            weight = table._own.get(user)
            if weight is not None:
                return weight
            table = table.above
        return default

    def __iter__(self) -> Iterator[tuple[str, float]]:
        return iter(sorted(self._all().items()))

    def __bool__(self) -> bool:
        return bool(self._own) or bool(self.above)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, UserWeights):
            return self._is_like(other)
        return tuple(self) == other if isinstance(other, tuple) else NotImplemented

    def _is_like(self, other: UserWeights) -> bool:
        if self is other or (self._equal is not None and self._equal() is other):
            return True
        if self._own != other._own or self.above != other.above:
            return False
        self._equal = ref(other)
        return True

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))

    def _all(self) -> dict[str, float]:
        return (self.above._all() if self.above else {}) | self._own


NO_WEIGHTS = UserWeights()
NOT_LINKED = UserWeights()
"""In the place of the table above, in a row that was read alone."""


def weights_of(said: UserWeights | Pairs) -> UserWeights:
    """The table; pairs are a table of their own."""
    if isinstance(said, UserWeights):
        return said
    return UserWeights(said) if said else NO_WEIGHTS


def below(above: UserWeights, own: Iterable[tuple[str, float]]) -> UserWeights:
    """The table of a queue below another."""
    found = UserWeights(own, above or None)
    return found if found else NO_WEIGHTS
