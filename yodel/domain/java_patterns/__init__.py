"""Regular expressions of ``java.util.regex`` (Java 17), for Python's ``re``.

Clients write their patterns for Java.  The ResourceManager asks ``check`` at submission, which reads a pattern without
matching anything; the agent matches what ``to_python`` makes of it, in a process with limits (decision 0053).

What is not translated: canonical equivalence, grapheme clusters (``\\X``, ``\\b{g}``), a reference to a group that ends
later, and look-behinds that may match in very many ways.
"""

from __future__ import annotations

from yodel.domain.java_patterns.reader import read
from yodel.domain.java_patterns.tree import NotTranslated, RefusedByJava
from yodel.domain.java_patterns.writing import CannotBeWritten, Writer, written_set

__all__ = ["NotTranslated", "RefusedByJava", "check", "to_python"]


def check(pattern: str) -> None:
    """Find out whether the pattern can be matched; takes time by its length only, for no set is computed.

    Raises:
        RefusedByJava: Java does not compile it.
        NotTranslated: Java does, and it cannot be matched here.
    """
    found = read(pattern)
    try:
        Writer(captures=found.refers_back, sets=lambda _: ".").text(found.tree)
    except CannotBeWritten as error:
        raise NotTranslated(pattern, str(error)) from None


def to_python(pattern: str) -> str:
    """Return an expression for Python's ``re`` that finds and matches what Java's would.  Raises as ``check``."""
    found = read(pattern)
    try:
        return Writer(captures=found.refers_back, sets=lambda one: written_set(one.members())).text(found.tree)
    except CannotBeWritten as error:
        raise NotTranslated(pattern, str(error)) from None
