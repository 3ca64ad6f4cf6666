"""The executor alone among a container's processes hears that it has to go: real ones, each short of one mark."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nm_plugin.host.processes import ProcessTable
from nm_plugin.launch.executor import MAIN, tell
from nm_plugin.launch.members import Owner
from tests.support.node_agent import container_id, eventually

CONTAINER, ANOTHER = container_id(2), container_id(3)
LISTENS = "trap 'echo heard; exit 0' PWR; echo ready; while :; do sleep 0.02; done"
IS_DEAF = "echo ready; while :; do sleep 0.02; done"

Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """A shell with arguments after its program, in the environment of a container."""
    with contextlib.ExitStack() as stack:

        def run(
            program: str, *words: str, container: str = str(CONTAINER), uid: int | None = None
        ) -> subprocess.Popen[bytes]:
            environment = {**os.environ, "CONTAINER_ID": container, "LOCAL_DIRS": str(tmp_path)}
            command = ["/bin/bash", "-c", program, *words]
            process = stack.enter_context(
                subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, user=uid, start_new_session=True)
            )
            stack.callback(_kill, process)
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            return process

        yield run


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def told(tmp_path: Path, name: str = "PWR", uid: int | None = None) -> int:
    owner = Owner(container_id=CONTAINER, user_uid=os.geteuid() if uid is None else uid, application_dir=tmp_path)
    return tell(ProcessTable(), owner, name)


def test_executor_that_listens_hears_it_once(start: Start, tmp_path: Path) -> None:
    executor = start(LISTENS, MAIN.decode())
    assert told(tmp_path) == executor.pid
    assert executor.wait(10) == 0
    assert executor.stdout is not None
    assert executor.stdout.read() == b"heard\n"


def test_one_below_a_shell_that_names_it_in_its_command(start: Start, tmp_path: Path) -> None:
    """Hadoop starts it like this: the shell above has the class as a part of an argument, and would die."""
    shell = start(f'echo ready; /bin/bash -c "{LISTENS}" {MAIN.decode()} & wait; exit 7')
    assert shell.stdout is not None
    assert shell.stdout.readline() == b"ready\n"
    assert told(tmp_path) not in (0, shell.pid)
    assert shell.wait(10) == 7


@pytest.mark.parametrize(
    ("program", "words", "name"),
    [
        (IS_DEAF, [MAIN.decode()], "PWR"),  # it would end
        (LISTENS, [MAIN.decode()], "USR1"),  # it catches another one
        (LISTENS, ["org.apache.spark.deploy.yarn.ApplicationMaster"], "PWR"),
        (LISTENS, [f"-Dx={MAIN.decode()}"], "PWR"),
    ],
)
def test_nothing_else_hears_it(start: Start, tmp_path: Path, program: str, words: list[str], name: str) -> None:
    process = start(program, *words)
    assert told(tmp_path, name) == 0
    assert process.poll() is None


def test_not_that_of_another_container_or_directory(start: Start, tmp_path: Path) -> None:
    process = start(LISTENS, MAIN.decode(), container=str(ANOTHER))
    assert told(tmp_path) == 0
    assert told(tmp_path / "elsewhere") == 0
    assert process.poll() is None


def test_not_that_of_another_user(start: Start, tmp_path: Path, needs_root: None) -> None:
    process = start(LISTENS, MAIN.decode(), uid=23002)
    assert told(tmp_path, uid=23001) == 0
    assert process.poll() is None
    assert told(tmp_path, uid=23002) == process.pid


def test_not_one_of_root_which_a_search_for_survivors_finds(start: Start, tmp_path: Path, needs_root: None) -> None:
    process = start(LISTENS, MAIN.decode())
    assert told(tmp_path, uid=23001) == 0
    assert process.poll() is None


async def test_one_that_has_ended_is_nobody(start: Start, tmp_path: Path) -> None:
    process = start(LISTENS, MAIN.decode())
    process.kill()
    await eventually(lambda: process.poll() is not None)
    assert told(tmp_path) == 0


def test_a_likeness_below_it_is_not_the_executor(start: Start, tmp_path: Path) -> None:
    """A process that has been forked and is not yet another program looks the same to the last byte."""
    forks = "(trap 'echo wrong' PWR; echo ready; while :; do sleep 0.02; done) & "
    executor = start(f"{forks} while :; do sleep 0.02; done", MAIN.decode())
    assert told(tmp_path) == 0
    assert executor.poll() is None
