"""A process belongs to a container by its pod, and where there is none by marks, within a budget. Made ``/proc``."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nm_plugin.host.processes import ENVIRON_BYTES_MAX, Process, ProcessTable
from nm_plugin.host.users import FileThreads
from nm_plugin.launch.members import LOOK_S, LOOKED_AT_MAX, Members, Owner, ProcessListing, ProcessWatch
from tests.support.made_proc import make_process
from tests.support.node_agent import container_id, eventually

LOCAL = "/b/usercache/u/appcache/a"
ONE = Owner(container_id=container_id(2), pod_uid="0a-1", user_uid=23001, application_dir=Path(LOCAL))
NAMELESS = replace(ONE, pod_uid="")
MARKS = f"A=1\0CONTAINER_ID={container_id(2)}\0LOCAL_DIRS=/a/appcache/a,{LOCAL}\0".encode()
SHELLS = f"A=1\0YODEL_CONTAINER_ID={container_id(2)}\0".encode()


def look(proc: Path, owner: Owner = ONE, seen: frozenset[tuple[int, int]] = frozenset()) -> Members:
    return ProcessListing(ProcessTable(proc), [owner]).of(owner, seen)


def pids(members: Members) -> list[int]:
    return [one.pid for one in members.processes]


def test_all_of_a_pod_are_its_container_s_whatever_they_say(tmp_path: Path) -> None:
    make_process(tmp_path, 10, pod="0a-1", environ=SHELLS)
    make_process(tmp_path, 11, pod="0a-1", environ=b"", session=11)
    make_process(tmp_path, 12, pod="0a-1", uid=0, start_ticks=5)
    make_process(tmp_path, 13, pod="0a-1", state="Z")
    make_process(tmp_path, 20, pod="0b-2", environ=MARKS)
    make_process(tmp_path, 30, environ=MARKS)
    found = look(tmp_path)
    assert pids(found) == [12, 10, 11]
    assert found.is_proved
    assert pids(look(tmp_path, seen=frozenset({(30, 30), (20, 21)}))) == [12, 10, 11, 30], "on its way out"


def test_where_the_pod_has_no_group_those_in_other_pods_are_not_looked_at(tmp_path: Path) -> None:
    make_process(tmp_path, 20, pod="0b-2", environ=MARKS)
    make_process(tmp_path, 30, environ=MARKS)
    assert pids(look(tmp_path)) == [30]
    assert not look(tmp_path).is_proved
    assert pids(look(tmp_path, NAMELESS)) == [20, 30], "of before an upgrade, its own pod may be any"


def test_where_all_run_in_the_agent_s_own_pod_that_says_nothing(tmp_path: Path) -> None:
    make_process(tmp_path, os.getpid(), pod="0c-3")
    make_process(tmp_path, 9_000_030, pod="0c-3", environ=MARKS)
    assert pids(look(tmp_path)) == [9_000_030]


def test_marks_are_the_id_and_a_directory_of_this_agent_and_the_user(tmp_path: Path) -> None:
    make_process(tmp_path, 10, environ=MARKS)
    others = (b",/b/", b",/bb/"), (b"LOCAL", b"LOG"), (b"_000002", b"_000003"), (b"\0CONTAINER", b"\0XCONTAINER")
    for number, (old, new) in enumerate(others, 11):
        make_process(tmp_path, number, environ=MARKS.replace(old, new))
    make_process(tmp_path, 20, environ=MARKS, uid=23002)
    assert pids(look(tmp_path)) == [10]


def test_the_script_is_the_one_that_the_shell_claims(tmp_path: Path) -> None:
    make_process(tmp_path, 10, environ=SHELLS, inner=1)
    make_process(tmp_path, 11, environ=SHELLS, inner=7)
    make_process(tmp_path, 12, environ=SHELLS, inner=7, uid=23002)
    make_process(tmp_path, 13, environ=b"A=1\0", inner=7)
    assert pids(look(tmp_path, replace(ONE, claimed_pid=7))) == [11]
    assert pids(look(tmp_path, replace(ONE, claimed_pid=9))) == []


def test_with_them_go_their_sessions_all_below_and_what_was_seen(tmp_path: Path) -> None:
    make_process(tmp_path, 10, environ=MARKS)
    make_process(tmp_path, 11, session=10)
    make_process(tmp_path, 12, parent=11)
    make_process(tmp_path, 20, start_ticks=5)
    make_process(tmp_path, 21, start_ticks=5)
    make_process(tmp_path, 30)
    assert pids(look(tmp_path, seen=frozenset({(20, 5), (21, 4), (99, 1)}))) == [20, 10, 11, 12]


def test_a_look_for_marks_reads_so_many_processes_and_so_many_bytes_and_doubts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More forks with large environments than a look gets to: what is older than they are is found all the same."""
    large = b"X=" + b"x" * (1 << 17) + b"\0"
    make_process(tmp_path, 9, environ=MARKS, start_ticks=1)
    for pid in range(10, 20 + LOOKED_AT_MAX):
        make_process(tmp_path, pid)
    (tmp_path / "10" / "environ").write_bytes(large + MARKS)
    read = list[int]()
    environ = ProcessTable.environ

    def reads(table: ProcessTable, process: Process) -> bytes:
        read.append(len(environ(table, process)))
        return environ(table, process)

    monkeypatch.setattr(ProcessTable, "environ", reads)
    still = ProcessListing(ProcessTable(tmp_path), [ONE], clock_s=lambda: 0.0)
    assert (pids(still.of(ONE)), still.of(ONE).is_whole) == ([9], False)
    assert (len(read), max(read)) == (LOOKED_AT_MAX, ENVIRON_BYTES_MAX + 2)

    ticks: Iterator[float] = iter([0.0, *[LOOK_S / 2] * 9, *[LOOK_S] * 9])
    read.clear()
    late = ProcessListing(ProcessTable(tmp_path), [ONE], clock_s=lambda: next(ticks))
    assert (pids(late.of(ONE)), late.of(ONE).is_whole) == ([9], False)
    assert len(read) == 9


def test_the_crowd_of_another_user_costs_nobody_else_a_look(tmp_path: Path) -> None:
    make_process(tmp_path, 5000, environ=MARKS)
    for pid in range(10, 12 + LOOKED_AT_MAX):
        make_process(tmp_path, pid, uid=23002)
    other = Owner(container_id=container_id(3), user_uid=23002, application_dir=Path(LOCAL))
    listing = ProcessListing(ProcessTable(tmp_path), [NAMELESS, other])
    assert (pids(listing.of(NAMELESS)), listing.of(NAMELESS).is_whole) == ([5000], True)
    assert not listing.of(other).is_whole


def test_a_container_without_a_name_is_in_the_pod_of_its_processes(tmp_path: Path) -> None:
    make_process(tmp_path, 10, environ=MARKS)
    make_process(tmp_path, 20, pod="0b-2", environ=MARKS)
    assert ProcessListing(ProcessTable(tmp_path), [NAMELESS]).pod_uid(NAMELESS) == "0b-2"
    assert ProcessListing(ProcessTable(tmp_path), [ONE]).pod_uid(ONE) == "0a-1"


@pytest.mark.parametrize(("program", "left"), [("pause", [11]), ("sh", [10, 11])])
def test_the_runtime_s_own_process_is_the_first_of_a_pod(tmp_path: Path, program: str, left: list[int]) -> None:
    make_process(tmp_path, 10, pod="0a-1")
    make_process(tmp_path, 11, pod="0a-1")
    for pid in (10, 11):
        (tmp_path / str(pid) / "exe").symlink_to(f"/{program}")
    assert pids(look(tmp_path)) == left


def test_a_chain_of_forks_is_walked_once() -> None:
    """Each process below the one before it: their parents are asked for once each and not once a generation."""
    asked = 0

    class Counted(Process):
        @property
        def parent(self) -> int:
            nonlocal asked
            asked += 1
            return self.pid - 1

        @parent.setter
        def parent(self, _: int) -> None:
            pass

    class Chain(ProcessTable):
        def processes(self) -> Iterator[Process]:
            yield from (Counted(pid, "x", "S", 0, 0, pid, 0, 0, 0, 0, pid, 1, 0) for pid in range(9_000_010, 9_005_010))

        def environ(self, process: Process) -> bytes:
            return b"\0" + MARKS if process.pid == 9_000_010 else b"\0"

        def user_uid(self, pid: int) -> int:
            return ONE.user_uid

    chain = Chain(Path("/nowhere"))
    assert len(ProcessListing(chain, [ONE]).of(ONE).processes) == 5000
    assert asked <= 5 * 5000


async def test_one_pass_serves_all_who_ask_and_what_came_during_a_pass_is_in_the_next(
    tmp_path: Path, threads: FileThreads
) -> None:
    owners = [replace(ONE, container_id=container_id(number), pod_uid=f"0a-{number}") for number in range(2, 22)]
    for number, owner in enumerate(owners):
        make_process(tmp_path, 100 + number, pod=owner.pod_uid)
    passes, may_end = list[int](), threading.Event()

    class Counted(ProcessTable):
        def processes(self) -> Iterator[Process]:
            passes.append(len(passes))
            yield from super().processes()
            may_end.wait(60)

    looks = ProcessWatch(threads, Counted(tmp_path))
    first = asyncio.create_task(looks.of(owners[0]))
    await eventually(lambda: passes == [0])
    others = [asyncio.create_task(looks.of(owner)) for owner in owners[1:]]
    await asyncio.sleep(0)
    make_process(tmp_path, 200, pod=owners[1].pod_uid)
    may_end.set()
    assert pids(await first) == [100]
    found = await asyncio.gather(*others)
    assert [pids(members) for members in found] == [[101, 200], *([number] for number in range(102, 120))]
    assert passes == [0, 1]


async def test_killed_are_those_that_were_listed_and_not_who_has_their_number_now(
    tmp_path: Path, threads: FileThreads
) -> None:
    looks = ProcessWatch(threads, ProcessTable())
    process = await asyncio.create_subprocess_exec("sleep", "600")
    listed = ProcessTable().process(process.pid)
    assert listed is not None
    assert await looks.kill([replace(listed, start_ticks=listed.start_ticks - 1)]) == 0
    assert process.returncode is None
    assert await looks.kill([listed]) == 1
    assert await process.wait() == -signal.SIGKILL
    assert await looks.kill([listed]) == 0
