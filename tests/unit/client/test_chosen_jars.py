"""``jar=@FILE``: what a queue is told of a jar."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from yodel.client.queue_edits import bodies, parsed
from yodel.errors import InvalidValue

JAR, DIGEST = "yodel.remote-shuffle.jar", "yodel.remote-shuffle.jar-sha256"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "x.jar"
    path.write_bytes(b"a client")
    return path


def properties(*words: str) -> dict[str, str | None]:
    (body,) = bodies(parsed(["root.a", *words]))
    found: dict[str, str | None] = body["properties"]
    return found


def test_file_is_told_by_its_path_and_its_digest(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)
    digest = hashlib.sha256(b"a client").hexdigest()
    assert properties(f"{JAR}=@x.jar", "capacity=3") == {JAR: f"file:{file}", DIGEST: digest, "capacity": "3"}
    copy = properties(f"{JAR}=hdfs:///x.jar", f"{DIGEST}=@{file}")
    assert copy == {JAR: "hdfs:///x.jar", DIGEST: digest}


def test_what_is_no_such_file_is_refused(file: Path) -> None:
    with pytest.raises(InvalidValue, match="No such file"):
        properties(f"{JAR}=@{file}.old")
    with pytest.raises(InvalidValue, match="no digest together with"):
        properties(f"{JAR}=@{file}", f"{DIGEST}=00")


def test_others_are_as_they_were_said() -> None:
    assert properties(f"{JAR}=local:/x.jar", f"{DIGEST}=") == {JAR: "local:/x.jar", DIGEST: None}
