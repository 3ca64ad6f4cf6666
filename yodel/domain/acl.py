"""Checks access lists.  ACL text follows AccessControlList: ``users groups`` (a space between), ``*`` all, blank
nobody."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from yodel.domain.application import Application


@dataclass(frozen=True, slots=True, kw_only=True)
class Acl:
    """A parsed access control list."""

    users: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    is_everybody: bool = False

    @classmethod
    def parse(cls, text: str) -> Acl:
        if text.strip() == "*":
            return cls(is_everybody=True)
        users, _, groups = text.partition(" ")
        return cls(users=_names(users), groups=_names(groups))

    def allows(self, user: str, groups: Sequence[str] = ()) -> bool:
        return self.is_everybody or user in self.users or any(group in self.groups for group in groups)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRules:
    """``yarn.acl.enable`` and ``yarn.admin.acl``.  Modifying is always checked; viewing only with ACLs enabled."""

    admin_acl: Acl
    is_view_checked: bool = False

    def may_modify(self, user: str, groups: Sequence[str], application: Application) -> bool:
        owner = application.submission.user
        modify = Acl.parse(application.submission.modify_acl)
        return user == owner or self.admin_acl.allows(user, groups) or modify.allows(user, groups)

    def may_view(self, user: str, groups: Sequence[str], application: Application) -> bool:
        if not self.is_view_checked or user == application.submission.user or self.admin_acl.allows(user, groups):
            return True
        return Acl.parse(application.submission.view_acl).allows(user, groups)


def _names(text: str) -> frozenset[str]:
    return frozenset(name.strip() for name in text.split(",") if name.strip())
