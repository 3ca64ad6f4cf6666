"""Reloads what ``yarn rmadmin -refresh…`` refreshes, as services and ports take it.  All of it blocks."""

from __future__ import annotations

from collections.abc import Callable

from yodel.host.users import OsUsers
from yodel.services.nodes.administration import AdminSettings
from yodel.serving.proxy_users import ProxyUserRules
from yodel.settings.rm import Settings
from yodel.wiring import from_settings


class Reloading:
    """``reload`` reads the settings; it raises InvalidValue.  ``proxy_users`` are the rules in force."""

    def __init__(self, settings: Settings, reload: Callable[[], Settings], users: OsUsers) -> None:
        self._reload, self._users = reload, users
        self.proxy_users: ProxyUserRules = from_settings.proxy_users(settings, users)

    def read(self) -> AdminSettings:
        """Raises InvalidValue naming the setting."""
        settings = self._reload()
        return AdminSettings(
            admin_acl=settings.admin_acl,
            max_priority=settings.max_priority,
            queues=from_settings.queues(settings),
            pod_profiles=from_settings.pod_profiles(settings),
            nodes_include_path=settings.nodes_include_path,
            nodes_exclude_path=settings.nodes_exclude_path,
            node_racks_path=settings.node_racks_path,
            dynamic_resources_path=settings.dynamic_resources_path,
        )

    def reload_proxy_users(self) -> None:
        """Host names in the rules are resolved.  Raises InvalidValue: the old rules count."""
        self.proxy_users.become(from_settings.proxy_users(self._reload(), self._users))
