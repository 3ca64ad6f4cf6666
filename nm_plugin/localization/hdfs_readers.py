"""The processes that read HDFS for users (``hdfs_reader``), each for one user with one set of tokens.

Starting one costs as much processor time as reading 100 MB, so a process that has served well waits IDLE_S for more of
the same.  Whatever went wrong, or was left half-way, ends it: nothing of one request can reach another.  A process
whose agent is gone ends by itself, because its requests come through a socket.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from nm_plugin.host.identity import as_argument
from nm_plugin.host.users import FileThreads, OsUser

IDLE_S = 2.0
IDLE_MAX = 16
END_WAIT_S = 5.0
HEADER_BYTES_MAX = 64 << 10
_EMPTY_CREDENTIALS_BYTES = 7
Key = tuple[OsUser, bytes]


@dataclass(slots=True, kw_only=True, eq=False)
class HdfsReader:
    """One process.  ``stdout`` is what it says."""

    process: asyncio.subprocess.Process
    requests: socket.socket
    key: Key = field(repr=False)
    token_file: str | None
    end: asyncio.TimerHandle | None = None

    @property
    def stdout(self) -> asyncio.StreamReader:
        assert self.process.stdout is not None
        return self.process.stdout

    def ask(self, url: str, visibility: str, output: int) -> None:
        """Raises OSError: it has ended."""
        request = json.dumps({"url": url, "visibility": visibility}).encode()
        socket.send_fds(self.requests, [request], [output])

    def kill(self) -> None:
        if self.end is not None:
            self.end.cancel()
        self.requests.close()
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        _remove(self.token_file)
        self.token_file = None

    async def close(self) -> None:
        self.kill()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(END_WAIT_S):
                await self.process.communicate()  # also reads what is left: without that the pipe keeps it waiting


class HdfsReaders:
    """``take`` one, and ``give_back`` what served well; what did not is for its taker to close."""

    def __init__(self, threads: FileThreads, config_dir: Path | None) -> None:
        self._threads, self._config_dir = threads, config_dir
        self._idle: list[HdfsReader] = []

    async def take(self, user: OsUser, credentials: bytes) -> HdfsReader:
        """An idle one or a new one.  Raises OSError."""
        for reader in self._idle:
            if reader.key == (user, credentials) and reader.process.returncode is None:
                self._idle.remove(reader)
                assert reader.end is not None
                reader.end.cancel()
                return reader
        return await self._start(user, credentials)

    def give_back(self, reader: HdfsReader) -> None:
        if len(self._idle) >= IDLE_MAX:
            self._end(self._idle[0])
        self._idle.append(reader)
        reader.end = asyncio.get_running_loop().call_later(IDLE_S, self._end, reader)

    async def close(self) -> None:
        """End the idle ones."""
        idle, self._idle = self._idle, []
        for reader in idle:
            await reader.close()

    def _end(self, reader: HdfsReader) -> None:
        self._idle.remove(reader)
        reader.kill()

    async def _start(self, user: OsUser, credentials: bytes) -> HdfsReader:
        token_file = await self._threads.run(_token_file, user, credentials)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",
                "-m",
                "nm_plugin.localization.hdfs_reader",
                *as_argument(user),
                stdin=theirs.fileno(),
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env=self._environment(user, token_file),
                limit=HEADER_BYTES_MAX,
            )
        except BaseException:
            ours.close()
            _remove(token_file)
            raise
        finally:
            theirs.close()
        return HdfsReader(process=process, requests=ours, key=(user, credentials), token_file=token_file)

    def _environment(self, user: OsUser, token_file: str | None) -> dict[str, str]:
        environment = {
            "HADOOP_USER_NAME": user.name,
            "PATH": os.environ.get("PATH", os.defpath),
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        }
        if self._config_dir is not None:
            environment["HADOOP_CONF_DIR"] = str(self._config_dir)
        if token_file is not None:
            environment["HADOOP_TOKEN_FILE_LOCATION"] = token_file
        return environment


def _remove(token_file: str | None) -> None:
    if token_file is not None:
        Path(token_file).unlink(missing_ok=True)


def _token_file(user: OsUser, credentials: bytes) -> str | None:
    """The container's credentials in a file that only the reader process's user can read."""
    if len(credentials) <= _EMPTY_CREDENTIALS_BYTES:
        return None
    descriptor, name = tempfile.mkstemp(prefix="yodel-tokens-")
    with os.fdopen(descriptor, "wb") as file:
        file.write(credentials)
        if os.geteuid() == 0:
            os.fchown(file.fileno(), user.uid, user.gid)
    return name
