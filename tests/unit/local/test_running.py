"""The clusters that this user runs, told from processes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from yodel.local.running import RunningLocal, directory_of, running_locals


@pytest.fixture
def stand_in(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process with the command line of a local cluster's ResourceManager, ready.json beside it."""
    package = tmp_path / "yodel"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text("print('up', flush=True)\ninput()\n")
    (tmp_path / "ready.json").write_text(json.dumps({"rest_url": "http://127.0.0.1:5"}))
    config = tmp_path / "rm" / "rm.toml"
    command = [sys.executable, "-m", "yodel", "serve", "--migrate", "--config", str(config), "--ready-fd", "9"]
    pipes = subprocess.PIPE
    with subprocess.Popen(command, cwd=tmp_path, stdin=pipes, stdout=pipes, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        yield process
        process.kill()


def test_running_cluster_is_found_while_it_is_ready(tmp_path: Path, stand_in: subprocess.Popen[str]) -> None:
    assert RunningLocal(directory=tmp_path, rest_url="http://127.0.0.1:5") in running_locals()
    (tmp_path / "ready.json").unlink()
    assert tmp_path not in [one.directory for one in running_locals()]


def test_cluster_that_ended_is_not_found(tmp_path: Path, stand_in: subprocess.Popen[str]) -> None:
    stand_in.kill()
    stand_in.wait(10)
    assert tmp_path not in [one.directory for one in running_locals()]


@pytest.mark.parametrize(
    ("command", "directory"),
    [
        ("python -m yodel serve --migrate --config /a/rm/rm.toml", "/a"),
        ("python -m yodel serve --migrate --config /a/rm/rm.toml --ready-fd 9", "/a"),
        ("python -m yodel serve --config /etc/yodel/rm.toml", None),
        ("python -m yodel serve --config rm/rm.toml", None),
        ("python -m nm_plugin --config /a/rm/rm.toml", None),
        ("vi -m yodel local --config /a/rm/rm.toml", None),
        ("python", None),
    ],
)
def test_only_a_local_clusters_resource_manager_counts(command: str, directory: str | None) -> None:
    found = directory_of(command.split())
    assert (str(found) if found else None) == directory
