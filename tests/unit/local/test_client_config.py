"""Hadoop's client configuration on disk."""

from __future__ import annotations

import stat
from pathlib import Path
from xml.etree import ElementTree

import pytest

from yodel.errors import InvalidValue
from yodel.local.client_config import write_hadoop_conf

FILES = {"core-site.xml": {"fs.defaultFS": "file:///"}, "yarn-site.xml": {"a": "<b> & c", "d": "e"}}


def read(path: Path) -> dict[str, str]:
    properties = ElementTree.parse(path).findall("property")
    return {str(p.findtext("name")): str(p.findtext("value")) for p in properties}


def test_written_files_say_the_same_and_are_for_everybody(tmp_path: Path) -> None:
    write_hadoop_conf(tmp_path / "conf", FILES)
    assert {path.name for path in (tmp_path / "conf").iterdir()} == set(FILES)
    for name, properties in FILES.items():
        assert read(tmp_path / "conf" / name) == properties
        assert stat.S_IMODE((tmp_path / "conf" / name).stat().st_mode) == 0o644


def test_files_are_replaced(tmp_path: Path) -> None:
    write_hadoop_conf(tmp_path, FILES)
    write_hadoop_conf(tmp_path, {"yarn-site.xml": {"a": "other"}}, "Written by a test.")
    assert read(tmp_path / "yarn-site.xml") == {"a": "other"}
    assert "<!-- Written by a test. -->" in (tmp_path / "yarn-site.xml").read_text()


def test_nothing_is_written_when_a_value_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="XML"):
        write_hadoop_conf(tmp_path / "conf", {**FILES, "mapred-site.xml": {"a": "\0"}})
    assert not (tmp_path / "conf").exists()
