"""Journals: what lines say together, and what a crash or a stranger leaves in them."""

from __future__ import annotations

import stat
from pathlib import Path

from nm_plugin.logs.uploading import journal
from nm_plugin.logs.uploading.journal import AppLogs, Intent, Journals, LogContext
from tests.support.node_agent import APPLICATION, container_id

ORIGIN = LogContext(user="alice", context=b"\x0a\x01x", acls={"VIEW_APP": "bob"}, credentials=b"HDTS")
INTENT = Intent(file_name="node_1", uploaded_ms=5, is_final=True)
KEYS = (("container_1", "stdout", 7),)


def loaded(state_dir: Path) -> AppLogs:
    [logs] = Journals(state_dir).load()
    return logs


def test_lines_add_up_and_are_read_back(tmp_path: Path) -> None:
    journals = Journals(tmp_path)
    journals.begin(APPLICATION, ORIGIN)
    known = AppLogs(application_id=APPLICATION, origin=ORIGIN)
    for line in (
        journal.started(container_id(1), True),
        journal.ended(container_id(1), -100),
        journal.finished(),
        journal.intended(INTENT),
        journal.published(KEYS),
    ):
        journals.add(APPLICATION, line)
        known.take(line)
        assert loaded(tmp_path) == known
    assert (known.intent, known.unsettled, known.uploads, known.is_complete) == (INTENT, KEYS, 1, False)
    known.take(journal.settled())
    assert (known.intent, known.unsettled, known.is_complete) == (None, None, True)
    journals.remove(APPLICATION)
    journals.remove(APPLICATION)
    assert journals.load() == []


def test_line_that_is_cut_off_costs_only_itself(tmp_path: Path) -> None:
    journals = Journals(tmp_path)
    journals.begin(APPLICATION, ORIGIN)
    path = tmp_path / "logs" / f"{APPLICATION}.jsonl"
    with path.open("ab") as file:
        file.write(b'\n{"ended": "container_17')
    journals.add(APPLICATION, journal.finished())
    assert loaded(tmp_path).is_finished
    assert loaded(tmp_path).exit_status == {}


def test_broken_journal_is_dropped(tmp_path: Path) -> None:
    journals = Journals(tmp_path)
    assert journals.load() == []
    journals.begin(APPLICATION, ORIGIN)
    path = tmp_path / "logs" / f"{APPLICATION}.jsonl"
    path.write_bytes(b"nonsense")
    assert journals.load() == []
    assert not path.exists()


def test_only_the_agent_reads_journals(tmp_path: Path) -> None:
    Journals(tmp_path).begin(APPLICATION, ORIGIN)
    assert stat.S_IMODE((tmp_path / "logs").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "logs" / f"{APPLICATION}.jsonl").stat().st_mode) == 0o600
    assert "HDTS" not in repr(ORIGIN)
