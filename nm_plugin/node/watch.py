"""Watches containers' memory, disks, and the machine's load and health.

Each is a loop that the agent runs as a task; together they are what heartbeats say about the node (``state``).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import structlog

from nm_plugin.container.life import LifeState
from nm_plugin.container.manager import ContainerManager
from nm_plugin.host.directories import make_roots
from nm_plugin.host.disks import Disks
from nm_plugin.host.health_script import HealthScript, ScriptSettings
from nm_plugin.host.usage import MeasuredUse, NodeUsage
from nm_plugin.host.users import FileThreads
from nm_plugin.node.memory import MemoryMonitor
from nm_plugin.node.state import Health, NodeReport

INT_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchSettings:
    """Intervals in seconds."""

    monitor_interval_s: float
    disk_interval_s: float
    health_script: ScriptSettings | None = None


class NodeWatch:
    """Run the loops in tasks; ``report`` is called when the RM should be notified soon.

    ``use_dirs`` is told the local directories that are good, when they changed, and those that can no longer be read.
    ``memory`` are threads that look at processes and do nothing else.
    """

    def __init__(
        self,
        settings: WatchSettings,
        *,
        monitor: MemoryMonitor,
        disks: Disks,
        threads: FileThreads,
        memory: FileThreads,
        use_dirs: Callable[[tuple[Path, ...], frozenset[Path]], None],
        report: Callable[[], None],
        now_ms: Callable[[], int],
    ) -> None:
        self._settings, self._monitor, self._disks = settings, monitor, disks
        self._threads, self._memory, self._use_dirs = threads, memory, use_dirs
        self._report, self._now_ms = report, now_ms
        self._machine = NodeUsage()
        self._used = MeasuredUse()
        self._checked_ms = now_ms()
        self._script = HealthScript(settings.health_script) if settings.health_script is not None else None
        self._log = structlog.get_logger(__name__)

    def state(self) -> NodeReport:
        """Return the results of the last checks."""
        pmem_bytes, vmem_bytes = self._monitor.totals_bytes()
        containers = MeasuredUse(
            pmem_mib=pmem_bytes >> 20, vmem_mib=min(vmem_bytes >> 20, INT_MAX), cpu_vcores=self._monitor.cores
        )
        disks = self._disks
        found = self._script.report if self._script is not None else ""
        health = Health(
            is_healthy=disks.is_healthy and not found,
            report=";".join(text for text in (disks.report, found) if text),
            checked_ms=self._checked_ms,
        )
        return NodeReport(containers=containers, node=self._used, health=health)

    async def watch_memory(self, manager: ContainerManager) -> None:
        """Sample, and kill what is over its limit."""
        while True:
            await asyncio.sleep(self._settings.monitor_interval_s)
            # One that is killed is looked at until it has ended: what was seen of it is what has to end.
            running = [one for one in manager.all() if one.state in (LifeState.RUNNING, LifeState.KILLING)]
            try:
                now_ms = int(time.monotonic() * 1000)
                excesses = await self._memory.run(self._monitor.sample, running, now_ms)
                self._used = await self._memory.run(self._machine.look)
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
        disks = self._disks
        changed = await self._threads.run(disks.check)
        self._checked_ms = self._now_ms()
        if not changed:
            return
        self._log.warning("disks_changed", healthy=disks.is_healthy, report=disks.report)
        try:
            await self._threads.run(make_roots, disks.good)
        except OSError as error:
            self._log.warning("disk_not_prepared", reason=str(error))
        self._use_dirs(disks.good.local_dirs, disks.errored)
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
