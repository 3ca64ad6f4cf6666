"""Strings of messages.  A proto2 string that is not UTF-8 comes out of Python's protobuf as bytes: refused by name."""

from __future__ import annotations

from yodel.errors import InvalidValue

TEXT_LENGTH_MAX = 65_536


def text(field: str, value: object, length_max: int = TEXT_LENGTH_MAX) -> str:
    """The string.

    Raises:
        InvalidValue: it is not UTF-8, longer than allowed, or holds a NUL.
    """
    if not isinstance(value, str):
        raise InvalidValue(field, repr(value)[:80], "UTF-8 text")
    if len(value) > length_max:
        raise InvalidValue(field, value[:80], f"at most {length_max} characters")
    if "\0" in value:
        raise InvalidValue(field, value[:80], "text without NUL")
    return value
