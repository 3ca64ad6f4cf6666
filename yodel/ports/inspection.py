"""Shows YARN's side in ``kubectl``: events on pods and a list of applications.

All of it is for people.  Nothing is ever read back to decide anything, and its writer may be late or silent.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from yodel.domain.ids import ApplicationId


@dataclass(frozen=True, slots=True, kw_only=True)
class PodEvent:
    """One line of ``kubectl describe pod``.  ``reason`` is a word in camel case; times are epoch milliseconds."""

    pod_name: str
    pod_uid: str
    reason: str
    message: str
    at_ms: int
    is_warning: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedApplication:
    """One line of the list of applications, in the words of ``yarn application -list``."""

    id: ApplicationId
    name: str
    type: str
    user: str
    queue: str
    state: str
    final_status: str
    containers: int
    memory_mib: int
    vcores: int
    submitted_ms: int
    finished_ms: int
    waits_for: str = ""
    """Why its ApplicationMaster, or else one of its containers, does not run yet."""
    diagnostics: str = ""
    without_pods: tuple[tuple[str, str], ...] = ()
    """Live containers that NodeManagers run, each with its node; a few of them."""


class PodEvents(Protocol):
    """Raises: yodel.errors.Unavailable, yodel.errors.Refused (events are not ours to write)."""

    async def tell(self, event: PodEvent) -> None:
        """Write it; the same event twice is one."""


class ApplicationBoard(Protocol):
    """The list.  Raises (all): yodel.errors.Unavailable, yodel.errors.Refused (there is no place for it)."""

    async def show(self, summary: ListedApplication) -> None:
        """Put or renew its line."""

    async def hide(self, application_id: ApplicationId) -> None:
        """Take its line away; "not found" is success."""

    async def shown(self) -> Collection[ApplicationId]:
        """Return the applications that are listed."""
