"""Derives the links of a work directory, and the launch's counters, from localized resources."""

from __future__ import annotations

from collections.abc import Collection, Coroutine, Iterable
from typing import Any

from nm_plugin.launch import command
from nm_plugin.localization.below import names_below
from nm_plugin.localization.cache import LocalizedResource
from nm_plugin.localization.plan import LocalResource
from yodel.errors import InvalidValue, YodelError

WILDCARD = "*"  # ContainerExecutor.WILDCARD
WILDCARD_LINKS_MAX = 20_000
OWN_NAMES = frozenset({command.TOKENS_FILE, command.LAUNCH_SCRIPT, "tmp"})
"""The names that every work directory has before any link is made."""


def links_of(
    resources: tuple[LocalResource, ...], localized: list[LocalizedResource], taken: Collection[str] = OWN_NAMES
) -> tuple[command.ResourceLink, ...]:
    """A link whose last part is ``*`` stands for everything in the localized directory, each by its own name in the
    work directory itself, whatever stands before the ``*`` (ContainerExecutor.resolveSymLinks).

    ``taken`` are names that the work directory has.  Blocks: lists those directories, with the rights in force and
    through no link.  Raises InvalidValue, OSError.
    """
    links: list[command.ResourceLink] = []
    wildcards: list[tuple[str, LocalizedResource]] = []
    for resource, place in zip(resources, localized, strict=True):
        if resource.place.rpartition("/")[2] == WILDCARD:
            wildcards.append((resource.link, place))
        else:
            links.append(command.ResourceLink(link=resource.place, target=place.path))
    found = _Found({*taken, *(link.link.partition("/")[0] for link in links)})
    for link, place in wildcards:
        found.add_all(link, place)
    return (*links, *found.links)


class _Found:
    """Links that wildcards stand for, and the names in the work directory that are taken."""

    def __init__(self, taken: set[str]) -> None:
        self._taken = taken
        self.links: list[command.ResourceLink] = []

    def add_all(self, link: str, place: LocalizedResource) -> None:
        """Raises InvalidValue, OSError."""
        try:
            names = names_below(place.root, place.path, WILDCARD_LINKS_MAX + 1)
        except NotADirectoryError as error:
            expected = f"a directory as its resource, which {place.path.name!r} is not"
            raise InvalidValue("local resource link", link, expected) from error
        if len(self.links) + len(names) > WILDCARD_LINKS_MAX:
            raise InvalidValue("local resource link", link, f"at most {WILDCARD_LINKS_MAX} files")
        for name in names:
            if "\n" in name:
                continue
            if name in self._taken:
                expected = f"names that the work directory does not have yet: {name!r} of {place.path.name} is taken"
                raise InvalidValue("local resource link", link, expected)
            self._taken.add(name)
            self.links.append(command.ResourceLink(link=name, target=place.path / name))


def counters_of(localized: Iterable[LocalizedResource]) -> command.LocalizationCounters:
    listed = tuple(localized)
    return command.LocalizationCounters(
        missed_bytes=sum(one.size_bytes for one in listed if not one.was_cached),
        cached_bytes=sum(one.size_bytes for one in listed if one.was_cached),
        missed_files=sum(not one.was_cached for one in listed),
        cached_files=sum(one.was_cached for one in listed),
    )


async def outcome_of(work: Coroutine[Any, Any, LocalizedResource]) -> LocalizedResource | YodelError:
    """An error as a value, so that all resources are looked at and the first in the client's order is reported."""
    try:
        return await work
    except YodelError as error:
        return error
