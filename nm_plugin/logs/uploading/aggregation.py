"""Brings the logs of ended containers into the remote log directory, and tells the RM how far it is.

Follows ``LogAggregationService`` and ``AppLogAggregatorImpl``: an application's logs are uploaded when it is over on
this node; with ``roll_interval_s`` and a rolled-log pattern also again and again while it runs.  Local logs are removed
after the upload succeeded and never before.

Every publication is three steps with a line in the application's journal between them: the intent (with the name of the
file), the upload, the tidying up.  Each step may be repeated, so that an agent that dies anywhere brings every log
exactly once.  While the remote directory is away the upload is tried again with growing pauses.

Refuses: nothing.  A log that cannot be uploaded for ``give_up_s`` stays on the node as long as it would without
aggregation.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any

import structlog

from nm_plugin.host.directories import remove_tree
from nm_plugin.host.users import OsUser
from nm_plugin.logs.uploading import journal
from nm_plugin.logs.uploading.journal import AppLogs, LogContext
from nm_plugin.logs.uploading.retention import RetainedApplication, check_interval_s
from nm_plugin.logs.uploading.uploads import AggregationSettings, AggregatorParts, Uploads
from nm_plugin.logs.worker_pool import JobRefused
from yodel.domain.ids import ApplicationId, ContainerId, NodeId
from yodel.errors import YodelError

REPORTS_MAX = 10_000
DIAGNOSTICS_LENGTH_MAX = 1000


class LogStatus(Enum):
    """LogAggregationStatus, as far as a node says it."""

    NOT_START = "LOG_NOT_START"
    RUNNING = "LOG_RUNNING"
    RUNNING_WITH_FAILURE = "LOG_RUNNING_WITH_FAILURE"
    SUCCEEDED = "LOG_SUCCEEDED"
    FAILED = "LOG_FAILED"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogReport:
    """LogAggregationReport: how far the logs of one application are on this node."""

    application_id: ApplicationId
    status: LogStatus
    diagnostics: str = ""


class LogAggregator:
    """One for a node.  Methods are for the event loop's thread and raise nothing that a container should end of."""

    def __init__(self, settings: AggregationSettings, parts: AggregatorParts) -> None:
        self._settings, self._parts = settings, parts
        self._uploads = Uploads(settings, parts)
        self._node = ""
        self._applications: dict[ApplicationId, AppLogs] = {}
        self._finished: dict[ApplicationId, asyncio.Event] = {}
        self._current: dict[ApplicationId, LogReport] = {}
        self._unsaid: dict[ApplicationId, LogReport] = {}
        self.report: Callable[[], None] = lambda: None
        self._log = structlog.get_logger(__name__)

    @property
    def is_enabled(self) -> bool:
        return self._settings.enabled

    @property
    def settings(self) -> AggregationSettings:
        return self._settings

    def uploads_of(self, application_id: ApplicationId) -> int:
        """Return the number of uploads of a running application."""
        logs = self._applications.get(application_id)
        return logs.uploads if logs is not None else 0

    def applications(self) -> frozenset[ApplicationId]:
        """Return the applications whose local logs must stay."""
        return frozenset(self._applications)

    def origin_of(self, application_id: ApplicationId) -> LogContext | None:
        logs = self._applications.get(application_id)
        return logs.origin if logs is not None else None

    # Start of the agent.

    async def load(self, node_id: NodeId) -> None:
        """Load the state that the previous agent left.  Call it before containers are taken over."""
        self._node, self._uploads.node_id = str(node_id), node_id
        if not self._settings.enabled:
            return
        for logs in await self._parts.records.run(self._parts.journals.load):
            self._applications[logs.application_id] = logs
        if self._settings.retain_s >= 0:
            self._parts.tasks.create_task(self._expire(), name="log-retention")

    async def resume(self, known: Mapping[ApplicationId, Mapping[ContainerId, int | None]]) -> None:
        """Carry on, once it is known which applications this node has and the exit status of their ended containers."""
        for application_id, logs in list(self._applications.items()):
            containers = known.get(application_id)
            for container_id, exit_status in (containers or {}).items():
                if exit_status is not None:
                    await self.container_finished(container_id, exit_status)
            if containers is None and not logs.is_finished:
                if logs.is_master or logs.exit_status:
                    # The agent died after it had cleaned up and before it could say so here.
                    await self._uploads.add(logs, journal.finished())
                else:
                    await self._forget(application_id)
                    continue
            self._begin(logs)

    # What happens to containers.

    async def started(self, container_id: ContainerId, is_master: bool, origin: LogContext) -> None:
        """A container was accepted; the first one's origin is its application's."""
        if not self._settings.enabled:
            return
        application_id = container_id.application_id
        logs = self._applications.get(application_id)
        if logs is None or logs.is_finished:
            logs = AppLogs(application_id=application_id, origin=origin)
            self._applications[application_id] = logs
            await self._write(self._parts.journals.begin, application_id, origin)
            self._begin(logs)
        await self._uploads.add(logs, journal.started(container_id, is_master))

    async def container_finished(self, container_id: ContainerId, exit_status: int) -> None:
        """Its logs are complete.  Repeated calls change nothing."""
        logs = self._applications.get(container_id.application_id)
        if logs is not None and container_id not in logs.exit_status:
            await self._uploads.add(logs, journal.ended(container_id, exit_status))

    async def application_finished(self, application_id: ApplicationId) -> None:
        """All its containers here have ended and no more will come; the upload goes on behind."""
        logs = self._applications.get(application_id)
        if logs is None or logs.is_finished:
            return
        await self._uploads.add(logs, journal.finished())
        self._finished[application_id].set()

    # What the RM hears.

    def reports(self, is_first: bool = False) -> tuple[LogReport, ...]:
        """Return the reports that the ResourceManager does not have; all of them on the first (``is_first``)."""
        return tuple((self._current if is_first else self._unsaid).values())

    def reported(self, reports: Iterable[LogReport]) -> None:
        """It has heard these."""
        for report in reports:
            if self._unsaid.get(report.application_id) == report:
                del self._unsaid[report.application_id]

    def _say(self, application_id: ApplicationId, status: LogStatus, diagnostics: str = "") -> None:
        report = LogReport(
            application_id=application_id, status=status, diagnostics=diagnostics[:DIAGNOSTICS_LENGTH_MAX]
        )
        if self._current.get(application_id) == report:
            return
        for remembered in (self._current, self._unsaid):
            remembered.pop(application_id, None)
            remembered[application_id] = report
            while len(remembered) > REPORTS_MAX:
                del remembered[next(iter(remembered))]
        self.report()

    # What was uploaded of a container whose application goes on.

    async def uploaded(self, container_id: ContainerId, user: OsUser) -> list[Any]:
        """Per file: its name and its logs' names, sizes and times (``shown.listed``).  Raises JobFailed."""
        logs = self._applications.get(container_id.application_id)
        if logs is None or not logs.uploads:
            return []
        return list(await self._uploads.run(self._uploads.show_job(logs, container_id), user, b""))

    async def uploaded_text(
        self, container_id: ContainerId, user: OsUser, name: str, size_bytes: int
    ) -> AsyncIterator[bytes]:
        """A log in every upload, as ``yarn logs`` prints it.  Raises JobFailed."""
        logs = self._applications.get(container_id.application_id)
        if logs is None or not logs.uploads:
            return
        job = self._uploads.show_job(logs, container_id, name, size_bytes)
        async with contextlib.aclosing(self._parts.workers.stream(job, user)) as answers:
            async for answer in answers:
                if isinstance(answer, bytes):
                    yield answer

    # One application's task.

    def _begin(self, logs: AppLogs) -> None:
        event = asyncio.Event()
        if logs.is_finished:
            event.set()
        self._finished[logs.application_id] = event
        self._say(logs.application_id, LogStatus.NOT_START)
        self._parts.tasks.create_task(self._follow(logs, event), name=f"logs-{logs.application_id}")

    async def _follow(self, logs: AppLogs, finished: asyncio.Event) -> None:
        interval_s = self._settings.roll_interval_s if self._uploads.rolls(logs) else -1.0
        while interval_s > 0 and not finished.is_set():
            try:
                async with asyncio.timeout(interval_s):
                    await finished.wait()
            except TimeoutError:
                await self._roll(logs)
        await finished.wait()
        if await self._upload_rest(logs):
            await self._remove_local(logs)
            if self._settings.retain_s >= 0 and logs.uploads:
                kept = RetainedApplication(
                    application_id=logs.application_id, user=logs.origin.user, published_ms=self._parts.now_ms()
                )
                await self._write(self._parts.ledger.add, kept)
        if self._applications.get(logs.application_id) is logs:
            await self._forget(logs.application_id)

    async def _roll(self, logs: AppLogs) -> None:
        """One cycle; what fails is tried again in the next."""
        try:
            await self._uploads.publish(logs, is_final=False)
        except (YodelError, OSError) as error:
            self._failed(logs, error)
        else:
            self._say(logs.application_id, LogStatus.RUNNING, self._text(logs, "successfully "))

    async def _upload_rest(self, logs: AppLogs) -> bool:
        """Until it succeeded; False: it cannot, or it is time to give up."""
        deadline_s = time.monotonic() + self._settings.give_up_s
        delay_s = self._settings.retry_min_s
        while not logs.is_complete:
            try:
                if logs.intent is not None and not logs.intent.is_final:
                    await self._uploads.publish(
                        logs, is_final=False
                    )  # a cycle that was interrupted comes to its end first
                await self._uploads.publish(logs, is_final=True)
            except (YodelError, OSError) as error:
                self._failed(logs, error)
                if isinstance(error, JobRefused):
                    self._say(logs.application_id, LogStatus.FAILED, f"{self._text(logs, 'failed ')}{error}")
                    return False
                if time.monotonic() + delay_s > deadline_s:
                    self._say(logs.application_id, LogStatus.FAILED, self._text(logs, "failed "))
                    return False
                # Jitter: when a NameNode comes back every node has something for it.
                await asyncio.sleep(delay_s * random.uniform(0.75, 1.0))
                delay_s = min(delay_s * 2, self._settings.retry_max_s)
        self._say(logs.application_id, LogStatus.SUCCEEDED, self._text(logs, "successfully "))
        if logs.warning:
            self._log.warning("all_logs_included", application=str(logs.application_id), reason=logs.warning[:500])
        self._log.info("logs_uploaded", application=str(logs.application_id), uploads=logs.uploads)
        return True

    def _failed(self, logs: AppLogs, error: Exception) -> None:
        self._log.warning("logs_not_uploaded", application=str(logs.application_id), reason=str(error)[:500])
        text = f"{self._text(logs, 'failed ')}{error}"
        self._say(logs.application_id, LogStatus.RUNNING_WITH_FAILURE, text)

    def _text(self, logs: AppLogs, outcome: str) -> str:
        """AppLogAggregatorImpl's diagnostics."""
        at = datetime.fromtimestamp(self._parts.now_ms() / 1000, UTC).strftime("%a %b %d %H:%M:%S +0000 %Y")
        text = f"Log uploaded {outcome}for Application: {logs.application_id} in NodeManager: {self._node} at {at}\n"
        return f"{text}{logs.warning}\n" if logs.warning else text

    # Afterwards.

    async def _remove_local(self, logs: AppLogs) -> None:
        if self._settings.deletion_delay_s > 0:
            await asyncio.sleep(self._settings.deletion_delay_s)
        directories = self._parts.directories
        for log_dir in directories.log_dirs:
            try:
                path = directories.application_log_dir(log_dir, logs.application_id)
                await self._parts.threads.run(remove_tree, path)
            except OSError as error:
                self._log.warning("logs_not_removed", application=str(logs.application_id), reason=str(error))

    async def _forget(self, application_id: ApplicationId) -> None:
        self._applications.pop(application_id, None)
        self._finished.pop(application_id, None)
        await self._write(self._parts.journals.remove, application_id)

    async def _write(self, function: Callable[..., None], *arguments: Any) -> None:
        try:
            await self._parts.records.run(function, *arguments)
        except OSError as error:
            self._log.error("journal_not_written", reason=str(error))

    async def _expire(self) -> None:
        """Forever: now and then have old directories removed."""
        retain_s = self._settings.retain_s
        while True:
            await asyncio.sleep(check_interval_s(retain_s) * random.uniform(0.5, 1.5))
            await self.expire_now()

    async def expire_now(self) -> None:
        """One look at the ledger."""
        before_ms = self._parts.now_ms() - int(self._settings.retain_s * 1000)
        gone: set[ApplicationId] = set()
        try:
            for kept in await self._parts.threads.run(self._parts.ledger.due, before_ms):
                if await self._uploads.is_expired(kept, before_ms):
                    gone.add(kept.application_id)
            if gone:
                await self._parts.threads.run(self._parts.ledger.forget, gone)
        except OSError as error:
            self._log.warning("old_logs_not_removed", reason=str(error))
