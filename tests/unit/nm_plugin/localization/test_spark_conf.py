"""A Spark application asks for a signal when its executors are ended, in a file that has to be small and its own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nm_plugin.host.users import FileThreads, OsUser, acting_as
from nm_plugin.localization.spark_conf import BYTES_MAX, ENABLED, FILE, decommission_signal, properties, read_properties
from tests.support.opened_files import descriptors_along

ASKED = b"#Spark configuration.\n#Mon Nov 23 21:50:30 UTC 2026\nspark.master=yarn\nspark.decommission.enabled=true\n"


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (ASKED, "PWR"),
        (b"spark.decommission.enabled = TRUE\r\n", "PWR"),
        (ASKED + b"spark.executor.decommission.signal=USR1\n", "USR1"),
        (ASKED + b"spark.executor.decommission.signal=TERM\n", ""),  # a JVM catches it for itself
        (ASKED + b"spark.executor.decommission.signal=\xff\n", ""),
        (ASKED + b"spark.decommission.enabled=false\n", ""),
        (b"#spark.decommission.enabled=true\n", ""),
        (b"spark.storage.decommission.enabled=true\n", ""),
        (b"spark.executor.decommission.signal=PWR\n", ""),
        (b"", ""),
        (b"\0\xff=\n=\n", ""),
    ],
)
def test_signal_that_is_asked_for(content: bytes, name: str) -> None:
    assert decommission_signal(properties(content)) == name


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"spark.master=yarn\n", "PWR"),
        (b"spark.executor.decommission.signal=USR1\n", "USR1"),
        (ENABLED + b"=false\n", ""),
        (ENABLED + b"=FALSE\n", ""),
        (ENABLED + b"=\n", ""),
    ],
)
def test_queue_asks_for_it_where_the_submitter_says_nothing(content: bytes, name: str) -> None:
    assert decommission_signal(properties(content), is_default=True) == name


@pytest.fixture
def archive(open_path: Path, alice: OsUser) -> Path:
    """Return an archive as it is unpacked: the user's, and nobody else's."""
    made = open_path / "usercache" / "10" / "__spark_conf__.zip"
    made.mkdir(parents=True)
    (made / FILE).write_bytes(ASKED)
    for path in (made / FILE, made, made.parent):
        os.chown(path, alice.uid, alice.gid)
        path.chmod(0o700)
    return made


async def test_read_with_the_users_rights_only(
    archive: Path, alice: OsUser, bob: OsUser, threads: FileThreads, needs_root: None
) -> None:
    root = archive.parents[2]
    assert await threads.run_as(alice, read_properties, root, archive) == properties(ASKED)
    with pytest.raises(PermissionError):
        await threads.run_as(bob, read_properties, root, archive)


@pytest.mark.parametrize("linked", ["file", "archive", "directory"])
async def test_no_link_is_followed(archive: Path, alice: OsUser, threads: FileThreads, linked: str) -> None:
    place = {"file": archive / FILE, "archive": archive, "directory": archive.parent}[linked]
    aside = place.with_name("aside")
    place.rename(aside)
    place.symlink_to(aside)
    with pytest.raises(OSError, match=r"symbolic links|Not a directory"):
        await threads.run_as(alice, read_properties, archive.parents[2], archive)


@pytest.mark.parametrize("kind", ["fifo", "large"])
async def test_only_a_small_regular_file_is_read(archive: Path, alice: OsUser, threads: FileThreads, kind: str) -> None:
    file = archive / FILE
    file.unlink()
    if kind == "fifo":
        os.mkfifo(file)
    else:
        file.write_bytes(ASKED + b"#" * (BYTES_MAX + 1 - len(ASKED)))
    os.chown(file, alice.uid, alice.gid)
    assert await threads.run_as(alice, read_properties, archive.parents[2], archive) == {}


def test_no_descriptor_stays_open(archive: Path, alice: OsUser) -> None:
    with acting_as(alice):
        read_properties(archive.parents[2], archive)
    before = descriptors_along(archive)
    with acting_as(alice):
        read_properties(archive.parents[2], archive)
    assert descriptors_along(archive) == before
