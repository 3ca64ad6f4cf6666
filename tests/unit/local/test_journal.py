from __future__ import annotations

import stat
from pathlib import Path

import pytest

from yodel.errors import Unavailable
from yodel.local.journal import VERSION_GAP, Journal

KEY = ("pods", "default", "a")


def test_objects_and_versions_survive(tmp_path: Path) -> None:
    first = Journal(tmp_path / "log")
    first.recover()
    first.put(2001, KEY, b'{"turn":1}')
    first.put(2002, ("pods", "default", "b"), b'{"turn":1}')
    first.put(2003, KEY, b'{"turn":2}')
    first.remove(2004, ("pods", "default", "b"))
    first.close()
    recovered = Journal(tmp_path / "log").recover()
    assert recovered.objects == {KEY: {"turn": 2}}
    assert recovered.version == 2004 + VERSION_GAP


def test_torn_last_line_is_dropped(tmp_path: Path) -> None:
    first = Journal(tmp_path / "log")
    first.recover()
    first.put(1, KEY, b'{"turn":1}')
    first.close()
    with (tmp_path / "log").open("ab") as file:
        file.write(b'{"v":9999,"k":["pods","def')
    recovered = Journal(tmp_path / "log").recover()
    assert recovered.objects == {KEY: {"turn": 1}}


def test_compaction_keeps_the_live_objects_only(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "log")
    journal.recover()
    for version in range(1, 100):
        journal.put(version, KEY, b'{"turn":%d}' % version)
    journal.compact(99, [(KEY, b'{"turn":99}')])
    journal.put(100, ("nodes", "", "n"), b"{}")
    journal.close()
    assert len((tmp_path / "log").read_bytes().splitlines()) == 3
    recovered = Journal(tmp_path / "log").recover()
    assert recovered.objects == {KEY: {"turn": 99}, ("nodes", "", "n"): {}}


def test_directory_has_one_owner_and_the_file_is_private(tmp_path: Path) -> None:
    first = Journal(tmp_path / "log")
    first.recover()
    with pytest.raises(Unavailable, match="in use"):
        Journal(tmp_path / "log")
    assert stat.S_IMODE((tmp_path / "log").stat().st_mode) == 0o600
    first.close()
    Journal(tmp_path / "log").close()
