"""An AdminService over a world, with settings that a test changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tests.support.playbook import World
from tests.support.rm_options import POD_SETTINGS
from yodel.domain.acl import AccessRules, Acl
from yodel.domain.queues.queue import default_queues
from yodel.errors import InvalidValue
from yodel.host.files import text_of
from yodel.services.access.rights import Rights
from yodel.services.nodes.administration import AdminService, AdminSettings, Reloads
from yodel.translator.profiles import PodProfiles

GROUPS = {"bob": ("staff", "users"), "alice": ("users",)}


@dataclass(slots=True)
class Administration:
    """``settings`` is what a reload finds; the lists hold what was taken over."""

    world: World
    settings: AdminSettings = field(
        default_factory=lambda: AdminSettings(
            admin_acl="admin staff",
            max_priority=0,
            queues=default_queues(),
            pod_profiles=PodProfiles(default=POD_SETTINGS, by_queue={}),
        )
    )
    rights: Rights = field(init=False)
    """Those of the service that was made last."""
    priorities: list[int] = field(default_factory=list)
    profiles: list[PodProfiles] = field(default_factory=list)
    lacks: InvalidValue | None = None
    """The right or part that the cluster does not have."""
    proxy_reloads: int = 0
    forgotten: int = 0

    def change(self, **changes: Any) -> None:
        self.settings = replace(self.settings, **changes)

    def is_known(self, user: str) -> bool:
        return True

    async def look_up(self, user: str) -> None: ...

    def forget(self) -> None:
        self.forgotten += 1

    def groups_of(self, user: str) -> Sequence[str]:
        return GROUPS.get(user, ())

    async def service(self) -> AdminService:
        rm = self.world.rm
        reloads = Reloads(
            read=lambda: self.settings,
            text=text_of,
            proxy_users=self._reload_proxies,
            max_priority=self.priorities.append,
            pod_profiles=self._use_profiles,
        )
        self.rights = Rights(rm.state, self, AccessRules(admin_acl=Acl()), "yarn")
        service = AdminService(rm.engine, rm.nodes, rm.decommission, self.rights, self, reloads)
        await service.start()
        return service

    async def _use_profiles(self, profiles: PodProfiles) -> None:
        if self.lacks is not None:
            raise self.lacks
        self.profiles.append(profiles)

    def _reload_proxies(self) -> None:
        self.proxy_reloads += 1
