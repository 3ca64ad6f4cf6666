"""The administrator's check, with real programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from nm_plugin.host import health_script
from nm_plugin.host.health_script import TIMED_OUT, HealthScript, ScriptSettings, has_errors


def program(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "check"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_error_is_a_line_that_begins_so() -> None:
    assert has_errors("fine\nERROR disk\n")
    assert has_errors("ERRORS too")
    assert not has_errors("an ERROR\n error\n")


async def test_output_with_an_error_is_the_report_until_it_is_gone(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.write_text("looked at $1\nERROR $(no shell)\n")
    path = program(tmp_path, f'cat {state}; echo "$1"')
    script = HealthScript(ScriptSettings(path=path, args=("a b; exit 1",)))
    assert await script.check()
    assert script.report == "looked at $1\nERROR $(no shell)\na b; exit 1\n"
    assert not await script.check()
    state.write_text("fine\n")
    assert await script.check()
    assert script.report == ""


async def test_exit_status_means_nothing(tmp_path: Path) -> None:
    script = HealthScript(ScriptSettings(path=program(tmp_path, "echo fine; exit 1")))
    assert not await script.check()
    failing = HealthScript(ScriptSettings(path=program(tmp_path, "echo ERROR x; exit 1")))
    assert await failing.check()
    assert failing.report == "ERROR x\n"


async def test_program_that_hangs_is_ended_with_all_it_started(tmp_path: Path) -> None:
    path = program(tmp_path, f"(sleep 0.5; touch {tmp_path}/lived) & sleep 60")
    script = HealthScript(ScriptSettings(path=path, timeout_s=0.1))
    assert await script.check()
    assert script.report == TIMED_OUT == "Node health script timed out"
    assert not (tmp_path / "lived").exists()


async def test_program_that_is_none_is_an_error_and_a_missing_one_is_not(tmp_path: Path) -> None:
    broken = program(tmp_path, "")
    broken.write_bytes(b"\x7fELF nonsense")
    script = HealthScript(ScriptSettings(path=broken))
    await script.check()
    assert script.report.startswith("OSError: ")
    missing = HealthScript(ScriptSettings(path=tmp_path / "missing"))
    assert not await missing.check()


async def test_endless_words_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health_script, "OUTPUT_BYTES_MAX", 1000)
    script = HealthScript(ScriptSettings(path=program(tmp_path, "echo ERROR; head -c 300000 /dev/zero | tr '\\0' x")))
    await script.check()
    assert len(script.report) == 1000
