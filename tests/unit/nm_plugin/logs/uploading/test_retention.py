"""The ledger of what is to be removed later."""

from __future__ import annotations

from pathlib import Path

from nm_plugin.logs.uploading.retention import RetainedApplication, RetentionLog, check_interval_s
from yodel.domain.ids import ApplicationId


def kept(sequence: int, published_ms: int) -> RetainedApplication:
    return RetainedApplication(application_id=ApplicationId(1, sequence), user="alice", published_ms=published_ms)


def test_newest_entry_of_an_application_counts(tmp_path: Path) -> None:
    ledger = RetentionLog(tmp_path)
    assert ledger.due(10**15) == []
    for entry in (kept(1, 10), kept(2, 20), kept(1, 30)):
        ledger.add(entry)
    assert ledger.due(25) == [kept(2, 20)]
    assert ledger.due(31) == [kept(2, 20), kept(1, 30)]
    ledger.forget({ApplicationId(1, 2)})
    assert RetentionLog(tmp_path).due(31) == [kept(1, 30)]


def test_broken_line_is_passed_over(tmp_path: Path) -> None:
    ledger = RetentionLog(tmp_path)
    ledger.add(kept(1, 10))
    with (tmp_path / "logs" / "kept.jsonl").open("a") as file:
        file.write('{"application": "nonsense"}\n{"appl')
    assert ledger.due(11) == [kept(1, 10)]


def test_checks_are_ten_in_a_period_within_bounds() -> None:
    assert [check_interval_s(s) for s in (0, 36000, 10**9)] == [60.0, 3600.0, 86400.0]
