"""Steps of a publication on a folder, as they are after a crash."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from nm_plugin.logs.formats.indexed_file import CHECKSUM_SUFFIX, read_index
from nm_plugin.logs.jobs import Expire, Publish, Settle
from nm_plugin.logs.remote_files import LocalFileSystem
from nm_plugin.logs.uploading import steps
from tests.support.bytes_file import BytesFile

APPLICATION, CONTAINER, NODE = "application_1_0001", "container_1_0001_01_000002", "host_1"
REMOTE = LocalFileSystem()


@pytest.fixture
def job(tmp_path: Path) -> Publish:
    logs = tmp_path / "logs" / APPLICATION / CONTAINER
    logs.mkdir(parents=True)
    (logs / "stdout").write_bytes(b"hello")
    (tmp_path / "remote").mkdir()
    return Publish(
        root="",
        directories=("alice", APPLICATION),
        file_name=NODE,
        node="host:1",
        node_file=NODE,
        format="tfile",
        compression="none",
        application=APPLICATION,
        owner="alice",
        acls={},
        log_dirs=(str(tmp_path / "logs"),),
        containers=(CONTAINER,),
        uploaded_ms=1,
    )


def publish(tmp_path: Path, job: Publish) -> steps.UploadedLogs:
    return steps.publish(REMOTE, str(tmp_path / "remote"), job, lambda count: None)


def names(tmp_path: Path) -> list[str]:
    directory = tmp_path / "remote" / "alice" / APPLICATION
    return sorted(path.name for path in directory.iterdir()) if directory.exists() else []


def test_nothing_new_makes_no_file(tmp_path: Path, job: Publish) -> None:
    done = publish(tmp_path, job)
    assert names(tmp_path) == [NODE]
    again = replace(job, already=done.uploaded, file_name=f"{NODE}_2")
    assert publish(tmp_path, again).uploaded == ()
    assert names(tmp_path) == [NODE]


def test_file_that_must_not_be_replaced_stays(tmp_path: Path, job: Publish) -> None:
    for format in ("tfile", "ifile"):
        publish(tmp_path, replace(job, format=format))
        path = tmp_path / "remote" / "alice" / APPLICATION / NODE
        before = path.read_bytes()
        assert publish(tmp_path, replace(job, format=format, may_replace=False)).exists_already
        assert path.read_bytes() == before


def test_append_is_hidden_until_it_is_settled(tmp_path: Path, job: Publish) -> None:
    job = replace(job, format="ifile", may_append=True, file_name=f"{NODE}_1")
    first = publish(tmp_path, job)
    (tmp_path / "logs" / APPLICATION / CONTAINER / "more").write_bytes(b"more")
    job = replace(job, already=first.uploaded, file_name=f"{NODE}_2")
    for _ in range(2):  # the second time after a crash: the agent did not hear of the first
        assert [name for _, name, _ in publish(tmp_path, job).uploaded] == ["more"]
    assert names(tmp_path) == [NODE + CHECKSUM_SUFFIX, f"{NODE}_1"]
    settle = Settle(
        root="",
        directories=job.directories,
        node_file=NODE,
        application=APPLICATION,
        log_dirs=job.log_dirs,
        uploaded=((CONTAINER, "more", 1),),
        files_max=5,
    )
    for _ in range(2):
        steps.settle(REMOTE, str(tmp_path / "remote"), settle)
    assert names(tmp_path) == [f"{NODE}_1"]
    assert not (tmp_path / "logs" / APPLICATION / CONTAINER / "more").exists()
    data = (tmp_path / "remote" / "alice" / APPLICATION / f"{NODE}_1").read_bytes()
    uploads = read_index(BytesFile(data), APPLICATION).uploads
    assert [[log.name for log in upload.logs[CONTAINER]] for upload in uploads] == [["stdout"], ["more"]]


def test_expired_directory_is_gone_whoever_removed_it(tmp_path: Path, job: Publish) -> None:
    publish(tmp_path, job)
    root, future = str(tmp_path / "remote"), 2**53
    assert not steps.expire(REMOTE, root, Expire(root="", directories=job.directories, before_ms=0))
    for _ in range(2):
        assert steps.expire(REMOTE, root, Expire(root="", directories=job.directories, before_ms=future))
    assert names(tmp_path) == []
