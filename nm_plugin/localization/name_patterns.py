"""Names that match a stranger's regular expression, found by a process that may be given up.

Python's matcher goes back and forth without end on patterns made for it (``(a+)+b``), and its compiler takes a
hundredth of a second for each range of characters where case does not matter, of which a pattern has room for hundreds;
both hold the interpreter's lock.  So both happen in a child with limits on time and memory.  MapReduce's own pattern,
which nearly every job has, is matched here.

Functions block and fork: they are for a process with one thread (``unpacker``).  Forked and not started anew, because
the rights in force need not suffice to read Python again.
"""

from __future__ import annotations

import json
import os
import re
import resource
import select
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from yodel.errors import InvalidValue, YodelError

HARMLESS = "(?:classes/|lib/).*"  # JobContext.JAR_UNPACK_PATTERN's default, JobConf.UNPACK_JAR_PATTERN_DEFAULT
TIMEOUT_S = 10.0
CPU_S_MAX = 5
MEMORY_BYTES_MAX = 512 << 20
"""On top of what the process had before."""
ANSWER_BYTES_MAX = 16 << 20
_READ_BYTES = 64 << 10


class PatternTooHard(YodelError):
    """Compiling or matching took too much time or memory."""

    def __init__(self, pattern: str) -> None:
        super().__init__(f"Resource pattern {pattern[:200]!r} takes too long to match")


def matching(pattern: str, names: Sequence[str]) -> frozenset[str]:
    """Those that the pattern matches wholly (Java's ``Matcher.matches``).

    Raises:
        InvalidValue: it is no pattern.
        PatternTooHard: it was given up.
    """
    if pattern == HARMLESS:
        harmless = re.compile(HARMLESS)
        return frozenset(name for name in names if harmless.fullmatch(name))
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _answer(writer, pattern, names)
    os.close(writer)
    try:
        answer = _answer_of(reader)
    finally:
        os.close(reader)
        os.kill(child, signal.SIGKILL)  # a child until it is waited for, so the number is its own
        os.waitpid(child, 0)
    if answer is None:
        raise PatternTooHard(pattern)
    if "error" in answer:
        raise InvalidValue("resource pattern", pattern[:200], f"a regular expression: {answer['error']}")
    return frozenset(names[index] for index in answer["found"])


def _answer(writer: int, pattern: str, names: Sequence[str]) -> NoReturn:
    """In the child, which never returns."""
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_S_MAX, CPU_S_MAX))
        memory_max = _memory_bytes() + MEMORY_BYTES_MAX
        resource.setrlimit(resource.RLIMIT_AS, (memory_max, memory_max))
        with os.fdopen(writer, "w", encoding="ascii") as out:
            json.dump(_matched(pattern, names), out)
    finally:
        os._exit(0)  # without an answer it was given up


def _matched(pattern: str, names: Sequence[str]) -> dict[str, Any]:
    try:
        match = re.compile(pattern).fullmatch
    except (re.error, RecursionError, OverflowError) as error:
        return {"error": str(error)[:200]}
    return {"found": [index for index, name in enumerate(names) if match(name)]}


def _answer_of(reader: int) -> dict[str, Any] | None:
    """None when none came in time."""
    data, give_up_s = bytearray(), time.monotonic() + TIMEOUT_S
    poll = select.poll()
    poll.register(reader, select.POLLIN)
    while len(data) <= ANSWER_BYTES_MAX:
        if not poll.poll(max(0.0, give_up_s - time.monotonic()) * 1000):
            return None
        chunk = os.read(reader, _READ_BYTES)
        if not chunk:
            break
        data += chunk
    try:
        answer: dict[str, Any] = json.loads(data)
    except ValueError:
        return None
    return answer


def _memory_bytes() -> int:
    """Address space in use."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
