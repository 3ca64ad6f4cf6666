"""Starts commands through the process that starts containers."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from yodel.local.container_launch import CannotRun, ContainerLaunch, ProcessIdentity
from yodel.local.starter import Starter

TIMEOUT_S = 60.0


@pytest.fixture
def starter() -> Iterator[Starter]:
    starter = Starter()
    yield starter
    starter.close()
    starter.close()


def run(starter: Starter, output: Path, *argv: str, directory: str = "/", words: int = 0) -> int:
    """Run a command to its end, and return its process id."""
    environment = {f"WORD{number}": "x" * 10_000 for number in range(words)}
    launch = ContainerLaunch(
        container="c", argv=argv, environment=environment, directory=directory, identity=ProcessIdentity()
    )
    with open(os.devnull, "rb") as nothing, output.open("ab") as file:
        pid, pidfd = starter.start(launch, argv, (None, None, None), nothing.fileno(), file.fileno())
    assert select.select([pidfd], [], [], TIMEOUT_S)[0]
    os.close(pidfd)
    return pid


def test_command_runs_in_a_session_of_its_own_with_its_files(starter: Starter, tmp_path: Path) -> None:
    output = tmp_path / "output"
    pid = run(starter, output, "/bin/sh", "-c", "pwd; umask; cut -d ' ' -f 6 /proc/$$/stat", directory=str(tmp_path))
    assert output.read_text() == f"{tmp_path}\n0022\n{pid}\n"
    assert not (psutil.pid_exists(pid) and psutil.Process(pid).ppid() == os.getpid()), "no child of ours"


def test_environment_may_be_longer_than_a_socket_takes_at_once(starter: Starter, tmp_path: Path) -> None:
    output = tmp_path / "output"
    run(starter, output, "/bin/sh", "-c", "echo $WORD59", words=60)
    assert output.read_text() == "x" * 10_000 + "\n"


def test_command_that_cannot_start_says_why_and_the_next_runs(starter: Starter, tmp_path: Path) -> None:
    output = tmp_path / "output"
    with pytest.raises(CannotRun, match=r"failed to start container: .*No such file or directory: '/nowhere'"):
        run(starter, output, "/bin/true", directory="/nowhere")
    run(starter, output, "/bin/echo", "next")
    assert output.read_text() == "next\n"


def test_another_process_starts_containers_when_the_first_has_ended(starter: Starter, tmp_path: Path) -> None:
    output = tmp_path / "output"
    run(starter, output, "/bin/echo", "first")
    (process,) = (one for one in psutil.Process().children() if any("start_program" in word for word in one.cmdline()))
    process.kill()
    process.wait(TIMEOUT_S)
    with pytest.raises(CannotRun, match="does not answer"):
        run(starter, output, "/bin/echo", "refused")
    run(starter, output, "/bin/echo", "second")
    assert output.read_text() == "first\nsecond\n"
    starter.close()
    assert not [one for one in psutil.Process().children() if any("start_program" in word for word in one.cmdline())]
