"""From localized resources to the links of a work directory and the launch's counters."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable
from typing import Any

from nm_plugin.launch import command
from nm_plugin.localization.cache import Localized
from nm_plugin.localization.plan import Wanted
from yodel.errors import InvalidValue, YodelError

WILDCARD_LINKS_MAX = 20_000


def links_of(resources: tuple[Wanted, ...], localized: list[Localized]) -> tuple[command.Link, ...]:
    """A link named ``*`` stands for every file of the localized directory (ContainerLaunch.getLocalizedResources).

    Blocks: lists those directories, with the rights in force.  Raises InvalidValue, OSError.
    """
    links: list[command.Link] = []
    for resource, place in zip(resources, localized, strict=True):
        prefix, _, last = resource.link.rpartition("/")
        if last != "*":
            links.append(command.Link(link=resource.link, target=place.path))
            continue
        names = sorted(path.name for path in place.path.iterdir())
        if len(links) + len(names) > WILDCARD_LINKS_MAX:
            raise InvalidValue("local resource link", resource.link, f"at most {WILDCARD_LINKS_MAX} files")
        links += [
            command.Link(link=f"{prefix}/{name}" if prefix else name, target=place.path / name)
            for name in names
            if "\n" not in name
        ]
    return tuple(links)


def counters_of(localized: Iterable[Localized]) -> command.Counters:
    listed = tuple(localized)
    return command.Counters(
        missed_bytes=sum(one.size_bytes for one in listed if not one.was_cached),
        cached_bytes=sum(one.size_bytes for one in listed if one.was_cached),
        missed_files=sum(not one.was_cached for one in listed),
        cached_files=sum(one.was_cached for one in listed),
    )


async def outcome_of(work: Coroutine[Any, Any, Localized]) -> Localized | YodelError:
    """An error as a value, so that all resources are looked at and the first in the client's order is reported."""
    try:
        return await work
    except YodelError as error:
        return error
