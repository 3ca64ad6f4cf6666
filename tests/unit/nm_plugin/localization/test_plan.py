"""Local resources as checked values."""

from __future__ import annotations

import pytest

from nm_plugin.localization.plan import (
    LOCAL_FILES,
    ResourceType,
    Scope,
    Visibility,
    check_link,
    file_system,
    scope_of,
    source_url,
    wanted,
)
from yodel.errors import InvalidValue
from yodel.hadoop_pb import yarn_protos_pb2 as pb


def entry(link: str, **url: object) -> pb.StringLocalResourceMapProto:
    message = pb.StringLocalResourceMapProto(key=link)
    message.value.resource.CopyFrom(
        pb.URLProto(**{"scheme": "hdfs", "host": "nn", "port": 8020, "file": "/a/b.jar", **url})
    )
    message.value.timestamp, message.value.size = 123, 5
    message.value.type, message.value.visibility = pb.PATTERN, pb.PRIVATE
    message.value.pattern = "x.*"
    return message


def test_resource_is_read_field_by_field() -> None:
    (resource,) = wanted([entry("lib/b.jar")])
    assert str(resource.key.url) == "hdfs://nn:8020/a/b.jar"
    assert (resource.key.timestamp_ms, resource.key.type, resource.key.pattern) == (123, ResourceType.PATTERN, "x.*")
    assert (resource.link, resource.visibility, resource.key.url.name) == ("lib/b.jar", Visibility.PRIVATE, "b.jar")


def test_size_is_no_part_of_the_key() -> None:
    one, other = entry("a"), entry("b")
    other.value.size = 6
    first, second = wanted([one, other])
    assert first.key == second.key


def test_pattern_counts_only_for_patterns() -> None:
    message = entry("a")
    message.value.type = pb.FILE
    assert wanted([message])[0].key.pattern == ""


@pytest.mark.parametrize("link", ["", "/abs", "../up", "a/../b", "new\nline", "x" * 2000])
def test_link_that_leaves_the_work_directory_is_refused(link: str) -> None:
    with pytest.raises(InvalidValue):
        check_link(link)


@pytest.mark.parametrize("link", ["a", "a/b", "*", "lib/*", "__spark_conf__", "with space", "..a"])
def test_ordinary_links_are_taken(link: str) -> None:
    check_link(link)


def test_same_link_twice_is_refused() -> None:
    with pytest.raises(InvalidValue):
        wanted([entry("a"), entry("a")])


def test_url_without_a_scheme_is_in_the_default_file_system() -> None:
    url = source_url(pb.URLProto(file="/tmp/a b%#?.txt", port=-1))
    assert (url.path, str(url)) == ("/tmp/a b%#?.txt", "/tmp/a%20b%25%23%3F.txt")
    assert str(url.within(LOCAL_FILES)) == "file:/tmp/a%20b%25%23%3F.txt"
    assert str(url.within(file_system("hdfs://nn:8020/"))) == "hdfs://nn:8020/tmp/a%20b%25%23%3F.txt"
    named = source_url(pb.URLProto(scheme="FILE", file="/f"))
    assert str(named.within(file_system("hdfs://nn:8020"))) == "file:/f"


@pytest.mark.parametrize("text", ["", "/a", "//nn:8020", "a b://x", "${scheme}://nn"])
def test_default_that_names_no_file_system_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match=r"fs\.defaultFS"):
        file_system(text)


@pytest.mark.parametrize(
    "url",
    [
        pb.URLProto(scheme="hdfs", file="relative"),
        pb.URLProto(scheme="hdfs", file="/a/../b"),
        pb.URLProto(scheme="hdfs", file="/"),
        pb.URLProto(scheme="a b", file="/a"),
        pb.URLProto(host="nn", file="/a"),
        pb.URLProto(scheme="hdfs", host="evil/../x", file="/a"),
        pb.URLProto(scheme="hdfs", host="h", userInfo="a@b/", file="/a"),
    ],
)
def test_unusable_url_is_refused(url: pb.URLProto) -> None:
    with pytest.raises(InvalidValue):
        source_url(url)


def test_scopes_and_their_directories() -> None:
    assert scope_of(Visibility.PUBLIC, "u", "a").directory() == "filecache"
    assert scope_of(Visibility.PRIVATE, "u", "a").directory() == "usercache/u/filecache"
    assert scope_of(Visibility.APPLICATION, "u", "a").directory() == "usercache/u/appcache/a/filecache"
    assert scope_of(Visibility.PUBLIC, "u", "a") == Scope(visibility=Visibility.PUBLIC)
