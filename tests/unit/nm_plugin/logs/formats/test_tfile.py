"""The TFile container: numbers, blocks, chunks, and files that are none."""

from __future__ import annotations

import io
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nm_plugin.logs.formats import tfile
from nm_plugin.logs.formats.random_file import CorruptLogFile, Cursor
from nm_plugin.logs.formats.tfile import TFileReader, TFileWriter, read_vint, vint
from tests.support.bytes_file import BytesFile

# Made by Hadoop's Utils.writeVLong.
VECTORS = {
    0: "00",
    127: "7f",
    128: "cc80",
    255: "ccff",
    300: "cd2c",
    5119: "dfff",
    5120: "a81400",
    -1: "ff",
    -32: "e0",
    -33: "cbdf",
    -5121: "a7ebff",
    1048575: "b7ffff",
    1048576: "90100000",
    -1048577: "8fefffff",
    134217727: "97ffffff",
    134217728: "8308000000",
    2147483648: "840080000000",
    -262144: "a40000",
}


def written(records: list[tuple[bytes, list[bytes]]], compression: str) -> bytes:
    sink = io.BytesIO()
    writer = TFileWriter(sink, compression)
    for key, value in records:
        writer.append(key, value)
    writer.close()
    return sink.getvalue()


def read(data: bytes) -> list[tuple[bytes, bytes]]:
    return [
        (key, b"".join(iter(lambda v=value: v.read(1000), b"")))
        for key, value in TFileReader(BytesFile(data)).records()
    ]


@pytest.mark.parametrize(("value", "encoded"), VECTORS.items())
def test_numbers_are_hadoops(value: int, encoded: str) -> None:
    assert vint(value).hex() == encoded
    assert read_vint(Cursor(bytes.fromhex(encoded))) == value


@given(st.integers(-(2**63), 2**63 - 1))
def test_numbers_round_trip(value: int) -> None:
    assert read_vint(Cursor(vint(value))) == value


@pytest.mark.parametrize("first", [0x80, 0x81, 0x82])
def test_invalid_first_byte_of_a_number_is_refused(first: int) -> None:
    with pytest.raises(CorruptLogFile):
        read_vint(Cursor(bytes((first, 0, 0))))


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.binary(max_size=20), st.lists(st.binary(max_size=300), max_size=4)), max_size=8),
    st.sampled_from(tfile.COMPRESSIONS),
)
def test_records_round_trip(records: list[tuple[bytes, list[bytes]]], compression: str) -> None:
    assert read(written(records, compression)) == [(key, b"".join(parts)) for key, parts in records]


@pytest.mark.parametrize("compression", tfile.COMPRESSIONS)
def test_large_values_are_cut_into_chunks_and_blocks(compression: str) -> None:
    line = bytes(range(256)) * 40
    records = [(b"key%d" % i, [line] * 120) for i in range(3)]
    data = written(records, compression)
    assert read(data) == [(key, b"".join(parts)) for key, parts in records]
    if compression == "none":
        assert len(TFileReader(BytesFile(data))._blocks) == 3


def test_value_of_exact_chunk_size_has_one_last_chunk() -> None:
    data = written([(b"k", [b"x" * tfile.CHUNK_BYTES])], "none")
    assert data[16:22] == b"\x01k" + vint(tfile.CHUNK_BYTES)
    assert read(data) == [(b"k", b"x" * tfile.CHUNK_BYTES)]


def test_record_may_be_left_unread() -> None:
    data = written([(b"a", [b"x" * 5000]), (b"b", [b"y"])], "gz")
    assert [key for key, _ in TFileReader(BytesFile(data)).records()] == [b"a", b"b"]


def test_gz_is_a_zlib_stream() -> None:
    data = written([(b"k", [b"value"])], "gz")
    assert zlib.decompressobj().decompress(data[16:]) == b"\x01k\x05value"


@given(st.integers(0, 10_000), st.integers(1, 255))
def test_damaged_file_is_refused_or_read_but_never_crashes(position: int, flip: int) -> None:
    data = bytearray(written([(b"key", [b"value" * 50]), (b"key2", [b""])], "gz"))
    data[position % len(data)] ^= flip
    try:
        read(bytes(data))
    except CorruptLogFile:
        pass


@pytest.mark.parametrize("data", [b"", b"short", b"x" * 100])
def test_what_is_no_tfile_is_refused(data: bytes) -> None:
    with pytest.raises(CorruptLogFile):
        TFileReader(BytesFile(data))


def test_unknown_compression_is_refused() -> None:
    with pytest.raises(ValueError, match="lzo"):
        TFileWriter(io.BytesIO(), "lzo")
