r"""The text of a pattern while it is read, as Java's compiler walks it.

``\Q…\E`` is taken out before, and with the flag x white space and comments are stepped over wherever one looks.
"""

from __future__ import annotations

from yodel.domain.java_patterns.tree import NotTranslated, RefusedByJava

END = ""
_SPACE = " \t\n\x0b\f\r"
_LINE_ENDS = "\n\r\x85\u2028\u2029"


class Source:
    """``flags`` holds the letters of the inline flags that are on; whoever reads a group sets them back."""

    def __init__(self, pattern: str) -> None:
        self.pattern, self.flags = pattern, frozenset[str]()
        self._text, self.position = _without_quotes(pattern), 0

    def refused(self, reason: str) -> RefusedByJava:
        return RefusedByJava(self.pattern, reason, min(self.position, len(self.pattern)))

    def not_translated(self, what: str) -> NotTranslated:
        return NotTranslated(self.pattern, what)

    def peek(self) -> str:
        """The next character that means something; END behind the last."""
        if "x" in self.flags:
            self._step_over()
        return self.peek_raw()

    def peek_raw(self, ahead: int = 0) -> str:
        """Like ``peek``, whatever the flags; ``ahead`` characters further."""
        return self._text[self.position + ahead : self.position + ahead + 1]

    def take(self) -> str:
        found = self.peek()
        self.position += 1
        return found

    def take_raw(self) -> str:
        found = self.peek_raw()
        self.position += 1
        return found

    def accept(self, wanted: str) -> bool:
        """Step over the next character if it is this one."""
        if self.peek() != wanted:
            return False
        self.position += 1
        return True

    def take_to(self, end: str) -> str | None:
        """What comes before ``end``, which is stepped over; None when it does not come."""
        found = self._text.find(end, self.position)
        if found < 0:
            return None
        before, self.position = self._text[self.position : found], found + len(end)
        return before

    def _step_over(self) -> None:
        while (here := self.peek_raw()) and (here in _SPACE or here == "#"):
            if here == "#":
                while self.peek_raw() and self.peek_raw() not in _LINE_ENDS:
                    self.position += 1
            else:
                self.position += 1


def _without_quotes(pattern: str) -> str:
    r"""Each character between ``\Q`` and ``\E`` (or the end) that could mean something gets a backslash instead."""
    found: list[str] = []
    position, is_quoted = 0, False
    while position < len(pattern):
        here, two = pattern[position], pattern[position : position + 2]
        if is_quoted:
            if two == r"\E":
                is_quoted = False
                position += 2
                continue
            found.append(here if here.isalnum() or not here.isascii() else "\\" + here)
            position += 1
        elif two == r"\Q":
            is_quoted = True
            position += 2
            if pattern[position : position + 1].isdigit():  # not a part of an escape before it
                found.append(f"\\x{ord(pattern[position]):02x}")
                position += 1
        else:
            step = 2 if here == "\\" else 1
            found.append(pattern[position : position + step])
            position += step
    return "".join(found)
