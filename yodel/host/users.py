"""Users of the machine: groups for access control, uid and gid for pods."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from yodel.errors import NoAccount
from yodel.host.accounts import Accounts
from yodel.ports.identity import PosixUser


class OsUsers:
    """The operating system's own databases, as ShellBasedUnixGroupsMapping and the LinuxContainerExecutor use them.

    ``mapped`` says who users are on the nodes, and is asked first: the machine of the RM need not know its users.
    """

    def __init__(
        self,
        accounts: Accounts,
        *,
        min_user_id: int = 1000,
        allowed_system_users: Collection[str] = (),
        mapped: Mapping[str, PosixUser] | None = None,
    ) -> None:
        self._accounts = accounts
        self._min_user_id, self._allowed = min_user_id, frozenset(allowed_system_users)
        self._mapped = mapped or {}

    def is_mapped(self, user: str) -> bool:
        return user in self._mapped

    def is_known(self, user: str) -> bool:
        return self._accounts.is_known(user)

    async def look_up(self, user: str) -> None:
        """Raises Unavailable."""
        await self._accounts.look_up(user)

    def groups_of(self, user: str) -> Sequence[str]:
        """Raises Unavailable."""
        return self._accounts.of(user).groups

    def forget(self) -> None:
        self._accounts.forget()

    def posix_user(self, user: str) -> PosixUser:
        """Return the POSIX user of this user's containers.

        Raises:
            NoAccount: unknown, or a system user that is not allowed (container-executor's texts).
            Unavailable: the operating system did not answer.
        """
        found = self._mapped.get(user) or self._accounts.of(user).user
        if found is None:
            raise NoAccount(
                f"User {user} not found on the ResourceManager's machine, and containers run as the submitting user: "
                "create the account there and on every node, with the same uid, or set its uid in the settings "
                f"([user_ids.{user}]; with the chart: users.accounts), submit as a user who exists (HADOOP_USER_NAME; "
                "with Kerberos, another principal, or a rule in security.auth_to_local that maps this one elsewhere), "
                'or let all containers run as one user (user_mode = "single")'
            )
        if found.uid < self._min_user_id and user not in self._allowed:
            raise NoAccount(
                f"Requested user {user} is not whitelisted and has id {found.uid}, which is below the minimum "
                f"allowed {self._min_user_id}"
            )
        return found
