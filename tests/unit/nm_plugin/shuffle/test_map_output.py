"""Finding map outputs on disk, and what users may have put there instead."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nm_plugin.host.users import OsUser
from nm_plugin.shuffle.map_output import KEPT_MAX, JobFiles, MapOutputs, MapOutputUnreadable, open_folder, open_owned
from nm_plugin.shuffle.spill_index import IndexCache
from tests.support.opened_files import descriptors_along
from tests.support.shuffle import APPLICATION, JOB, attempt, index_bytes, output_dir, own, write_map

Outputs = Callable[..., MapOutputs]


@pytest.fixture
def files(alice: OsUser) -> JobFiles:
    return JobFiles(application_id=APPLICATION, job=JOB, user=alice)


@pytest.fixture
def outputs(files: JobFiles) -> Iterator[Outputs]:
    """Make map outputs on given disks."""
    made: list[MapOutputs] = []

    def make(*local_dirs: Path) -> MapOutputs:
        made.append(MapOutputs(files, local_dirs, IndexCache(1 << 20)))
        return made[-1]

    yield make
    for one in made:
        one.close()


def read(descriptor: int, start: int, length: int) -> bytes:
    try:
        return os.pread(descriptor, length, start)
    finally:
        os.close(descriptor)


def failure(found: MapOutputs, reduce: int = 0) -> str:
    with pytest.raises(MapOutputUnreadable) as caught:
        found.locate([attempt(0)], reduce)
    return str(caught.value)


def test_partition_of_each_map_in_order(open_path: Path, files: JobFiles, outputs: Outputs) -> None:
    for number in range(3):
        write_map(open_path, files.user, attempt(number), [b"x" * 5, bytes([65 + number]) * 7])
    found = outputs(open_path)
    pieces = found.locate([attempt(2), attempt(0)], 1)
    assert [piece.map_name for piece in pieces] == [attempt(2), attempt(0)]
    assert [piece.length for piece in pieces] == [len(piece.header) + 7 for piece in pieces]
    assert read(found.open(pieces[0]), pieces[0].partition.start, 7) == b"C" * 7


def test_index_and_data_may_be_on_different_disks(open_path: Path, files: JobFiles, outputs: Outputs) -> None:
    one, two = open_path / "1", open_path / "2"
    directory = write_map(one, files.user, attempt(0), [b"abc"])
    other = output_dir(two, files.user.name, attempt(0))
    other.mkdir(parents=True)
    (directory / "file.out").rename(other / "file.out")
    own(two / "usercache", files.user)
    (piece,) = outputs(one, two).locate([attempt(0)], 0)
    assert piece.local_dir == two


def test_broken_disk_does_not_hide_the_other(open_path: Path, files: JobFiles, outputs: Outputs) -> None:
    broken, good = open_path / "1", open_path / "2"
    broken.write_text("not a folder")
    write_map(good, files.user, attempt(0), [b"abc"])
    assert outputs(broken, good).locate([attempt(0)], 0)[0].local_dir == good


def test_missing_file_is_named_as_hadoop_does(open_path: Path, files: JobFiles, outputs: Outputs) -> None:
    relative = f"usercache/alice/appcache/{APPLICATION}/output/{attempt(0)}/file.out"
    text = "Could not find {} in any of the configured local directories"
    assert failure(outputs(open_path)) == text.format(relative + ".index")
    directory = write_map(open_path, files.user, attempt(0), [b"abc"])
    (directory / "file.out").unlink()
    assert failure(outputs(open_path)) == text.format(relative)


@pytest.mark.parametrize("reduce", [-1, 1])
def test_missing_partition_is_named_as_hadoop_does(
    open_path: Path, files: JobFiles, outputs: Outputs, reduce: int
) -> None:
    write_map(open_path, files.user, attempt(0), [b"abc"])
    assert failure(outputs(open_path), reduce) == (
        f"Invalid request  Map Id = {attempt(0)} Reducer = {reduce} Index Info Length = 1"
    )


@pytest.mark.parametrize("record", [(0, 8, 4), (3, 8, 1), (2**62, 8, 2**62), (0, 8, 2**63 - 1), (-1, 8, 1), (0, 8, -1)])
def test_range_outside_the_data_is_refused(
    open_path: Path, files: JobFiles, outputs: Outputs, record: tuple[int, int, int]
) -> None:
    directory = write_map(open_path, files.user, attempt(0), [b"abc"])
    (directory / "file.out.index").write_bytes(index_bytes([record]))
    assert "partition 0 ends at" in (text := failure(outputs(open_path))) or "no negative number" in text


def test_damaged_index_is_refused(open_path: Path, files: JobFiles, outputs: Outputs) -> None:
    directory = write_map(open_path, files.user, attempt(0), [b"abc"])
    (directory / "file.out.index").write_bytes(index_bytes([(0, 3, 3)])[:-1] + b"\0")
    assert failure(outputs(open_path)).startswith("Error Reading IndexFile: ")


def test_enormous_index_is_refused_unread(open_path: Path, files: JobFiles, outputs: Outputs) -> None:
    directory = write_map(open_path, files.user, attempt(0), [b"abc"])
    os.truncate(directory / "file.out.index", 1 << 40)
    assert "more than 16777216" in failure(outputs(open_path))


def test_data_that_shrinks_after_it_was_located_is_refused(open_path: Path, files: JobFiles, outputs: Outputs) -> None:
    directory = write_map(open_path, files.user, attempt(0), [b"abc"])
    found = outputs(open_path)
    (piece,) = found.locate([attempt(0)], 0)
    found.release()
    os.truncate(directory / "file.out", 1)
    before = descriptors_along(open_path)
    with pytest.raises(MapOutputUnreadable, match="became shorter"):
        found.open(piece)
    assert descriptors_along(open_path) == before


def test_second_look_takes_the_index_from_memory(open_path: Path, files: JobFiles, outputs: Outputs) -> None:
    directory = write_map(open_path, files.user, attempt(0), [b"abc"])
    found = outputs(open_path)
    first = found.locate([attempt(0)], 0)
    (directory / "file.out.index").unlink()
    assert found.locate([attempt(0)], 0) == first


@pytest.mark.parametrize("depth", range(5))
def test_link_on_the_way_is_not_followed(open_path: Path, files: JobFiles, outputs: Outputs, depth: int) -> None:
    """Folder by folder from the file up to the application's."""
    write_map(open_path / "real", files.user, attempt(0), [b"abc"])
    path = output_dir(open_path / "local", files.user.name, attempt(0)) / "file.out.index"
    target = output_dir(open_path / "real", files.user.name, attempt(0)) / "file.out.index"
    for _ in range(depth):
        path, target = path.parent, target.parent
    path.parent.mkdir(parents=True)
    path.symlink_to(target)
    own(open_path / "local" / "usercache", files.user)
    assert "Could not find" not in failure(outputs(open_path / "local"))


@pytest.mark.parametrize("kind", ["fifo", "folder"])
def test_only_regular_files_are_opened(open_path: Path, files: JobFiles, outputs: Outputs, kind: str) -> None:
    directory = write_map(open_path, files.user, attempt(0), [b"abc"])
    (directory / "file.out.index").unlink()
    (os.mkfifo if kind == "fifo" else os.mkdir)(directory / "file.out.index")
    own(open_path / "usercache", files.user)
    assert failure(outputs(open_path)).endswith("Not a regular file")


def test_file_of_somebody_else_is_refused(open_path: Path, files: JobFiles) -> None:
    """Such as a hard link to what the user may read."""
    write_map(open_path, files.user, attempt(0), [b"abc"])
    other = OsUser(name="alice", uid=files.user.uid + 1, gid=files.user.gid)
    folder = open_folder(open_path, files.folder)
    with pytest.raises(PermissionError, match="did not match expected owner 'alice'"):
        open_owned(folder, attempt(0), "file.out", other)
    descriptor, size = open_owned(folder, attempt(0), "file.out", files.user)
    assert read(descriptor, 0, size) == b"abc"
    os.close(folder)


def test_data_stays_open_until_it_is_taken_or_released(open_path: Path, files: JobFiles, outputs: Outputs) -> None:
    names = [attempt(number) for number in range(KEPT_MAX + 5)]
    for name in names:
        directory = write_map(open_path, files.user, name, [b"abc"])
    found = outputs(open_path)
    before = len(descriptors_along(open_path))
    pieces = found.locate([*names, names[0]], 0)
    assert len(descriptors_along(open_path)) == before + KEPT_MAX + 1
    (directory / "file.out").unlink()
    for piece in (pieces[0], pieces[-1]):
        assert read(found.open(piece), 0, 3) == b"abc"
    found.release()
    assert len(descriptors_along(open_path)) == before + 1
    assert read(found.open(pieces[1]), 0, 3) == b"abc"


def test_closed_outputs_hold_no_descriptor(open_path: Path, files: JobFiles, outputs: Outputs) -> None:
    write_map(open_path / "1", files.user, attempt(0), [b"abc"])
    before = descriptors_along(open_path)
    found = outputs(open_path / "2", open_path / "1")
    found.locate([attempt(0)], 0)
    found.close()
    found.close()
    assert descriptors_along(open_path) == before
