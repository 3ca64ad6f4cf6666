"""Aggregated logs read back on a folder, whichever node wrote them."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nm_plugin.logs.formats.indexed_file import CHECKSUM_SUFFIX, encode_checksum
from nm_plugin.logs.jobs import Publish, Recall
from nm_plugin.logs.layout import LogFormat
from nm_plugin.logs.reading.search import recall
from nm_plugin.logs.remote_files import LocalFileSystem, RemoteFile
from nm_plugin.logs.uploading import steps
from nm_plugin.logs.viewers import Viewer

APPLICATION, CONTAINER, OTHER = "application_1_0001", "container_1_0001_01_000002", "container_1_0001_01_000003"
HERE, THERE = "here_8041", "there_8041"
FORMATS: tuple[LogFormat, ...] = ("tfile", "ifile")


class Watched(LocalFileSystem):
    """Remembers what was opened."""

    def __init__(self) -> None:
        self.opened: list[str] = []

    def open(self, path: str) -> Any:
        self.opened.append(Path(path).name)
        return super().open(path)

    def list(self, path: str) -> list[RemoteFile]:
        return super().list(path)


@pytest.fixture(params=FORMATS)
def job(request: pytest.FixtureRequest, tmp_path: Path) -> Recall:
    """CONTAINER's logs were uploaded by THERE in two files, OTHER's by HERE."""
    (tmp_path / "remote").mkdir()
    upload(tmp_path, request.param, HERE, OTHER, other=b"o")
    upload(tmp_path, request.param, f"{THERE}_1", CONTAINER, stdout=b"first", stderr=b"")
    upload(tmp_path, request.param, f"{THERE}_2", CONTAINER, stdout=b"second")
    return Recall(
        root="",
        directories=("alice", APPLICATION),
        owner="alice",
        application=APPLICATION,
        container=CONTAINER,
        format=request.param,
        viewer=Viewer(name="carol", admin_acl="admin"),
        node_file=THERE,
    )


def upload(tmp_path: Path, format: LogFormat, file_name: str, container: str, **logs: bytes) -> None:
    directory = tmp_path / file_name / APPLICATION / container
    directory.mkdir(parents=True)
    for name, content in logs.items():
        (directory / name).write_bytes(content)
    publish = Publish(
        root="",
        directories=("alice", APPLICATION),
        file_name=file_name,
        node=file_name.replace("_", ":"),
        node_file="_".join(file_name.split("_")[:2]),
        format=format,
        compression="gz",
        application=APPLICATION,
        owner="alice",
        acls={"VIEW_APP": "carol"},
        log_dirs=(str(tmp_path / file_name),),
        containers=(container,),
        uploaded_ms=1,
    )
    steps.publish(LocalFileSystem(), str(tmp_path / "remote"), publish, lambda count: None)


def recalled(tmp_path: Path, job: Recall, remote: LocalFileSystem | None = None) -> tuple[str, Any, str]:
    emitted: list[bytes] = []
    done = recall(remote or LocalFileSystem(), str(tmp_path / "remote"), job, emitted.append, lambda count: None)
    return done["outcome"], done["files"], b"".join(emitted).decode()


def names(files: Any) -> list[tuple[str, list[tuple[str, int]]]]:
    return [(one["file"], sorted((name, size) for name, size, _ in one["logs"])) for one in files]


def test_files_of_the_container_in_every_upload(tmp_path: Path, job: Recall) -> None:
    outcome, files, text = recalled(tmp_path, job)
    assert (outcome, text) == ("found", "")
    assert names(files) == [(f"{THERE}_1", [("stderr", 0), ("stdout", 5)]), (f"{THERE}_2", [("stdout", 6)])]


def test_text_of_every_upload_and_parts_of_it(tmp_path: Path, job: Recall) -> None:
    outcome, files, text = recalled(tmp_path, replace(job, file_name="stdout"))
    assert (outcome, files) == ("found", [])
    contents = [part.split("\nEnd of LogType:stdout\n")[0] for part in text.split("LogContents:\n")[1:]]
    assert contents == ["first", "second"]
    assert text.startswith(f"Container: {CONTAINER} on {THERE}_1\nLogAggregationType: AGGREGATED\n")
    assert "LogContents:\nond\nEnd" in recalled(tmp_path, replace(job, file_name="stdout", size_bytes=-3))[2]
    assert "LogContents:\nfir\nEnd" in recalled(tmp_path, replace(job, file_name="stdout", size_bytes=3))[2]


def test_likely_node_is_looked_at_alone_and_the_others_when_it_has_nothing(tmp_path: Path, job: Recall) -> None:
    likely, unlikely = Watched(), Watched()
    recalled(tmp_path, job, likely)
    assert set(likely.opened) == {f"{THERE}_1", f"{THERE}_2"}
    assert recalled(tmp_path, replace(job, node_file=HERE), unlikely)[0] == "found"
    assert unlikely.opened[0] == HERE


@pytest.mark.parametrize("change", [{"container": "container_1_0001_01_000009"}, {"directories": ("alice", "x")}])
def test_what_is_not_there_is_missing(tmp_path: Path, job: Recall, change: dict[str, Any]) -> None:
    assert recalled(tmp_path, replace(job, **change)) == ("missing", [], "")
    assert recalled(tmp_path, replace(job, **change, file_name="stdout")) == ("missing", [], "")
    assert recalled(tmp_path, replace(job, file_name="nope")) == ("missing", [], "")


@pytest.mark.parametrize("file_name", ["", "stdout"])
def test_acl_in_the_file_is_minded_before_anything_is_told(tmp_path: Path, job: Recall, file_name: str) -> None:
    for name, outcome in (("alice", "found"), ("admin", "found"), ("carol", "found"), ("bob", "forbidden")):
        asked = replace(job, viewer=Viewer(name=name, admin_acl="admin"), file_name=file_name)
        found = recalled(tmp_path, asked)
        assert found[0] == outcome
        assert outcome == "found" or found[1:] == ([], "")


def test_link_in_a_directory_of_ones_own_leads_nowhere(tmp_path: Path, job: Recall) -> None:
    """The file system would follow the link where one account does everybody's work."""
    (tmp_path / "remote" / "mallory").symlink_to("alice")
    viewer = Viewer(name="mallory", admin_acl="admin")
    asked = replace(job, owner="mallory", directories=("mallory", APPLICATION), viewer=viewer)
    assert recalled(tmp_path, asked)[0] == "missing"


def test_what_is_no_published_file_hides_none(tmp_path: Path, job: Recall) -> None:
    directory = tmp_path / "remote" / "alice" / APPLICATION
    (directory / f"{THERE}_0").write_bytes(b"no aggregated file")
    (directory / f"{THERE}_3").write_bytes(b"")
    (directory / f"{THERE}.tmp").write_bytes(b"half of one")
    (directory / f"{THERE}_4").mkdir()
    assert len(recalled(tmp_path, job)[1]) == 2


@pytest.mark.parametrize("job", ["ifile"], indirect=True)  # the other is never appended to
def test_bytes_behind_the_good_end_of_an_append_are_not_looked_at(tmp_path: Path, job: Recall) -> None:
    directory = tmp_path / "remote" / "alice" / APPLICATION
    file = directory / f"{THERE}_2"
    checksum = encode_checksum(file.name, file.stat().st_size)
    (directory / (THERE + CHECKSUM_SUFFIX)).write_bytes(checksum)
    with file.open("ab") as appended:
        appended.write(b"half of an append")
    assert [name for name, _ in names(recalled(tmp_path, job)[1])] == [f"{THERE}_1", f"{THERE}_2"]


@pytest.mark.parametrize(
    ("name", "container", "format"),
    [
        ("tfile-application_1795254623773_0007.bin", "container_e02_1795254623773_0007_02_000001", "tfile"),
        ("ifile-application_1795254623773_0005.bin", "container_e02_1795254623773_0005_02_000001", "ifile"),
    ],
)
def test_files_recorded_from_a_real_hadoop(tmp_path: Path, name: str, container: str, format: LogFormat) -> None:
    application = name.removesuffix(".bin").partition("-")[2]
    directory = tmp_path / "remote" / "root" / application
    directory.mkdir(parents=True)
    shutil.copy(Path(__file__).parents[1] / "fixtures" / name, directory / "rm-host_8041")
    asked = Recall(
        root="",
        directories=("root", application),
        owner="root",
        application=application,
        container=container,
        format=format,
        viewer=Viewer(name="bob", admin_acl=""),
        node_file="rm-host_8041",
    )
    _, files, _ = recalled(tmp_path, asked)
    assert {file for file, _ in names(files)[0][1]} >= {"stdout", "stderr"}
    assert "LogType:stderr\n" in recalled(tmp_path, replace(asked, file_name="stderr"))[2]
    mallory = Viewer(name="mallory", admin_acl="")
    assert recalled(tmp_path, replace(asked, viewer=mallory))[0] == "forbidden"
