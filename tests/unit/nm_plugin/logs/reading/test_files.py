"""Ranges of logs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nm_plugin.host.users import OsUser
from nm_plugin.logs.reading.files import CHUNK_BYTES, chunks, list_logs, open_log, page_range, size_range


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (-4, 100, (6, 10)),
        (-99, 100, (0, 10)),
        (2, 5, (2, 5)),
        (0, -3, (0, 7)),
        (8, 3, (8, 8)),
        (99, 100, (10, 10)),
    ],
)
def test_page_ranges_are_clipped(start: int, end: int, expected: tuple[int, int]) -> None:
    assert page_range(10, start, end) == expected


@pytest.mark.parametrize(
    ("size", "expected"), [(None, (0, 10)), (-4, (6, 10)), (-99, (0, 10)), (4, (0, 4)), (99, (0, 10))]
)
def test_size_is_first_or_last_bytes(size: int | None, expected: tuple[int, int]) -> None:
    assert size_range(10, size) == expected


def test_reads_are_bounded() -> None:
    listed = list(chunks(5, 2 * CHUNK_BYTES + 7))
    assert [count for _, count in listed] == [CHUNK_BYTES, CHUNK_BYTES, 2]
    assert listed[0][0] == 5


def test_only_plain_names_of_plain_files(tmp_path: Path, agent_user: OsUser) -> None:
    (tmp_path / "dir").mkdir()
    (tmp_path / "log").write_text("x")
    (tmp_path / "link").symlink_to("log")
    assert [file.name for file in list_logs(agent_user, (tmp_path, tmp_path / "missing"))] == ["log"]
    for name in ("dir", "link", "", ".", "..", "a/b", "dir/../log", "missing", "\0"):
        assert open_log(agent_user, (tmp_path,), name) is None
    opened = open_log(agent_user, (tmp_path / "missing", tmp_path), "log")
    assert opened is not None
    os.close(opened[0])
