"""Decides whether somebody may see logs.  Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from yodel.domain.acl import Acl

VIEW_APP = "VIEW_APP"


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer:
    """A caller of the web port.  ``admin_acl`` is None where access is not controlled (``acl_enabled``)."""

    name: str
    groups: tuple[str, ...] = ()
    admin_acl: str | None = None

    def may_see(self, owner: str, acls: Mapping[str, str]) -> bool:
        """ApplicationACLsManager.checkAccess: the owner, an administrator, or whom the application names."""
        if self.admin_acl is None or self.name == owner:
            return True
        allowed = (Acl.parse(self.admin_acl), Acl.parse(acls.get(VIEW_APP, " ")))
        return any(acl.allows(self.name, self.groups) for acl in allowed)
