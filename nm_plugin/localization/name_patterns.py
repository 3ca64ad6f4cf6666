"""Names that match a stranger's regular expression, found by a process that may be given up.

Python's matcher goes back and forth without end on patterns made for it (``(a+)+b``), and holds the interpreter's lock
meanwhile: in the agent one such pattern would stop the whole node.  MapReduce's own pattern, which nearly every job
has, is matched here.  Functions block.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence

from yodel.errors import InvalidValue, YodelError

HARMLESS = "(?:classes/|lib/).*"  # JobContext.JAR_UNPACK_PATTERN's default, JobConf.UNPACK_JAR_PATTERN_DEFAULT
TIMEOUT_S = 10.0
_PROGRAM = """
import json, re, resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (5, 5))
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
pattern, names = json.load(sys.stdin)
match = re.compile(pattern).fullmatch
json.dump([n for n, name in enumerate(names) if match(name)], sys.stdout)
"""


class PatternTooHard(YodelError):
    """Matching took too much time or memory."""

    def __init__(self, pattern: str) -> None:
        super().__init__(f"Resource pattern {pattern[:200]!r} takes too long to match")


def matching(pattern: str, names: Sequence[str]) -> frozenset[str]:
    """Those that the pattern matches wholly (Java's ``Matcher.matches``).

    Raises:
        InvalidValue: it is no pattern.
        PatternTooHard: it was given up.
    """
    try:
        compiled = re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise InvalidValue("resource pattern", pattern[:200], f"a regular expression: {error}") from error
    if pattern == HARMLESS:
        return frozenset(name for name in names if compiled.fullmatch(name))
    return frozenset(names[index] for index in _elsewhere(pattern, names))


def _elsewhere(pattern: str, names: Sequence[str]) -> list[int]:
    command = [sys.executable, "-I", "-S", "-c", _PROGRAM]
    try:
        done = subprocess.run(
            command, input=json.dumps([pattern, names]).encode(), capture_output=True, timeout=TIMEOUT_S, check=True
        )
    except subprocess.SubprocessError as error:
        raise PatternTooHard(pattern) from error
    found: list[int] = json.loads(done.stdout)
    return found
