"""Local resources as checked values."""

from __future__ import annotations

import pytest

from nm_plugin.localization.plan import (
    LOCAL_FILES,
    CacheScope,
    ResourceType,
    Visibility,
    file_system,
    place_of_link,
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


@pytest.mark.parametrize("size", [-(2**63), -1, 0, 6, 2**63 - 1])
def test_nobody_looks_at_the_size(size: int) -> None:
    one, other = entry("a"), entry("a")
    other.value.size = size
    assert wanted([one]) == wanted([other])


def test_pattern_counts_only_for_patterns() -> None:
    message = entry("a")
    message.value.type = pb.FILE
    assert wanted([message])[0].key.pattern == ""


NO_PLACES = ["", ".", "./", "a/..", "..", "/abs", "//host/a", "../up", "a/../..", "a/../../up", "./../up"]


@pytest.mark.parametrize("link", [*NO_PLACES, "new\nline", "a\0b", "x" * 2000])
def test_link_that_is_no_place_in_the_work_directory_is_refused(link: str) -> None:
    with pytest.raises(InvalidValue):
        wanted([entry(link)])


@pytest.mark.parametrize(
    "link", ["a", "a/b", "*", "lib/*", "__spark_conf__", "with space", "..a", "a..", "...", "a\tb"]
)
def test_ordinary_links_are_taken(link: str) -> None:
    (resource,) = wanted([entry(link)])
    assert resource.link == resource.place == link


@pytest.mark.parametrize(
    ("link", "place"),
    [
        ("a/", "a"),
        ("a//", "a"),
        ("lib/b.jar/", "lib/b.jar"),
        ("lib//b.jar", "lib/b.jar"),
        ("./a", "a"),
        ("a/.", "a"),
        ("a/./b/", "a/b"),
        ("a/../b", "b"),
        ("a/b/../../c", "c"),
        ("a/..b/", "a/..b"),
        ("lib/*/", "lib/*"),
        ("-rf/", "-rf"),
        ("a%2Fb/", "a%2Fb"),
    ],
)
def test_links_are_shortened_as_javas_paths_are(link: str, place: str) -> None:
    """Links print as ``new Path(link)`` of Hadoop 3.5.0 does; what is told of one has the name that was asked for."""
    (resource,) = wanted([entry(link)])
    assert (resource.link, resource.place) == (link, place)
    assert place_of_link(place) == place


@pytest.mark.parametrize("other", ["a", "a/", "./a", "b/../a"])
def test_same_link_twice_is_refused(other: str) -> None:
    with pytest.raises(InvalidValue):
        wanted([entry("a"), entry(other)])


@pytest.mark.parametrize(
    ("path", "shortened"),
    [
        ("/a/../b", "/b"),
        ("/a/./b", "/a/b"),
        ("/a//b", "/a/b"),
        ("//a/b", "/a/b"),
        ("/a/b/", "/a/b"),
        ("/a/b/../../c", "/c"),
        ("/a/x/..//b", "/a/b"),
        ("/../a", "/a"),
        ("/a/../../b", "/b"),
        ("/...", "/..."),
        ("/a/%2e%2e/b", "/a/%2e%2e/b"),
    ],
)
def test_paths_are_shortened_as_javas_are(path: str, shortened: str) -> None:
    """So they share one download."""
    assert source_url(pb.URLProto(scheme="hdfs", host="nn", file=path)).path == shortened


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
        pb.URLProto(scheme="hdfs", file="/"),
        pb.URLProto(scheme="hdfs", file="/a/.."),
        pb.URLProto(scheme="hdfs", file="/.."),
        pb.URLProto(scheme="hdfs", file="../a"),
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
    assert scope_of(Visibility.PUBLIC, "u", "a") == CacheScope(visibility=Visibility.PUBLIC)
