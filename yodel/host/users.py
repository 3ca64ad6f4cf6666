"""Users of the machine: groups for access control, uid and gid for pods."""

from __future__ import annotations

import grp
import os
import pwd
import time
from collections.abc import Collection, Mapping, Sequence

from yodel.errors import Refused, Unavailable
from yodel.ports.identity import PosixUser
from yodel.telemetry.rates import Rate


class OsUsers:
    """The operating system's own databases, as ShellBasedUnixGroupsMapping and the LinuxContainerExecutor use them.

    ``mapped`` says who users are on the nodes, and is asked first: the machine of the RM need not know its users.
    """

    def __init__(
        self,
        *,
        min_user_id: int = 1000,
        allowed_system_users: Collection[str] = (),
        mapped: Mapping[str, PosixUser] | None = None,
    ) -> None:
        self._min_user_id, self._allowed = min_user_id, frozenset(allowed_system_users)
        self._mapped = mapped or {}
        self.group_lookups = Rate()

    def is_mapped(self, user: str) -> bool:
        return user in self._mapped

    def groups_of(self, user: str) -> Sequence[str]:
        started_s = time.monotonic()
        names = self._groups_of(user)
        now_s = time.monotonic()
        self.group_lookups.add(now_s - started_s, now_s)
        return names

    def _groups_of(self, user: str) -> Sequence[str]:
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
        """Return the POSIX user of this user's containers.

        Raises:
            Refused: unknown, or a system user that is not allowed (container-executor's texts).
        """
        found = self._mapped.get(user) or _of_this_machine(user)
        if found.uid < self._min_user_id and user not in self._allowed:
            raise Refused(
                f"Requested user {user} is not whitelisted and has id {found.uid}, which is below the minimum "
                f"allowed {self._min_user_id}"
            )
        return found


def _of_this_machine(user: str) -> PosixUser:
    try:
        entry = pwd.getpwnam(user)
    except KeyError as error:
        raise Refused(
            f"User {user} not found on the ResourceManager's machine, and containers run as the submitting user: "
            "create the account there and on every node, with the same uid, or set its uid in the settings "
            f"([user_ids.{user}]; with the chart: users.accounts), submit as a user who exists (HADOOP_USER_NAME), "
            'or let all containers run as one user (user_mode = "single")'
        ) from error
    except OSError as error:
        raise Unavailable(f"user {user} could not be looked up: {error}") from error
    groups = [gid for gid in os.getgrouplist(user, entry.pw_gid) if gid != entry.pw_gid]
    return PosixUser(uid=entry.pw_uid, gid=entry.pw_gid, groups=groups)
