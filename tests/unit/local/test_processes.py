from __future__ import annotations

from pathlib import Path

from yodel.local.processes import (
    NOTHING_LEFT,
    ContainerFiles,
    ProcessEntry,
    ended,
    is_nothing_left,
    members,
    was_started,
)


def test_members_are_found_by_marker_session_and_descent() -> None:
    entries = [
        ProcessEntry(10, 1, 10, 1, "u"),  # the shim, leader of its session
        ProcessEntry(11, 10, 10, 1, ""),  # cleared its environment, same session
        ProcessEntry(12, 1, 12, 1, "u"),  # has a session of its own, kept the marker
        ProcessEntry(13, 12, 13, 1, ""),  # child of that one
        ProcessEntry(20, 1, 20, 1, "v"),  # another pod
        ProcessEntry(21, 1, 21, 1, ""),  # nobody's
    ]
    assert members(entries, frozenset({"u"}), frozenset()) == {10, 11, 12, 13}
    assert members(entries[1:2], frozenset({"u"}), frozenset({10})) == {11}


def test_half_written_status_does_not_count(tmp_path: Path) -> None:
    files = ContainerFiles(directory=tmp_path)
    assert not was_started(files)
    files.status.write_text("10 (sh) S 1 10 10 ...\n13")
    assert was_started(files)
    assert ended(files) is None
    files.status.write_text("10 (sh) S 1 10 10 ...\n137\n")
    found = ended(files)
    assert found is not None
    assert found.exit_code == 137
    assert not is_nothing_left(files), "the shim was killed before it had looked"
    files.status.write_text(f"10 (sh) S 1 10 10 ...\n137\n{NOTHING_LEFT}\n")
    assert is_nothing_left(files)
