"""Java's strings, and reading that never believes a length."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nm_plugin.logs.formats.random_file import (
    CorruptLogFile,
    Cursor,
    DescriptorFile,
    decode_text,
    encode_text,
)
from tests.support.bytes_file import BytesFile


@given(st.text(max_size=200))
def test_java_texts_round_trip(text: str) -> None:
    data = encode_text(text)
    assert int.from_bytes(data[:2], "big") == len(data) - 2
    assert decode_text(data[2:]) == text


def test_modified_utf8_has_no_zero_byte_and_surrogate_pairs() -> None:
    assert encode_text("\0") == b"\x00\x02\xc0\x80"
    assert encode_text("\U0001f600") == b"\x00\x06\xed\xa0\xbd\xed\xb8\x80"


def test_text_that_java_cannot_hold_is_refused() -> None:
    with pytest.raises(ValueError, match="65536"):
        encode_text("x" * 65536)


@given(st.binary(max_size=50))
def test_any_bytes_are_some_text(data: bytes) -> None:
    assert isinstance(decode_text(data), str)


def test_reading_over_the_end_is_told(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"0123456789")
    descriptor = os.open(path, os.O_RDONLY)
    try:
        for file in (BytesFile(b"0123456789"), DescriptorFile(descriptor=descriptor, size_bytes=10)):
            assert file.read_at(8, 2) == b"89"
            with pytest.raises(CorruptLogFile):
                file.read_at(8, 3)
    finally:
        os.close(descriptor)
    with pytest.raises(CorruptLogFile):
        Cursor(b"ab").read(3)
