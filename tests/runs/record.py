"""A plugin of pytest: writes what became of each test to a file, a line of JSON each, as it happens.

    pytest -p tests.runs.record --record FILE

Under xdist it is the controller that writes, so that the file has one writer.  A line says which tests there are, and
the last one that pytest came to its end: whoever reads the file can tell a run from the beginning of one.
"""

from __future__ import annotations

import json
import resource
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

OPTION = "--record"
PROCESSOR = "processor_s"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(OPTION, metavar="FILE", help="write what became of each test to FILE, as lines of JSON")


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("record")
    if path:
        config.pluginmanager.register(Meter(), "yodel-meter")
    if path and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(Path(path)), "yodel-recorder")
        # What is started in the background of a shell is told to ignore it, and it is how a run is ended in order.
        signal.signal(signal.SIGINT, signal.default_int_handler)


class Meter:
    """Processor time of each test, from the end of the one before it, as a property of its last report."""

    def __init__(self) -> None:
        self._used_s = _used_s()

    def pytest_collection_finish(self) -> None:
        self._used_s = _used_s()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Iterator[None]:
        try:
            yield
        finally:
            now_s = _used_s()
            item.user_properties.append((PROCESSOR, now_s - self._used_s))
            self._used_s = now_s


def _used_s() -> float:
    """With all children that were waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


class Recorder:
    """Each line is written out at once: who is killed leaves all that was."""

    def __init__(self, path: Path) -> None:
        self._out = path.open("w")
        self._has_collected = False

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._collected([item.nodeid for item in session.items])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Of each worker; all have collected the same, or xdist ends the run."""
        self._collected(ids)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._write("uncollected", id=report.nodeid, text=report.longreprtext)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        text = "" if report.passed else "\n".join([report.longreprtext, *_captured(report)])
        used = {name: value for name, value in report.user_properties if name == PROCESSOR}
        self._write(
            "report",
            id=report.nodeid,
            when=report.when,
            outcome=report.outcome,
            seconds=report.duration,
            text=text,
            **used,
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
