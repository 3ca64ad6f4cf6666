"""A long list in a plain value: its elements are made when it is written, not before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any


class Many:
    """Holds items that ``show`` converts when they are written; one that it converts to None is gone and left out.

    As many as go ``together`` are encoded in one go, and nobody has a turn between: more than one where each is made in
    microseconds."""

    __slots__ = ("items", "show", "together")  # no dataclass, which an encoder would write by its fields

    def __init__(self, items: Sequence[Any], show: Callable[[Any], Any], together: int = 1) -> None:
        self.items, self.show, self.together = items, show, together

    def shown(self) -> Iterator[Any]:
        return (shown for shown in map(self.show, self.items) if shown is not None)
