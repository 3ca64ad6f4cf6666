"""A queue's lines for a submitter's own file: what that file has is kept, and counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from yodel.client.spark_lines import CLASS_PATH, OPTIONS, lines_of, own_settings
from yodel.errors import InvalidValue

QUEUE: dict[str, Any] = {
    "path": "root.a",
    "shuffle": [
        {"property": f"yodel.remote-shuffle.{name}", "value": value, "queue": "root.a"}
        for name, value in {"service": "celeborn", "endpoints": "m-1:9097", "jar": "local:/opt/x.jar"}.items()
    ],
}
TENANT, NAME = (f"-Dceleborn.quota.identity.user-specific.{one}" for one in ("tenant", "userName"))


def merged(path: Path, text: str) -> dict[str, str]:
    path.write_text(text)
    lines = lines_of(QUEUE, "alice", own_settings(path))
    return dict(line.split(" ", 1) for line in lines if not line.startswith("#"))


@pytest.mark.parametrize(
    ("text", "options", "class_path"),
    [
        ("", f"{TENANT}=root.a {NAME}=alice", "/opt/x.jar"),
        (f"{OPTIONS} -Xss4m\n", f"{TENANT}=root.a {NAME}=alice -Xss4m", "/opt/x.jar"),
        (f"{OPTIONS}=-Xss4m\n{OPTIONS} : -Xss8m", f"{TENANT}=root.a {NAME}=alice -Xss8m", "/opt/x.jar"),
        (f"{OPTIONS} -Xss4m \\\n   -Da=b\n", f"{TENANT}=root.a {NAME}=alice -Xss4m -Da=b", "/opt/x.jar"),
        (f"{OPTIONS} {NAME}=bob", f"{TENANT}=root.a {NAME}=bob", "/opt/x.jar"),
        (f"#{OPTIONS} -Xss4m\n! {CLASS_PATH} /no.jar\nspark.other 1", f"{TENANT}=root.a {NAME}=alice", "/opt/x.jar"),
        (f"  {CLASS_PATH}\t/a.jar:/b/*", f"{TENANT}=root.a {NAME}=alice", "/a.jar:/b/*:/opt/x.jar"),
    ],
)
def test_options_and_class_path_of_the_file_are_kept(tmp_path: Path, text: str, options: str, class_path: str) -> None:
    found = merged(tmp_path / "own.conf", text)
    assert (found[OPTIONS], found[CLASS_PATH]) == (options, class_path)


def test_lines_that_are_there_already_come_to_the_same(tmp_path: Path) -> None:
    once = merged(tmp_path / "own.conf", f"{OPTIONS} -Xss4m\n{CLASS_PATH} /a.jar\n")
    text = "".join(f"{key} {value}\n" for key, value in once.items())
    assert merged(tmp_path / "own.conf", text) == once


def test_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="--onto"):
        own_settings(tmp_path / "none.conf")
