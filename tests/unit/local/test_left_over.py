"""An earlier cluster's processes are found and ended. The processes are real, and sleep."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from yodel.local.container_launch import POD_UID_VARIABLE
from yodel.local.left_over import end_left_over, is_program_of, programs_of

HERE = Path("/data/yodel")
SLEEPER = "import signal; signal.pause()"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["python", "-m", "yodel", "serve", "--migrate", "--config", "/data/yodel/rm/rm.toml"], True),
        (["python", "-m", "nm_plugin", "--config", "/data/yodel/nodes/node-1/nm.toml"], True),
        (
            ["python", "-m", "yodel", "local-kubernetes", "--config", "/data/yodel/kube/kube.json", "--ready-fd", "9"],
            True,
        ),
        (["python", "-m", "yodel", "serve", "--config", "/data/yodel-2/rm/rm.toml"], False),
        (["python", "-m", "yodel", "local", "--dir", "/data/yodel"], False),
        (["python", "-m", "http.server", "--config", "/data/yodel/rm/rm.toml"], False),
        (["less", "/data/yodel/rm/rm.toml"], False),
        (["vi", "-m", "yodel", "x", "--config"], False),
        ([], False),
    ],
)
def test_programs_are_known_by_their_configuration_file(command: list[str], expected: bool) -> None:
    assert is_program_of(HERE, command) is expected


async def test_programs_and_containers_are_ended_and_strangers_left(tmp_path: Path) -> None:
    (tmp_path / "nm_plugin.py").write_text(SLEEPER)  # "-m" finds it first, so the command line is a program's
    uid = "11111111-2222-3333-4444-555555555555"
    (tmp_path / "kube" / "pods" / uid).mkdir(parents=True)
    program = sleeper("-m", "nm_plugin", "--config", str(tmp_path / "nm.toml"), cwd=tmp_path)
    container = sleeper("-c", SLEEPER, env={POD_UID_VARIABLE: uid})
    stranger = sleeper("-c", SLEEPER, env={POD_UID_VARIABLE: "another"})
    try:
        assert [process.pid for process in programs_of(tmp_path)] == [program.pid]
        assert await end_left_over(tmp_path) == 1
        assert not psutil.pid_exists(program.pid)
        assert container.wait(5) == -9
        assert stranger.poll() is None
    finally:
        for process in (program, container, stranger):
            process.kill()
            process.wait(5)


async def test_fresh_directory_has_nothing_left(tmp_path: Path) -> None:
    assert await end_left_over(tmp_path) == 0


def sleeper(*arguments: str, **options: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, *arguments], start_new_session=True, **options)
