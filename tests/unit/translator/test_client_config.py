"""Clients are told the addresses, limits and properties of a ResourceManager."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from yodel.errors import InvalidValue
from yodel.translator.client_config import FILES, ClientConfig, client_files, site_xml, with_properties

CONFIG = ClientConfig(
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


def test_the_files_are_three() -> None:
    assert tuple(client_files(CONFIG)) == FILES


def test_addresses_are_written_out_in_full() -> None:
    yarn = client_files(CONFIG)["yarn-site.xml"]
    assert yarn["yarn.resourcemanager.address"] == "127.0.0.1:1"
    assert yarn["yarn.resourcemanager.scheduler.address"] == "127.0.0.1:2"
    assert yarn["yarn.resourcemanager.resource-tracker.address"] == "127.0.0.1:3"
    assert yarn["yarn.resourcemanager.admin.address"] == "127.0.0.1:5"
    assert yarn["yarn.resourcemanager.webapp.address"] == yarn["yarn.web-proxy.address"] == "127.0.0.1:4"


def test_the_proxy_may_have_another_name() -> None:
    yarn = client_files(replace(CONFIG, web_proxy="yodel-pods:8088"))["yarn-site.xml"]
    assert yarn["yarn.web-proxy.address"] == "yodel-pods:8088"
    assert yarn["yarn.resourcemanager.webapp.address"] == "127.0.0.1:4"


def test_an_ipv6_address_is_told_apart_from_its_port() -> None:
    yarn = client_files(replace(CONFIG, host="fd00::7"))["yarn-site.xml"]
    assert yarn["yarn.resourcemanager.hostname"] == "fd00::7"
    assert yarn["yarn.resourcemanager.address"] == "[fd00::7]:1"


def test_limits_are_those_of_the_scheduler() -> None:
    yarn = client_files(CONFIG)["yarn-site.xml"]
    assert yarn["yarn.scheduler.minimum-allocation-mb"] == "512"
    assert yarn["yarn.scheduler.maximum-allocation-mb"] == "4096"
    assert yarn["yarn.scheduler.maximum-allocation-vcores"] == "5"


def test_mapreduce_goes_to_yarn_and_files_are_local_unless_said() -> None:
    assert client_files(CONFIG)["mapred-site.xml"]["mapreduce.framework.name"] == "yarn"
    assert client_files(CONFIG)["core-site.xml"]["fs.defaultFS"] == "file:///"
    hdfs = client_files(replace(CONFIG, default_fs="hdfs://nn:8020"))
    assert hdfs["core-site.xml"]["fs.defaultFS"] == "hdfs://nn:8020"


def test_log_aggregation_is_told() -> None:
    off = client_files(replace(CONFIG, is_log_aggregation_enabled=False, remote_app_log_dir="/logs"))["yarn-site.xml"]
    assert off["yarn.log-aggregation-enable"] == "false"
    assert off["yarn.nodemanager.remote-app-log-dir"] == "/logs"


def test_properties_are_added_and_win() -> None:
    given = ["core-site.xml:fs.defaultFS=hdfs://nn", "mapred-site.xml:a.b=c=d"]
    changed = with_properties(client_files(CONFIG), given)
    assert changed["core-site.xml"]["fs.defaultFS"] == "hdfs://nn"
    assert changed["mapred-site.xml"] == {"mapreduce.framework.name": "yarn", "a.b": "c=d"}


@pytest.mark.parametrize(
    "text", ["a=b", "hive-site.xml:a=b", "core-site.xml:a", "core-site.xml:=b", "core-site.xml:a b=c"]
)
def test_other_texts_are_no_properties(text: str) -> None:
    with pytest.raises(InvalidValue, match="FILE:NAME=VALUE"):
        with_properties(client_files(CONFIG), [text])


def test_values_are_escaped() -> None:
    text = site_xml({"x": "<b> & c"}, "made -- here")
    assert ElementTree.fromstring(text).findtext("property/value") == "<b> & c"


def test_what_xml_cannot_hold_is_refused() -> None:
    with pytest.raises(InvalidValue, match="XML"):
        site_xml({"x": "a\x07"}, "here")
