"""Logs on the node's disks, as an upload sees them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nm_plugin.logs.uploading import local_logs
from nm_plugin.logs.uploading.local_logs import LocalLog, Selection, selected_by
from yodel.domain.java_patterns import NotTranslated, RefusedByJava

APPLICATION, CONTAINER = "application_1_0001", "container_1_0001_01_000002"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    path = tmp_path / APPLICATION / CONTAINER
    path.mkdir(parents=True)
    return path


def find(tmp_path: Path, selection: Selection | None = None) -> list[LocalLog]:
    return local_logs.find((str(tmp_path), str(tmp_path / "none")), APPLICATION, CONTAINER, selection or Selection())


def content(log: LocalLog, between: bytes | None = None) -> bytes:
    with local_logs.opened(log) as (descriptor, size, _):
        if between is not None:
            path = Path(log.log_dir) / log.application / log.container / log.name
            with path.open("r+b") as file:
                file.truncate(0)
                file.write(between)
        return b"".join(local_logs.padded(descriptor, size))


def test_only_regular_files_are_found(tmp_path: Path, directory: Path) -> None:
    (directory / "stdout").write_bytes(b"x")
    (directory / "link").symlink_to(directory / "stdout")
    (directory / "below").mkdir()
    os.mkfifo(directory / "fifo")
    assert [log.name for log in find(tmp_path)] == ["stdout"]


@pytest.mark.parametrize(
    ("selection", "names"),
    [
        (selected_by("err", ""), ["stderr"]),
        (selected_by("", "^std"), ["syslog"]),
        (selected_by("^s", "out|log"), ["stderr"]),
        (selected_by(r"std\p{Lower}+", r"(?i)\QERR\E\z"), ["stdout"]),
    ],
)
def test_patterns_are_searched_for(tmp_path: Path, directory: Path, selection: Selection, names: list[str]) -> None:
    for name in ("stderr", "stdout", "syslog"):
        (directory / name).write_bytes(b"")
    assert [log.name for log in find(tmp_path, selection)] == names


def test_include_pattern_that_cannot_be_translated_includes_all_with_a_warning() -> None:
    selection = selected_by(r"(?<=a*)\X", "err")
    assert selection.keeps("stdout")
    assert not selection.keeps("stderr")
    assert "All logs are included" in selection.warning
    assert not selected_by("out", "err").warning


@pytest.mark.parametrize(
    ("include", "exclude", "error"), [("", r"\X", NotTranslated), ("(", "", RefusedByJava), ("", "[", RefusedByJava)]
)
def test_what_the_resource_manager_refuses_publishes_nothing(
    include: str, exclude: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        selected_by(include, exclude)


@pytest.mark.parametrize(("between", "seen"), [(b"", b"\n" * 10), (b"abc", b"abc" + b"\n" * 7), (b"x" * 50, b"x" * 10)])
def test_length_is_fixed_when_a_log_is_opened(tmp_path: Path, directory: Path, between: bytes, seen: bytes) -> None:
    (directory / "stdout").write_bytes(b"0123456789")
    [log] = find(tmp_path)
    assert content(log, between) == seen


def test_directory_that_became_a_link_is_not_entered(tmp_path: Path, directory: Path) -> None:
    (directory / "stdout").write_bytes(b"x")
    [log] = find(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    directory.rename(elsewhere)
    directory.symlink_to(elsewhere)
    assert find(tmp_path) == []
    with pytest.raises(OSError), local_logs.opened(log):
        pass
    local_logs.remove((str(tmp_path),), APPLICATION, CONTAINER, "stdout")
    assert (elsewhere / "stdout").exists()
