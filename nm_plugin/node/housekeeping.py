"""Removes what is no longer needed: records of ended containers, cached files, empty pods, old logs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import structlog

from nm_plugin.container.book import ContainerBook
from nm_plugin.host.directories import remove_tree
from nm_plugin.host.users import Accounts
from nm_plugin.launch.parked import ParkedPods
from nm_plugin.localization.cache import ResourceCache
from yodel.domain.ids import ApplicationId


@dataclass(frozen=True, slots=True, kw_only=True)
class HousekeepingSettings:
    """Times in seconds."""

    interval_s: float
    log_retain_s: float
    log_dirs: tuple[Path, ...]


class Housekeeping:
    """Run ``keep`` in a task; ``needed``: applications whose logs are not to go."""

    def __init__(
        self,
        settings: HousekeepingSettings,
        *,
        book: ContainerBook,
        cache: ResourceCache,
        pods: ParkedPods,
        accounts: Accounts,
        needed: Callable[[], set[ApplicationId]],
    ) -> None:
        self._settings, self._book, self._cache, self._pods = settings, book, cache, pods
        self._accounts, self._needed = accounts, needed
        self._log = structlog.get_logger(__name__)

    async def keep(self) -> None:
        """Forget what is long over, make room in the cache, drop old logs; until cancelled."""
        while True:
            await asyncio.sleep(self._settings.interval_s)
            self._book.forget_stopped()
            await self._cache.evict(self._accounts.users)
            await self._pods.sweep_empty()
            needed = {str(application_id) for application_id in self._needed()}
            try:
                await self._accounts.threads.run(_drop_old_logs, self._settings, needed)
            except OSError as error:
                self._log.warning("logs_not_removed", reason=str(error))


def _drop_old_logs(settings: HousekeepingSettings, known: set[str]) -> None:
    """Log directories of applications that ended more than ``log_retain_s`` ago."""
    limit = time.time() - settings.log_retain_s
    for log_dir in settings.log_dirs:
        for path in log_dir.glob("application_*"):
            if path.name not in known and _newest(path) < limit:
                remove_tree(path)


def _newest(path: Path) -> float:
    times = [path.lstat().st_mtime]
    times += [child.lstat().st_mtime for child in path.iterdir()]
    return max(times)
