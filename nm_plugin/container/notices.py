"""Containers that the ResourceManager wants back: executors that asked for it are told, and can leave in order.

The ResourceManager says in each heartbeat's answer which containers are on notice, so an answer that is lost does not
matter.  Here each is told once in its life, for an executor that decommissions cannot be called back; one whose JVM
does not listen yet is tried again at the next heartbeat.  A container is told only if its application asked for it
(``nm_plugin.localization.spark_conf``), or its queue did and it says nothing of that itself; an ApplicationMaster never
is.  What was told is in memory: an agent that restarts in between tells it again, which an executor takes for the same.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import structlog

from nm_plugin.container import diagnostics
from nm_plugin.container.life import Container, LifeState
from nm_plugin.container.spark_settings import SparkSettings
from nm_plugin.container.work import WorkOwner
from nm_plugin.host.processes import ProcessTable
from nm_plugin.host.users import FileThreads
from nm_plugin.launch import executor
from nm_plugin.localization import shuffle_terms, spark_conf
from yodel.domain.ids import ContainerId
from yodel.errors import YodelError


class Notices:
    """One for all containers.  ``take`` is for the event loop's thread."""

    def __init__(
        self,
        ledger: WorkOwner,
        table: ProcessTable,
        threads: FileThreads,
        settings: SparkSettings,
        now_ms: Callable[[], int],
    ) -> None:
        self._ledger, self._table, self._threads, self._settings = ledger, table, threads, settings
        self._now_ms = now_ms
        self._signals: dict[ContainerId, str] = {}
        """The signals that their applications asked for; empty: none, or told already."""
        self._is_telling = False
        self._log = structlog.get_logger(__name__)

    def take(self, container_ids: Collection[ContainerId]) -> None:
        """All that are on notice now; the telling goes on behind."""
        if self._signals:
            self._signals = {one: name for one, name in self._signals.items() if self._ledger.get(one) is not None}
        fresh = [one for one in container_ids if self._signals.get(one) != ""]
        if fresh and not self._is_telling:
            self._is_telling = True
            self._ledger.spawn(self._tell_all(fresh), "notices")

    async def _tell_all(self, container_ids: Collection[ContainerId]) -> None:
        try:
            for container_id in container_ids:
                await self._tell(container_id)
        finally:
            self._is_telling = False

    async def _tell(self, container_id: ContainerId) -> None:
        container = self._ledger.get(container_id)
        if container is None or container.state is not LifeState.RUNNING:
            return
        try:
            if container_id not in self._signals:
                self._signals[container_id] = await self._asked_for(container)
            if self._signals[container_id] and await self._is_sent(container, self._signals[container_id]):
                self._signals[container_id] = ""
        except (YodelError, OSError) as error:
            self._signals[container_id] = ""
            self._log.warning("executor_not_notified", container=str(container_id), reason=str(error)[:500])

    async def _is_sent(self, container: Container, name: str) -> bool:
        """False: nobody listens yet."""
        owner = container.owner
        pid = await self._threads.run(executor.tell, self._table, owner, name) if owner is not None else 0
        if pid:
            self._log.info("executor_notified", container=str(container.container_id), pid=pid, signal=name)
            text = f"The ResourceManager preempts it: SIG{name} to pid {pid}"
            await self._ledger.note(container.container_id, diagnostics.stamped(self._now_ms(), text))
        return pid != 0

    async def _asked_for(self, container: Container) -> str:
        """Raises YodelError, OSError: what was localized cannot be read."""
        if container.is_master:
            return ""
        said = await self._settings.of(container, container.launch_context)
        is_default = bool(said) and shuffle_terms.decommissions(dict(container.shuffle))
        return spark_conf.decommission_signal(said, is_default=is_default)
