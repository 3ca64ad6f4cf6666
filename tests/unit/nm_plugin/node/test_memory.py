"""The memory monitor: pure verdicts, and process trees of a made-up /proc."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nm_plugin.container.life import Container, State
from nm_plugin.node.memory import (
    Limits,
    MemoryMonitor,
    Process,
    ProcessTable,
    Sample,
    binary_prefix,
    over_limit,
    tree_of,
)
from tests.support.node_agent import container_id
from yodel.domain.resource import Resource

PMEM = Limits(pmem_check=True, vmem_check=False, ratio=2.1)
CONTAINER = Container(container_id=container_id(2), user="alice", resource=Resource(1, 1), state=State.RUNNING, pid=7)
PAGE = os.sysconf("SC_PAGE_SIZE")


def process(pid: int, parent: int = 1, session: int = 0, pages: int = 0, vmem: int = 0) -> Process:
    return Process(
        pid=pid,
        parent=parent,
        group=pid,
        session=session or pid,
        name="java",
        user_ms=10,
        system_ms=20,
        vmem_bytes=vmem,
        rss_pages=pages,
        start_ticks=pid,
    )


def sample(*processes: Process) -> Sample:
    return Sample(processes=processes, page_bytes=1024)


def test_tree_has_the_session_and_all_descendants() -> None:
    listed = [process(7), process(8, 7), process(9, 8), process(10, 1, session=7), process(11, 1), process(12, 10)]
    assert [p.pid for p in tree_of(7, listed)] == [7, 8, 9, 10, 12]


def test_within_the_limit_nothing_happens() -> None:
    now = sample(process(7, pages=1024))
    assert over_limit(CONTAINER, 7, now, now, PMEM, {}) is None


def test_fresh_process_may_double_the_memory_once() -> None:
    before = sample(process(7, pages=900))
    forked = sample(process(7, pages=900), process(8, 7, pages=900))
    assert over_limit(CONTAINER, 7, forked, before, PMEM, {}) is None
    assert over_limit(CONTAINER, 7, forked, forked, PMEM, {}) is not None


def test_more_than_twice_the_limit_is_too_much_at_once() -> None:
    assert over_limit(CONTAINER, 7, sample(process(7, pages=2049)), None, PMEM, {}) is not None


def test_text_is_hadoops() -> None:
    now = sample(process(7, pages=2560, vmem=5 << 20))
    excess = over_limit(CONTAINER, 7, now, now, PMEM, {7: "java -jar x"})
    assert excess is not None
    assert excess.exit_status == -104
    assert excess.text == (
        "Container [pid=7,containerID=container_1700000000000_0007_01_000002] is running 1572864B beyond the "
        "'PHYSICAL' memory limit. Current usage: 2.5 MB of 1 MB physical memory used; 5 MB of 2.1 MB virtual memory "
        "used. Killing container.\n"
        "Dump of the process-tree for container_1700000000000_0007_01_000002 :\n"
        "\t|- PID PPID PGRPID SESSID CMD_NAME USER_MODE_TIME(MILLIS) SYSTEM_TIME(MILLIS) VMEM_USAGE(BYTES) "
        "RSSMEM_USAGE(PAGES) FULL_CMD_LINE\n"
        "\t|- 7 1 7 7 (java) 10 20 5242880 2560 java -jar x\n"
    )


def test_virtual_memory_is_checked_when_asked() -> None:
    now = sample(process(7, vmem=5 << 20))
    assert over_limit(CONTAINER, 7, now, now, PMEM, {}) is None
    excess = over_limit(CONTAINER, 7, now, now, Limits(pmem_check=True, vmem_check=True, ratio=2.1), {})
    assert excess is not None
    assert excess.exit_status == -103
    assert "'VIRTUAL' memory limit" in excess.text


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (1023, "1023"), (1024, "1 K"), (1536, "1.5 K"), (3 << 30, "3 G"), (5 << 40, "5 T")]
)
def test_binary_prefixes(value: int, text: str) -> None:
    assert binary_prefix(value) == text


def fake_proc(root: Path, pid: int, *, uid: int, inner: int, environ: bytes, pages: int = 0) -> None:
    directory = root / str(pid)
    directory.mkdir(parents=True)
    fields = ["S", "1", str(pid), str(pid), *["0"] * 7, "3", "4", *["0"] * 6, "99", str(1 << 20), str(pages)]
    (directory / "stat").write_text(f"{pid} (we) ird) {' '.join(fields)} 0\n")
    (directory / "status").write_text(f"Name:\tx\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\nNSpid:\t{pid}\t{inner}\n")
    (directory / "environ").write_bytes(environ)
    (directory / "cmdline").write_bytes(b"java\0-jar\0x\0")


def test_claimed_pid_is_found_only_with_the_containers_mark_and_user(tmp_path: Path) -> None:
    mark = f"A=1\0YODEL_CONTAINER_ID={container_id(2)}\0".encode()
    fake_proc(tmp_path, 100, uid=0, inner=7, environ=mark)
    fake_proc(tmp_path, 101, uid=23001, inner=7, environ=b"A=1\0")
    fake_proc(tmp_path, 102, uid=23001, inner=7, environ=mark)
    fake_proc(tmp_path, 103, uid=23001, inner=8, environ=mark)
    table = ProcessTable(tmp_path)
    assert table.host_pid(7, container_id(2), 23001) == 102
    assert table.host_pid(9, container_id(2), 23001) is None


def test_monitor_reports_who_is_over(tmp_path: Path) -> None:
    mark = f"CONTAINER_ID={container_id(2)}".encode()
    fake_proc(tmp_path, 102, uid=23001, inner=7, environ=mark, pages=(3 << 20) // PAGE)
    (tmp_path / "self").mkdir()
    monitor = MemoryMonitor(ProcessTable(tmp_path), PMEM)
    (excess,) = monitor.sample([(CONTAINER, 23001)], 1000)
    assert "(we) ird)" in excess.text
    assert "java -jar x" in excess.text
    assert monitor.totals_bytes() == (3 << 20, 1 << 20)
    assert [pid for pid, _ in monitor.seen(CONTAINER.container_id)] == [102]
    assert monitor.sample([], 2000) == []
    assert monitor.totals_bytes() == (0, 0)
    assert monitor.seen(CONTAINER.container_id) == frozenset()


def test_own_process_is_read_from_the_real_proc() -> None:
    (own,) = [p for p in ProcessTable().processes() if p.pid == os.getpid()]
    assert own.parent == os.getppid()
    assert own.rss_pages > 100
