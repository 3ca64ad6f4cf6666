"""The program that runs a job through real shuffle servers: what it counts, and how it ends without any."""

from __future__ import annotations

import socket
import sys
from typing import Any

import pytest

from tests.conformance.spark_submit import maps_run
from tests.rigs.remote_shuffle.__main__ import Status, main


def task(kind: str, launched_ms: int, reason: str = "Success") -> dict[str, Any]:
    return {
        "Event": "SparkListenerTaskEnd",
        "Task Type": kind,
        "Task End Reason": {"Reason": reason},
        "Task Info": {"Launch Time": launched_ms},
    }


def test_maps_that_run_after_the_kill_are_counted() -> None:
    maps = [task("ShuffleMapTask", at_ms) for at_ms in (10, 20, 99)]
    others = [
        task("ResultTask", 120),
        {"Event": "SparkListenerJobEnd"},
        task("ShuffleMapTask", 120, "ExecutorLostFailure"),
    ]
    assert maps_run([*maps, *others], 100) == 0
    assert maps_run([*maps, *others, task("ShuffleMapTask", 100), task("ShuffleMapTask", 130)], 100) == 2


def test_each_end_has_a_status_of_its_own_which_make_does_not_use() -> None:
    assert len({*Status, 2}) == 5


@pytest.mark.parametrize("arguments", [[], ["--celeborn", "nowhere"], ["--uniffle", "127.0.0.1:{port}"]])
def test_without_servers_the_last_line_says_so(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    monkeypatch.setattr(sys, "argv", ["remote_shuffle", *(one.format(port=port) for one in arguments)])
    assert main() == Status.NOTHING_TO_RUN_AGAINST
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("remote shuffle: NOTHING_TO_RUN_AGAINST: ")
    assert last.endswith("(status 4)")
