"""The directory tree and its modes; removal of what strangers built."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from nm_plugin.host.directories import (
    Directories,
    make_application_dirs,
    make_container_dirs,
    make_roots,
    read_bounded,
    remove_tree,
    write_new_file,
)
from nm_plugin.host.users import OsUser
from tests.support.node_agent import APPLICATION, container_id


def test_layout_and_modes(open_path: Path, alice: OsUser) -> None:
    directories = Directories(local_dirs=(open_path / "l1", open_path / "l2"), log_dirs=(open_path / "g",))
    make_roots(directories)
    make_application_dirs(directories, alice, APPLICATION)
    work_dir, log_dir = make_container_dirs(directories, alice, container_id(3))
    assert work_dir == open_path / f"l2/usercache/alice/appcache/{APPLICATION}/{container_id(3)}"
    assert log_dir == open_path / f"g/{APPLICATION}/{container_id(3)}"
    for path in (work_dir, work_dir / "tmp", log_dir, open_path / "l1/usercache/alice"):
        status = path.stat()
        assert (stat.S_IMODE(status.st_mode), status.st_uid) == (0o710, alice.uid)
    assert stat.S_IMODE((open_path / "l1/filecache").stat().st_mode) == 0o755
    make_application_dirs(directories, alice, APPLICATION)  # again is success
    make_container_dirs(directories, alice, container_id(3))


def test_user_directory_is_not_made_through_a_link(open_path: Path, alice: OsUser) -> None:
    directories = Directories(local_dirs=(open_path / "l",), log_dirs=(open_path / "g",))
    make_roots(directories)
    (open_path / "victim").mkdir()
    (open_path / "l/usercache/alice").symlink_to(open_path / "victim")
    with pytest.raises(FileExistsError):
        make_application_dirs(directories, alice, APPLICATION)


def test_tree_is_removed_and_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "keep").mkdir()
    (tmp_path / "keep/file").write_text("x")
    tree = tmp_path / "tree"
    (tree / "a/b").mkdir(parents=True)
    (tree / "a/file").write_text("x")
    (tree / "a/link").symlink_to(tmp_path / "keep")
    os.chmod(tree / "a", 0o500)
    remove_tree(tree)
    assert not tree.exists()
    assert (tmp_path / "keep/file").exists()
    remove_tree(tree)  # already gone


def test_link_in_place_of_a_tree_is_only_unlinked(tmp_path: Path) -> None:
    (tmp_path / "keep").mkdir()
    (tmp_path / "tree").symlink_to(tmp_path / "keep")
    remove_tree(tmp_path / "tree")
    assert (tmp_path / "keep").is_dir()


def test_very_deep_tree_is_removed(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    os.mkdir("tree", dir_fd=descriptor)
    current = os.open("tree", os.O_RDONLY, dir_fd=descriptor)
    for _ in range(1500):
        os.mkdir("d", dir_fd=current)
        following = os.open("d", os.O_RDONLY, dir_fd=current)
        os.close(current)
        current = following
    os.close(current)
    os.close(descriptor)
    remove_tree(tmp_path / "tree")
    assert not (tmp_path / "tree").exists()


def test_new_file_replaces_a_link_and_not_its_target(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("keep")
    (tmp_path / "file").symlink_to(tmp_path / "victim")
    write_new_file(tmp_path / "file", b"new", 0o600)
    assert (tmp_path / "victim").read_text() == "keep"
    assert (tmp_path / "file").read_bytes() == b"new"
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600


def test_reads_are_bounded_and_only_of_files(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"0123456789")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    os.mkfifo(tmp_path / "fifo")
    assert read_bounded(tmp_path / "file", 4) == b"0123"
    assert read_bounded(tmp_path / "file", 4, from_end=True) == b"6789"
    assert read_bounded(tmp_path / "file", 99, from_end=True) == b"0123456789"
    for name in ("link", "fifo", "missing", "."):
        assert read_bounded(tmp_path / name, 4) == b""
