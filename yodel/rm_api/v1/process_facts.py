"""Holds facts of the process that no service has: the lead, the database, its settings, its rights."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from yodel.settings.differing import Differing


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """Describes the leader's lease.  ``is_standby_expected``: a standby should take over at an orderly end."""

    holder: str
    remaining_s: float
    lease_s: float
    has_standby: bool
    is_standby_expected: bool


async def _no_rights() -> Sequence[str]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessFacts:
    """Describes the process: ``started_ms`` is when it began to serve; ``lead`` is None if nobody else could lead."""

    started_ms: int = 0
    database: str = ""
    lead: Callable[[], Lead | None] = lambda: None
    is_database_silent: Callable[[], bool] = lambda: False
    settings: Sequence[Differing] = ()
    missing_rights: Callable[[], Awaitable[Sequence[str]]] = _no_rights
    """Raises YodelError: not known at the moment."""
