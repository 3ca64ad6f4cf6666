"""A container's local resources: those its launch context names, and those it is given while it runs."""

from __future__ import annotations

import asyncio
import os
from enum import Enum
from pathlib import Path

from nm_plugin.container.life import Container, LifeState
from nm_plugin.container.links import counters_of, links_of, outcome_of
from nm_plugin.host.users import Accounts, OsUser
from nm_plugin.launch import command
from nm_plugin.localization.cache import LocalizedResource, ResourceCache, ResourceClaim
from nm_plugin.localization.plan import RESOURCES_MAX, LocalResource, scope_of, wanted
from yodel.domain.ids import ContainerId
from yodel.errors import InvalidValue, Refused, YodelError
from yodel.hadoop_pb import yarn_protos_pb2 as pb


class Localization(Enum):
    """LocalizationState of one resource."""

    PENDING = "PENDING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"


class Resources:
    """One for all containers; keeps what became of resources that running ones were given."""

    def __init__(self, cache: ResourceCache, accounts: Accounts) -> None:
        self._cache, self._accounts = cache, accounts
        self._more: dict[ContainerId, dict[str, tuple[Localization, str]]] = {}

    async def bring(
        self, container_id: ContainerId, resources: tuple[LocalResource, ...], user: OsUser, credentials: bytes
    ) -> tuple[tuple[command.ResourceLink, ...], command.LocalizationCounters]:
        """Bring links to all of them.  Raises YodelError, OSError: one is not available."""
        localized = await self.download(container_id, resources, user, credentials)
        links = await self._accounts.run_as(user, links_of, resources, localized)
        return links, counters_of(localized)

    async def download(
        self, container_id: ContainerId, resources: tuple[LocalResource, ...], user: OsUser, credentials: bytes
    ) -> list[LocalizedResource]:
        """Into the cache, all at once; the first in their order that failed is told.  Raises YodelError, OSError."""
        cache, application = self._cache, str(container_id.application_id)
        claim = ResourceClaim(container_id=container_id, user=user, credentials=credentials)
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(outcome_of(cache.localize(w, scope_of(w.visibility, user.name, application), claim)))
                for w in resources
            ]
        localized: list[LocalizedResource] = []
        for task in tasks:
            outcome = task.result()
            if isinstance(outcome, YodelError):
                raise outcome
            localized.append(outcome)
        return localized

    async def bring_more(self, container: Container, resources: tuple[LocalResource, ...]) -> None:
        """Into a running container's work directory; a failure is one of these resources, not of the container."""
        container_id = container.container_id
        context = pb.ContainerLaunchContextProto.FromString(container.launch_context)
        statuses = self._more.setdefault(container_id, {})
        try:
            user = await self._accounts.lookup(container.user)
            localized = await self.download(container_id, resources, user, context.tokens)
            await self._accounts.run_as(user, _link, Path(container.local_dir), resources, localized)
        except (YodelError, OSError) as error:
            statuses.update({w.link: (Localization.FAILED, str(error)) for w in resources})
        else:
            statuses.update({w.link: (Localization.COMPLETED, "") for w in resources})

    def expect_more(self, container_id: ContainerId, resources: tuple[LocalResource, ...]) -> None:
        """They are asked for: pending until ``bring_more`` is through.  Raises Refused: too many."""
        statuses = self._more.setdefault(container_id, {})
        if len(statuses) + len(resources) > RESOURCES_MAX:
            raise Refused(f"{container_id} already has {len(statuses)} additional resources")
        statuses.update({w.link: (Localization.PENDING, "") for w in resources})

    def localization_of(self, container: Container) -> list[tuple[str, Localization, str]]:
        """Every resource's link, state and reason of failure."""
        context = pb.ContainerLaunchContextProto.FromString(container.launch_context)
        state = Localization.COMPLETED
        if container.state in (LifeState.NEW, LifeState.LOCALIZING):
            state = Localization.PENDING
        elif container.state is LifeState.LOCALIZATION_FAILED:
            state = Localization.FAILED
        text = container.diagnostics if state is Localization.FAILED else ""
        first = [(entry.key, state, text) for entry in context.localResources]
        return first + [(link, *outcome) for link, outcome in self._more.get(container.container_id, {}).items()]

    def adopt(self, container: Container) -> None:
        """Take up at the agent's start what a container that lives uses by its launch context."""
        if container.state.is_complete or not container.launch_context:
            return
        context = pb.ContainerLaunchContextProto.FromString(container.launch_context)
        application = str(container.container_id.application_id)
        try:
            resources = wanted(context.localResources)
        except InvalidValue:
            return  # it would have failed localization
        for resource in resources:
            scope = scope_of(resource.visibility, container.user, application)
            self._cache.adopt(container.container_id, resource, scope)

    def adopt_one(self, container: Container, resource: LocalResource) -> None:
        """The same, of one that no launch context names."""
        scope = scope_of(resource.visibility, container.user, str(container.container_id.application_id))
        self._cache.adopt(container.container_id, resource, scope)

    def release(self, container_id: ContainerId) -> None:
        """The container needs them no longer."""
        self._more.pop(container_id, None)
        self._cache.release(container_id)


def _link(work_dir: Path, resources: tuple[LocalResource, ...], localized: list[LocalizedResource]) -> None:
    """Link resources as the launch script would.  An existing file is replaced, but no directory, and nothing for a
    wildcard.

    Raises InvalidValue, OSError.
    """
    for link in links_of(resources, localized, taken=os.listdir(work_dir)):
        path = work_dir / link.link
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.symlink_to(link.target)
