"""Logs on the node's disks, as an upload sees them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nm_plugin.host import name_patterns
from nm_plugin.logs.uploading import local_logs
from nm_plugin.logs.uploading.local_logs import LocalLog, NothingChosen

APPLICATION, CONTAINER = "application_1_0001", "container_1_0001_01_000002"
HARD, LONG = "(a|aa)+[bc]", "a" * 64


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    path = tmp_path / APPLICATION / CONTAINER
    path.mkdir(parents=True)
    return path


def find(tmp_path: Path) -> list[LocalLog]:
    return local_logs.find((str(tmp_path), str(tmp_path / "none")), APPLICATION, CONTAINER)


def chosen(
    include: str, exclude: str, names: tuple[str, ...] = ("stderr", "stdout", "syslog")
) -> tuple[list[str], str]:
    found, warning = local_logs.chosen(include, exclude, names)
    return sorted(found), warning


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
    ("include", "exclude", "names"),
    [
        ("", "", ["stderr", "stdout", "syslog"]),
        ("err", "", ["stderr"]),
        ("", "^std", ["syslog"]),
        ("^s", "out|log", ["stderr"]),
        (r"std\p{Lower}+", r"(?i)\QERR\E\z", ["stdout"]),
        ("(?:classes/|lib/).*", "", []),
    ],
)
def test_patterns_are_searched_for(include: str, exclude: str, names: list[str]) -> None:
    assert chosen(include, exclude) == (names, "")


@pytest.mark.parametrize("include", [r"\X", HARD])
def test_include_pattern_that_cannot_be_matched_includes_all_with_a_warning(
    include: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``\\X`` of an application that an older ResourceManager let pass."""
    monkeypatch.setattr(name_patterns, "TIMEOUT_S", 0.5)
    names, warning = chosen(include, "err", (LONG, "stderr"))
    assert names == [LONG]
    assert warning.startswith("All logs are included: ")


@pytest.mark.parametrize(
    ("include", "exclude", "error"),
    [
        ("", r"\X", "log exclude pattern"),
        ("", "[", "log exclude pattern"),
        ("", HARD, "Log exclude pattern .* takes too long to match"),
    ],
)
def test_where_it_is_not_known_what_is_excluded_nothing_is_published(
    include: str, exclude: str, error: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(name_patterns, "TIMEOUT_S", 0.5)
    with pytest.raises(NothingChosen, match=error):
        chosen(include, exclude, (LONG,))


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
