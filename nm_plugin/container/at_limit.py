"""Says in a container's diagnostics what the kernel has done to it at its memory limit."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class AtLimit:
    """Explains that the kernel ended processes of a container at its memory limit.

    ``ended``: one was ended just now, so a container that ended by SIGKILL ended because of it.  ``told``: some were
    ended, just now or before, and the container went on.  Empty: there were none, as far as is known.
    """

    ended: str = ""
    told: str = ""


NOTHING = AtLimit()
