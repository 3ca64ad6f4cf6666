"""A plugin of pytest: writes what became of each test to a file, a line of JSON each, as it happens.

    pytest -p tests.runs.record --record FILE

Under xdist it is the controller that writes, so that the file has one writer.  A line says which tests there are, and
the last one that pytest came to its end: whoever reads the file can tell a run from the beginning of one.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

OPTION = "--record"
PORTS = "ports"
"""A test's property: the ports on which it spoke, by the names they have in Hadoop."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(OPTION, metavar="FILE", help="write what became of each test to FILE, as lines of JSON")


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("record")
    if path and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(Path(path)), "yodel-recorder")
        # What is started in the background of a shell is told to ignore it, and it is how a run is ended in order.
        signal.signal(signal.SIGINT, signal.default_int_handler)


class Recorder:
    """Each line is written out at once: who is killed leaves all that was."""

    def __init__(self, path: Path) -> None:
        self._out = path.open("w")
        self._has_collected = False

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._collected([item.nodeid for item in session.items])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Note the tests of each worker; all have collected the same, or xdist ends the run."""
        self._collected(ids)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._write("uncollected", id=report.nodeid, text=report.longreprtext)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        text = "" if report.passed else "\n".join([report.longreprtext, *_captured(report)])
        ports = [port for name, value in report.user_properties if name == PORTS for port in value]
        self._write(
            "report",
            id=report.nodeid,
            when=report.when,
            outcome=report.outcome,
            seconds=report.duration,
            text=text,
            ports=ports,
        )

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        self._write("end", status=int(exitstatus))

    def _collected(self, ids: Sequence[str]) -> None:
        if not self._has_collected:
            self._has_collected = True
            self._write("collected", ids=list(ids))

    def _write(self, event: str, **fields: Any) -> None:
        self._out.write(json.dumps({"event": event, **fields}) + "\n")
        self._out.flush()


def _captured(report: pytest.TestReport) -> list[str]:
    return [f"--- {title}\n{content}" for title, content in report.sections if content.strip()]
