"""Counts the fields of a serialized message before anything is built of it.

A message of a few MiB may hold millions of fields of two bytes; each becomes an object of a hundred bytes, and some
microseconds of whoever reads it.  The bytes are walked over as they are, which costs no memory, and in steps, so that
the caller may do something else between them.  What is unknown is skipped as the parser skips it, and what is malformed
is left for the parser to refuse.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

STEP_FIELDS = 5_000
"""Counted between two steps: about two milliseconds."""
_PACKED = object()
"""Numbers, which a peer may pack: then every byte may be one."""
_NOT_PACKED = (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES, FieldDescriptor.TYPE_GROUP)
Kind: TypeAlias = Any
"""A descriptor, of which protobuf has two classes."""
_Table = dict[int, Any]
_tables: dict[Kind, _Table] = {}


def count_fields(descriptor: Kind, data: bytes, fields_max: int) -> Iterator[int]:
    """Yield the number of fields so far, every ``STEP_FIELDS`` and at the end; ends as soon as there are too many."""
    count, due = 0, STEP_FIELDS
    table, position, end = _table(descriptor), 0, len(data)
    outer: list[tuple[_Table, int]] = []
    try:
        while count <= fields_max:
            if position >= end:
                if not outer:
                    break
                table, end = outer.pop()
                continue
            key, position = _varint(data, position)
            count += 1
            wire = key & 7
            if wire == 0:
                while data[position] >= 0x80:
                    position += 1
                position += 1
            elif wire == 2:
                size, position = _varint(data, position)
                inner = table.get(key >> 3)
                if inner is None:
                    position += size
                elif inner is _PACKED:
                    count += size
                    position += size
                else:
                    outer.append((table, end))
                    table, end = _table(inner), min(position + size, end)
            elif wire == 1:
                position += 8
            elif wire == 5:
                position += 4
            if count >= due:
                due = count + STEP_FIELDS
                yield count
    except IndexError:
        pass  # cut: the parser says so
    yield count


def repeated_paths(descriptor: Kind) -> tuple[tuple[str, ...], ...]:
    """Return the paths of a message's lists that are in no list themselves, as names of fields."""
    return tuple(_lists(descriptor, (), ()))


def count_items(message: Message, paths: Sequence[tuple[str, ...]]) -> int:
    """Elements of all of a message's lists together."""
    total = 0
    for *way, last in paths:
        found = message
        for name in way:
            if not found.HasField(name):
                break
            found = getattr(found, name)
        else:
            total += len(getattr(found, last))
    return total


def _lists(descriptor: Kind, way: tuple[str, ...], seen: tuple[Kind, ...]) -> Iterator[tuple[str, ...]]:
    for field in descriptor.fields:
        if field.is_repeated:
            yield (*way, field.name)
        elif field.message_type is not None and field.message_type not in seen:
            yield from _lists(field.message_type, (*way, field.name), (*seen, descriptor))


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """Raises IndexError: it is cut."""
    byte = data[position]
    position += 1
    if byte < 0x80:
        return byte, position
    value, shift = byte & 0x7F, 7
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
        if shift > 63:
            raise IndexError


def _table(descriptor: Kind) -> _Table:
    """Return the kinds inside of length-delimited fields, by number, without texts, bytes and unknown fields."""
    found = _tables.get(descriptor)
    if found is None:
        found = _tables[descriptor] = {}
        for field in descriptor.fields:
            if field.message_type is not None:
                found[field.number] = field.message_type
            elif field.is_repeated and field.type not in _NOT_PACKED:
                found[field.number] = _PACKED
    return found
