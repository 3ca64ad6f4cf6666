"""Finds the container of a web request, and checks whether the caller may see its logs.

Follows ``ContainerLogsUtils``: what counts is whether the node still knows the application.  A container that the RM
has acknowledged is forgotten by the container manager, but its logs are here until its application is over.

Who calls was settled before (``rim``); who gives no name, where that is allowed, is the static web user.
"""

from __future__ import annotations

import contextlib
import grp
import os
import pwd
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request

from nm_plugin.container.life import Container
from nm_plugin.container.manager import ContainerManager
from nm_plugin.host.directories import Directories
from nm_plugin.host.users import FileThreads, OsUser, UserDatabase
from nm_plugin.logs.uploading.aggregation import LogAggregator
from nm_plugin.logs.viewers import Viewer
from nm_plugin.settings import Settings
from nm_plugin.web.rim import caller_of
from yodel.domain.ids import ContainerId
from yodel.errors import InvalidValue, YodelError
from yodel.hadoop_http.errors import bad_request, forbidden, not_found

UNKNOWN = (
    "Unknown container. Container either has not started or has already completed "
    "or doesn't belong to this node at all."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPlace:
    """Locates the logs of one container on this node."""

    container_id: ContainerId
    user: OsUser
    directories: tuple[Path, ...]
    is_running: bool


class Access:
    """Finds and checks."""

    def __init__(
        self,
        settings: Settings,
        manager: ContainerManager,
        directories: Directories,
        users: UserDatabase,
        threads: FileThreads,
        logs: LogAggregator,
    ) -> None:
        self._settings, self._manager, self._directories = settings, manager, directories
        self._users, self._threads, self._logs = users, threads, logs

    def container(self, request: Request) -> Container:
        """A container that the manager knows.  Raises RestError."""
        container_id = container_id_of(request)
        container = self._manager.get(container_id)
        if container is None:
            raise not_found(f"container with id, {container_id}, not found")
        return container

    async def place(self, request: Request) -> LogPlace:
        """Raises RestError: unknown, not to be seen by the caller, or of a user whom the node does not know."""
        container_id = container_id_of(request)
        origin = self._origin(container_id)
        if origin is None:
            raise not_found(UNKNOWN)
        owner, acls = origin
        viewer = await self.viewer(request)
        if not viewer.may_see(owner, acls):
            text = f"User [{viewer.name}] is not authorized to view the logs for application "
            raise forbidden(text + str(container_id.application_id))
        try:
            user = await self._threads.run(self._users.lookup, owner)
        except YodelError as error:
            raise not_found(str(error)) from error
        container = self._manager.get(container_id)
        return LogPlace(
            container_id=container_id,
            user=user,
            directories=self.log_directories(container_id),
            is_running=container is not None and not container.state.is_complete,
        )

    async def viewer(self, request: Request) -> Viewer:
        """Return the caller, with groups if ACLs are on."""
        name = caller_of(request) or self._settings.http_static_user
        if not self._settings.acl_enabled:
            return Viewer(name=name)
        groups = await self._threads.run(groups_of, name)
        return Viewer(name=name, groups=groups, admin_acl=self._settings.admin_acl)

    def log_directories(self, container_id: ContainerId) -> tuple[Path, ...]:
        paths = self._directories
        return tuple(paths.container_log_dir(log_dir, container_id) for log_dir in paths.log_dirs)

    def _origin(self, container_id: ContainerId) -> tuple[str, Mapping[str, str]] | None:
        """Owner and ACLs of the container's application."""
        for application in self._manager.applications():
            if application.application_id == container_id.application_id:
                return application.user, application.acls
        origin = self._logs.origin_of(container_id.application_id)
        if origin is not None:
            return origin.user, origin.acls
        container = self._manager.get(container_id)
        return (container.user, {}) if container is not None else None


def container_id_of(request: Request) -> ContainerId:
    """Raises RestError."""
    text = request.path_params["container"]
    try:
        return ContainerId.parse(text)
    except InvalidValue as error:
        raise bad_request(f"invalid container id, {text}") from error


def groups_of(user: str) -> tuple[str, ...]:
    """Return the names of the user's groups on the node.  Blocks."""
    try:
        entry = pwd.getpwnam(user)
    except (KeyError, ValueError):
        return ()
    names = []
    for gid in os.getgrouplist(user, entry.pw_gid):
        with contextlib.suppress(KeyError):
            names.append(grp.getgrgid(gid).gr_name)
    return tuple(names)
