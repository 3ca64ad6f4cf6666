"""Configures colocation: on or off, the policy, and the resource names to publish.

Refuses nothing: values are checked where they are set (``yodel.domain.colocation.properties``).
"""

from __future__ import annotations

from dataclasses import dataclass

from yodel.domain.colocation.policy import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class ColocationSwitch:
    """``dialect`` empty: the only one besides ``native`` that queues draw on.  ``policy`` None: it is off.
    ``is_bounding``: batch pods are bounded while it is on; said while it is off, they were.
    ``notice_s``: for how long containers are on notice where a node lends less than is held there."""

    dialect: str = ""
    policy: Policy | None = None
    is_bounding: bool = False
    notice_s: int = 30

    @property
    def is_on(self) -> bool:
        return self.policy is not None


OFF = ColocationSwitch()
