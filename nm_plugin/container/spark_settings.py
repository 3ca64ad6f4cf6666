"""What the submitter of a container's application set, read from what was localized for it, with his rights only."""

from __future__ import annotations

from collections.abc import Mapping

from nm_plugin.container.life import Container
from nm_plugin.host.users import Accounts
from nm_plugin.localization import spark_conf
from nm_plugin.localization.cache import ResourceCache
from nm_plugin.localization.plan import scope_of, wanted
from yodel.hadoop_pb import yarn_protos_pb2 as pb


class SparkSettings:
    """Of containers whose resources are there."""

    def __init__(self, accounts: Accounts, cache: ResourceCache) -> None:
        self._accounts, self._cache = accounts, cache

    async def of(self, container: Container, launch_context: bytes) -> Mapping[bytes, bytes]:
        """By name; none where it has no such file.  Raises YodelError, OSError: what is there cannot be read."""
        context = pb.ContainerLaunchContextProto.FromString(launch_context)
        entries = [entry for entry in context.localResources if entry.key == spark_conf.LINK]
        for resource in wanted(entries):
            scope = scope_of(resource.visibility, container.user, str(container.container_id.application_id))
            place = self._cache.place_of(resource, scope)
            if place is not None:
                user = await self._accounts.lookup(container.user)
                return await self._accounts.run_as(user, spark_conf.read_properties, *place)
        return {}
