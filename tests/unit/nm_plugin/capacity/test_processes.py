"""Counters from processes: a made ``/proc`` second by second, and real processes that end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nm_plugin.capacity.processes import ProcessCounters
from nm_plugin.cgroups.files import LostReading

TICK_US = 1_000_000 // os.sysconf("SC_CLK_TCK")
PAGES_PER_MIB = (1 << 20) // os.sysconf("SC_PAGE_SIZE")


class MadeProc:
    """A machine whose processes are put and taken away; 4 GiB are used."""

    def __init__(self, root: Path) -> None:
        self.root, self.mains = root, list[int]()
        root.mkdir()
        (root / "meminfo").write_text(f"MemTotal: {16 << 20} kB\nMemAvailable: {12 << 20} kB\n")
        self.busy(0)
        self.put(1, parent=0, session=1)
        self.put(10, parent=1, session=10)  # the service that starts containers
        self.counters = ProcessCounters(lambda: self.mains, root)

    def busy(self, ticks: int) -> None:
        (self.root / "stat").write_text(f"cpu {ticks} 0 0 999 9 0 0 7 0 0\ncpu0 0 0 0 0\n")

    def put(self, pid: int, *, parent: int, session: int, own: int = 0, ended: int = 0, start: int = 5) -> None:
        words = ["S", parent, pid, session, 0, 0, 0, 0, 0, 0, 0, own, 0, ended, 0, 20, 0, 1, 0, start, 0]
        words += [100 * PAGES_PER_MIB, 0]
        directory = self.root / str(pid)
        directory.mkdir(exist_ok=True)
        (directory / "stat").write_text(f"{pid} (a ) b) {' '.join(map(str, words))}\n")

    def end(self, pid: int) -> None:
        (self.root / str(pid) / "stat").unlink()

    def containers_ticks(self) -> int:
        return self.counters.read().cpu_us.best_effort // TICK_US


@pytest.fixture
def proc(tmp_path: Path) -> MadeProc:
    made = MadeProc(tmp_path / "proc")
    made.put(20, parent=10, session=20)  # a shim in a session of its own, and its container
    made.put(21, parent=20, session=20)
    made.put(22, parent=21, session=22, own=100)
    made.mains = [22]
    made.counters.read()
    return made


def test_the_machine_is_the_node_and_nothing_in_it_is_system(proc: MadeProc) -> None:
    proc.busy(500)
    counters = proc.counters.read()
    assert counters.cpu_us.node == counters.cpu_us.pods == 500 * TICK_US
    assert counters.memory_mib.node == counters.memory_mib.pods == 4 << 10
    assert counters.memory_mib.best_effort == 100
    assert counters.memory_mib_size == 16 << 10


def test_a_container_is_its_session_and_all_below_it(proc: MadeProc) -> None:
    start = proc.containers_ticks()
    proc.put(23, parent=22, session=23, own=7)  # a child with a session of its own
    proc.put(24, parent=1, session=22, own=5)  # an orphan that stayed in the session
    proc.put(25, parent=10, session=25, own=1000)  # somebody else
    proc.put(22, parent=21, session=22, own=110)
    assert proc.containers_ticks() - start == 7 + 5 + 10


def test_what_an_ended_child_used_is_in_its_parents_ended_ticks(proc: MadeProc) -> None:
    proc.put(23, parent=22, session=22, own=40)
    start = proc.containers_ticks()
    proc.end(23)
    proc.put(22, parent=21, session=22, own=100, ended=55)
    assert proc.containers_ticks() - start == 15


def test_what_an_ended_container_used_last_is_found_above_it(proc: MadeProc) -> None:
    start = proc.containers_ticks()
    for pid in (20, 21, 22):
        proc.end(pid)
    proc.mains = []
    proc.put(10, parent=1, session=10, ended=130)
    assert proc.containers_ticks() - start == 30
    proc.put(10, parent=1, session=10, ended=9000)
    assert proc.containers_ticks() - start == 30


def test_an_end_that_nobody_above_tells_of_counts_for_others(proc: MadeProc) -> None:
    start = proc.containers_ticks()
    for pid in (10, 20, 21, 22):
        proc.end(pid)
    proc.put(1, parent=0, session=1, ended=5000)
    assert proc.containers_ticks() == start


def test_a_new_container_counts_from_its_beginning(proc: MadeProc) -> None:
    start = proc.containers_ticks()
    proc.put(32, parent=21, session=32, own=60)
    proc.mains = [22, 32]
    assert proc.containers_ticks() - start == 60


def test_a_container_is_counted_until_its_last_process_has_ended(proc: MadeProc) -> None:
    start = proc.containers_ticks()
    proc.mains = []
    proc.put(22, parent=21, session=22, own=103)
    assert proc.containers_ticks() - start == 3


def test_a_number_that_changed_hands_is_no_container(proc: MadeProc) -> None:
    start = proc.containers_ticks()
    proc.mains = []
    proc.put(22, parent=10, session=22, own=4000, start=99)
    assert proc.containers_ticks() == start


def test_a_machine_without_figures_costs_the_reading(proc: MadeProc) -> None:
    (proc.root / "stat").write_text("cpu x\n")
    with pytest.raises(LostReading, match="stat"):
        proc.counters.read()
    proc.busy(0)
    (proc.root / "meminfo").write_text("MemTotal: 5 kB\n")
    with pytest.raises(LostReading, match="meminfo: no line MemAvailable:"):
        proc.counters.read()


def test_real_processes_are_counted_also_when_they_have_ended() -> None:
    """Each burns 0.2 s and ends: one below the container's main process, then that itself."""
    burn = "import time\nwhile time.process_time() < 0.2: pass\n"
    script = (
        f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {burn!r}])\n"
        f"print('child', flush=True)\nsys.stdin.readline()\n{burn}"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        counters = ProcessCounters(lambda: [process.pid])
        start = counters.read().cpu_us.best_effort
        process.stdout.readline()
        after_child = counters.read().cpu_us.best_effort
        process.stdin.write(b"\n")
        process.stdin.close()
        process.wait()
        after_all = counters.read().cpu_us.best_effort
    assert after_child - start >= 180_000
    assert after_all - after_child >= 100_000
