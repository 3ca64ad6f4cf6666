r"""Names that match a regular expression of Java's that a stranger wrote (``(a+)+b``), found within a time.

The package that matches looks at its own clock, of processor time, while it goes back and forth; what it compiles is
bounded by ``java_patterns`` (decision 0100).  Functions block, and are for processes that have no more rights than the
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
    """Matching took too much time."""

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
