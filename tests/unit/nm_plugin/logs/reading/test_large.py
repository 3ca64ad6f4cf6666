"""The end of a log of gigabytes, in files with holes: what is stored as it is is passed over, the rest is progress."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from nm_plugin.logs.formats import tfile
from nm_plugin.logs.formats.aggregated_tfile import AggregatedTFileWriter, LogPart
from nm_plugin.logs.formats.indexed_file import Index, IndexedFileWriter, TimedLogPart
from nm_plugin.logs.jobs import Recall, Show
from nm_plugin.logs.layout import LogFormat
from nm_plugin.logs.reading.search import recall
from nm_plugin.logs.reading.shown import listed, show
from nm_plugin.logs.remote_files import LocalFileSystem
from nm_plugin.logs.viewers import Viewer
from nm_plugin.logs.worker import perform

APPLICATION, CONTAINER, OTHER = "application_1_0001", "container_1_0001_01_000002", "container_1_0001_01_000001"
HOLE = bytes(1 << 20)
SIZE_MIB = 2200
END = b"the end\n" * 512


class _Sparse:
    """A sink that leaves out HOLE."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True)
        self._file = path.open("wb")

    def write(self, data: bytes, /) -> None:
        is_hole = data.endswith(HOLE)
        self._file.write(data[: -len(HOLE)] if is_hole else data)
        if is_hole:
            self._file.seek(len(HOLE), io.SEEK_CUR)

    def close(self) -> None:
        self._file.close()


def _content(mib: int) -> Iterator[bytes]:
    for _ in range(mib):
        yield HOLE
    yield END


def _publish(root: Path, format: LogFormat, compression: str, mib: int) -> None:
    """Two containers, the first with a large log and the second with one behind a large one."""
    sink = _Sparse(root.joinpath(*_directories(format), "host_1"))
    index = Index(user="alice", node="host:1", compression=compression, acls={})
    size = mib * len(HOLE) + len(END)
    if format == "tfile":
        writer = AggregatedTFileWriter(sink, owner="alice", acls={}, compression=compression)
        for container in (OTHER, CONTAINER):
            writer.append(
                container,
                (LogPart(name=name, size_bytes=size, content=_content(mib)) for name in ("stderr", "stdout")),
            )
        writer.close()
    else:
        ifile = IndexedFileWriter(sink, APPLICATION, index)
        for container in (OTHER, CONTAINER):
            ifile.append(
                container,
                (
                    TimedLogPart(name=name, size_bytes=size, content=_content(mib), modified_ms=1)
                    for name in ("stderr", "stdout")
                ),
            )
        ifile.close(1, "host_1")
    sink.close()


def _directories(format: LogFormat) -> tuple[str, ...]:
    return ("alice", APPLICATION) if format == "tfile" else ("alice", "of", APPLICATION)


def _show(format: LogFormat, root: Path, file_name: str = "stdout", size_bytes: int = -len(END)) -> Show:
    return Show(
        root=f"file://{root}",
        directories=_directories(format),
        node="host:1",
        node_file="host_1",
        application=APPLICATION,
        container=CONTAINER,
        format=format,
        file_name=file_name,
        size_bytes=size_bytes,
    )


@pytest.mark.parametrize("format", ["tfile", "ifile"])
def test_what_is_stored_as_it_is_is_passed_over(
    tmp_path: Path, format: LogFormat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tfile, "_of_chunk_size", iter)  # they are: gigabytes need not be copied for that
    _publish(tmp_path, format, "none", SIZE_MIB // 4)  # twice for each of two containers
    remote, read, emitted = LocalFileSystem(), list[int](), list[bytes]()
    show(remote, str(tmp_path), _show(format, tmp_path), emitted.append, read.append)
    assert emitted[1:-1] == [END]
    assert sum(read) < 4 << 20
    read.clear()
    (file,) = listed(remote, str(tmp_path), _show(format, tmp_path, file_name=""), read.append)
    assert [name for name, _, _ in file["logs"]] == ["stderr", "stdout"]
    assert sum(read) < 4 << 20
    job = Recall(
        root=f"file://{tmp_path}",
        directories=_directories(format),
        owner="alice",
        application=APPLICATION,
        container=CONTAINER,
        format=format,
        viewer=Viewer(name="alice"),
        node_file="host_1",
        file_name="stderr",
        size_bytes=16,
    )
    emitted.clear()
    read.clear()
    assert recall(remote, str(tmp_path), job, emitted.append, read.append)["outcome"] == "found"
    assert emitted[1:-1] == [bytes(16)]
    assert sum(read) < 4 << 20


@pytest.mark.parametrize("format", ["tfile", "ifile"])
def test_inflating_is_progress(tmp_path: Path, format: LogFormat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nm_plugin.logs.worker.PROGRESS_INTERVAL_S", 0)
    _publish(tmp_path, format, "gz", 20)
    output = io.BytesIO()
    perform(_show(format, tmp_path), LocalFileSystem(), str(tmp_path), output)
    said = output.getvalue()
    head, end = said.index(b"LogContents:"), said.index(END)
    assert said.count(b'{"progress": ', head, end) >= 20, "while nothing of the log can be shown yet"
