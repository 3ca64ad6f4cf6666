"""Starts worker processes and follows what they say: a limited number, each for one user and one job.

A log of any size passes through its process only; the agent sees messages.  A process that says nothing for
``silence_s`` is taken for stuck (a NameNode that is away is asked by the client library again and again) and ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pwd
import struct
import sys
import tempfile
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from nm_plugin.host.identity import as_argument
from nm_plugin.host.users import FileThreads, OsUser
from nm_plugin.logs.jobs import DATA, DATA_BYTES_MAX, LINE_BYTES_MAX, MESSAGE, Job, encode
from yodel.errors import YodelError

END_WAIT_S = 5.0
EMPTY_CREDENTIALS_BYTES = 7


class JobFailed(YodelError):
    """A job did not succeed; it may be tried again."""


class JobRefused(JobFailed):
    """A job cannot succeed."""


class Workers(Protocol):
    """Whoever does jobs."""

    async def run(self, job: Job, user: OsUser | None, credentials: bytes = b"") -> Any:
        """The content of the answer; without a user as the agent itself.  Raises JobFailed."""

    def stream(self, job: Job, user: OsUser | None, credentials: bytes = b"") -> AsyncGenerator[Any, None]:
        """Bytes of logs, then the last message.  Raises JobFailed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerPool:
    """``config_dir`` holds core-site.xml and hdfs-site.xml."""

    threads: FileThreads
    config_dir: Path | None
    slots: asyncio.Semaphore
    silence_s: float = 60.0

    async def run(self, job: Job, user: OsUser | None, credentials: bytes = b"") -> Any:
        # Closed here and not when it is collected: the slot must be free at once.
        async with contextlib.aclosing(self.stream(job, user, credentials)) as answers:
            async for answer in answers:
                if not isinstance(answer, bytes):
                    return answer["done"]
        raise JobFailed("The worker process ended early")

    async def stream(self, job: Job, user: OsUser | None, credentials: bytes = b"") -> AsyncGenerator[Any, None]:
        async with self.slots:
            with contextlib.ExitStack() as stack:
                token_file = await self.threads.run(_token_file, credentials, user, stack)
                process = await asyncio.create_subprocess_exec(
                    sys.executable,
                    "-m",
                    "nm_plugin.logs.worker",
                    *(as_argument(user) if user is not None else ()),
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.DEVNULL,
                    env=self._environment(user, token_file),
                    limit=DATA_BYTES_MAX,
                )
                try:
                    async with contextlib.aclosing(self._answers(process, encode(job))) as answers:
                        async for answer in answers:
                            yield answer
                except (asyncio.IncompleteReadError, ConnectionError, ValueError, KeyError) as error:
                    raise JobFailed("The worker process ended early") from error
                finally:
                    await _end(process)

    async def _answers(self, process: asyncio.subprocess.Process, job: bytes) -> AsyncGenerator[Any, None]:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(job)
        process.stdin.close()
        while True:
            try:
                async with asyncio.timeout(self.silence_s):
                    kind, data = await _frame(process.stdout)
            except TimeoutError as error:
                raise JobFailed(f"No progress within {self.silence_s:.0f} s") from error
            if kind == DATA:
                yield data
                continue
            message = json.loads(data)
            if "error" in message:
                raise (JobRefused if message.get("is_final") else JobFailed)(str(message["error"]))
            if "progress" not in message:
                yield message
                return

    def _environment(self, user: OsUser | None, token_file: str | None) -> dict[str, str]:
        environment = {
            "HADOOP_USER_NAME": user.name if user is not None else _own_name(),
            "PATH": os.environ.get("PATH", os.defpath),
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            "TZ": "UTC",
        }
        if self.config_dir is not None:
            environment["HADOOP_CONF_DIR"] = str(self.config_dir)
        if token_file is not None:
            environment["HADOOP_TOKEN_FILE_LOCATION"] = token_file
        return environment


async def _frame(stream: asyncio.StreamReader) -> tuple[bytes, bytes]:
    head = await stream.readexactly(5)
    kind, length = head[:1], struct.unpack(">I", head[1:])[0]
    if kind not in (MESSAGE, DATA) or length > LINE_BYTES_MAX:
        raise ValueError("no message")
    return kind, await stream.readexactly(length)


async def _end(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(END_WAIT_S):
            await process.communicate()  # also reads what is left: without that the pipe keeps it waiting


def _own_name() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return "yarn"


def _token_file(credentials: bytes, user: OsUser | None, stack: contextlib.ExitStack) -> str | None:
    """The application's credentials in a file that only the process's user can read."""
    if len(credentials) <= EMPTY_CREDENTIALS_BYTES:
        return None
    descriptor, name = tempfile.mkstemp(prefix="yodel-tokens-")
    stack.callback(os.unlink, name)
    with os.fdopen(descriptor, "wb") as file:
        file.write(credentials)
        if user is not None and os.geteuid() == 0:
            os.fchown(file.fileno(), user.uid, user.gid)
    return name
