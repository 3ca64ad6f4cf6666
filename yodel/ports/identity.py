"""Which groups a user belongs to (Hadoop's GroupMappingServiceProvider)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Groups(Protocol):
    def groups_of(self, user: str) -> Sequence[str]:
        """Empty for an unknown user.  Answers from memory or the operating system's databases."""
