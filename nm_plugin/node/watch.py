"""What an agent looks after all the time: containers' memory, disks, the machine's load and health, the cache's size.

Each is a loop that the agent runs as a task; together they are what heartbeats say about the node (``state``).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import structlog

from nm_plugin.container.book import ContainerManager
from nm_plugin.container.life import Container, State
from nm_plugin.container.work import ManagerParts
from nm_plugin.host.directories import make_roots, remove_tree
from nm_plugin.host.health_script import HealthScript, ScriptSettings
from nm_plugin.host.usage import NodeUsage, Usage
from nm_plugin.node.memory import MemoryMonitor
from nm_plugin.node.state import Health, NodeState
from yodel.errors import YodelError

INT_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchSettings:
    """Intervals in seconds; ``own_uid`` None means that users share the agent's uid."""

    monitor_interval_s: float
    disk_interval_s: float
    cache_interval_s: float
    log_retain_s: float
    log_dirs: tuple[Path, ...]
    own_uid: int | None
    health_script: ScriptSettings | None = None


class NodeWatch:
    """Run the loops in tasks; ``report`` is called when the RM should hear soon."""

    def __init__(
        self,
        settings: WatchSettings,
        parts: ManagerParts,
        monitor: MemoryMonitor,
        report: Callable[[], None],
        now_ms: Callable[[], int],
    ) -> None:
        self._settings, self._parts, self._monitor = settings, parts, monitor
        self._report, self._now_ms = report, now_ms
        self._machine = NodeUsage()
        self._used = Usage()
        self._checked_ms = now_ms()
        self._script = HealthScript(settings.health_script) if settings.health_script is not None else None
        self._log = structlog.get_logger(__name__)

    def state(self) -> NodeState:
        """Of the last looks."""
        pmem_bytes, vmem_bytes = self._monitor.totals_bytes()
        containers = Usage(
            pmem_mib=pmem_bytes >> 20, vmem_mib=min(vmem_bytes >> 20, INT_MAX), cpu_vcores=self._monitor.cores
        )
        disks = self._parts.disks
        found = self._script.report if self._script is not None else ""
        health = Health(
            is_healthy=disks.is_healthy and not found,
            report=";".join(text for text in (disks.report, found) if text),
            checked_ms=self._checked_ms,
        )
        return NodeState(containers=containers, node=self._used, health=health)

    async def watch_memory(self, manager: ContainerManager) -> None:
        """Sample, and kill what is over its limit."""
        while True:
            await asyncio.sleep(self._settings.monitor_interval_s)
            running = [(c, await self._uid(c)) for c in manager.all() if c.state is State.RUNNING]
            known = [(container, uid) for container, uid in running if uid is not None]
            listed = [(container, None if uid == self._settings.own_uid else uid) for container, uid in known]
            try:
                now_ms = int(time.monotonic() * 1000)
                excesses = await self._parts.threads.run(self._monitor.sample, listed, now_ms)
                self._used = await self._parts.threads.run(self._machine.look)
            except (OSError, ValueError, KeyError) as error:
                self._log.warning("memory_not_sampled", reason=str(error))
                continue
            for excess in excesses:
                await manager.kill(excess.container_id, excess.exit_status, excess.text)

    async def watch_disks(self) -> None:
        """Leave bad disks out and take recovered ones in again."""
        while True:
            await asyncio.sleep(self._settings.disk_interval_s)
            await self.check_disks()

    async def check_disks(self) -> None:
        """One look; a change is reported at once."""
        disks = self._parts.disks
        changed = await self._parts.threads.run(disks.check)
        self._checked_ms = self._now_ms()
        if not changed:
            return
        self._log.warning("disks_changed", healthy=disks.is_healthy, report=disks.report)
        try:
            await self._parts.threads.run(make_roots, disks.good)
        except OSError as error:
            self._log.warning("disk_not_prepared", reason=str(error))
        self._parts.cache.use_dirs(disks.good.local_dirs, disks.errored)
        self._report()

    async def watch_health(self) -> None:
        """Ask the administrator's script; ends at once when there is none."""
        settings = self._settings.health_script
        if settings is None or self._script is None:
            return
        while True:
            changed = await self._script.check()
            self._checked_ms = self._now_ms()
            if changed:
                self._log.warning("health_changed", healthy=not self._script.report, report=self._script.report[:500])
                self._report()
            await asyncio.sleep(settings.interval_s)

    async def keep_house(self, manager: ContainerManager) -> None:
        """Forget what is long over, make room in the cache, drop old logs."""
        while True:
            await asyncio.sleep(self._settings.cache_interval_s)
            await manager.housekeeping()
            known = {str(application.application_id) for application in manager.applications()}
            known |= {str(application_id) for application_id in self._parts.logs.applications()}
            try:
                await self._parts.threads.run(_drop_old_logs, self._settings, known)
            except OSError as error:
                self._log.warning("logs_not_removed", reason=str(error))

    async def _uid(self, container: Container) -> int | None:
        try:
            return (await self._parts.threads.run(self._parts.users.lookup, container.user)).uid
        except YodelError:
            return None


def _drop_old_logs(settings: WatchSettings, known: set[str]) -> None:
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
