"""A word of a queue about shuffle, as it is kept with the queue."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ShuffleProperty:
    """``name`` is ``service``, ``when-away`` or ``option.KEY``; ``path`` is the queue that says it."""

    name: str
    text: str
    path: str
