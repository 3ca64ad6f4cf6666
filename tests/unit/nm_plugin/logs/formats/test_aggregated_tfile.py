"""Logs in a TFile: byte for byte what a real Hadoop 3.5.0 NodeManager wrote (``fixtures/tfile-….bin``, recorded)."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nm_plugin.logs.formats import aggregated_tfile, tfile
from nm_plugin.logs.formats.aggregated_tfile import AggregatedTFileWriter, LogPart
from nm_plugin.logs.formats.random_file import CorruptLogFile, encode_text
from nm_plugin.logs.formats.tfile import TFileWriter
from tests.support.bytes_file import BytesFile

RECORDED = (Path(__file__).parents[1] / "fixtures" / "tfile-application_1795254623773_0007.bin").read_bytes()
FIRST, SECOND = (f"container_e02_1795254623773_0007_{attempt:02d}_000001" for attempt in (2, 1))


def contents(data: bytes, container: str | None = None) -> list[tuple[str, str, bytes]]:
    return [
        (log.container, log.name, b"".join(iter(log.read, b"")))
        for log in aggregated_tfile.logs(BytesFile(data), container)
    ]


def test_recorded_file_is_read_to_the_last_log() -> None:
    logs = contents(RECORDED)
    assert [container for container, _, _ in logs] == [FIRST] * 5 + [SECOND] * 5
    assert {name: data for container, name, data in logs if container == FIRST} == {
        "prelaunch.err": b"",
        "prelaunch.out": b"Setting up env variables\nSetting up job resources\nLaunching container\n",
        "stderr": b"warning: sample\n",
        "stdout": b"x\n",
        "syslog": "row 1 é\nrow 2 é\nrow 3 é\n".encode(),
    }
    head = aggregated_tfile.head(BytesFile(RECORDED))
    assert (head.owner, head.acls) == ("root", {"MODIFY_APP": " ", "VIEW_APP": "alice,bob"})


def test_the_same_logs_make_the_same_bytes() -> None:
    logs = contents(RECORDED)
    sink = io.BytesIO()
    writer = AggregatedTFileWriter(sink, owner="root", acls={"MODIFY_APP": " ", "VIEW_APP": "alice,bob"})
    for wanted in (FIRST, SECOND):
        parts = [LogPart(name=n, size_bytes=len(d), content=[d]) for c, n, d in logs if c == wanted]
        writer.append(wanted, parts)
    writer.close()
    assert sink.getvalue() == RECORDED


def test_one_container_is_found() -> None:
    assert {container for container, _, _ in contents(RECORDED, SECOND)} == {SECOND}
    assert contents(RECORDED, "container_1_0001_01_000009") == []


names = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=30)


@settings(max_examples=40)
@given(
    st.dictionaries(names, st.dictionaries(names, st.binary(max_size=400), max_size=4), max_size=4),
    st.sampled_from(["none", "gz"]),
)
def test_any_logs_round_trip(written: dict[str, dict[str, bytes]], compression: str) -> None:
    written = {c: logs for c, logs in written.items() if c not in aggregated_tfile.RESERVED_KEYS}
    sink = io.BytesIO()
    writer = AggregatedTFileWriter(sink, owner="ünder", acls={}, compression=compression)
    for container, logs in written.items():
        writer.append(container, [LogPart(name=n, size_bytes=len(d), content=[d]) for n, d in logs.items()])
    writer.close()
    assert contents(sink.getvalue()) == [(c, n, d) for c, logs in written.items() for n, d in logs.items()]
    assert aggregated_tfile.head(BytesFile(sink.getvalue())).owner == "ünder"


@pytest.mark.parametrize(
    "value",
    [
        encode_text("stdout") + encode_text("nine"),
        encode_text("stdout") + encode_text("10") + b"short",
        b"\x00",
        encode_text("stdout"),
    ],
)
def test_entries_that_make_no_sense_are_refused(value: bytes) -> None:
    sink = io.BytesIO()
    writer = TFileWriter(sink)
    writer.append(encode_text(FIRST), [value])
    writer.close()
    with pytest.raises(CorruptLogFile):
        contents(sink.getvalue())


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 3000), min_size=1, max_size=4),
    st.integers(0, 3),
    st.integers(0, 3000),
    st.integers(0, 3000),
    st.sampled_from(["none", "gz"]),
)
def test_a_part_of_any_log_is_what_stands_there(
    sizes: list[int], which: int, start: int, end: int, compression: str
) -> None:
    """The log is read in chunks of a few bytes, with the logs of another container before it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tfile, "CHUNK_BYTES", 700)
        patch.setattr(tfile, "AFTER_SKIP_BYTES", 3)
        sink = io.BytesIO()
        writer = AggregatedTFileWriter(sink, owner="alice", acls={}, compression=compression)
        logs = [bytes(number + position % 200 for position in range(size)) for number, size in enumerate(sizes)]
        for container in ("first", "second"):
            writer.append(
                container, [LogPart(name=str(n), size_bytes=len(data), content=[data]) for n, data in enumerate(logs)]
            )
        writer.close()
        found = aggregated_tfile.logs(BytesFile(sink.getvalue()), "second")
        parts = {log.name: b"".join(log.between(start, min(end, log.size_bytes))) for log in found}
    assert list(parts) == [str(number) for number in range(len(sizes))]
    name = which % len(sizes)
    assert parts[str(name)] == logs[name][start:end]
