"""A long list in a plain value: its elements are made when it is written, not before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Many:
    """Holds items that ``show`` converts when they are written; one that it converts to None is gone and left out."""

    items: Sequence[Any]
    show: Callable[[Any], Any]

    def shown(self) -> Iterator[Any]:
        return (shown for shown in map(self.show, self.items) if shown is not None)
