"""Files that are seen whole or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from yodel.local.atomic_file import write_atomically


@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_mode_is_exact_whatever_the_umask(tmp_path: Path, mode: int) -> None:
    old = os.umask(0o077)
    try:
        write_atomically(tmp_path / "f", "text\n", mode)
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == mode
    assert (tmp_path / "f").read_text() == "text\n"


def test_replaces_and_leaves_nothing_beside(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("old")
    (tmp_path / ".f.tmp").write_text("of a killed writer")
    write_atomically(tmp_path / "f", "new", 0o600)
    assert [path.name for path in tmp_path.iterdir()] == ["f"]
    assert (tmp_path / "f").read_text() == "new"
