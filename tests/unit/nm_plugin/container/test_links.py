"""From localized resources to links and counters."""

from __future__ import annotations

from pathlib import Path

import pytest

from nm_plugin.container import links
from nm_plugin.container.links import counters_of, links_of, outcome_of
from nm_plugin.launch.command import Link
from nm_plugin.localization.cache import Localized
from nm_plugin.localization.plan import ResourceKey, ResourceType, SourceUrl, Visibility, Wanted
from yodel.errors import InvalidValue


def want(link: str) -> Wanted:
    key = ResourceKey(url=SourceUrl(scheme="file", authority="", path="/x"), timestamp_ms=1, type=ResourceType.FILE)
    return Wanted(link=link, key=key, size_bytes=0, visibility=Visibility.PUBLIC)


def place(path: Path, size_bytes: int = 0, was_cached: bool = False) -> Localized:
    return Localized(path=path, size_bytes=size_bytes, was_cached=was_cached)


def test_each_resource_has_its_link(tmp_path: Path) -> None:
    found = links_of((want("a"), want("lib/b.jar")), [place(tmp_path / "1"), place(tmp_path / "2")])
    assert found == (Link(link="a", target=tmp_path / "1"), Link(link="lib/b.jar", target=tmp_path / "2"))


@pytest.mark.parametrize(("link", "prefix"), [("*", ""), ("lib/*", "lib/")])
def test_wildcard_stands_for_the_files_of_a_directory(tmp_path: Path, link: str, prefix: str) -> None:
    for name in ("b.jar", "a.jar", "with\nend"):
        (tmp_path / name).touch()
    found = links_of((want(link),), [place(tmp_path)])
    assert found == tuple(Link(link=f"{prefix}{name}", target=tmp_path / name) for name in ("a.jar", "b.jar"))


def test_too_many_wildcard_links_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "WILDCARD_LINKS_MAX", 1)
    for name in ("a", "b"):
        (tmp_path / name).touch()
    with pytest.raises(InvalidValue):
        links_of((want("*"),), [place(tmp_path)])


def test_counters_tell_the_cache_from_the_net(tmp_path: Path) -> None:
    counters = counters_of([place(tmp_path, 10), place(tmp_path, 5, was_cached=True), place(tmp_path, 2)])
    assert str(counters) == "12,5,2,1,0"


async def test_error_is_a_value(tmp_path: Path) -> None:
    async def refused() -> Localized:
        raise InvalidValue("a", "b", "c")

    async def found() -> Localized:
        return place(tmp_path)

    assert isinstance(await outcome_of(refused()), InvalidValue)
    assert await outcome_of(found()) == place(tmp_path)
