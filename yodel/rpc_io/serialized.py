"""Answers as bytes: one that is a long list is written a piece at a time."""

from __future__ import annotations

from collections.abc import Sequence

from google.protobuf.message import Message

from yodel.serving.turns import others_first

SERIALIZED_PIECE = 1_000
"""Elements of an answer's list that are made bytes in one go: five milliseconds of applications' reports."""


async def serialized(message: Message) -> bytes:
    """Its bytes.  A message that is one long list is written a piece at a time, and what is written is joined: bytes
    of a message that follow each other are one message with all their elements (protobuf's encoding of repeated
    fields).
    """
    fields = message.ListFields()
    if len(fields) != 1 or not isinstance(fields[0][1], Sequence) or len(fields[0][1]) <= SERIALIZED_PIECE:
        return message.SerializeToString()
    name, elements = fields[0][0].name, fields[0][1]
    written = list[bytes]()
    for start in range(0, len(elements), SERIALIZED_PIECE):
        part = type(message)(**{name: elements[start : start + SERIALIZED_PIECE]})
        written.append(part.SerializeToString())
        await others_first()
    return b"".join(written)
