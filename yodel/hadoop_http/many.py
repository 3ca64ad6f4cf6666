"""A long list in a plain value: its elements are made when it is written, not before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any


class Many:
    """Holds items that ``show`` converts when they are written; one that it converts to None is gone and left out."""

    __slots__ = ("items", "show")  # no dataclass, which an encoder would write by its fields

    def __init__(self, items: Sequence[Any], show: Callable[[Any], Any]) -> None:
        self.items, self.show = items, show

    def shown(self) -> Iterator[Any]:
        return (shown for shown in map(self.show, self.items) if shown is not None)
