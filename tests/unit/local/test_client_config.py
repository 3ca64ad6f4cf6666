"""Hadoop's client configuration."""

from __future__ import annotations

import stat
from pathlib import Path
from xml.etree import ElementTree

from yodel.local.client_config import client_files, write_hadoop_conf


def files() -> dict[str, dict[str, str]]:
    return client_files(
        host="127.0.0.1",
        client_port=1,
        scheduler_port=2,
        tracker_port=3,
        admin_port=5,
        webapp_port=4,
        maximum_mib=4096,
        maximum_vcores=5,
        minimum_mib=512,
    )


def read(path: Path) -> dict[str, str]:
    properties = ElementTree.parse(path).findall("property")
    return {str(p.findtext("name")): str(p.findtext("value")) for p in properties}


def test_addresses_are_written_out_in_full() -> None:
    yarn = files()["yarn-site.xml"]
    assert yarn["yarn.resourcemanager.address"] == "127.0.0.1:1"
    assert yarn["yarn.resourcemanager.scheduler.address"] == "127.0.0.1:2"
    assert yarn["yarn.resourcemanager.resource-tracker.address"] == "127.0.0.1:3"
    assert yarn["yarn.resourcemanager.webapp.address"] == yarn["yarn.web-proxy.address"] == "127.0.0.1:4"


def test_limits_are_those_of_the_scheduler() -> None:
    yarn = files()["yarn-site.xml"]
    assert yarn["yarn.scheduler.minimum-allocation-mb"] == "512"
    assert yarn["yarn.scheduler.maximum-allocation-mb"] == "4096"
    assert yarn["yarn.scheduler.maximum-allocation-vcores"] == "5"


def test_mapreduce_goes_to_yarn_and_files_are_local() -> None:
    assert files()["mapred-site.xml"]["mapreduce.framework.name"] == "yarn"
    assert files()["core-site.xml"]["fs.defaultFS"] == "file:///"


def test_written_files_say_the_same_and_are_for_everybody(tmp_path: Path) -> None:
    write_hadoop_conf(tmp_path / "conf", files())
    assert {path.name for path in (tmp_path / "conf").iterdir()} == set(files())
    for name, properties in files().items():
        assert read(tmp_path / "conf" / name) == properties
        assert stat.S_IMODE((tmp_path / "conf" / name).stat().st_mode) == 0o644


def test_values_are_escaped(tmp_path: Path) -> None:
    write_hadoop_conf(tmp_path, {"x-site.xml": {"a": "<b> & c"}})
    assert read(tmp_path / "x-site.xml") == {"a": "<b> & c"}
