"""Java object streams: what indexes are made of, and what they are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nm_plugin.logs.formats.java_objects import STREAM_HEADER, ClassDescriptor, JavaObject, ObjectWriter, read_object
from nm_plugin.logs.formats.random_file import CorruptLogFile

POINT = ClassDescriptor("Point", 1, 2, (("I", "x", ""), ("J", "y", ""), ("L", "name", "Ljava/lang/String;")))


def test_object_with_numbers_and_a_string() -> None:
    writer = ObjectWriter()
    writer.plain_object(POINT, (-3, 2**40))
    writer.string("grüezi")
    assert read_object(bytes(writer.data)) == JavaObject("Point", {"x": -3, "y": 2**40, "name": "grüezi"})


def test_one_java_object_is_written_once() -> None:
    writer = ObjectWriter()
    writer.array_list([lambda: writer.string("a", identity=1), lambda: writer.string("a", identity=1)])
    data = bytes(writer.data)
    assert data.count(b"t\x00\x01a") == 1
    assert read_object(data) == ["a", "a"]


def test_map_of_enums() -> None:
    kind = ClassDescriptor("Kind", 0, 0x12, (), ClassDescriptor("java.lang.Enum", 0, 0x12))
    writer = ObjectWriter()

    def entry() -> None:
        writer.enum(kind, "FIRST")
        writer.string("value")

    writer.hash_map([entry], 16)
    assert read_object(bytes(writer.data)) == {"FIRST": "value"}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        STREAM_HEADER,
        STREAM_HEADER + b"u",
        STREAM_HEADER + b"t\x00\x05abc",
        STREAM_HEADER + b"q\x00\x7e\x00\x00",
        STREAM_HEADER + b"t\x00\x01at\x00\x01b",
        STREAM_HEADER + b"sr\x00\x01A" + b"\0" * 8 + b"\x02\x00\x01[\x00\x01b",
    ],
)
def test_other_streams_are_refused(data: bytes) -> None:
    with pytest.raises(CorruptLogFile):
        read_object(data)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        read_object(STREAM_HEADER + data)
    except CorruptLogFile:
        pass
