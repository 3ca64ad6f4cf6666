"""Hands on what is new to one who may be slow, without waiting for him: of what came meanwhile he gets the newest."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Follower(Generic[T]):
    """Run ``run`` in a task; ``take`` is called there with one value after the other."""

    def __init__(self, take: Callable[[T], Awaitable[None]]) -> None:
        self._take = take
        self._waiting: list[T] = []
        self._is_new = asyncio.Event()

    def offer(self, value: T) -> None:
        """Take this next, and nothing that was offered before."""
        self._waiting = [value]
        self._is_new.set()

    def drop(self) -> None:
        """Forget what was offered and is not taken yet."""
        self._waiting = []

    async def run(self) -> None:
        """Until cancelled.  Raises what ``take`` raises."""
        while True:
            await self._is_new.wait()
            self._is_new.clear()
            if self._waiting:
                await self._take(self._waiting.pop())
