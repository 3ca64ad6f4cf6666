"""A task group that can end all of its tasks: ``asyncio.TaskGroup`` waits for its tasks and has no way to stop them."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


class TaskOwner:
    """Tasks of one group, by name; finished ones are forgotten."""

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self._group = group
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    def create_task(self, work: Coroutine[Any, Any, None], *, name: str) -> asyncio.Task[None]:
        task = self._group.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if self._closed:
            task.cancel()
        return task

    def cancel_all(self) -> None:
        """Everything that runs, and everything that is still to be created."""
        self._closed = True
        for task in tuple(self._tasks):
            task.cancel()
