"""Logs as they leave the process."""

from __future__ import annotations

import contextlib
import gc
import json
import logging
import sys
from collections.abc import Iterator

import pytest
import structlog

from tests.support.audit_lines import logs_as_before
from yodel.telemetry import logs


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    gc.collect()  # what other tests left behind says so now, not among the lines that are read here
    with logs_as_before():
        yield


def test_json_is_one_line_of_facts_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure()
    structlog.get_logger("x").info("node registered", node_id="n:1", memory_mib=2048)
    said = capsys.readouterr()
    assert said.out == ""
    line = json.loads(said.err)
    assert line.pop("timestamp").endswith("Z")
    assert line == {"event": "node registered", "level": "info", "node_id": "n:1", "memory_mib": 2048}


def test_line_that_a_full_disk_does_not_take_is_lost_and_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    full = open("/dev/full", "w", buffering=1)  # noqa: SIM115 - its end fails too
    monkeypatch.setattr(sys, "stderr", full)
    logs.configure()
    for number in range(1_000):
        structlog.get_logger("x").error("no room", number=number, text="x" * 100)
    with contextlib.suppress(OSError):
        full.close()


def test_level_leaves_out_what_is_below(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("warning")
    structlog.get_logger("x").info("hidden")
    structlog.get_logger("x").warning("shown")
    assert [json.loads(line)["event"] for line in capsys.readouterr().err.splitlines()] == ["shown"]


def test_context_variables_are_fields(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure()
    with structlog.contextvars.bound_contextvars(application_id="application_1_0001"):
        structlog.get_logger("x").info("state changed")
    assert json.loads(capsys.readouterr().err)["application_id"] == "application_1_0001"


def test_exceptions_are_text_in_a_field(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure()
    try:
        raise ValueError("broken")
    except ValueError:
        structlog.get_logger("x").exception("bug")
    assert "ValueError: broken" in json.loads(capsys.readouterr().err)["exception"]


def test_console_is_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("info", "console")
    structlog.get_logger("x").info("node registered", node_id="n:1")
    said = capsys.readouterr().err
    assert "node registered" in said
    assert not said.startswith("{")


def test_unknown_level_is_refused() -> None:
    with pytest.raises(AttributeError):
        logs.configure("chatty")


def test_level_is_changed_while_running(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("warning")
    log = structlog.get_logger("x")
    log.info("unheard")
    assert logs.level() == "warning"
    logs.set_level("info")
    log.info("heard")
    assert (logs.level(), "unheard" in (said := capsys.readouterr().err), "heard" in said) == ("info", False, True)


def test_libraries_write_the_same_form(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure()
    try:
        raise ValueError("broken")
    except ValueError:
        logging.getLogger("uvicorn.error").exception("went %s\nwrong", "very")
    line = json.loads(capsys.readouterr().err)
    assert "ValueError: broken" in line["exception"]
    assert (line["event"], line["level"], line["logger"]) == ("went very\nwrong", "error", "uvicorn.error")


def test_libraries_chat_only_for_who_looks_closely(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("info")
    logging.getLogger("httpx2").info("hidden")
    logs.set_level("debug")
    logging.getLogger("httpx2").info("shown")
    logs.configure("error")
    logging.getLogger("httpx2").warning("hidden")
    assert [json.loads(line)["event"] for line in capsys.readouterr().err.splitlines()] == ["shown"]


def test_warnings_are_lines_too(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure()
    logging.getLogger("py.warnings").warning("%s", "x.py:1: DeprecationWarning: old")
    assert json.loads(capsys.readouterr().err)["logger"] == "py.warnings"
