"""The memory check: pure verdicts, and containers of a made-up ``/proc`` and made groups."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from nm_plugin.cgroups.layout import BEST_EFFORT, V2
from nm_plugin.cgroups.pod_groups import PodGroups
from nm_plugin.container.life import Container, LifeState
from nm_plugin.host.processes import Process, ProcessTable
from nm_plugin.launch import members
from nm_plugin.node.memory import Excess, Found, MemoryChecks, MemoryMonitor, MemorySample, binary_prefix, over_limit
from tests.support.cgroup_tree import MIB, CgroupTree
from tests.support.made_proc import make_process
from tests.support.node_agent import container_id
from yodel.domain.resource import Resource

PMEM = MemoryChecks(pmem_check=True, vmem_check=False, ratio=2.1)
CONTAINER = Container(
    container_id=container_id(2),
    user="alice",
    user_uid=23001,
    resource=Resource(1, 1),
    state=LifeState.RUNNING,
    pid=7,
    local_dir="/l/a/c",
)
PAGE = os.sysconf("SC_PAGE_SIZE")
MARKS = f"CONTAINER_ID={container_id(2)}\0LOCAL_DIRS=/l/a\0".encode()
SHELLS = f"A=1\0YODEL_CONTAINER_ID={container_id(2)}\0".encode()


def process(pid: int, pages: int = 0, vmem: int = 0) -> Process:
    return Process(pid, "java", "S", 1, pid, pid, 0, 1, 2, 0, pid, vmem, pages)


def sample(*processes: Process, held: int | None = None) -> MemorySample:
    return MemorySample(processes=processes, page_bytes=1024, held_bytes=held)


def test_within_the_limit_nothing_happens() -> None:
    now = sample(process(7, pages=1024))
    assert over_limit(CONTAINER, now, now, PMEM) is None


def test_fresh_process_may_double_the_memory_once() -> None:
    before = sample(process(7, pages=900))
    forked = sample(process(7, pages=900), process(8, pages=900))
    assert over_limit(CONTAINER, forked, before, PMEM) is None
    assert over_limit(CONTAINER, forked, forked, PMEM) == Found("PHYSICAL", 776 << 10)


def test_what_is_charged_to_the_group_counts_whatever_the_processes_are() -> None:
    over = sample(held=MIB + 1)
    assert over_limit(CONTAINER, over, None, PMEM) is None
    assert over_limit(CONTAINER, over, sample(held=MIB), PMEM) is None
    assert over_limit(CONTAINER, over, over, PMEM) == Found("PHYSICAL", 1)
    assert over_limit(CONTAINER, over, sample(process(7, pages=1025)), PMEM) == Found("PHYSICAL", 1)
    assert over_limit(CONTAINER, sample(process(7, pages=9000), held=MIB), None, PMEM) is None
    assert over_limit(CONTAINER, sample(held=2 * MIB + 1), None, PMEM) == Found("PHYSICAL", MIB + 1)


def test_more_than_twice_the_limit_is_too_much_at_once() -> None:
    assert over_limit(CONTAINER, sample(process(7, pages=2049)), None, PMEM) is not None


def test_virtual_memory_is_checked_when_asked() -> None:
    now = sample(process(7, vmem=5 << 20))
    assert over_limit(CONTAINER, now, now, PMEM) is None
    over = over_limit(CONTAINER, now, now, MemoryChecks(pmem_check=True, vmem_check=True, ratio=2.1))
    assert over is not None
    assert over.kind == "VIRTUAL"


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (1023, "1023"), (1024, "1 K"), (1536, "1.5 K"), (3 << 30, "3 G"), (5 << 40, "5 T")]
)
def test_binary_prefixes(value: int, text: str) -> None:
    assert binary_prefix(value) == text


def monitor_of(proc: Path, limits: MemoryChecks = PMEM, groups: PodGroups | None = None) -> MemoryMonitor:
    return MemoryMonitor(ProcessTable(proc), groups or PodGroups(None, "/"), limits)


def test_who_is_over_is_told_with_hadoop_s_words(tmp_path: Path) -> None:
    make_process(tmp_path, 102, inner=7, environ=SHELLS, pages=(3 << 20) // PAGE)
    (tmp_path / "self").mkdir()
    monitor = monitor_of(tmp_path)
    (excess,) = monitor.sample([CONTAINER], 1000)
    tick_ms = 1000 // os.sysconf("SC_CLK_TCK")
    assert excess == Excess(
        container_id=CONTAINER.container_id,
        exit_status=-104,
        text="Container [pid=102,containerID=container_1700000000000_0007_01_000002] is running 2097152B beyond the "
        "'PHYSICAL' memory limit. Current usage: 3 MB of 1 MB physical memory used; 1 MB of 2.1 MB virtual memory "
        "used. Killing container.\n"
        "Dump of the process-tree for container_1700000000000_0007_01_000002 :\n"
        "\t|- PID PPID PGRPID SESSID CMD_NAME USER_MODE_TIME(MILLIS) SYSTEM_TIME(MILLIS) VMEM_USAGE(BYTES) "
        "RSSMEM_USAGE(PAGES) FULL_CMD_LINE\n"
        f"\t|- 102 1 102 102 (we) ird) {3 * tick_ms} {4 * tick_ms} 1048576 {(3 << 20) // PAGE} java -jar x \n",
    )
    assert monitor.totals_bytes() == (3 << 20, 1 << 20)
    assert (monitor.seen(CONTAINER.container_id), monitor.mains()) == ({(102, 102)}, [102])
    assert monitor.sample([], 2000) == []
    assert monitor.totals_bytes() == (0, 0)
    assert (monitor.seen(CONTAINER.container_id), monitor.mains()) == (frozenset(), [])


def test_virtual_memory_has_a_status_of_its_own(tmp_path: Path) -> None:
    make_process(tmp_path, 102, inner=7, environ=SHELLS)
    (excess,) = monitor_of(tmp_path, MemoryChecks(pmem_check=True, vmem_check=True, ratio=0.1)).sample(
        [CONTAINER], 1000
    )
    assert excess.exit_status == -103
    assert "'VIRTUAL' memory limit" in excess.text


def test_a_process_that_has_shaken_off_all_marks_is_its_pod_s(tmp_path: Path) -> None:
    """Memory is summed over the pod's processes where no groups are seen, and the group's own figure where they are."""
    tree = CgroupTree(mount=tmp_path / "groups", proc=tmp_path / "proc", version=V2, driver="cgroupfs").make()
    pages = (3 << 20) // PAGE
    make_process(tree.proc, 101, inner=1, pod="0a-1", environ=SHELLS)
    make_process(tree.proc, 102, inner=7, pod="0a-1", environ=SHELLS)
    make_process(tree.proc, 109, inner=9, pod="0a-1", pages=pages)
    make_process(tree.proc, 200, inner=7, pod="0b-2", environ=MARKS, pages=pages)
    named = replace(CONTAINER, pod_uid="0a-1")
    (excess,) = monitor_of(tree.proc).sample([named], 1000)
    assert "[pid=102," in excess.text
    assert "|- 109 " in excess.text
    assert "|- 200 " not in excess.text

    tree.use((*BEST_EFFORT, "pod0a-1"), cpu_us=0, memory_mib=900)
    stat = "anon {}\nfile 900000000\nshmem 0\n"
    tree.write("", tree.group((*BEST_EFFORT, "pod0a-1")), "memory.stat", stat.format(MIB))
    monitor = monitor_of(tree.proc, groups=PodGroups(tree.mount, "/"))
    assert monitor.sample([named], 1000) == []
    tree.write("", tree.group((*BEST_EFFORT, "pod0a-1")), "memory.stat", stat.format(3 * MIB))
    (excess,) = monitor.sample([named], 2000)
    assert "Current usage: 3 MB of 1 MB" in excess.text


def test_more_processes_than_can_be_looked_at_are_over_the_limit_at_the_second_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(members, "LOOKED_AT_MAX", 2)
    for pid in (10, 11, 12):
        make_process(tmp_path, pid)
    monitor = monitor_of(tmp_path)
    assert monitor.sample([CONTAINER], 1000) == []
    (excess,) = monitor.sample([CONTAINER], 2000)
    assert (excess.exit_status, "cannot be measured" in excess.text) == (-104, True)
    assert monitor_of(tmp_path).sample([replace(CONTAINER, user_uid=23002)], 1000) == []
    unchecked = monitor_of(tmp_path, replace(PMEM, pmem_check=False))
    assert [unchecked.sample([CONTAINER], now_ms) for now_ms in (1000, 2000)] == [[], []]


def test_cores_are_of_processes_that_were_there_before(tmp_path: Path) -> None:
    make_process(tmp_path, 102, inner=7, environ=SHELLS)
    monitor = monitor_of(tmp_path)
    monitor.sample([CONTAINER], 1000)
    make_process(tmp_path, 103, environ=MARKS)
    stat = tmp_path / "102" / "stat"
    ticks = os.sysconf("SC_CLK_TCK")
    stat.write_text(stat.read_text().replace(" 3 4 ", f" 3 {4 + ticks} "))
    monitor.sample([CONTAINER], 3000)
    assert monitor.cores == 0.5


def test_own_process_is_read_from_the_real_proc() -> None:
    own = ProcessTable().process(os.getpid())
    assert own is not None
    assert own.parent == os.getppid()
    assert own.rss_pages > 100
