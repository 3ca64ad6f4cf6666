"""One application's uploads, step by step: what is to be done is in its journal, what is done goes into it.

Intent (with the name of the file), upload, tidying up.  Each step may be repeated under the same name; a journal line
stands between any two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import structlog
from google.protobuf.message import DecodeError

from nm_plugin.host.directories import Directories
from nm_plugin.host.tasks import TaskOwner
from nm_plugin.host.users import FileThreads, OsUser, UserDatabase
from nm_plugin.logs.jobs import Expire, Job, MakeRoot, Publish, Settle, Show, UploadedLogs, log_keys
from nm_plugin.logs.layout import RemoteLayout, node_file_name
from nm_plugin.logs.uploading import journal, policies
from nm_plugin.logs.uploading.journal import AppLogs, Intent, Journals
from nm_plugin.logs.uploading.retention import RetainedApplication, RetentionLog
from nm_plugin.logs.worker_pool import JobFailed, Workers
from yodel.domain.ids import ContainerId, NodeId
from yodel.errors import YodelError
from yodel.hadoop_pb import yarn_protos_pb2 as pb


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
    """Holds the parts of the aggregator; the threads of ``records`` only write what a restart needs."""

    directories: Directories
    users: UserDatabase
    threads: FileThreads
    records: FileThreads
    workers: Workers
    journals: Journals
    ledger: RetentionLog
    tasks: TaskOwner
    now_ms: Callable[[], int]


class Uploads:
    """Does the steps, once ``node_id`` is known; keeps nothing but whether the remote root was seen."""

    def __init__(self, settings: AggregationSettings, parts: AggregatorParts) -> None:
        self._settings, self._parts = settings, parts
        self.node_id: NodeId | None = None
        self._has_root = False
        self._log = structlog.get_logger(__name__)

    def _node_file(self) -> str:
        assert self.node_id is not None
        return node_file_name(self.node_id)

    async def publish(self, logs: AppLogs, is_final: bool) -> None:
        """Intent, upload, tidying up; goes on where the journal ends.

        Raises:
            JobFailed, YodelError, OSError: try again.
        """
        user = await self._parts.threads.run(self._parts.users.lookup, logs.origin.user)
        if logs.unsettled is None:
            may_replace = logs.intent is not None
            if logs.intent is None:
                await self.add(logs, journal.intended(self._intent(logs, is_final)), must=True)
            answer = await self._upload(logs, user, may_replace)
            if answer.exists_already:
                # An application that came back to this node after it was over: its first file stays.
                await self.add(logs, journal.intended(self._intent(logs, is_final, is_named_anew=True)), must=True)
                answer = await self._upload(logs, user, may_replace=True)
            await self.add(logs, journal.published(answer.uploaded), must=True)
        await self._settle(logs, user)

    def _intent(self, logs: AppLogs, is_final: bool, is_named_anew: bool = False) -> Intent:
        now_ms = self._parts.now_ms()
        is_timed = is_named_anew or self._has_timed_names(logs)
        name = f"{self._node_file()}_{now_ms}" if is_timed else self._node_file()
        return Intent(file_name=name, uploaded_ms=now_ms, is_final=is_final)

    def _has_timed_names(self, logs: AppLogs) -> bool:
        """TFiles have when the node rolls, indexed ones when the application does too."""
        if self._settings.layout.format == "ifile":
            return self.rolls(logs)
        return self._settings.roll_interval_s > 0

    async def _upload(self, logs: AppLogs, user: OsUser, may_replace: bool) -> UploadedLogs:
        assert logs.intent is not None
        containers = self._containers(logs, logs.intent.is_final)
        if not containers:
            return UploadedLogs()
        await self._make_root()
        context, layout = _context(logs), self._settings.layout
        is_final = logs.intent.is_final
        job = Publish(
            root=layout.root,
            directories=layout.application_parts(logs.origin.user, logs.application_id),
            file_name=logs.intent.file_name,
            node=str(self.node_id),
            node_file=self._node_file(),
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
            may_append=self.rolls(logs),
        )
        answer = await self.run(job, user, logs.origin.credentials)
        logs.warning = str(answer["warning"])
        return UploadedLogs(uploaded=log_keys(answer["uploaded"]), exists_already=bool(answer["exists_already"]))

    def _containers(self, logs: AppLogs, is_final: bool) -> list[ContainerId]:
        """Return the containers whose logs the policy keeps; running ones only before the final upload."""
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
                node_file=self._node_file(),
                application=str(logs.application_id),
                log_dirs=tuple(map(str, self._parts.directories.log_dirs)),
                # After the last one all directories go; a debug delay may keep them.
                uploaded=() if logs.intent.is_final else logs.unsettled,
                files_max=self._settings.files_max,
            )
            await self.run(job, user, logs.origin.credentials)
        await self.add(logs, journal.settled(), must=True)

    async def _make_root(self) -> None:
        """Once in an agent's life, as the agent: users may not."""
        if not self._has_root:
            await self.run(MakeRoot(root=self._settings.layout.root, group=self._settings.group), None, b"")
            self._has_root = True

    async def run(self, job: Job, user: OsUser | None, credentials: bytes) -> Any:
        try:
            return await self._parts.workers.run(job, user, credentials)
        except JobFailed:
            self._has_root = False  # somebody may have removed it
            raise

    def show_job(self, logs: AppLogs, container_id: ContainerId, name: str = "", size_bytes: int = 0) -> Show:
        layout = self._settings.layout
        return Show(
            root=layout.root,
            directories=layout.application_parts(logs.origin.user, logs.application_id),
            node=str(self.node_id),
            node_file=self._node_file(),
            application=str(logs.application_id),
            container=str(container_id),
            format=layout.format,
            file_name=name,
            size_bytes=size_bytes,
        )

    def rolls(self, logs: AppLogs) -> bool:
        """Only for those that name the logs which are complete before their container is."""
        return self._settings.roll_interval_s > 0 and bool(_pattern(_context(logs), "include_pattern", is_final=False))

    async def is_expired(self, kept: RetainedApplication, before_ms: int) -> bool:
        layout = self._settings.layout
        parts = layout.application_parts(kept.user, kept.application_id)
        try:
            user = await self._parts.threads.run(self._parts.users.lookup, kept.user)
            job = Expire(root=layout.root, directories=parts, before_ms=before_ms)
            return bool(await self.run(job, user, b""))
        except YodelError as error:
            self._log.info("old_logs_not_removed", application=str(kept.application_id), reason=str(error)[:300])
            return False

    async def add(self, logs: AppLogs, line: dict[str, Any], must: bool = False) -> None:
        """A line to the journal and to what is known; a full disk is fatal only to what ``must`` be written down."""
        try:
            await self._parts.records.run(self._parts.journals.add, logs.application_id, line)
        except OSError as error:
            if must:
                raise
            self._log.error("journal_not_written", application=str(logs.application_id), reason=str(error))
        logs.take(line)


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
