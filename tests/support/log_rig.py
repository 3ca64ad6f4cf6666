"""A log aggregator for tests: jobs are done in this process on a folder, and any step can be made the last one."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import struct
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nm_plugin.host.directories import Directories
from nm_plugin.host.tasks import TaskOwner
from nm_plugin.host.users import FileThreads, OsUser
from nm_plugin.logs.formats import aggregated_tfile, indexed_file
from nm_plugin.logs.formats.indexed_file import CHECKSUM_SUFFIX
from nm_plugin.logs.formats.random_file import RandomFile
from nm_plugin.logs.jobs import DATA, Job, decode, encode
from nm_plugin.logs.layout import LogFormat, RemoteLayout
from nm_plugin.logs.remote_files import LocalFileSystem, RemoteFile, RemoteWriter
from nm_plugin.logs.uploading.aggregation import LogAggregator
from nm_plugin.logs.uploading.journal import AppLogs, Journals, LogContext
from nm_plugin.logs.uploading.local_logs import NothingChosen
from nm_plugin.logs.uploading.retention import RetentionLog
from nm_plugin.logs.uploading.uploads import AggregationSettings, AggregatorParts
from nm_plugin.logs.worker import perform
from nm_plugin.logs.worker_pool import JobFailed, JobRefused
from tests.support.bytes_file import BytesFile
from tests.support.node_agent import FakeUsers
from yodel.domain.ids import ApplicationId, ContainerId, NodeId

NODE = NodeId("node-1.example", 8041)
NODE_FILE = "node-1.example_8041"


class Crash(Exception):
    """The agent dies here."""


@dataclass
class Steps:
    """Counts what has an effect outside; the one with number ``last`` is not taken any more."""

    last: int | None = None
    taken: int = 0

    def step(self) -> None:
        if self.taken == self.last:
            raise Crash
        self.taken += 1


class SteppedFiles(LocalFileSystem):
    """``file:``, step by step."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps

    def make_dir(self, path: str, mode: int, group: str = "") -> bool:
        self._steps.step()
        return super().make_dir(path, mode, group)

    def create(self, path: str, mode: int) -> RemoteWriter:
        self._steps.step()
        return _SteppedWriter(super().create(path, mode), self._steps)

    def append(self, path: str) -> RemoteWriter:
        self._steps.step()
        return _SteppedWriter(super().append(path), self._steps)

    def rename(self, source: str, target: str) -> None:
        self._steps.step()
        super().rename(source, target)

    def delete(self, path: str) -> None:
        self._steps.step()
        super().delete(path)

    def list(self, path: str) -> list[RemoteFile]:
        return super().list(path)

    def open(self, path: str) -> AbstractContextManager[RandomFile]:
        return super().open(path)


class _SteppedWriter:
    """Writes so that what was written before a crash is there after it."""

    def __init__(self, writer: RemoteWriter, steps: Steps) -> None:
        self._writer, self._steps = writer, steps

    def write(self, data: bytes, /) -> object:
        try:
            self._steps.step()
        except Crash:
            self._writer.close()
            raise
        return self._writer.write(data)

    def close(self) -> None:
        self._steps.step()
        self._writer.close()


class InProcess:
    """Does jobs at once; ``away`` is how many of the next ones fail."""

    def __init__(self, steps: Steps | None = None) -> None:
        self._steps = steps or Steps()
        self.away = 0
        self.jobs: list[Job] = []
        self.users: list[OsUser | None] = []

    async def run(self, job: Job, user: OsUser | None, credentials: bytes = b"") -> Any:
        done = None
        async for answer in self.stream(job, user, credentials):
            if not isinstance(answer, bytes):
                done = answer["done"]
        return done

    async def stream(self, job: Job, user: OsUser | None, credentials: bytes = b"") -> AsyncGenerator[Any, None]:
        self.jobs.append(job)
        self.users.append(user)
        if self.away > 0:
            self.away -= 1
            raise JobFailed("Connection refused")
        output = io.BytesIO()
        job = decode(encode(job))
        try:
            done = perform(job, SteppedFiles(self._steps), job.root.removeprefix("file://"), output)
        except NothingChosen as error:
            raise JobRefused(str(error)) from error
        for kind, data in _frames(output.getvalue()):
            if kind == DATA:
                yield data
        yield json.loads(json.dumps({"done": done}))


def _frames(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    while data:
        length = struct.unpack(">I", data[1:5])[0]
        yield data[:1], data[5 : 5 + length]
        data = data[5 + length :]


class SteppedJournals(Journals):
    """Step by step."""

    def __init__(self, state_dir: Path, steps: Steps) -> None:
        super().__init__(state_dir)
        self._steps = steps

    def begin(self, application_id: ApplicationId, origin: LogContext) -> None:
        self._steps.step()
        super().begin(application_id, origin)

    def add(self, application_id: ApplicationId, line: Mapping[str, Any]) -> None:
        self._steps.step()
        super().add(application_id, line)

    def remove(self, application_id: ApplicationId) -> None:
        self._steps.step()
        super().remove(application_id)

    def load(self) -> list[AppLogs]:
        return super().load()


@dataclass
class LogRig:
    """A node's log directories and the remote one below ``root``; survives the aggregators that run on it."""

    root: Path
    user: OsUser
    format: LogFormat = "tfile"
    compression: str = "none"
    roll_interval_s: float = -1.0
    changes: dict[str, Any] = field(default_factory=dict)
    clock_ms: int = 1_700_000_000_000

    @property
    def log_dirs(self) -> tuple[Path, ...]:
        return (self.root / "disk-1", self.root / "disk-2")

    def write(self, container: ContainerId, name: str, content: bytes, disk: int = 0) -> Path:
        path = self.log_dirs[disk] / str(container.application_id) / str(container) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    @contextlib.asynccontextmanager
    async def aggregator(self, publishing: Any = None, steps: Steps | None = None) -> AsyncIterator[LogAggregator]:
        """Started as in an agent's life; ended without a farewell."""
        threads = FileThreads(2)
        for directory in self.log_dirs:
            directory.mkdir(parents=True, exist_ok=True)
        journals = SteppedJournals(self.root / "state", steps) if steps is not None else Journals(self.root / "state")
        try:
            async with asyncio.TaskGroup() as group:
                tasks = TaskOwner(group)
                parts = AggregatorParts(
                    directories=Directories(local_dirs=(), log_dirs=self.log_dirs),
                    users=FakeUsers({self.user.name: self.user}),
                    threads=threads,
                    records=threads,
                    workers=publishing or InProcess(steps),
                    journals=journals,
                    ledger=RetentionLog(self.root / "state"),
                    tasks=tasks,
                    now_ms=self._now_ms,
                )
                aggregator = LogAggregator(self._settings(), parts)
                await aggregator.load(NODE)
                try:
                    yield aggregator
                finally:
                    tasks.cancel_all()
        finally:
            threads.close()

    def _now_ms(self) -> int:
        self.clock_ms += 1
        return self.clock_ms

    def _settings(self) -> AggregationSettings:
        values: dict[str, Any] = {
            "enabled": True,
            "layout": RemoteLayout(root=f"file://{self.root}/remote", suffix="logs", format=self.format),
            "group": "",
            "compression": self.compression,
            "roll_interval_s": self.roll_interval_s,
            "files_max": 30,
            "retain_s": -1.0,
            "give_up_s": 3600.0,
            "deletion_delay_s": 0.0,
            "retry_min_s": 0.001,
            "retry_max_s": 0.002,
        }
        return AggregationSettings(**{**values, **self.changes})

    def remote_dir(self, application: ApplicationId) -> Path:
        bucket = f"{application.sequence % 10000:04d}"
        return self.root / "remote" / self.user.name / f"bucket-logs-{self.format}" / bucket / str(application)

    def published(self, application: ApplicationId) -> list[tuple[str, str, bytes]]:
        """Everything that ``yarn logs`` would show: container, name and content of each log in each file."""
        directory = self.remote_dir(application)
        found = []
        for path in sorted(directory.iterdir()) if directory.exists() else []:
            if not path.name.endswith((".tmp", CHECKSUM_SUFFIX)):
                found += self._logs_of(path, application)
        return sorted(found)

    def _logs_of(self, path: Path, application: ApplicationId) -> list[tuple[str, str, bytes]]:
        file = BytesFile(path.read_bytes())
        if self.format == "tfile":
            logs = aggregated_tfile.logs(file)
            return [(log.container, log.name, b"".join(iter(log.read, b""))) for log in logs]
        checksum, end = path.with_name(NODE_FILE + CHECKSUM_SUFFIX), None
        if checksum.exists():
            name, length = indexed_file.decode_checksum(checksum.read_bytes())
            end = length if name == path.name else None
        index = indexed_file.read_index(file, str(application), end)
        return [
            (container, log.name, b"".join(indexed_file.read_log(file, index.compression, log)))
            for upload in index.uploads
            for container, listed in upload.logs.items()
            for log in listed
        ]
