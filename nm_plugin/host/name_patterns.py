r"""Names that match a stranger's regular expression of Java's, found by a process that may be given up.

Python's matcher goes back and forth without end on patterns made for it (``(a+)+b``), and its compiler takes some
hundredths of a second for each ``\b`` or class of Unicode's, of which a pattern has room for hundreds; both hold the
interpreter's lock.  So both happen in a child with limits on time and memory, which has nothing open but
its two pipes, starts nothing, and ends with its parent.  MapReduce's own pattern, which nearly every job has, is
matched here.

The child is forked when a ``Matcher`` is made, before anybody reads an archive: whoever unpacks gives up the right to
start processes then.  Forked and not started anew, because the rights in force need not suffice to read Python again.
Functions block and fork: they are for a process with one thread (``unpacker``).
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

from nm_plugin.host.identity import end_with_parent, start_nothing
from yodel.domain.java_patterns import NotTranslated, RefusedByJava, to_python
from yodel.errors import InvalidValue, YodelError

HARMLESS = "(?:classes/|lib/).*"  # JobContext.JAR_UNPACK_PATTERN's default, JobConf.UNPACK_JAR_PATTERN_DEFAULT
TIMEOUT_S = 10.0
CPU_S_MAX = 5
MEMORY_BYTES_MAX = 1 << 30
"""On top of what the process had before; the names are part of it."""
ANSWER_BYTES_MAX = 16 << 20
_CHUNK_BYTES = 64 << 10


class PatternTooHard(YodelError):
    """Compiling or matching took too much time or memory."""

    def __init__(self, what: str, pattern: str) -> None:
        super().__init__(f"{what} {pattern[:200]!r} takes too long to match")


class Matcher:
    """One pattern and the child that will match it, once; ``close`` it in any case.

    ``searches``: a name need not match as a whole.  ``what`` the pattern is called to whoever made it.
    """

    def __init__(self, pattern: str, what: str = "resource pattern", *, searches: bool = False) -> None:
        self._pattern, self._what, self._child = pattern, what, 0
        self.warning = ""
        """Why all names were taken for matching, when they were."""
        if pattern == HARMLESS and not searches:
            return
        question, self._asking = os.pipe()
        self._listening, answer = os.pipe()
        self._child = os.fork()
        if self._child == 0:
            _answer(question, answer, pattern, searches)
        os.close(question)
        os.close(answer)
        os.set_blocking(self._asking, False)

    def matching(self, names: Sequence[str]) -> frozenset[str]:
        """Those that the pattern matches (Java's ``Matcher.matches`` or ``find``); all when it cannot be translated.

        Raises:
            InvalidValue: it is no pattern of Java's.
            PatternTooHard: it was given up.
        """
        if not self._child:
            harmless = re.compile(HARMLESS)
            return frozenset(name for name in names if harmless.fullmatch(name))
        found = self._ask(json.dumps(names).encode("ascii"))
        if found is None:
            raise PatternTooHard(self._what.capitalize(), self._pattern)
        if "error" in found:
            raise InvalidValue(self._what, self._pattern[:200], f"a regular expression of Java's: {found['error']}")
        self.warning = found.get("warning", "")
        return frozenset(names[index] for index in found["found"])

    def close(self) -> None:
        if self._child == 0:
            return
        for descriptor in (self._asking, self._listening):
            if descriptor >= 0:
                os.close(descriptor)
        os.kill(self._child, signal.SIGKILL)  # a child until it is waited for, so the number is its own
        os.waitpid(self._child, 0)
        self._child = 0

    def _ask(self, question: bytes) -> dict[str, Any] | None:
        """None when no answer came in time."""
        give_up_s, unsent, answer = time.monotonic() + TIMEOUT_S, memoryview(question), bytearray()
        while len(answer) <= ANSWER_BYTES_MAX:
            waits_for = (self._listening, select.POLLIN) if not unsent else (self._asking, select.POLLOUT)
            poll = select.poll()
            poll.register(*waits_for)
            if not poll.poll(max(0.0, give_up_s - time.monotonic()) * 1000):
                return None
            if unsent:
                unsent = self._send(unsent)
                continue
            chunk = os.read(self._listening, _CHUNK_BYTES)
            if not chunk:
                break
            answer += chunk
        return _object(answer)

    def _send(self, unsent: memoryview) -> memoryview:
        try:
            unsent = unsent[os.write(self._asking, unsent) :]
        except BrokenPipeError:
            unsent = unsent[len(unsent) :]  # told by the missing answer
        if not unsent:
            os.close(self._asking)
            self._asking = -1
        return unsent


def _answer(question: int, answer: int, pattern: str, searches: bool) -> NoReturn:
    """In the child, which never returns."""
    try:
        end_with_parent()
        _close_all_but(question, answer)
        start_nothing()
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_S_MAX, CPU_S_MAX))
        memory_max = _memory_bytes() + MEMORY_BYTES_MAX
        resource.setrlimit(resource.RLIMIT_AS, (memory_max, memory_max))
        with os.fdopen(question, "rb") as asked:
            names = json.loads(asked.read())
        with os.fdopen(answer, "w", encoding="ascii") as out:
            json.dump(_matched(pattern, names, searches), out)
    finally:
        os._exit(0)  # without an answer it was given up


def _close_all_but(one: int, other: int) -> None:
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in (one, other):
            try:
                os.close(int(name))
            except OSError:
                pass  # the listing's own


def _matched(pattern: str, names: Sequence[str], searches: bool) -> dict[str, Any]:
    try:
        compiled = re.compile(to_python(pattern))
    except RefusedByJava as error:
        return {"error": error.reason}
    except (NotTranslated, re.error, RecursionError, OverflowError) as error:
        return {"found": list(range(len(names))), "warning": str(error)[:500]}
    match = compiled.search if searches else compiled.fullmatch
    return {"found": [index for index, name in enumerate(names) if match(name)]}


def _object(data: bytes | bytearray) -> dict[str, Any] | None:
    try:
        content: dict[str, Any] = json.loads(data)
    except ValueError:
        return None
    return content


def _memory_bytes() -> int:
    """Address space in use."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
