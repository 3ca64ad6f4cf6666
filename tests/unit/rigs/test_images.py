"""Names and archives of the rig's images, and the script that the database's image starts with."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.rigs.kubernetes import images
from tests.rigs.kubernetes.images import FILES, Image, RigImages
from tests.rigs.kubernetes.layout import PAUSE_IMAGE
from tests.rigs.kubernetes.oci import Entry, ImageContent, Process, write_layer

STEP_TIMEOUT_S = 60


def image_content(folder: Path, text: bytes) -> ImageContent:
    return ImageContent(layers=[write_layer([Entry(path="x", data=text)], folder)], process=Process())


def test_a_name_tells_the_content(tmp_path: Path) -> None:
    first, again, other = (
        images._archive(tmp_path, "yodel", {"rm": image_content(tmp_path, text)})["rm"] for text in (b"1", b"1", b"2")
    )
    assert first == again
    assert first.repository == other.repository == "localhost/yodel/rm"
    assert first.tag == first.digest.partition(":")[2][:12] != other.tag
    assert first.archive != other.archive


def test_a_name_may_be_given(tmp_path: Path) -> None:
    made = images._archive(tmp_path, "pause", {"pause": image_content(tmp_path, b"1")}, names={"pause": PAUSE_IMAGE})
    assert made["pause"].name == PAUSE_IMAGE


def test_an_archive_is_written_once(tmp_path: Path) -> None:
    contents = {"rm": image_content(tmp_path, b"1")}
    archive = images._archive(tmp_path, "yodel", contents)["rm"].archive
    made_at = archive.stat().st_mtime_ns
    images._archive(tmp_path, "yodel", contents)
    assert archive.stat().st_mtime_ns == made_at


def test_each_archive_is_imported_once() -> None:
    def image(name: str, archive: str) -> Image:
        return Image(name=f"localhost/yodel/{name}:1", archive=Path(archive), digest="sha256:0")

    rig = RigImages(
        pause=image("pause", "pause.tar"),
        environment=image("environment", "environment.tar"),
        resource_manager=image("rm", "yodel.tar"),
        node_agent=image("node-agent", "yodel.tar"),
        hadoop_runtime=image("hadoop-runtime", "runtime.tar"),
        postgres=image("postgres", "runtime.tar"),
    )
    assert [path.name for path in rig.archives] == ["pause.tar", "environment.tar", "runtime.tar", "yodel.tar"]
    assert len(rig.all) == 6


INITDB = """#!/bin/bash
for word; do case $word in --pgdata=*) data=${word#*=} ;; --pwfile=*) password=$(<"${word#*=}") ;; esac; done
mkdir -p "$data"
printf '%s\\n' "$password" "$@" >"$data/initdb"
echo 15 >"$data/PG_VERSION"
"""
POSTGRES = """#!/bin/bash
case $1 in
  --single) cat >"$3/statement" ;;
  *) printf '%s\\n' "$@" ;;
esac
"""


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in (("initdb", INITDB), ("postgres", POSTGRES)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return folder


def start(programs: Path, data: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": f"{programs}:/usr/bin:/bin", "PGDATA": str(data), **variables}
    return subprocess.run(
        [FILES / "postgres-entrypoint"], env=environment, capture_output=True, text=True, timeout=STEP_TIMEOUT_S
    )


def test_the_first_start_makes_the_database_of_the_variables(programs: Path, tmp_path: Path) -> None:
    data = tmp_path / "volume" / "pgdata"
    data.parent.mkdir()
    started = start(programs, data, POSTGRES_USER="yodel", POSTGRES_DB='a"b', POSTGRES_PASSWORD="se'c ret")
    assert started.returncode == 0, started.stderr
    said = (data / "initdb").read_text().splitlines()
    assert said[0] == "se'c ret"
    assert "--username=yodel" in said
    assert (data / "statement").read_text() == 'CREATE DATABASE "a""b"\n'
    assert "scram-sha-256" in (data / "pg_hba.conf").read_text()
    assert started.stdout.splitlines()[:2] == ["-D", str(data)]


def test_a_second_start_keeps_what_is_there(programs: Path, tmp_path: Path) -> None:
    data = tmp_path / "pgdata"
    start(programs, data, POSTGRES_PASSWORD="x")
    (data / "initdb").write_text("kept")
    assert start(programs, data, POSTGRES_PASSWORD="y").returncode == 0
    assert (data / "initdb").read_text() == "kept"


def test_what_an_interrupted_start_left_is_made_anew(programs: Path, tmp_path: Path) -> None:
    data, half = tmp_path / "pgdata", tmp_path / "pgdata.new"
    half.mkdir()
    (half / "PG_VERSION").write_text("half")
    assert start(programs, data, POSTGRES_PASSWORD="x").returncode == 0
    assert (data / "PG_VERSION").read_text() == "15\n"
    assert not half.exists()


def test_without_a_password_nothing_is_made(programs: Path, tmp_path: Path) -> None:
    assert start(programs, tmp_path / "pgdata").returncode != 0
    assert not (tmp_path / "pgdata").exists()
