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
    """Hadoop's GroupMappingServiceProvider."""

    def groups_of(self, user: str) -> Sequence[str]:
        """Empty for an unknown user.  Answers from memory or the operating system's databases."""


class Users(GroupMapping, Protocol):
    """Also who containers of a user run as."""

    def is_mapped(self, user: str) -> bool:
        """Return True if the settings map this user to ids on the nodes."""

    def posix_user(self, user: str) -> PosixUser:
        """May block.  Raises yodel.errors.Refused: unknown, or a user whose containers may not run; Unavailable: who
        is asked did not answer."""
