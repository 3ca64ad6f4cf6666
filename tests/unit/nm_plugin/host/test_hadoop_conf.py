"""The default file system of a Hadoop configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from nm_plugin.host.hadoop_conf import default_file_system
from yodel.errors import InvalidValue


def site(folder: Path, *properties: tuple[str, str]) -> Path:
    inside = "".join(f"<property><name>{name}</name><value>{value}</value></property>" for name, value in properties)
    (folder / "core-site.xml").write_text(f"<configuration>{inside}</configuration>")
    return folder


@pytest.mark.parametrize(
    ("properties", "found"),
    [
        ([], "file:///"),
        ([("fs.defaultFS", " hdfs://nn:8020 ")], "hdfs://nn:8020"),
        ([("fs.default.name", "hdfs://nn")], "hdfs://nn"),
        ([("fs.defaultFS", "hdfs://a"), ("fs.defaultFS", "viewfs://b/")], "viewfs://b/"),
        ([("fs.defaultFS", "")], "file:///"),
        ([("fs.defaultFS", "local")], "file:///"),
        ([("fs.defaultFS", "nn:8020")], "hdfs://nn:8020"),
        ([("hadoop.tmp.dir", "/tmp")], "file:///"),
        ([("fs.defaultFS", "hdfs://${host}:${port}"), ("host", "${one}"), ("one", "nn")], "hdfs://nn:${port}"),
        ([("fs.defaultFS", "hdfs://${a}"), ("a", "${b}"), ("b", "${a}")], "hdfs://${a}"),
    ],
)
def test_it_is_what_hadoop_takes(tmp_path: Path, properties: list[tuple[str, str]], found: str) -> None:
    assert default_file_system(site(tmp_path, *properties)) == found


def test_without_a_configuration_it_is_the_nodes_own_disks(tmp_path: Path) -> None:
    assert default_file_system(None) == default_file_system(tmp_path) == "file:///"


def test_a_configuration_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "core-site.xml").write_text("<configuration>")
    with pytest.raises(InvalidValue, match=r"hadoop_conf_dir.*core-site\.xml.*no element found"):
        default_file_system(tmp_path)
