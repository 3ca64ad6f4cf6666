"""Reads the submitter's Spark settings from localized files, with the user's rights only."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from nm_plugin.container.life import Container
from nm_plugin.host.users import Accounts
from nm_plugin.localization import spark_conf
from nm_plugin.localization.below import is_directory_below, names_below
from nm_plugin.localization.cache import ResourceCache
from nm_plugin.localization.plan import scope_of, wanted
from yodel.domain.shuffle.spark_release import LIBRARIES, SparkRelease, by_names
from yodel.hadoop_pb import yarn_protos_pb2 as pb

JARS_MAX = 20_000
"""The most jars of an archive of Spark's; it has a few hundred."""


class SparkSettings:
    """Reads settings of containers whose resources are localized."""

    def __init__(self, accounts: Accounts, cache: ResourceCache) -> None:
        self._accounts, self._cache = accounts, cache

    async def of(self, container: Container, launch_context: bytes) -> Mapping[bytes, bytes]:
        """Return the settings by name; none where it has no such file.

        Raises YodelError, OSError: what is there cannot be read.
        """
        place = self._place(container, launch_context, spark_conf.LINK)
        if place is None:
            return {}
        user = await self._accounts.lookup(container.user)
        return await self._accounts.run_as(user, spark_conf.read_properties, *place)

    async def release(self, container: Container, launch_context: bytes) -> SparkRelease | None:
        """Return the Spark release by the names of its jars; None: they do not show it.  Raises YodelError, OSError."""
        context = pb.ContainerLaunchContextProto.FromString(launch_context)
        found = by_names(name for entry in context.localResources for name in (entry.key, entry.value.resource.file))
        place = self._place(container, launch_context, LIBRARIES)
        if found is not None or place is None:
            return found
        user = await self._accounts.lookup(container.user)
        if not await self._accounts.run_as(user, is_directory_below, *place):
            return None
        return by_names(await self._accounts.run_as(user, names_below, *place, JARS_MAX))

    def _place(self, container: Container, launch_context: bytes, link: str) -> tuple[Path, Path] | None:
        """Return the agent's own directory above the resource localized as ``link``, and its path."""
        context = pb.ContainerLaunchContextProto.FromString(launch_context)
        for resource in wanted([entry for entry in context.localResources if entry.key == link]):
            scope = scope_of(resource.visibility, container.user, str(container.container_id.application_id))
            place = self._cache.place_of(resource, scope)
            if place is not None:
                return place
        return None
