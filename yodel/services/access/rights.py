"""Decides who may view, change, submit and administer, by the rules in force, the queues and users' groups.

Whoever lets somebody do something asks here: both faces of the RM, and the services that change what is somebody's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from yodel.domain.acl import AccessRules, Acl
from yodel.domain.application import Application
from yodel.domain.queues import access as queue_access
from yodel.domain.queues.queue import Queue
from yodel.errors import AccessDenied
from yodel.ports.identity import GroupMapping
from yodel.services.writer.state import ClusterState


class Rights:
    """One instance for the process.  ``login_user`` is whom the RM runs as: always an administrator."""

    def __init__(self, state: ClusterState, groups: GroupMapping, rules: AccessRules, login_user: str) -> None:
        self._state, self._groups, self._rules, self._login_user = state, groups, rules, login_user

    def use_admin_acl(self, acl: Acl) -> None:
        """Replace the administrators' ACL (refreshAdminAcls)."""
        self._rules = replace(self._rules, admin_acl=acl)

    @property
    def are_acls_enabled(self) -> bool:
        """yarn.acl.enable."""
        return self._rules.is_view_checked

    def is_known(self, user: str) -> bool:
        """Return whether the user's groups are in memory."""
        return self._groups.is_known(user)

    async def look_up(self, user: str) -> None:
        """Look a user's groups up before they are asked for.  Raises Unavailable."""
        await self._groups.look_up(user)

    def groups_of(self, user: str) -> Sequence[str]:
        """The primary one first; none of who is not known."""
        return self._groups.groups_of(user)

    def is_admin(self, user: str) -> bool:
        """Return True for an administrator of the cluster."""
        return user == self._login_user or self._rules.admin_acl.allows(user, self._groups.groups_of(user))

    # --- applications ----------------------------------------------------------------------------------------------

    def may_modify(self, application: Application, user: str) -> bool:
        groups = self._groups.groups_of(user)
        if self._rules.may_modify(user, groups, application):
            return True
        by_path = self._state.queues
        return self.are_acls_enabled and queue_access.is_named_administrator(
            by_path, application.submission.queue, user, groups
        )

    def require_modify(self, application: Application, user: str) -> None:
        """Raises AccessDenied."""
        if not self.may_modify(application, user):
            raise AccessDenied(f"User {user} cannot perform operation MODIFY_APP on {application.id}")

    def may_view(self, application: Application, user: str) -> bool:
        return self.viewer(user)(application)

    def viewer(self, user: str) -> Callable[[Application], bool]:
        """``may_view`` for many applications at a time: the user's groups are asked for once."""
        rules, groups = self._rules, self._groups.groups_of(user)
        return lambda application: rules.may_view(user, groups, application)

    def views_all(self, user: str) -> bool:
        """Return True if ``may_view`` is true of every application."""
        return not self.are_acls_enabled or self._rules.admin_acl.allows(user, self._groups.groups_of(user))

    # --- queues ----------------------------------------------------------------------------------------------------

    def may_submit(self, path: str, user: str) -> bool:
        """Return True if the user may submit to the queue; everybody may if ``yarn.acl.enable`` is off."""
        return self.submitter(user)(path)

    def may_administer(self, path: str, user: str) -> bool:
        """Return True if the user administers the queue; everybody does if ``yarn.acl.enable`` is off."""
        return self.administrator(user)(path)

    def submitter(self, user: str) -> Callable[[str], bool]:
        """Return ``may_submit`` of this user, for many queues: the user's groups are looked up once."""
        return self._of_queues(user, queue_access.may_submit)

    def administrator(self, user: str) -> Callable[[str], bool]:
        """Return ``may_administer`` of this user, for many queues."""
        return self._of_queues(user, queue_access.may_administer)

    def _of_queues(
        self, user: str, may: Callable[[Mapping[str, Queue], str, str, Sequence[str]], bool]
    ) -> Callable[[str], bool]:
        groups, queues = self._groups.groups_of(user), self._state.queues
        if not self.are_acls_enabled or self._rules.admin_acl.allows(user, groups):
            return lambda _: True
        return lambda path: may(queues, path, user, groups)

    def administers_any_queue(self, user: str) -> bool:
        """Return True if an ACL names the user as an administrator of any queue."""
        if not self.are_acls_enabled:
            return False
        groups, said = self._groups.groups_of(user), {queue.administer_acl for queue in self._state.queues.values()}
        return any(text is not None and Acl.parse(text).allows(user, groups) for text in said)

    def queue_administrator(self, user: str) -> Callable[[str], bool]:
        """Return a function that is True for the paths of queues whose ACLs name the user as an administrator.

        It is always False if ``yarn.acl.enable`` is off.  The user's groups are looked up once.
        """
        if not self.are_acls_enabled:
            return lambda _: False
        groups, queues = self._groups.groups_of(user), self._state.queues
        return lambda path: queue_access.is_named_administrator(queues, path, user, groups)
