"""Taking what a reserved uid made: only what is its own, and no link is followed."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from nm_plugin.localization.giving import PUBLIC, Gift
from nm_plugin.localization.tree import DEPTH_MAX, UnsafeArchive

pytestmark = pytest.mark.usefixtures("needs_root")
MAKER, TAKER = 23010, 23011


@pytest.fixture
def outside(open_path: Path) -> Path:
    path = open_path / "outside"
    path.write_text("secret")
    path.chmod(0o600)
    return path


@pytest.fixture
def tree(open_path: Path) -> Path:
    path = open_path / "tree"
    path.mkdir(mode=0o700)
    return path


def own(path: Path) -> Path:
    os.chown(path, MAKER, MAKER, follow_symlinks=False)
    return path


def give(tree: Path, entries_max: int = 10) -> None:
    own(tree)
    descriptor = os.open(tree, os.O_RDONLY | os.O_DIRECTORY)
    try:
        Gift(from_uid=MAKER, uid=TAKER, gid=TAKER, modes=PUBLIC, entries_max=entries_max).give(descriptor)
    finally:
        os.close(descriptor)


def of(path: Path) -> tuple[int, int, int]:
    status = path.lstat()
    return status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)


def test_all_of_it_is_the_takers_and_may_be_run_and_not_written(tree: Path) -> None:
    (tree / "d").mkdir()
    own(tree / "d")
    for name, mode in (("d/plain", 0o600), ("d/run", 0o4700), ("d/open", 0o666)):
        (tree / name).write_text("x")
        own(tree / name).chmod(mode)
    os.link(tree / "d/plain", tree / "again")
    give(tree)
    assert {name: of(tree / name) for name in ("", "d", "d/plain", "d/run", "d/open", "again")} == {
        "": (TAKER, TAKER, 0o755),
        "d": (TAKER, TAKER, 0o755),
        "d/plain": (TAKER, TAKER, 0o555),
        "d/run": (TAKER, TAKER, 0o555),
        "d/open": (TAKER, TAKER, 0o555),
        "again": (TAKER, TAKER, 0o555),
    }


def test_a_link_is_taken_and_what_it_names_is_not(tree: Path, outside: Path) -> None:
    for name, target in (("file", outside), ("directory", outside.parent), ("nothing", Path("/no/such"))):
        (tree / name).symlink_to(target)
        own(tree / name)
    before = of(outside), of(outside.parent)
    give(tree)
    assert (of(outside), of(outside.parent)) == before
    assert of(tree / "file")[:2] == (TAKER, TAKER)


def test_what_is_somebody_elses_is_left_alone_and_refused(tree: Path, outside: Path) -> None:
    os.link(outside, tree / "hard-link")
    before = of(outside)
    with pytest.raises(UnsafeArchive, match="'hard-link', which belongs to another user"):
        give(tree)
    assert of(outside) == before


def test_a_link_of_somebody_elses_is_refused(tree: Path) -> None:
    (tree / "link").symlink_to("x")
    with pytest.raises(UnsafeArchive, match="another user"):
        give(tree)


def test_a_directory_of_somebody_elses_is_refused(tree: Path) -> None:
    (tree / "d").mkdir()
    with pytest.raises(UnsafeArchive, match="another user"):
        give(tree)


def test_a_fifo_is_taken(tree: Path) -> None:
    os.mkfifo(tree / "pipe")
    own(tree / "pipe")
    give(tree)
    assert of(tree / "pipe") == (TAKER, TAKER, 0o555)


def test_a_link_of_two_names_is_taken_once(tree: Path) -> None:
    (tree / "link").symlink_to("x")
    os.link(own(tree / "link"), tree / "again", follow_symlinks=False)
    give(tree)
    assert [of(tree / name)[:2] for name in ("link", "again")] == [(TAKER, TAKER)] * 2


def test_other_kinds_are_refused(tree: Path) -> None:
    os.mknod(tree / "device", 0o600 | stat.S_IFCHR, os.makedev(1, 3))
    own(tree / "device")
    with pytest.raises(UnsafeArchive, match="'device', which is not a file, directory, link or FIFO"):
        give(tree)


def test_entries_have_a_maximum(tree: Path) -> None:
    for number in range(11):
        (tree / f"f{number}").touch()
        own(tree / f"f{number}")
    with pytest.raises(UnsafeArchive, match="more entries than allowed"):
        give(tree)


def test_depth_has_a_maximum(tree: Path) -> None:
    deep = tree
    for _ in range(DEPTH_MAX + 2):
        deep /= "d"
        deep.mkdir()
        own(deep)
    with pytest.raises(UnsafeArchive, match="deeper ones"):
        give(tree, entries_max=1000)
