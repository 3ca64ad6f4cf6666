"""The tests' Java takes class-data archives where there are some, and does without where they are missing or unfit."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.support.class_data import archive
from tests.support.java import archive_of, java_home, program

KEYTOOL = "sun.security.tools.keytool.Main"  # a program in every Java
MAIN = "org.example.Main"


@pytest.fixture
def jars(tmp_path: Path) -> Path:
    """A folder with an archive: the Java that is asked prints what it is told."""
    (tmp_path / "java").write_text('#!/bin/bash\nprintf "%s\\n" "CLASSPATH=$CLASSPATH" "$@"\n')
    (tmp_path / "java").chmod(0o755)
    (tmp_path / "asks").write_text(program(tmp_path / "java", tmp_path / "archives"))
    (tmp_path / "asks").chmod(0o755)
    jars = tmp_path / "jars"
    jars.mkdir()
    (tmp_path / "archives").mkdir()
    (tmp_path / "archives" / archive_of(jars).name).touch()
    return jars


def told(jars: Path, *words: str, classes: str = "") -> Sequence[str]:
    command = [str(jars.parent / "asks"), *words]
    environment = {**os.environ, "CLASSPATH": classes}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, env=environment)
    return done.stdout.splitlines()


def test_jars_with_an_archive_come_first(jars: Path) -> None:
    said = told(jars, "-Xmx1m", "-cp", f"/conf:{jars}/*:/more.jar", MAIN, "-cp", f"{jars}/*:/x")
    assert said[said.index(MAIN) :] == [MAIN, "-cp", f"{jars}/*:/x"], "words of the program were changed"
    assert said[said.index("-cp") + 1] == f"{jars}/*:/conf:/more.jar"
    assert f"-XX:SharedArchiveFile={jars.parent}/archives/{archive_of(jars).name}" in said


def test_a_container_names_its_classes_in_a_variable(jars: Path) -> None:
    said = told(jars, MAIN, classes=f"/here:{jars}/*")
    assert said[0] == f"CLASSPATH={jars}/*:/here"
    assert "-Xshare:auto" in said


def test_log_settings_of_the_folder_that_came_first_stay(jars: Path) -> None:
    folders = [jars.parent / name for name in ("none", "one", "two")]
    for folder in folders[1:]:
        folder.mkdir()
        (folder / "log4j.properties").touch()
    said = told(jars, "-cp", ":".join([*map(str, folders), f"{jars}/*"]), MAIN)
    assert [word for word in said if "log4j" in word] == [f"-Dlog4j.configuration=file:{folders[1]}/log4j.properties"]


@pytest.mark.parametrize("words", [("-jar", "x.jar"), ("-cp", "/other/*", MAIN), (MAIN,), ("-version",)])
def test_other_class_paths_are_left_alone(jars: Path, words: Sequence[str]) -> None:
    said = told(jars, *words)
    assert said == ["CLASSPATH=", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", *words]


@pytest.fixture
def unfit(tmp_path: Path) -> Iterator[Path]:
    """A folder whose archive is none."""
    place = archive_of(tmp_path)
    place.write_bytes(b"no archive")
    yield tmp_path
    place.unlink()


def test_an_unfit_archive_is_as_none(unfit: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    def run(folder: Path) -> tuple[int, str, str]:
        command = [java_home() / "bin" / "java", "-cp", f"{folder}/*", KEYTOOL, "-help"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout, done.stderr

    assert archive_of(unfit).exists()
    assert run(unfit) == run(tmp_path_factory.mktemp("other"))


def test_what_cannot_be_made_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "broken.jar").write_bytes(b"no jar")
    cache = tmp_path / "cache"
    with pytest.raises(OSError):
        archive(tmp_path / "jars" / "nowhere", [], cache)
    assert not list(cache.glob("*.jsa"))
