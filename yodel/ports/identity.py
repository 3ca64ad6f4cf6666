"""Who a user is to the operating system: groups for access control, uid and gid for pods."""

from __future__ import annotations

import grp
import os
import pwd
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from yodel.errors import Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class PosixUser:
    uid: int
    gid: int
    groups: Sequence[int] = ()


class Groups(Protocol):
    """Hadoop's GroupMappingServiceProvider."""

    def groups_of(self, user: str) -> Sequence[str]:
        """Empty for an unknown user.  Answers from memory or the operating system's databases."""


class OsUsers:
    """The operating system's own databases, as ShellBasedUnixGroupsMapping and the LinuxContainerExecutor use them."""

    def __init__(self, *, min_user_id: int = 1000, allowed_system_users: Collection[str] = ()) -> None:
        self._min_user_id, self._allowed = min_user_id, frozenset(allowed_system_users)

    def groups_of(self, user: str) -> Sequence[str]:
        try:
            entry = pwd.getpwnam(user)
        except KeyError:
            return ()
        names = []
        for gid in os.getgrouplist(user, entry.pw_gid):
            try:
                names.append(grp.getgrgid(gid).gr_name)
            except KeyError:
                continue
        return names

    def posix_user(self, user: str) -> PosixUser:
        """Who containers of this user run as.

        Raises:
            Refused: unknown, or a system user that is not allowed (container-executor's texts).
        """
        try:
            entry = pwd.getpwnam(user)
        except KeyError as error:
            raise Refused(f"User {user} not found") from error
        if entry.pw_uid < self._min_user_id and user not in self._allowed:
            raise Refused(
                f"Requested user {user} is not whitelisted and has id {entry.pw_uid}, which is below the minimum "
                f"allowed {self._min_user_id}"
            )
        groups = [gid for gid in os.getgrouplist(user, entry.pw_gid) if gid != entry.pw_gid]
        return PosixUser(uid=entry.pw_uid, gid=entry.pw_gid, groups=groups)
