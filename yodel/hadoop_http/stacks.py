"""Shows what a daemon is doing now, for ``/stacks`` (HttpServer2.StackServlet)."""

from __future__ import annotations

import asyncio
import sys
import threading
import traceback
from types import FrameType

TASKS_MAX = 200
FRAMES_MAX = 50


def thread_dump() -> str:
    """Threads as Java dumps them, and after them the tasks, which are what runs here."""
    frames = sys._current_frames()
    threads = threading.enumerate()
    lines = ["Process Thread Dump: ", f"{len(threads)} active threads"]
    for thread in threads:
        frame = frames.get(thread.ident or 0)
        lines += [f"Thread {thread.ident} ({thread.name}):", "  State: RUNNABLE", "  Blocked count: 0"]
        lines += ["  Waited count: 0", "  Stack:", *(_frames(frame) if frame is not None else ())]
    tasks = sorted(asyncio.all_tasks(), key=lambda task: task.get_name())
    lines.append(f"{len(tasks)} tasks")
    for task in tasks[:TASKS_MAX]:
        stack = task.get_stack(limit=1)
        lines += [f"Task {task.get_name()}:", *(_frames(stack[0]) if stack else ())]
    return "\n".join((*lines, ""))


def _frames(frame: FrameType) -> list[str]:
    """The innermost first, by module and not by path: where files are is nobody's business."""
    found = []
    for walked, line in list(traceback.walk_stack(frame))[:FRAMES_MAX]:
        module = walked.f_globals.get("__name__", "?")
        found.append(f"    {module}.{walked.f_code.co_qualname}({line})")
    return found
