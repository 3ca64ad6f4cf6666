"""Processes as ``/proc`` shows them: a made one, and real ones."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from nm_plugin.host.processes import ProcessTable
from tests.support.made_proc import make_process


def stat(pid: int, state: str, *, threads: int = 1, vmem: int = 1 << 20, flags: int = 0x400000) -> str:
    words = [
        state,
        "1",
        str(pid),
        str(pid),
        "0",
        "0",
        str(flags),
        *["0"] * 4,
        "3",
        "4",
        "5",
        "6",
        "0",
        "0",
        str(threads),
        "0",
        "9",
    ]
    return f"{pid} (a (b) c) {' '.join(words)} {vmem} 7 0\n"


def test_a_line_of_stat_is_taken_apart_whatever_the_name_is(tmp_path: Path) -> None:
    (tmp_path / "12").mkdir()
    (tmp_path / "12" / "stat").write_text(stat(12, "S"))
    (tmp_path / "13").mkdir()
    (tmp_path / "13" / "stat").write_text("torn")
    (tmp_path / "self").mkdir()
    (found,) = ProcessTable(tmp_path).processes()
    assert (found.pid, found.name, found.parent, found.start_ticks, found.rss_pages) == (12, "a (b) c", 1, 9, 7)
    assert (found.user_ticks, found.system_ticks, found.ended_ticks, found.total_ticks) == (3, 4, 11, 18)
    assert (found.has_ended, found.is_kernels) == (False, False)


@pytest.mark.parametrize(
    ("line", "has_ended", "is_kernels"),
    [
        (stat(12, "Z", vmem=0), True, False),
        (stat(12, "S", vmem=0, flags=0x208040), False, True),
        (stat(12, "R", vmem=0), False, False),
    ],
)
def test_what_has_ended_and_what_is_the_kernel_s(tmp_path: Path, line: str, has_ended: bool, is_kernels: bool) -> None:
    (tmp_path / "12").mkdir()
    (tmp_path / "12" / "stat").write_text(line)
    found = ProcessTable(tmp_path).process(12)
    assert found is not None
    assert (found.has_ended, found.is_kernels) == (has_ended, is_kernels)


def test_a_process_lives_as_long_as_one_of_its_threads(tmp_path: Path) -> None:
    make_process(tmp_path, 12)
    (tmp_path / "12" / "stat").write_text(stat(12, "Z", threads=2, vmem=0))
    make_process(tmp_path / "12" / "task", 14, pod="0a-1", environ=b"A=1")
    (tmp_path / "12" / "task" / "12").mkdir()
    table = ProcessTable(tmp_path)
    found = table.process(12)
    assert found is not None
    assert (found.pid, found.has_ended, found.vmem_bytes, found.start_ticks) == (12, False, 1 << 20, 9)
    assert "pod0a-1" in table.groups(found)
    assert table.environ(found) == b"\0A=1\0"


def test_what_is_not_there_any_more_is_empty(tmp_path: Path) -> None:
    table = ProcessTable(tmp_path)
    assert (table.process(12), table.user_uid(12), table.inner_pid(12), table.program(12)) == (None, None, 0, "")
    assert (table.command_line(12), table.status(12)) == (b"", {})


def test_a_process_that_lets_nobody_look_inside_is_its_user_s_all_the_same(tmp_path: Path) -> None:
    make_process(tmp_path, 12, uid=23001)
    assert ProcessTable(tmp_path).user_uid(12) == (23001 if os.stat(tmp_path).st_uid == 0 else os.getuid())


def test_a_signal_goes_to_the_process_that_was_read_and_is_asked_for() -> None:
    table = ProcessTable()
    with subprocess.Popen(["sleep", "600"]) as process:
        found = table.process(process.pid)
        assert found is not None
        assert not table.send(found, signal.SIGKILL, lambda pid: pid != process.pid)
        found.start_ticks += 1
        assert not table.send(found, signal.SIGKILL)
        assert process.poll() is None
        found.start_ticks -= 1
        assert table.send(found, signal.SIGKILL)
        assert process.wait(60) == -signal.SIGKILL
    assert not table.send(found, signal.SIGKILL)
