"""Zips that claim, or have, more entries than anybody wants to hold."""

from __future__ import annotations

import io
import struct
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nm_plugin.localization.tree import UnsafeArchive
from nm_plugin.localization.zip_list import check_entries

END_BYTES = 22


def zipped(count: int, comment: bytes = b"", before: bytes = b"") -> bytes:
    packed = io.BytesIO(before)
    packed.seek(0, io.SEEK_END)
    with zipfile.ZipFile(packed, "a" if before else "w") as archive:
        for number in range(count):
            archive.writestr(f"entry-{number}", b"x")
        archive.comment = comment
    return packed.getvalue()


def claiming(packed: bytes, entries: int) -> bytes:
    """The same with another number in the end record, which has no comment."""
    at = len(packed) - END_BYTES + 8
    return packed[:at] + struct.pack("<2H", entries, entries) + packed[at + 4 :]


def zip64(packed: bytes, entries: int) -> bytes:
    """The same with a 64-bit end record that claims ``entries``."""
    *_, size, offset, _ = struct.unpack("<4s4H2LH", packed[-END_BYTES:])
    end = len(packed) - END_BYTES
    record = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, entries, entries, size, offset)
    return packed[:end] + record + struct.pack("<4sLQL", b"PK\x06\x07", 0, end, 1) + packed[end:]


@given(count=st.integers(0, 12), comment=st.binary(max_size=40), before=st.binary(max_size=20))
def test_whatever_zipfile_reads_is_counted(count: int, comment: bytes, before: bytes) -> None:
    packed = io.BytesIO(zipped(count, comment.replace(b"PK", b""), before))
    check_entries(packed, count)
    assert len(zipfile.ZipFile(packed).infolist()) == count
    if count > 0:
        with pytest.raises(UnsafeArchive):
            check_entries(packed, count - 1)


@pytest.mark.parametrize("make", [claiming, zip64])
def test_a_claim_is_refused_before_the_list_is_looked_at(make: object) -> None:
    assert callable(make)
    broken = zipped(1).replace(b"PK\x01\x02", b"nope")
    with pytest.raises(UnsafeArchive, match="has 101 entries, more than 100 entries"):
        check_entries(io.BytesIO(make(broken, 101)), 100)
    with pytest.raises(zipfile.BadZipFile):
        check_entries(io.BytesIO(make(broken, 100)), 100)


@pytest.mark.parametrize("make", [claiming, zip64])
def test_a_list_that_is_longer_than_its_claim_is_refused(make: object) -> None:
    assert callable(make)
    packed = make(zipped(101), 1)
    assert len(zipfile.ZipFile(io.BytesIO(packed)).infolist()) == 101, "zipfile does not look at the claim"
    with pytest.raises(UnsafeArchive, match="more than 100 entries"):
        check_entries(io.BytesIO(packed), 100)


@pytest.mark.parametrize(
    "content", [b"", b"x", b"PK\x05\x06", b"x" * 100, b"PK\x05\x06" + bytes(8) + b"\xff" * 8 + bytes(2)]
)
def test_what_is_no_zip_is_said_to_be_none(content: bytes) -> None:
    with pytest.raises(zipfile.BadZipFile):
        check_entries(io.BytesIO(content), 100)
