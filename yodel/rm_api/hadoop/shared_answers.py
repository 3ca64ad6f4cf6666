"""Long answers that are made once for all who ask: dashboards of a hundred people cost as much as one.

An answer is good for as long as the versions it was made at stand still.  Who asks while one is being made does not get
that one, for it may be older than what he has just done; he waits for its end, and all who waited share the next.  So
there is one at a time of each form, and nobody is told anything older than his question.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from yodel.rm_api.door.replay import Versions

KEPT_BYTES_MAX = 64 * 1024 * 1024
"""The most bytes of one form, as much as 5,000 queues take; a longer one is made for each who does not wait."""


@dataclass(frozen=True, slots=True)
class Made:
    """A body in pieces, and what it is."""

    pieces: list[bytes]
    media_type: str


@dataclass(frozen=True, slots=True)
class _SharedAnswer:
    made: Made
    versions: Versions


class SharedAnswers:
    """Keeps one answer by form, such as JSON or XML.  ``versions`` returns the present versions."""

    def __init__(self, versions: Callable[[], Versions]) -> None:
        self._versions = versions
        self._kept: dict[str, _SharedAnswer] = {}
        self._making: dict[str, asyncio.Task[Made]] = {}

    async def of(self, form: str, make: Callable[[], Awaitable[Made]]) -> Made:
        """Return the answer made since the last change, or make one.  Raises as ``make`` does."""
        made = self._still_right(form)
        if made is not None:
            return made
        earlier = self._making.get(form)
        if earlier is not None:
            await asyncio.wait([earlier])
            made = self._still_right(form)
            if made is not None:
                return made
        making = self._making.get(form)
        if making is None:
            making = self._making[form] = asyncio.create_task(self._make(form, make))
        return await asyncio.shield(making)

    def _still_right(self, form: str) -> Made | None:
        kept = self._kept.get(form)
        return kept.made if kept is not None and kept.versions == self._versions() else None

    async def _make(self, form: str, make: Callable[[], Awaitable[Made]]) -> Made:
        """A task of its own: who asked first may go, and others wait for it."""
        try:
            versions = self._versions()
            made = await make()
            self._kept.pop(form, None)
            if sum(map(len, made.pieces)) <= KEPT_BYTES_MAX:
                self._kept[form] = _SharedAnswer(made, versions)
            return made
        finally:
            del self._making[form]
