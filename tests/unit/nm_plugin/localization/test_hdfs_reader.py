"""The reader process tells of a path, with a client that is a plain object."""

from __future__ import annotations

import io
import json
import struct
import tempfile
from dataclasses import dataclass
from typing import Any

import pytest

from nm_plugin.localization.hdfs_reader import CHUNK_BYTES_MAX, answer, is_passing, send_chunks, send_tree


@dataclass
class FakeStatus:
    path: str
    isdir: bool
    length: int = 0
    permission: int = 0o755
    modification_time: int = 123


class FakeReader:
    def __init__(self, content: bytes) -> None:
        self._content = content

    def __enter__(self) -> FakeReader:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def read_range_stream(self, offset: int, length: int) -> list[bytes]:
        return [self._content[offset : offset + 2], self._content[offset + 2 : offset + length]]


class FakeClient:
    def __init__(self, files: dict[str, bytes], modes: dict[str, int] | None = None) -> None:
        self._files, self._modes = files, modes or {}

    def get_file_info(self, path: str) -> FakeStatus:
        content = self._files.get(path)
        mode = self._modes.get(path, 0o755)
        return FakeStatus(path, content is None, len(content or b""), mode)

    def list_status(self, path: str, recursive: bool) -> list[FakeStatus]:
        """All of it names no directories, as the real one."""
        below = [name for name in self._files if name.startswith(path + "/")]
        if not recursive:
            below = sorted({path + "/" + name.removeprefix(path + "/").split("/")[0] for name in below})
        return [self.get_file_info(name) for name in below]

    def read(self, path: str) -> FakeReader:
        return FakeReader(self._files[path])


def heard(client: FakeClient, path: str, public: bool = False) -> list[Any]:
    output = io.BytesIO()
    with tempfile.TemporaryFile() as file:
        send_tree(client, path, public, output, file.fileno())
        file.seek(0)
        written = file.read()
    data, said = output.getvalue(), []
    while data:
        (size,) = struct.unpack(">I", data[:4])
        entry = json.loads(data[4 : 4 + size])
        data = data[4 + size :]
        said.append(entry)
        missing = entry.get("length", 0) if said[0]["directory"] else 0
        while missing:
            (size,) = struct.unpack(">I", data[:4])
            said.append(data[4 : 4 + size])
            data = data[4 + size :]
            missing -= size or missing  # a chunk of none: no more will come
    return [*said, written]


def test_file_is_told_and_written_to_the_descriptor() -> None:
    assert heard(FakeClient({"/d/f": b"hello"}), "/d/f") == [
        {"modification_ms": 123, "directory": False, "public": False},
        {"name": "f", "directory": False, "length": 5},
        {"end": True},
        b"hello",
    ]


def test_directory_is_sent_with_relative_names() -> None:
    said = heard(FakeClient({"/d/b/c": b"cc", "/d/a": b""}), "/d")
    assert said[0]["directory"]
    assert [entry["name"] for entry in said[1:-2] if isinstance(entry, dict)] == ["a", "b/c"]


def test_error_within_a_file_cannot_be_taken_for_its_bytes() -> None:
    client, output = FakeClient({"/d/f": b"hello"}), io.BytesIO()
    client.read = lambda path: FakeReader(b"he")  # type: ignore[method-assign]
    with tempfile.TemporaryFile() as file, pytest.raises(EOFError, match="/d/f: 2 of 5 bytes"):
        send_tree(client, "/d/f", False, io.BytesIO(), file.fileno())
    with pytest.raises(EOFError, match="/d/f: 2 of 5 bytes"):
        send_tree(client, "/d", False, output, -1)
    assert output.getvalue().endswith(struct.pack(">I", 2) + b"he" + struct.pack(">I", 0))


def test_chunks_have_a_maximum() -> None:
    output = io.BytesIO()
    send_chunks(b"x" * (CHUNK_BYTES_MAX + 1), output)
    assert output.getvalue()[:4] == struct.pack(">I", CHUNK_BYTES_MAX)
    assert output.getvalue()[4 + CHUNK_BYTES_MAX :] == struct.pack(">I", 1) + b"x"


def test_public_needs_every_directory_above() -> None:
    assert heard(FakeClient({"/d/f": b"x"}), "/d/f", public=True)[0]["public"]
    assert not heard(FakeClient({"/d/f": b"x"}, {"/d": 0o750}), "/d/f", public=True)[0]["public"]
    assert not heard(FakeClient({"/d/f": b"x"}, {"/d/f": 0o640}), "/d/f", public=True)[0]["public"]


@pytest.mark.parametrize("closed", ["/d/t", "/d/t/b", "/d/t/b/c", "/d/t/a", "/d"])
def test_public_directories_are_so_with_all_that_is_in_them(closed: str) -> None:
    """FSDownload.checkPublicPermsForAll; of the directories above, only that all may pass."""
    files = {"/d/t/b/c": b"cc", "/d/t/a": b"a"}
    assert heard(FakeClient(files, {"/d": 0o711}), "/d/t", public=True)[0]["public"]
    for mode in (0o770, 0o774 if closed not in files else 0o771):
        said = heard(FakeClient(files, {closed: mode}), "/d/t", public=True)
        assert said == [{"modification_ms": 123, "directory": True, "public": False}, {"end": True}, b""]


def test_entries_have_a_maximum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nm_plugin.localization.hdfs_reader.ENTRIES_MAX", 1)
    for public in (True, False):
        with pytest.raises(ValueError, match="more than 1 entries"):
            heard(FakeClient({"/d/a": b"", "/d/b": b""}), "/d", public=public)


def test_errors_are_told() -> None:
    output = io.BytesIO()
    answer("nothing://host/no/such", False, -1, output, {})
    told = json.loads(output.getvalue()[4:])
    assert told["error"]
    assert not told["again"]


def test_what_a_starting_name_node_says_is_worth_another_try() -> None:
    assert is_passing("RPCError: org.apache.hadoop.hdfs.server.namenode.SafeModeException: Zero blocklocations")
    assert not is_passing("RPCError: org.apache.hadoop.security.AccessControlException: Permission denied")
