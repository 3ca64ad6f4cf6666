"""Indexed files: byte for byte what a real Hadoop 3.5.0 NodeManager wrote (``fixtures/ifile-….bin``, recorded)."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nm_plugin.logs.formats import indexed_file
from nm_plugin.logs.formats.indexed_file import Index, IndexedFileWriter, TimedLogPart
from nm_plugin.logs.formats.random_file import CorruptLogFile
from tests.support.bytes_file import BytesFile

FIXTURES = Path(__file__).parents[1] / "fixtures"
ONCE, ROLLED = "application_1795254623773_0005", "application_1795254623773_0006"
RECORDED = {
    ONCE: (FIXTURES / f"ifile-{ONCE}.bin").read_bytes(),
    ROLLED: (FIXTURES / f"ifile-rolled-{ROLLED}.bin").read_bytes(),
}
EMPTY = Index(user="root", node="localhost:8041", compression="none", acls={})


def contents(data: bytes, application: str, end: int | None = None) -> list[list[tuple[str, str, bytes]]]:
    file = BytesFile(data)
    index = indexed_file.read_index(file, application, end)
    return [
        [
            (container, log.name, b"".join(indexed_file.read_log(file, index.compression, log)))
            for container, logs in upload.logs.items()
            for log in logs
        ]
        for upload in index.uploads
    ]


def part(name: str, data: bytes, modified_ms: int = 1) -> TimedLogPart:
    return TimedLogPart(name=name, size_bytes=len(data), content=[data], modified_ms=modified_ms)


def appended(data: bytes, history: Index, logs: dict[str, dict[str, bytes]], ms: int) -> tuple[bytes, Index]:
    sink = io.BytesIO()
    writer = IndexedFileWriter(sink, ONCE, history, len(data))
    for container, named in logs.items():
        writer.append(container, [part(name, content) for name, content in named.items()])
    index = writer.close(ms, "localhost_8041")
    return data + sink.getvalue(), index


def test_recorded_file_is_read_to_the_last_log() -> None:
    [logs] = contents(RECORDED[ONCE], ONCE)
    assert len(logs) == 10
    assert ("container_e02_1795254623773_0005_02_000001", "stderr", b"warning: sample\n") in logs
    index = indexed_file.read_index(BytesFile(RECORDED[ONCE]), ONCE)
    assert (index.user, index.node, index.compression) == ("root", "localhost:8041", "none")
    assert index.acls == {"VIEW_APP": "alice,bob", "MODIFY_APP": " "}


def test_recorded_rolled_file_has_four_uploads() -> None:
    uploads = contents(RECORDED[ROLLED], ROLLED)
    assert len(uploads) == 4
    assert b"tick 1\ntick 2\ntick 3\n" in [data for _, _, data in uploads[0]]


@pytest.mark.parametrize("application", [ONCE, ROLLED])
def test_the_same_logs_make_the_same_bytes(application: str) -> None:
    recorded = RECORDED[application]
    file = BytesFile(recorded)
    index = indexed_file.read_index(file, application)
    data, history = b"", replace(index, uploads=())
    for upload in index.uploads:
        sink = io.BytesIO()
        writer = IndexedFileWriter(sink, application, history, len(data))
        for container, logs in upload.logs.items():
            parts = [
                TimedLogPart(
                    name=log.name,
                    size_bytes=log.size_bytes,
                    modified_ms=log.modified_ms,
                    content=indexed_file.read_log(file, "none", log),
                )
                for log in logs
            ]
            writer.append(container, parts)
        history = writer.close(upload.uploaded_ms, upload.node_file)
        data += sink.getvalue()
    assert data == recorded


def test_unfinished_append_is_invisible_up_to_the_checksum_files_length() -> None:
    data, index = appended(b"", EMPTY, {"c": {"a": b"one"}}, 1)
    longer, _ = appended(data, index, {"c": {"b": b"two"}}, 2)
    assert contents(longer, ONCE) == [[("c", "a", b"one")], [("c", "b", b"two")]]
    assert contents(longer, ONCE, len(data)) == [[("c", "a", b"one")]]
    with pytest.raises(CorruptLogFile):
        contents(longer[:-10], ONCE)


def test_another_applications_file_is_refused() -> None:
    with pytest.raises(CorruptLogFile, match="UUID"):
        contents(RECORDED[ONCE], ROLLED)


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
uploads = st.lists(
    st.dictionaries(names, st.dictionaries(names, st.binary(max_size=300), max_size=3), max_size=20),
    min_size=1,
    max_size=3,
)


@settings(max_examples=30, deadline=None)
@given(uploads, st.sampled_from(["none", "gz"]))
def test_any_uploads_round_trip(written: list[dict[str, dict[str, bytes]]], compression: str) -> None:
    data, index = b"", replace(EMPTY, compression=compression, acls={"VIEW_APP": "*"})
    for number, logs in enumerate(written):
        data, index = appended(data, index, logs, number)
    assert indexed_file.read_index(BytesFile(data), ONCE) == index
    found = [sorted(upload) for upload in contents(data, ONCE)]
    assert found == [sorted((c, n, d) for c, logs in u.items() for n, d in logs.items()) for u in written]


@given(st.integers(0, 10_000), st.integers(1, 255))
def test_damaged_file_is_refused_or_read_but_never_crashes(position: int, flip: int) -> None:
    data = bytearray(appended(b"", replace(EMPTY, compression="gz"), {"c": {"a": b"one" * 30}}, 1)[0])
    data[position % len(data)] ^= flip
    try:
        contents(bytes(data), ONCE)
    except CorruptLogFile:
        pass


def test_checksum_file_names_the_log_file_and_its_length() -> None:
    data = indexed_file.encode_checksum("node_1_123", 77)
    assert data == b"\x00\x00\x00\x0anode_1_123" + (77).to_bytes(8, "big")
    assert indexed_file.decode_checksum(data) == ("node_1_123", 77)
    with pytest.raises(CorruptLogFile):
        indexed_file.decode_checksum(data[:-1])


@pytest.mark.parametrize("compression", ["none", "gz"])
@pytest.mark.parametrize(("start", "end"), [(0, 0), (0, 5), (3, 7), (7, 10), (9, 9)])
def test_a_part_of_a_log_is_what_stands_there(compression: str, start: int, end: int) -> None:
    data, index = appended(b"", replace(EMPTY, compression=compression), {"c": {"a": b"before", "b": b"0123456789"}}, 1)
    log = index.uploads[0].logs["c"][1]
    found = indexed_file.read_between(BytesFile(data), compression, log, start, end)
    assert b"".join(found) == b"0123456789"[start:end]


def test_a_log_of_another_length_than_said_is_refused() -> None:
    data, index = appended(b"", EMPTY, {"c": {"a": b"0123456789"}}, 1)
    log = replace(index.uploads[0].logs["c"][0], size_bytes=12)
    with pytest.raises(CorruptLogFile, match="has 10 bytes and not 12"):
        list(indexed_file.read_between(BytesFile(data), "none", log, 0, 12))
