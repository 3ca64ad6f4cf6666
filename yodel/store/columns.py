"""Column types that both databases give back exactly as they got them.

PostgreSQL's ``text`` refuses U+0000 and neither database takes lone surrogates, yet diagnostics are whatever a process
printed.  ``AnyText`` escapes these few characters and leaves every ordinary text readable in SQL as it is.
"""

from __future__ import annotations

import re

from sqlalchemy import Dialect, Text
from sqlalchemy.types import TypeDecorator

_ESCAPE = "\x1a"  # SUBSTITUTE: the control character meant for "something stood here that cannot be written"
_UNWRITABLE = re.compile("[\x00\x1a\ud800-\udfff]")
_ESCAPED = re.compile(_ESCAPE + "([0-9a-f]{4})")


def escaped(text: str) -> str:
    """The text with U+0000, U+001A and lone surrogates written as U+001A and four hexadecimal digits."""
    return text if text.isprintable() else _UNWRITABLE.sub(lambda match: f"{_ESCAPE}{ord(match[0]):04x}", text)


def unescaped(text: str) -> str:
    """The reverse of ``escaped``."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text) if _ESCAPE in text else text


class AnyText(TypeDecorator[str]):
    """``TEXT`` for any Python string."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else escaped(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else unescaped(value)
