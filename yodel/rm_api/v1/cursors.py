"""Cursors: where the next page of a list begins.  Opaque to callers and not signed: they hold nothing secret, and one
that somebody makes up leads to a page that he could have asked for."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from typing import TypeVar

from yodel.errors import InvalidValue

CURSOR_LENGTH_MAX = 512
T = TypeVar("T")


def encoded(kind: str, *key: str | int) -> str:
    """``kind`` is the list it belongs to."""
    text = json.dumps([kind, *key], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decoded(kind: str, cursor: str | None, *parts: type[str] | type[int]) -> tuple[str | int, ...] | None:
    """The key; None without a cursor.

    Raises:
        InvalidValue: not a cursor of this list.
    """
    if cursor is None:
        return None
    try:
        data = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        found = json.loads(data.decode("ascii"))
    except (binascii.Error, ValueError, RecursionError) as error:
        raise _invalid(cursor) from error
    if not isinstance(found, list) or [type(part) for part in found[1:]] != list(parts) or found[0] != kind:
        raise _invalid(cursor)
    return tuple(found[1:])


def page(items: Sequence[T], limit: int, cursor_of: Callable[[T], str]) -> tuple[Sequence[T], str | None]:
    """The first ``limit`` of the items, and the cursor of what is left"""
    shown = items[:limit]
    return shown, cursor_of(shown[-1]) if len(items) > limit else None


def _invalid(cursor: str) -> InvalidValue:
    return InvalidValue("cursor", cursor[:80], "the next_cursor of the previous page of the same list")
