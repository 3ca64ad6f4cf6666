"""Side processes: real ones, small Python programs that listen on the loopback."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from nm_plugin.aux import side_process
from nm_plugin.aux.side_process import ProcessUser, SideProcess, SideProgram
from tests.support.node_agent import IS_ROOT, eventually
from tests.support.ports import free_port

LISTEN = """
import os, signal, socket, sys
print("environment", sorted(os.environ), "uid", os.geteuid(), os.getgroups(), flush=True)
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    listener.accept()
"""


@pytest.fixture
def program(open_path: Path) -> SideProgram:
    port = free_port()
    return SideProgram(
        name="listener",
        command=(sys.executable, "-I", "-S", "-c", LISTEN, str(port)),
        environment={"LANG": "C.UTF-8"},
        directory=open_path,
        log_file=open_path / "listener.log",
        pid_file=open_path / "listener.pid",
        port=port,
        stop_s=2.0,
    )


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("PROBE_INTERVAL_S", 0.05), ("STARTING_INTERVAL_S", 0.02), ("PAUSE_MIN_S", 0.05)):
        monkeypatch.setattr(side_process, name, value)


@asynccontextmanager
async def running(program: SideProgram) -> AsyncIterator[SideProcess]:
    process = SideProcess(program)
    task = asyncio.create_task(process.run())
    try:
        yield process
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def pid_of(program: SideProgram) -> int:
    return int(json.loads(program.pid_file.read_text())["pid"])


def is_alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


async def test_it_is_well_once_its_port_answers_and_ends_with_the_agent(program: SideProgram) -> None:
    async with running(program) as process:
        assert process.trouble
        assert await process.wait_until_well(10)
        assert process.trouble == ""
        pid = pid_of(program)
        assert is_alive(pid)
    assert not is_alive(pid)
    assert not program.pid_file.exists()


async def test_environment_is_what_was_given(program: SideProgram) -> None:
    async with running(program) as process:
        assert await process.wait_until_well(10)
    assert "environment ['LANG'" in program.log_file.read_text()
    assert program.log_file.stat().st_mode & 0o777 == 0o600


async def test_it_is_started_again_when_it_dies(program: SideProgram) -> None:
    async with running(program) as process:
        assert await process.wait_until_well(10)
        first = pid_of(program)
        os.kill(first, signal.SIGKILL)
        await eventually(lambda: process.trouble == "ended with status -9")
        assert await process.wait_until_well(10)
        assert pid_of(program) != first


async def test_it_is_ended_when_it_never_answers(program: SideProgram) -> None:
    deaf = replace(program, command=(sys.executable, "-I", "-S", "-c", "import signal; signal.pause()"))
    async with running(replace(deaf, start_s=0.1)) as process:
        await eventually(lambda: "did not answer within 0.1 s" in process.trouble)


async def test_it_is_ended_when_it_stops_answering(program: SideProgram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side_process, "PROBE_TIMEOUT_S", 0.1)
    once = LISTEN.replace("while True:\n    listener.accept()", "listener.accept(); listener.close(); signal.pause()")
    async with running(replace(program, command=(*program.command[:-2], once, program.command[-1]))) as process:
        assert await process.wait_until_well(10)
        await eventually(lambda: "stopped answering" in process.trouble)


async def test_who_ignores_terms_is_killed(program: SideProgram) -> None:
    stubborn = LISTEN.replace(
        "import os, signal, socket, sys", LISTEN.splitlines()[1] + "; signal.signal(15, lambda *_: 0)"
    )
    changed = replace(program, command=(*program.command[:-2], stubborn, program.command[-1]), stop_s=0.2)
    async with running(changed) as process:
        assert await process.wait_until_well(10)
        pid = pid_of(program)
    assert not is_alive(pid)


async def test_program_that_cannot_be_started_is_trouble(program: SideProgram) -> None:
    async with running(replace(program, command=("/nonexistent/java",))) as process:
        await eventually(lambda: process.trouble.startswith("cannot be started"))
        assert not await process.wait_until_well(0.01)


async def test_port_of_somebody_else_is_trouble(program: SideProgram) -> None:
    with socket.create_server(("127.0.0.1", program.port)):
        async with running(program) as process:
            await eventually(lambda: "used by another process" in process.trouble)
            assert not program.pid_file.exists()


async def test_left_over_of_a_killed_agent_is_ended(program: SideProgram) -> None:
    left_over = await asyncio.create_subprocess_exec(*program.command, stdout=asyncio.subprocess.DEVNULL)
    started = side_process._start_ticks(left_over.pid)
    program.pid_file.write_text(json.dumps({"pid": left_over.pid, "started": started}))
    async with running(program) as process:
        assert await process.wait_until_well(10)
        assert await left_over.wait() == -signal.SIGKILL
        assert pid_of(program) != left_over.pid


@pytest.mark.parametrize("started", [0, 1])
async def test_process_that_only_has_the_number_is_left_alone(program: SideProgram, started: int) -> None:
    other = await asyncio.create_subprocess_exec(sys.executable, "-c", "import signal; signal.pause()")
    program.pid_file.write_text(json.dumps({"pid": other.pid, "started": started}))
    async with running(program) as process:
        assert await process.wait_until_well(10)
        assert other.returncode is None
    other.kill()
    await other.wait()


@pytest.mark.parametrize("content", ["", "[]", '{"pid": "x"}', '{"pid": 1}', '{"pid": 4194304, "started": 1}'])
async def test_broken_pid_file_is_nothing(program: SideProgram, content: str) -> None:
    program.pid_file.write_text(content)
    async with running(program) as process:
        assert await process.wait_until_well(10)


async def test_log_is_cut_when_it_is_too_large(program: SideProgram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side_process, "LOG_BYTES_MAX", 1000)
    program.log_file.write_text("x" * 5000)
    async with running(program) as process:
        assert await process.wait_until_well(10)
        await eventually(lambda: program.log_file.stat().st_size < 1000)


async def test_user_of_the_process(program: SideProgram) -> None:
    """Root gives it another's rights; anybody else can only keep the own."""
    user = ProcessUser(uid=23001, gid=23001, groups=(23001, 23002)) if IS_ROOT else None
    expected = "23001\n23001 23002\n" if IS_ROOT else f"{os.geteuid()}\n"
    shell = replace(program, user=user, command=("/bin/sh", "-c", "id -u; id -G; exec sleep 60"))
    async with running(shell):
        await eventually(lambda: program.log_file.exists() and program.log_file.read_text().startswith(expected))
