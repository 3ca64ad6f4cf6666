"""Localized resources become links and counters."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from nm_plugin.container import links
from nm_plugin.container.links import counters_of, links_of, outcome_of
from nm_plugin.launch.command import ResourceLink
from nm_plugin.localization.cache import LocalizedResource
from nm_plugin.localization.plan import LocalResource, ResourceKey, ResourceType, SourceUrl, Visibility
from yodel.errors import InvalidValue


def want(link: str) -> LocalResource:
    key = ResourceKey(url=SourceUrl(scheme="file", authority="", path="/x"), timestamp_ms=1, type=ResourceType.FILE)
    return LocalResource(link=link, key=key, visibility=Visibility.PUBLIC)


def place(path: Path, size_bytes: int = 0, was_cached: bool = False) -> LocalizedResource:
    return LocalizedResource(path=path, size_bytes=size_bytes, was_cached=was_cached)


def test_each_resource_has_its_link(tmp_path: Path) -> None:
    found = links_of((want("a/"), want("lib//b.jar")), [place(tmp_path / "1"), place(tmp_path / "2")])
    assert found == (
        ResourceLink(link="a", target=tmp_path / "1"),
        ResourceLink(link="lib/b.jar", target=tmp_path / "2"),
    )


@pytest.mark.parametrize("link", ["*", "lib/*", "a/b/*", "./*", "lib/*/", "lib//./*"])
def test_wildcard_stands_for_what_is_in_a_directory_by_its_own_names(tmp_path: Path, link: str) -> None:
    """ContainerExecutor.resolveSymLinks: ``File.getName`` is the link, whatever stands before the star."""
    for name in ("b.jar", "a.jar", "with\nend", "*"):
        (tmp_path / name).touch()
    (tmp_path / "folder").mkdir()
    found = links_of((want(link),), [place(tmp_path)])
    assert found == tuple(ResourceLink(link=name, target=tmp_path / name) for name in ("*", "a.jar", "b.jar", "folder"))


@pytest.mark.parametrize("link", ["lib*", "*.jar", "lib/**", "*/lib"])
def test_other_stars_are_names(tmp_path: Path, link: str) -> None:
    assert links_of((want(link),), [place(tmp_path)]) == (ResourceLink(link=link, target=tmp_path),)


def test_a_link_in_the_directory_is_linked_and_not_read(tmp_path: Path) -> None:
    (tmp_path / "out").symlink_to("/etc/shadow")
    (tmp_path / "nowhere").symlink_to("/no/such")
    found = links_of((want("lib/*"),), [place(tmp_path)])
    assert found == tuple(ResourceLink(link=name, target=tmp_path / name) for name in ("nowhere", "out"))


@pytest.mark.parametrize("linked", ["directory", "above"])
def test_no_link_leads_to_the_directory(tmp_path: Path, linked: str) -> None:
    (tmp_path / "12/lib").mkdir(parents=True)
    (tmp_path / "12/lib/one.jar").touch()
    moved = tmp_path / ("12/lib" if linked == "directory" else "12")
    moved.rename(tmp_path / "elsewhere")
    moved.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InvalidValue, match="a directory as its resource"):
        links_of((want("*"),), [replace(place(tmp_path / "12/lib"), root=tmp_path)])


def test_an_operators_link_above_is_passed(tmp_path: Path) -> None:
    (tmp_path / "disk/12").mkdir(parents=True)
    (tmp_path / "disk/12/one.jar").touch()
    (tmp_path / "local").symlink_to("disk")
    found = links_of((want("*"),), [replace(place(tmp_path / "local/12"), root=tmp_path / "local")])
    assert found == (ResourceLink(link="one.jar", target=tmp_path / "local/12/one.jar"),)


@pytest.mark.parametrize(
    "others", [["taken"], ["taken/more"], ["./taken/"], ["first/*"], []], ids=["file", "folder", "dot", "star", "own"]
)
def test_a_name_that_the_work_directory_has_is_refused(tmp_path: Path, others: list[str]) -> None:
    name = "taken" if others else "container_tokens"
    for folder in ("1", "2"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).touch()
    wanted = tuple(want(link) for link in ("lib/*", *others))
    with pytest.raises(InvalidValue, match=f"'{name}' of .* is taken"):
        links_of(wanted, [place(tmp_path / "1"), place(tmp_path / "2")][: len(wanted)])


def test_a_wildcard_for_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    with pytest.raises(InvalidValue, match="a directory as its resource, which 'f' is not"):
        links_of((want("lib/*"),), [place(tmp_path / "f")])


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
    async def refused() -> LocalizedResource:
        raise InvalidValue("a", "b", "c")

    async def found() -> LocalizedResource:
        return place(tmp_path)

    assert isinstance(await outcome_of(refused()), InvalidValue)
    assert await outcome_of(found()) == place(tmp_path)
