"""The audit log of a test: logs set up as in a process, and put back."""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from yodel.telemetry import logs


@contextlib.contextmanager
def logs_as_before() -> Iterator[None]:
    """Whatever is set up inside is undone: programs set logging up for a whole process."""
    root, before = logging.getLogger(), structlog.get_config()
    handlers, level = root.handlers, root.level
    yield
    structlog.configure(**before)
    structlog.contextvars.clear_contextvars()
    logging.captureWarnings(False)
    root.handlers = handlers
    root.setLevel(level)


class AuditLines:
    """Returns the lines since the last call."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self) -> list[dict[str, Any]]:
        found = [json.loads(line) for line in self._capsys.readouterr().err.splitlines() if line.startswith("{")]
        return [line for line in found if line.get("logger") == "yodel.audit"]


@contextlib.contextmanager
def audit_lines(capsys: pytest.CaptureFixture[str]) -> Iterator[AuditLines]:
    with logs_as_before():
        logs.configure("error")
        yield AuditLines(capsys)


def shown(line: dict[str, Any], *names: str) -> list[Any]:
    return [line.get(name) for name in names]
