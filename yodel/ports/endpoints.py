"""Probes endpoints of services that are not Yodel's."""

from __future__ import annotations

from typing import Protocol


class Endpoints(Protocol):
    """Tries endpoints by a connection that is closed at once."""

    async def answers(self, host: str, port: int) -> bool:
        """Return True if a connection is accepted, within a second or two.  Never raises."""
