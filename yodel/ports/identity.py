"""Looks up users in the operating system: groups for access control, uid and gid for pods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class PosixUser:
    uid: int
    gid: int
    groups: Sequence[int] = ()


class GroupMapping(Protocol):
    """Maps users to groups, as Hadoop's Groups: what is known of users, kept for a while."""

    def is_known(self, user: str) -> bool:
        """Return whether it is in memory who a user is, possibly that there is no such user."""

    async def look_up(self, user: str) -> None:
        """Get that into memory without blocking the event loop.  Raises yodel.errors.Unavailable: who is asked did not
        answer."""

    def groups_of(self, user: str) -> Sequence[str]:
        """Return the groups; empty for a user that does not exist.  Blocks unless the user is known."""

    def forget(self) -> None:
        """Look everybody up again from now on (refreshUserToGroupsMappings)."""


class Users(GroupMapping, Protocol):
    """Also who containers of a user run as."""

    def is_mapped(self, user: str) -> bool:
        """Return True if the settings map this user to ids on the nodes."""

    def posix_user(self, user: str) -> PosixUser:
        """Blocks unless the user is known.  Raises yodel.errors.Refused: there is no such user, or one whose containers
        may not run; Unavailable: who is asked did not answer."""
