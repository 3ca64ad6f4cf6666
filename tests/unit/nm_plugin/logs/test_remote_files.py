"""A remote log directory is in the file system that its URL or the configuration names."""

from __future__ import annotations

from pathlib import Path

import pytest

from nm_plugin.logs.remote_files import LocalFileSystem, remote_files
from yodel.errors import InvalidValue


def test_file_urls(tmp_path: Path) -> None:
    remote, path = remote_files("file:///a%20b/c/", None)
    assert isinstance(remote, LocalFileSystem)
    assert path == "/a b/c"
    assert remote_files("/tmp/logs", tmp_path)[1] == "/tmp/logs"


def test_default_file_system_is_the_configurations(tmp_path: Path) -> None:
    (tmp_path / "core-site.xml").write_text(
        "<configuration><property><name>fs.defaultFS</name><value>hdfs://nn:8020</value></property></configuration>"
    )
    remote, path = remote_files("/tmp/logs", tmp_path)
    assert (isinstance(remote, LocalFileSystem), path) == (False, "/tmp/logs")


def test_other_schemes_are_refused() -> None:
    with pytest.raises(InvalidValue, match="ftp"):
        remote_files("ftp://host/logs", None)


def test_directory_that_is_there_is_left_as_it_is(tmp_path: Path) -> None:
    remote = LocalFileSystem()
    assert remote.make_dir(f"{tmp_path}/a/b/root", 0o1777)
    assert not remote.make_dir(f"{tmp_path}/a/b/root", 0o700)
    assert (tmp_path / "a/b/root").stat().st_mode & 0o7777 == 0o1777
    with pytest.raises(FileNotFoundError):
        remote.make_dir(f"{tmp_path}/missing/x", 0o770)


def test_removing_what_is_gone_is_success(tmp_path: Path) -> None:
    LocalFileSystem().delete(f"{tmp_path}/nothing")
    assert LocalFileSystem().status(f"{tmp_path}/nothing") is None
