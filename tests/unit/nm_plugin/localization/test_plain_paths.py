"""Paths of strangers: ordinary links lead where they lead, magic ones nowhere."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nm_plugin.localization.plain_paths import COMPONENTS_MAX, open_plainly
from tests.support.opened_files import descriptors_along


def content(path: Path | str, base: int | None = None) -> bytes:
    descriptor = open_plainly(str(path), base).descriptor
    try:
        return os.read(descriptor, 100)
    finally:
        os.close(descriptor)


@pytest.fixture
def tree(open_path: Path) -> Path:
    (open_path / "spark-3.5/jars").mkdir(parents=True)
    (open_path / "spark-3.5/jars/a.jar").write_bytes(b"jar")
    (open_path / "spark").symlink_to("spark-3.5")
    (open_path / "absolute").symlink_to(open_path / "spark")
    (open_path / "spark-3.5/up").symlink_to("../spark/jars/../jars")
    (open_path / "link.jar").symlink_to("absolute/up/a.jar")
    return open_path


@pytest.mark.parametrize(
    "path",
    ["spark-3.5/jars/a.jar", "spark/jars/a.jar", "absolute/jars/a.jar", "spark/up/a.jar", "link.jar", "./link.jar"],
)
def test_ordinary_links_lead_on(tree: Path, path: str) -> None:
    assert content(tree / path) == b"jar"
    base = os.open(tree, os.O_RDONLY | os.O_DIRECTORY)
    assert content(path, base) == b"jar"
    os.close(base)


NAMES = st.lists(
    st.sampled_from(["spark", "spark-3.5", "jars", "up", "absolute", "a.jar", "link.jar", "..", "."]), max_size=7
)


def found(opening: Callable[[], int]) -> tuple[int, int] | int | None:
    """Return which file was opened, or what is wrong."""
    try:
        descriptor = opening()
    except OSError as error:
        return error.errno
    status = os.fstat(descriptor)
    os.close(descriptor)
    return status.st_dev, status.st_ino


def test_it_finds_what_the_kernel_finds(tree: Path) -> None:
    @given(names=NAMES)
    @example(names=["link.jar", "."])
    @example(names=["jars", "a.jar", ""])
    @example(names=["jars", ""])
    def same(names: list[str]) -> None:
        path = str(tree) + "/" + "/".join(names)
        assert found(lambda: open_plainly(path).descriptor) == found(lambda: os.open(path, os.O_RDONLY))

    same()


@pytest.mark.parametrize(
    "path",
    [
        "/proc/self/fd/{fd}",
        "/proc/{pid}/fd/{fd}",
        "/proc/thread-self/fd/{fd}",
        "/proc/{pid}/root/etc/passwd",
        "/proc/{pid}/cwd",
        "/proc/{pid}/maps",
        "/proc/version",
        "/proc",
        "/proc/../etc/passwd",
        "/dev/fd/{fd}",
        "/dev/stdin",
        "{tree}/to-a-descriptor",
        "{tree}/to-processes/self/fd/{fd}",
    ],
)
def test_proc_leads_nowhere(tree: Path, path: str) -> None:
    descriptor = os.open(tree / "link.jar", os.O_RDONLY)
    try:
        (tree / "to-a-descriptor").symlink_to(f"/proc/self/fd/{descriptor}")
        (tree / "to-processes").symlink_to("/proc")
        with pytest.raises(OSError, match="is in a proc file system"):
            open_plainly(path.format(fd=descriptor, pid=os.getpid(), tree=tree))
    finally:
        os.close(descriptor)


def test_links_and_components_without_end_are_given_up(tree: Path) -> None:
    (tree / "self").symlink_to("self")
    for path in (tree / "self", tree / ("spark-3.5/../" * (COMPONENTS_MAX // 2)) / "spark"):
        with pytest.raises(OSError, match=os.strerror(errno.ELOOP)):
            open_plainly(str(path))


@pytest.mark.parametrize(("closed", "path"), [("spark-3.5/jars", "link.jar"), ("spark-3.5", "spark/jars/a.jar")])
def test_directories_that_are_not_for_all_are_told(tree: Path, closed: str, path: str) -> None:
    opened = open_plainly(str(tree / path))
    os.close(opened.descriptor)
    assert opened.all_may_pass
    (tree / closed).chmod(0o770)
    opened = open_plainly(str(tree / path))
    os.close(opened.descriptor)
    assert not opened.all_may_pass


def test_no_descriptor_is_left(tree: Path) -> None:
    before = descriptors_along(tree)
    for path in ("link.jar", "missing/x", "spark/missing", "link.jar/x"):
        try:
            os.close(open_plainly(str(tree / path)).descriptor)
        except OSError:
            continue
    assert descriptors_along(tree) == before
