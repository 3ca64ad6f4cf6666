"""A long list in a plain value: its elements are made when it is written, not before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Many:
    """What ``show`` makes of each; an element of which it makes None is gone by now and left out."""

    items: Sequence[Any]
    show: Callable[[Any], Any]

    def shown(self) -> Iterator[Any]:
        return (shown for shown in map(self.show, self.items) if shown is not None)
