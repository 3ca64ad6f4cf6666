"""Performs administrators' commands: reload the configuration, decommission, set nodes' resources (AdminService).

Every call is checked against the admin ACL, with Hadoop's messages.  A reload reads the settings and the files they
name again, in a thread; nothing is changed when any of it is malformed.  What lives in memory only is replaced as a
whole.

Refuses: node labels, with Hadoop's message for ``yarn.node-labels.enabled=false``; service ACLs, with that for
``hadoop.security.authorization=false``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, TypeVar

import structlog

from yodel.domain import hadoop_xml, host_lists
from yodel.domain.acl import Acl
from yodel.domain.events import NodeCapabilityOrdered
from yodel.domain.host_lists import HostLists
from yodel.domain.ids import NodeId
from yodel.domain.queues.queue import Queue, differing, with_enforcement
from yodel.domain.queues.settings_change import by_settings
from yodel.domain.queues.words import are_said
from yodel.domain.resource import Resource
from yodel.errors import AccessDenied, Refused
from yodel.ports.identity import GroupMapping
from yodel.services.access.rights import Rights
from yodel.services.nodes.agents import Agents
from yodel.services.nodes.decommission import Decommission
from yodel.services.writer.engine import Engine
from yodel.services.writer.transaction import Transaction
from yodel.translator.profiles import PodProfiles

READ_TIMEOUT_S = 30.0  # the files may be on a network mount
LABELS_DISABLED = "java.io.IOException: Node-label-based scheduling is disabled. Please check yarn.node-labels.enabled"
AUTHORIZATION_DISABLED = "java.io.IOException: Service Authorization (hadoop.security.authorization) not enabled."
ResultT = TypeVar("ResultT")
log = structlog.get_logger("yodel.admin")


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminSettings:
    """Holds the settings that can be changed without a restart."""

    admin_acl: str
    max_priority: int
    queues: Sequence[Queue]
    pod_profiles: PodProfiles
    nodes_include_path: Path | None = None
    nodes_exclude_path: Path | None = None
    node_racks_path: Path | None = None
    dynamic_resources_path: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reloads:
    """Holds functions of the composition root.

    ``read``, ``text`` and ``proxy_users`` block: they read files and ask name servers; they raise InvalidValue, and
    ``text`` Refused if a file cannot be read.  The others take a new value; ``pod_profiles`` raises InvalidValue for
    what the cluster lacks, and Refused or Unavailable if the cluster does not report it.
    """

    read: Callable[[], AdminSettings]
    text: Callable[[Path], str]
    proxy_users: Callable[[], None]
    max_priority: Callable[[int], None]
    pod_profiles: Callable[[PodProfiles], Awaitable[None]]


class AdminService:
    """One instance for the process."""

    def __init__(
        self,
        engine: Engine,
        nodes: Agents,
        decommission: Decommission,
        rights: Rights,
        groups: GroupMapping,
        reloads: Reloads,
    ) -> None:
        self._engine, self._nodes, self._decommission = engine, nodes, decommission
        self._rights, self._groups, self._reloads = rights, groups, reloads

    async def start(self) -> None:
        """Read the files that settings name, before the first node agent is heard.

        Raises:
            InvalidValue, Refused: a file is malformed or not there.
        """
        settings = await self.settings()
        self._rights.use_admin_acl(Acl.parse(settings.admin_acl))
        self._nodes.ordered_capabilities = await _blocking(
            lambda: self._node_resources(settings.dynamic_resources_path)
        )
        await self._decommission.refresh(await _blocking(lambda: self._lists(settings)))

    def require_admin(self, user: str, method: str) -> None:
        """Raises AccessDenied, in Hadoop's words."""
        if not self._rights.is_admin(user):
            raise AccessDenied(f"User {user} doesn't have permission to call '{method}'")

    async def groups_of(self, user: str) -> Sequence[str]:
        """Return the groups of a user; everybody may ask, as in Hadoop.  Raises Unavailable."""
        await self._groups.look_up(user)
        return self._groups.groups_of(user)

    def refresh_groups(self) -> None:
        self._groups.forget()

    async def refresh_queues(self) -> None:
        """Queues that were changed through the ResourceManager stay; how their pods look is read again all the same.

        Raises:
            InvalidValue, Refused, Unavailable: nothing is changed.
        """
        settings = await self.settings()
        await self._reloads.pod_profiles(settings.pod_profiles)

        def work(tx: Transaction) -> None:
            if are_said(self._engine.state.queues.values()):
                log.warning("queue settings ignored: the queues were changed through the ResourceManager")
                return
            present = self._engine.state.queues
            changed = differing(present.values(), with_enforcement(settings.queues, present, None))
            tx.queues.rows += changed
            made = by_settings(self._engine.state.scheduler_conf, present.values(), changed, tx.now_ms)
            if made is not None:
                tx.queues.rows.append(made[0])
                tx.queues.history.append(made[1])

        await self._engine.do(work)

    async def refresh_nodes(self, *, is_graceful: bool, timeout_s: int | None) -> None:
        """Raises InvalidValue, Refused: a list is malformed or not there; the old ones count."""
        settings = await self.settings()
        lists = await _blocking(lambda: self._lists(settings))
        await self._decommission.refresh(lists, is_graceful=is_graceful, timeout_s=timeout_s)

    async def refresh_nodes_forcefully(self) -> None:
        await self._decommission.refresh_forcefully()

    def decommissioning_nodes(self) -> Sequence[NodeId]:
        return self._decommission.decommissioning()

    async def refresh_proxy_users(self) -> None:
        """Raises InvalidValue."""
        await _blocking(self._reloads.proxy_users)

    async def refresh_admin_acls(self) -> None:
        """Raises InvalidValue."""
        self._rights.use_admin_acl(Acl.parse((await self.settings()).admin_acl))

    async def refresh_max_priority(self) -> None:
        """Raises InvalidValue."""
        self._reloads.max_priority((await self.settings()).max_priority)

    async def refresh_node_resources(self) -> None:
        """Reload the dynamic-resources.xml of the settings; without one nothing changes.

        Raises:
            InvalidValue, Refused: it is malformed or not there.
        """
        path = (await self.settings()).dynamic_resources_path
        resources = await _blocking(lambda: self._node_resources(path))
        known = {NodeId.parse(name): amount for name, amount in resources.items()}
        await self._order({node_id: r for node_id, r in known.items() if node_id in self._engine.state.nodes})
        self._nodes.ordered_capabilities = resources

    async def update_node_resource(self, wanted: Mapping[NodeId, Resource]) -> None:
        """Raises Refused: a node is not known, or an amount is negative; nothing was changed."""
        for node_id, resource in wanted.items():
            if node_id not in self._engine.state.nodes:
                raise Refused(
                    f"Resource update get failed on all nodes due to change resource on an unrecognized node: {node_id}"
                )
            if resource.memory_mib < 0 or resource.vcores < 0:
                raise Refused(f"Resource update of {node_id} with a negative amount: {resource}")
        await self._order(wanted)

    def refuse_service_acls(self) -> NoReturn:
        raise Refused(AUTHORIZATION_DISABLED)

    def refuse_labels(self, nodes: Sequence[tuple[str, int]] = ()) -> NoReturn:
        """``nodes`` are hosts and ports that have to be known first; port 0 means every node of a host."""
        known = {(node_id.host, node_id.port) for node_id in self._engine.state.nodes}
        known |= {(host, 0) for host, _ in known}
        strangers = [node for node in nodes if node not in known]
        if strangers:
            names = ", ".join(f"{host}:{port}" for host, port in strangers)
            raise Refused(f"java.io.IOException: Failed to replace labels as there are unknown nodes:[{names}]")
        raise Refused(LABELS_DISABLED)

    async def _order(self, wanted: Mapping[NodeId, Resource]) -> None:
        def work(tx: Transaction) -> None:
            for node_id, resource in wanted.items():
                tx.tell(node_id, NodeCapabilityOrdered(resource))

        await self._engine.do(work)

    async def settings(self) -> AdminSettings:
        return await _blocking(self._reloads.read)

    def _lists(self, settings: AdminSettings) -> HostLists:
        racks = settings.node_racks_path
        return HostLists(
            included=frozenset(self._hosts(settings.nodes_include_path)),
            excluded=self._hosts(settings.nodes_exclude_path),
            racks=host_lists.parse_racks(self._reloads.text(racks)) if racks is not None else {},
        )

    def _hosts(self, path: Path | None) -> dict[str, int | None]:
        return host_lists.parse(self._reloads.text(path), is_xml=path.suffix == ".xml") if path is not None else {}

    def _node_resources(self, path: Path | None) -> dict[str, Resource]:
        return hadoop_xml.node_resources(hadoop_xml.properties(self._reloads.text(path))) if path is not None else {}


async def _blocking(work: Callable[[], ResultT]) -> ResultT:
    async with asyncio.timeout(READ_TIMEOUT_S):
        return await asyncio.to_thread(work)
