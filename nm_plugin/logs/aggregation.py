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
from google.protobuf.message import DecodeError

from nm_plugin.directories import Directories, remove_tree
from nm_plugin.launch.users import FileThreads, OsUser, UserDatabase
from nm_plugin.logs import journal, policies
from nm_plugin.logs.jobs import Expire, Job, MakeRoot, Publish, Published, Settle, Show, log_keys
from nm_plugin.logs.journal import AppLogs, Intent, Journals, LogContext
from nm_plugin.logs.layout import RemoteLayout, node_file_name
from nm_plugin.logs.publishing import PublishFailed, Publishing
from nm_plugin.logs.retention import Kept, Ledger, check_interval_s
from nm_plugin.task_owner import TaskOwner
from yodel.domain.ids import ApplicationId, ContainerId, NodeId
from yodel.errors import YodelError
from yodel.hadoop_pb import yarn_protos_pb2 as pb

REPORTS_MAX = 10_000
DIAGNOSTICS_LENGTH_MAX = 1000


class LogStatus(Enum):
    """LogAggregationStatus, as far as a node says it."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregationSettings:
    """Times in seconds; see ``Settings`` for their meaning.  A negative interval or retention is none."""

    enabled: bool
    layout: RemoteLayout
    group: str
    compression: str
    roll_interval_s: float
    files_max: int
    retain_s: float
    give_up_s: float
    deletion_delay_s: float
    retry_min_s: float = 1.0
    retry_max_s: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregatorParts:
    """What the aggregator works with."""

    directories: Directories
    users: UserDatabase
    threads: FileThreads
    publishers: Publishing
    journals: Journals
    ledger: Ledger
    tasks: TaskOwner
    now_ms: Callable[[], int]


class LogAggregator:
    """One for a node.  Methods are for the event loop's thread and raise nothing that a container should end of."""

    def __init__(self, settings: AggregationSettings, parts: AggregatorParts) -> None:
        self._settings, self._parts = settings, parts
        self._node = ""
        self._node_file = ""
        self._applications: dict[ApplicationId, AppLogs] = {}
        self._finished: dict[ApplicationId, asyncio.Event] = {}
        self._current: dict[ApplicationId, LogReport] = {}
        self._unsaid: dict[ApplicationId, LogReport] = {}
        self._has_root = False
        self.report: Callable[[], None] = lambda: None
        self._log = structlog.get_logger(__name__)

    @property
    def is_enabled(self) -> bool:
        return self._settings.enabled

    @property
    def settings(self) -> AggregationSettings:
        return self._settings

    def uploads_of(self, application_id: ApplicationId) -> int:
        """How many files' worth was uploaded while the application runs."""
        logs = self._applications.get(application_id)
        return logs.uploads if logs is not None else 0

    def applications(self) -> frozenset[ApplicationId]:
        """Whose local logs must stay."""
        return frozenset(self._applications)

    def origin_of(self, application_id: ApplicationId) -> LogContext | None:
        logs = self._applications.get(application_id)
        return logs.origin if logs is not None else None

    # Start of the agent.

    async def load(self, node_id: NodeId) -> None:
        """What the last agent left; before containers are taken over."""
        self._node, self._node_file = str(node_id), node_file_name(node_id)
        if not self._settings.enabled:
            return
        for logs in await self._parts.threads.run(self._parts.journals.load):
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
                    await self._add(logs, journal.finished())
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
        await self._add(logs, journal.started(container_id, is_master))

    async def container_finished(self, container_id: ContainerId, exit_status: int) -> None:
        """Its logs are complete.  Repeated calls change nothing."""
        logs = self._applications.get(container_id.application_id)
        if logs is not None and container_id not in logs.exit_status:
            await self._add(logs, journal.ended(container_id, exit_status))

    async def application_finished(self, application_id: ApplicationId) -> None:
        """All its containers here have ended and no more will come; the upload goes on behind."""
        logs = self._applications.get(application_id)
        if logs is None or logs.is_finished:
            return
        await self._add(logs, journal.finished())
        self._finished[application_id].set()

    # What the RM hears.

    def reports(self, is_first: bool = False) -> tuple[LogReport, ...]:
        """What it does not know yet; to a new one (``is_first``) everything."""
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
        """Per file: its name and its logs' names, sizes and times (``shown.listed``).  Raises PublishFailed."""
        job = self._show(container_id)
        return [] if job is None else list(await self._run(job, user, b""))

    async def uploaded_text(
        self, container_id: ContainerId, user: OsUser, name: str, size_bytes: int
    ) -> AsyncIterator[bytes]:
        """A log in every upload, as ``yarn logs`` prints it.  Raises PublishFailed."""
        job = self._show(container_id, name, size_bytes)
        if job is None:
            return
        async with contextlib.aclosing(self._parts.publishers.stream(job, user)) as answers:
            async for answer in answers:
                if isinstance(answer, bytes):
                    yield answer

    def _show(self, container_id: ContainerId, name: str = "", size_bytes: int = 0) -> Show | None:
        logs = self._applications.get(container_id.application_id)
        if logs is None or not logs.uploads:
            return None
        layout = self._settings.layout
        return Show(
            root=layout.root,
            directories=layout.application_parts(logs.origin.user, logs.application_id),
            node=self._node,
            node_file=self._node_file,
            application=str(logs.application_id),
            container=str(container_id),
            format=layout.format,
            file_name=name,
            size_bytes=size_bytes,
        )

    # One application's task.

    def _begin(self, logs: AppLogs) -> None:
        event = asyncio.Event()
        if logs.is_finished:
            event.set()
        self._finished[logs.application_id] = event
        self._say(logs.application_id, LogStatus.RUNNING)
        self._parts.tasks.create_task(self._follow(logs, event), name=f"logs-{logs.application_id}")

    async def _follow(self, logs: AppLogs, finished: asyncio.Event) -> None:
        interval_s = self._settings.roll_interval_s if self._rolls(logs) else -1.0
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
                kept = Kept(
                    application_id=logs.application_id, user=logs.origin.user, published_ms=self._parts.now_ms()
                )
                await self._write(self._parts.ledger.add, kept)
        if self._applications.get(logs.application_id) is logs:
            await self._forget(logs.application_id)

    def _rolls(self, logs: AppLogs) -> bool:
        """Only for those that name the logs which are complete before their container is."""
        return self._settings.roll_interval_s > 0 and bool(_pattern(_context(logs), "include_pattern", is_final=False))

    async def _roll(self, logs: AppLogs) -> None:
        """One cycle; what fails is tried again in the next."""
        try:
            await self._publish(logs, is_final=False)
        except (YodelError, OSError) as error:
            self._failed(logs, error)

    async def _upload_rest(self, logs: AppLogs) -> bool:
        """Until it succeeded, or it is time to give up: then False."""
        deadline_s = time.monotonic() + self._settings.give_up_s
        delay_s = self._settings.retry_min_s
        while not logs.is_complete:
            try:
                if logs.intent is not None and not logs.intent.is_final:
                    await self._publish(logs, is_final=False)  # a cycle that was interrupted comes to its end first
                await self._publish(logs, is_final=True)
            except (YodelError, OSError) as error:
                self._failed(logs, error)
                if time.monotonic() + delay_s > deadline_s:
                    self._say(logs.application_id, LogStatus.FAILED, self._text(logs, "failed "))
                    return False
                # Jitter: when a NameNode comes back every node has something for it.
                await asyncio.sleep(delay_s * random.uniform(0.75, 1.0))
                delay_s = min(delay_s * 2, self._settings.retry_max_s)
        self._say(logs.application_id, LogStatus.SUCCEEDED, self._text(logs, "successfully "))
        self._log.info("logs_uploaded", application=str(logs.application_id), uploads=logs.uploads)
        return True

    def _failed(self, logs: AppLogs, error: Exception) -> None:
        self._log.warning("logs_not_uploaded", application=str(logs.application_id), reason=str(error)[:500])
        text = f"{self._text(logs, 'failed ')}{error}"
        self._say(logs.application_id, LogStatus.RUNNING_WITH_FAILURE, text)

    def _text(self, logs: AppLogs, outcome: str) -> str:
        """AppLogAggregatorImpl's diagnostics."""
        at = datetime.fromtimestamp(self._parts.now_ms() / 1000, UTC).strftime("%a %b %d %H:%M:%S +0000 %Y")
        return f"Log uploaded {outcome}for Application: {logs.application_id} in NodeManager: {self._node} at {at}\n"

    # One publication.

    async def _publish(self, logs: AppLogs, is_final: bool) -> None:
        """Intent, upload, tidying up; goes on where the journal ends.

        Raises:
            PublishFailed, YodelError, OSError: try again.
        """
        user = await self._parts.threads.run(self._parts.users.lookup, logs.origin.user)
        if logs.unsettled is None:
            may_replace = logs.intent is not None
            if logs.intent is None:
                await self._add(logs, journal.intended(self._intent(logs, is_final)), must=True)
            answer = await self._upload(logs, user, may_replace)
            if answer.exists_already:
                # An application that came back to this node after it was over: its first file stays.
                await self._add(logs, journal.intended(self._intent(logs, is_final, is_named_anew=True)), must=True)
                answer = await self._upload(logs, user, may_replace=True)
            await self._add(logs, journal.published(answer.uploaded), must=True)
        await self._settle(logs, user)

    def _intent(self, logs: AppLogs, is_final: bool, is_named_anew: bool = False) -> Intent:
        now_ms = self._parts.now_ms()
        is_timed = is_named_anew or self._has_timed_names(logs)
        name = f"{self._node_file}_{now_ms}" if is_timed else self._node_file
        return Intent(file_name=name, uploaded_ms=now_ms, is_final=is_final)

    def _has_timed_names(self, logs: AppLogs) -> bool:
        """TFiles have when the node rolls, indexed ones when the application does too."""
        if self._settings.layout.format == "ifile":
            return self._rolls(logs)
        return self._settings.roll_interval_s > 0

    async def _upload(self, logs: AppLogs, user: OsUser, may_replace: bool) -> Published:
        assert logs.intent is not None
        containers = self._containers(logs, logs.intent.is_final)
        if not containers:
            return Published()
        await self._make_root()
        context, layout = _context(logs), self._settings.layout
        is_final = logs.intent.is_final
        job = Publish(
            root=layout.root,
            directories=layout.application_parts(logs.origin.user, logs.application_id),
            file_name=logs.intent.file_name,
            node=self._node,
            node_file=self._node_file,
            format=layout.format,
            compression=self._settings.compression,
            application=str(logs.application_id),
            owner=logs.origin.user,
            acls=logs.origin.acls,
            log_dirs=tuple(map(str, self._parts.directories.log_dirs)),
            containers=tuple(map(str, containers)),
            uploaded_ms=logs.intent.uploaded_ms,
            include=_pattern(context, "include_pattern", is_final),
            exclude=_pattern(context, "exclude_pattern", is_final),
            already=tuple(logs.already),
            may_replace=may_replace,
            may_append=self._rolls(logs),
        )
        answer = await self._run(job, user, logs.origin.credentials)
        return Published(uploaded=log_keys(answer["uploaded"]), exists_already=bool(answer["exists_already"]))

    def _containers(self, logs: AppLogs, is_final: bool) -> list[ContainerId]:
        """Those that the application's policy keeps; ended ones, and in a cycle while it runs the running ones too."""
        context = _context(logs)
        chosen = []
        for container_id in sorted(logs.is_master.keys() | logs.exit_status.keys()):
            is_master = logs.is_master.get(container_id, False)
            exit_status = logs.exit_status.get(container_id)
            if exit_status is None and is_final:
                exit_status = 0  # its end was not written down: the disk was full
            ended = (
                policies.running(container_id, is_master)
                if exit_status is None
                else policies.EndedContainer(container_id=container_id, is_master=is_master, exit_status=exit_status)
            )
            name, parameters = context.log_aggregation_policy_class_name, context.log_aggregation_policy_parameters
            if policies.keeps_logs(name, parameters, ended):
                chosen.append(container_id)
        return chosen

    async def _settle(self, logs: AppLogs, user: OsUser) -> None:
        assert logs.intent is not None
        assert logs.unsettled is not None
        if logs.unsettled:
            layout = self._settings.layout
            job = Settle(
                root=layout.root,
                directories=layout.application_parts(logs.origin.user, logs.application_id),
                node_file=self._node_file,
                application=str(logs.application_id),
                log_dirs=tuple(map(str, self._parts.directories.log_dirs)),
                # After the last one all directories go; a debug delay may keep them.
                uploaded=() if logs.intent.is_final else logs.unsettled,
                files_max=self._settings.files_max,
            )
            await self._run(job, user, logs.origin.credentials)
        await self._add(logs, journal.settled(), must=True)

    async def _make_root(self) -> None:
        """Once in an agent's life, as the agent: users may not."""
        if not self._has_root:
            await self._run(MakeRoot(root=self._settings.layout.root, group=self._settings.group), None, b"")
            self._has_root = True

    async def _run(self, job: Job, user: OsUser | None, credentials: bytes) -> Any:
        try:
            return await self._parts.publishers.run(job, user, credentials)
        except PublishFailed:
            self._has_root = False  # somebody may have removed it
            raise

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

    async def _add(self, logs: AppLogs, line: dict[str, Any], must: bool = False) -> None:
        """A line to the journal and to what is known; a full disk is fatal only to what ``must`` be written down."""
        try:
            await self._parts.threads.run(self._parts.journals.add, logs.application_id, line)
        except OSError as error:
            if must:
                raise
            self._log.error("journal_not_written", application=str(logs.application_id), reason=str(error))
        logs.take(line)

    async def _write(self, function: Callable[..., None], *arguments: Any) -> None:
        try:
            await self._parts.threads.run(function, *arguments)
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
                if await self._is_expired(kept, before_ms):
                    gone.add(kept.application_id)
            if gone:
                await self._parts.threads.run(self._parts.ledger.forget, gone)
        except OSError as error:
            self._log.warning("old_logs_not_removed", reason=str(error))

    async def _is_expired(self, kept: Kept, before_ms: int) -> bool:
        layout = self._settings.layout
        parts = layout.application_parts(kept.user, kept.application_id)
        try:
            user = await self._parts.threads.run(self._parts.users.lookup, kept.user)
            job = Expire(root=layout.root, directories=parts, before_ms=before_ms)
            return bool(await self._run(job, user, b""))
        except YodelError as error:
            self._log.info("old_logs_not_removed", application=str(kept.application_id), reason=str(error)[:300])
            return False


def _context(logs: AppLogs) -> pb.LogAggregationContextProto:
    try:
        return pb.LogAggregationContextProto.FromString(logs.origin.context)
    except DecodeError:
        return pb.LogAggregationContextProto()


def _pattern(context: pb.LogAggregationContextProto, name: str, is_final: bool) -> str:
    """Absent is empty: the defaults in the protobuf definition are not what Hadoop's records answer."""
    if not is_final:
        name = f"rolled_logs_{name}"
    return str(getattr(context, name)) if context.HasField(name) else ""
