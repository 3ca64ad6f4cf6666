"""Lines of the audit log."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tests.support.audit_lines import logs_as_before
from yodel.telemetry import logs
from yodel.telemetry.audit import AUDIT, CLIENT_SERVICE, KILL, VALUE_LENGTH_MAX, Act, AuditLog

ACT = Act(operation=KILL, target=CLIENT_SERVICE, user="alice", ip="10.0.0.9", app_id="application_1_0001")
AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def written(*, user: str | None = "alice", description: str | None = None) -> str:
    lines: list[str] = []
    log, act = AuditLog(lines.append, lambda: AT), replace(ACT, user=user)
    if description is None:
        log.success(act)
    else:
        log.failure(act, description, permissions="MODIFY_APP")
    (line,) = lines
    return line


def test_success_has_the_fields_of_hadoops() -> None:
    assert json.loads(written()) == {
        "USER": "alice",
        "IP": "10.0.0.9",
        "OPERATION": "Kill Application Request",
        "TARGET": "ClientRMService",
        "RESULT": "SUCCESS",
        "APPID": "application_1_0001",
        "event": "audit",
        "logger": "yodel.audit",
        "level": "info",
        "timestamp": "2026-01-02T03:04:05Z",
    }


def test_failure_says_why_and_what_was_missing() -> None:
    found = json.loads(written(description="no"))
    assert [found[name] for name in ("RESULT", "DESCRIPTION", "PERMISSIONS", "level")] == [
        "FAILURE",
        "no",
        "MODIFY_APP",
        "warning",
    ]


def test_nobody_is_anonymous() -> None:
    assert json.loads(written(user=None))["USER"] == "anonymous"


@pytest.mark.parametrize("text", ['x"}\n{"USER": "root"', "a\rb", "\x1b[2J", "\u2028USER=root", "é"])
def test_texts_of_callers_forge_no_line_and_steer_no_terminal(text: str) -> None:
    for line in (written(user=text), written(description=text)):
        assert line.endswith("}\n")
        assert len(line.splitlines()) == 1
        assert line.rstrip("\n").isprintable()
        assert line.isascii()
    assert json.loads(written(user=text))["USER"] == text


def test_values_have_a_greatest_length() -> None:
    shown = json.loads(written(description="x" * 100_000))["DESCRIPTION"]
    assert (len(shown), shown[-1]) == (VALUE_LENGTH_MAX, "…")


def test_lines_are_written_whatever_the_level_and_the_format_are(capsys: pytest.CaptureFixture[str]) -> None:
    with logs_as_before():
        logs.configure("error", "console")
        AUDIT.success(ACT)
    assert json.loads(capsys.readouterr().err)["OPERATION"] == KILL
