"""State files: whole or not there."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from nm_plugin.host import atomic_file
from nm_plugin.host.atomic_file import FORMAT, read_or_drop, write_atomically


def test_file_is_replaced_and_nobody_elses(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_atomically(path, {"format": FORMAT, "value": 1})
    write_atomically(path, {"format": FORMAT, "value": 2})
    assert read_or_drop(path, lambda content: content["value"]) == 2
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.json"]


def test_link_under_the_temporary_name_is_not_followed(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("theirs")
    (tmp_path / "a.json.tmp").symlink_to(other)
    with pytest.raises(OSError, match="symbolic"):
        write_atomically(tmp_path / "a.json", {"format": FORMAT})
    assert other.read_text() == "theirs"


@pytest.mark.parametrize("text", ["{", "[]", '{"format": 0}', '{"format": 1}', "\0"])
def test_what_cannot_be_read_is_removed(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    assert read_or_drop(path, lambda content: content["value"]) is None
    assert not path.exists()


def test_what_is_too_long_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.json"
    write_atomically(path, {"format": FORMAT, "value": 1})
    monkeypatch.setattr(atomic_file, "FILE_BYTES_MAX", 5)
    assert read_or_drop(path, lambda content: content["value"]) is None
    assert not path.exists()
