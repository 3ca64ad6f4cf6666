r"""Matches names with a stranger's Java regular expression (such as ``(a+)+b``) within a limited time.

The package that matches checks its own clock of processor time while it backtracks; the size of the compiled pattern is
bounded by ``java_patterns`` (decision 0100).  Functions block, and are for processes with no more rights than the
stranger: ``unpacker`` and the logs' ``worker``.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from yodel.domain.java_patterns import PatternRefused, compiled
from yodel.errors import InvalidValue, YodelError

TIMEOUT_S = 5.0
"""Processor time that one pattern may take with all names."""


class PatternTooHard(YodelError):
    """Reports that matching took too much time."""

    def __init__(self, what: str, pattern: str) -> None:
        super().__init__(f"{what} {pattern[:200]!r} takes too long to match")


def matching(
    pattern: str, names: Iterable[str], what: str = "resource pattern", *, searches: bool = False
) -> frozenset[str]:
    """Return the names that the pattern matches as a whole (Java's ``matches``), or in part (``find``) if it searches.

    Raises:
        InvalidValue: it is no pattern of Java's, or one that is not supported; says ``what`` it was for.
        PatternTooHard: it was given up.
    """
    try:
        expression = compiled(pattern)
    except PatternRefused as error:
        raise InvalidValue(what, pattern[:200], error.expected) from None
    match = expression.search if searches else expression.fullmatch
    give_up_s = time.process_time() + TIMEOUT_S
    try:
        return frozenset(name for name in names if match(name, timeout=max(0.0, give_up_s - time.process_time())))
    except TimeoutError:
        raise PatternTooHard(what.capitalize(), pattern) from None
