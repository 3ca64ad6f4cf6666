"""Finding map outputs on disk, and what users may have put there instead."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nm_plugin.launch.users import OsUser
from nm_plugin.shuffle.map_output import JobFiles, MapOutputs, MapOutputUnreadable, open_owned
from nm_plugin.shuffle.spill_index import IndexCache
from tests.support.shuffle import APPLICATION, JOB, attempt, index_bytes, output_dir, own, write_map


@pytest.fixture
def files(alice: OsUser) -> JobFiles:
    return JobFiles(application_id=APPLICATION, job=JOB, user=alice)


def outputs(*local_dirs: Path) -> MapOutputs:
    return MapOutputs(local_dirs, IndexCache(1 << 20))


def read(descriptor: int, start: int, length: int) -> bytes:
    try:
        return os.pread(descriptor, length, start)
    finally:
        os.close(descriptor)


def failure(found: MapOutputs, files: JobFiles, reduce: int = 0) -> str:
    with pytest.raises(MapOutputUnreadable) as caught:
        found.locate(files, [attempt(0)], reduce)
    return str(caught.value)


def test_partition_of_each_map_in_order(open_path: Path, files: JobFiles) -> None:
    for number in range(3):
        write_map(open_path, files.user, attempt(number), [b"x" * 5, bytes([65 + number]) * 7])
    found = outputs(open_path)
    pieces = found.locate(files, [attempt(2), attempt(0)], 1)
    assert [piece.map_name for piece in pieces] == [attempt(2), attempt(0)]
    assert [piece.length for piece in pieces] == [len(piece.header) + 7 for piece in pieces]
    assert read(found.open(files, pieces[0]), pieces[0].partition.start, 7) == b"C" * 7


def test_index_and_data_may_be_on_different_disks(open_path: Path, files: JobFiles) -> None:
    one, two = open_path / "1", open_path / "2"
    directory = write_map(one, files.user, attempt(0), [b"abc"])
    other = output_dir(two, files.user.name, attempt(0))
    other.mkdir(parents=True)
    (directory / "file.out").rename(other / "file.out")
    own(two / "usercache", files.user)
    (piece,) = outputs(one, two).locate(files, [attempt(0)], 0)
    assert piece.local_dir == two


def test_broken_disk_does_not_hide_the_other(open_path: Path, files: JobFiles) -> None:
    broken, good = open_path / "1", open_path / "2"
    broken.write_text("not a folder")
    write_map(good, files.user, attempt(0), [b"abc"])
    assert outputs(broken, good).locate(files, [attempt(0)], 0)[0].local_dir == good


def test_missing_file_is_named_as_hadoop_does(open_path: Path, files: JobFiles) -> None:
    relative = f"usercache/alice/appcache/{APPLICATION}/output/{attempt(0)}/file.out"
    text = "Could not find {} in any of the configured local directories"
    assert failure(outputs(open_path), files) == text.format(relative + ".index")
    directory = write_map(open_path, files.user, attempt(0), [b"abc"])
    (directory / "file.out").unlink()
    assert failure(outputs(open_path), files) == text.format(relative)


@pytest.mark.parametrize("reduce", [-1, 1])
def test_missing_partition_is_named_as_hadoop_does(open_path: Path, files: JobFiles, reduce: int) -> None:
    write_map(open_path, files.user, attempt(0), [b"abc"])
    assert failure(outputs(open_path), files, reduce) == (
        f"Invalid request  Map Id = {attempt(0)} Reducer = {reduce} Index Info Length = 1"
    )


@pytest.mark.parametrize("record", [(0, 8, 4), (3, 8, 1), (2**62, 8, 2**62), (0, 8, 2**63 - 1), (-1, 8, 1), (0, 8, -1)])
def test_range_outside_the_data_is_refused(open_path: Path, files: JobFiles, record: tuple[int, int, int]) -> None:
    directory = write_map(open_path, files.user, attempt(0), [b"abc"])
    (directory / "file.out.index").write_bytes(index_bytes([record]))
    assert "partition 0 ends at" in (text := failure(outputs(open_path), files)) or "no negative number" in text


def test_damaged_index_is_refused(open_path: Path, files: JobFiles) -> None:
    directory = write_map(open_path, files.user, attempt(0), [b"abc"])
    (directory / "file.out.index").write_bytes(index_bytes([(0, 3, 3)])[:-1] + b"\0")
    assert failure(outputs(open_path), files).startswith("Error Reading IndexFile: ")


def test_enormous_index_is_refused_unread(open_path: Path, files: JobFiles) -> None:
    directory = write_map(open_path, files.user, attempt(0), [b"abc"])
    os.truncate(directory / "file.out.index", 1 << 40)
    assert "more than 16777216" in failure(outputs(open_path), files)


def test_data_that_shrinks_after_it_was_located_is_refused(open_path: Path, files: JobFiles) -> None:
    directory = write_map(open_path, files.user, attempt(0), [b"abc"])
    found = outputs(open_path)
    (piece,) = found.locate(files, [attempt(0)], 0)
    os.truncate(directory / "file.out", 1)
    before = os.listdir("/proc/self/fd")
    with pytest.raises(MapOutputUnreadable, match="became shorter"):
        found.open(files, piece)
    assert os.listdir("/proc/self/fd") == before


def test_second_look_takes_the_index_from_memory(open_path: Path, files: JobFiles) -> None:
    directory = write_map(open_path, files.user, attempt(0), [b"abc"])
    found = outputs(open_path)
    first = found.locate(files, [attempt(0)], 0)
    (directory / "file.out.index").unlink()
    assert found.locate(files, [attempt(0)], 0) == first


@pytest.mark.parametrize("depth", range(5))
def test_link_on_the_way_is_not_followed(open_path: Path, files: JobFiles, depth: int) -> None:
    """Folder by folder from the file up to the application's."""
    write_map(open_path / "real", files.user, attempt(0), [b"abc"])
    path = output_dir(open_path / "local", files.user.name, attempt(0)) / "file.out.index"
    target = output_dir(open_path / "real", files.user.name, attempt(0)) / "file.out.index"
    for _ in range(depth):
        path, target = path.parent, target.parent
    path.parent.mkdir(parents=True)
    path.symlink_to(target)
    own(open_path / "local" / "usercache", files.user)
    assert "Could not find" not in failure(outputs(open_path / "local"), files)


@pytest.mark.parametrize("kind", ["fifo", "folder"])
def test_only_regular_files_are_opened(open_path: Path, files: JobFiles, kind: str) -> None:
    directory = write_map(open_path, files.user, attempt(0), [b"abc"])
    (directory / "file.out.index").unlink()
    (os.mkfifo if kind == "fifo" else os.mkdir)(directory / "file.out.index")
    own(open_path / "usercache", files.user)
    assert failure(outputs(open_path), files).endswith("Not a regular file")


def test_file_of_somebody_else_is_refused(open_path: Path, files: JobFiles) -> None:
    """Such as a hard link to what the user may read."""
    write_map(open_path, files.user, attempt(0), [b"abc"])
    other = OsUser(name="alice", uid=files.user.uid + 1, gid=files.user.gid)
    parts = files.parts(attempt(0), "file.out")
    with pytest.raises(PermissionError, match="did not match expected owner 'alice'"):
        open_owned(open_path, parts, other)
    descriptor, size = open_owned(open_path, parts, files.user)
    assert read(descriptor, 0, size) == b"abc"
