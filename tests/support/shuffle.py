"""The shuffle for tests: map outputs on disk as MapReduce writes them, a running service, and a reducer by hand."""

from __future__ import annotations

import asyncio
import os
import struct
import zlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from nm_plugin.host.tasks import TaskOwner
from nm_plugin.host.users import OsUser
from nm_plugin.shuffle.fetch import job_id
from nm_plugin.shuffle.hashes import url_hash
from nm_plugin.shuffle.server import ShuffleLimits
from nm_plugin.shuffle.service import MapReduceShuffle, ShuffleSettings
from tests.support.node_agent import FakeUsers
from yodel.domain.ids import ApplicationId
from yodel.hadoop_rpc.writable import Reader, WireToken, encode_token

APPLICATION = ApplicationId(1700000000000, 7)
JOB = job_id(APPLICATION)
SECRET = bytes.fromhex("0102030405060708")
TIMEOUT_S = 600.0


def attempt(number: int) -> str:
    return f"attempt_1700000000000_0007_m_{number:06d}_0"


def index_bytes(records: Sequence[tuple[int, int, int]]) -> bytes:
    """``file.out.index``."""
    content = b"".join(struct.pack(">qqq", *record) for record in records)
    return content + struct.pack(">q", zlib.crc32(content))


def output_dir(local_dir: Path, user: str, map_name: str, application: ApplicationId = APPLICATION) -> Path:
    return local_dir / "usercache" / user / "appcache" / str(application) / "output" / map_name


def write_map(local_dir: Path, user: OsUser, map_name: str, partitions: Sequence[bytes]) -> Path:
    """Output of one map; the raw length is said to be twice the one on disk.  Returns its folder."""
    directory = output_dir(local_dir, user.name, map_name)
    directory.mkdir(parents=True, exist_ok=True)
    records, offset = [], 0
    for content in partitions:
        records.append((offset, 2 * len(content), len(content)))
        offset += len(content)
    (directory / "file.out").write_bytes(b"".join(partitions))
    (directory / "file.out.index").write_bytes(index_bytes(records))
    own(local_dir / "usercache" / user.name, user)
    return directory


def own(top: Path, user: OsUser) -> None:
    """Everything below belongs to the user, as when a container had written it."""
    if os.geteuid() == 0:
        for path in (top, *top.rglob("*")):
            os.chown(path, user.uid, user.gid, follow_symlinks=False)


def service_data(secret: bytes = SECRET, identifier: bytes = b"\x16job_1700000000000_0007") -> bytes:
    return encode_token(WireToken(identifier=identifier, password=secret, kind="mapreduce.job", service=""))


LIMITS = ShuffleLimits(connections_max=100, keep_alive_s=5, keep_alive_always=False)


@asynccontextmanager
async def running_shuffle(
    root: Path, users: FakeUsers, limits: ShuffleLimits = LIMITS, local_dirs: Sequence[Path] = ()
) -> AsyncIterator[MapReduceShuffle]:
    """Serves ``root/local``; its state is in ``root/state``."""
    settings = ShuffleSettings(bind_host="127.0.0.1", port=0, threads=2, index_cache_bytes=1 << 20, limits=limits)
    service = MapReduceShuffle(settings, local_dirs or (root / "local",), root / "state", users)
    try:
        async with asyncio.TaskGroup() as group:
            tasks = TaskOwner(group)
            await service.start(tasks)
            try:
                yield service
            finally:
                tasks.cancel_all()
    finally:
        await service.stop()


@dataclass(frozen=True)
class Reply:
    """One answer; ``body`` is what came of it before the connection ended."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def maps(self) -> list[tuple[str, int, int, int, bytes]]:
        """Map name, length on disk, raw length, reduce and content, one after the other."""
        found, position = [], 0
        while position < len(self.body):
            reader = Reader(self.body, "shuffle header", position)
            name, part, raw, reduce = reader.text(), reader.vint(), reader.vint(), reader.vint()
            start = reader._position
            found.append((name, part, raw, reduce, self.body[start : start + part]))
            position = start + part
        return found


@dataclass(frozen=True, kw_only=True)
class Ask:
    """Describes a reducer's request; change a field to misbehave."""

    port: int
    maps: Sequence[str]
    reduce: int | str = 0
    job: str = JOB
    secret: bytes = SECRET
    more: str = ""
    method: str = "GET"
    url_hash: str | None = None
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def target(self) -> str:
        return f"/mapOutput?job={self.job}&reduce={self.reduce}&map={','.join(self.maps)}{self.more}"

    def data(self) -> bytes:
        proof = url_hash(self.secret, self.port, self.target) if self.url_hash is None else self.url_hash
        lines = [f"{self.method} {self.target} HTTP/1.1", "Host: node", f"UrlHash: {proof}"]
        lines += ["name: mapreduce", "version: 1.0.0", *(f"{name}: {value}" for name, value in self.headers)]
        return "\r\n".join((*lines, "", "")).encode("latin-1")

    def but(self, **changes: object) -> Ask:
        return replace(self, **changes)  # type: ignore[arg-type]


class Reducer:
    """One connection to a shuffle."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def connect(cls, port: int) -> Reducer:
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def head(self) -> Reply:
        """Read a reply without its body.  Raises EOFError: nothing came."""
        async with asyncio.timeout(TIMEOUT_S):
            head = await self._reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")[:-2]
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        return Reply(status=int(first.split()[1]), headers=headers, body=b"")

    async def body_of(self, reply: Reply) -> Reply:
        """Return the reply with as much of its body as comes."""
        async with asyncio.timeout(TIMEOUT_S):
            try:
                body = await self._reader.readexactly(int(reply.headers["content-length"]))
            except asyncio.IncompleteReadError as error:
                body = error.partial
        return replace(reply, body=body)

    async def reply(self) -> Reply:
        """Raises EOFError: nothing came."""
        return await self.body_of(await self.head())

    async def fetch(self, ask: Ask) -> Reply:
        await self.send(ask.data())
        return await self.reply()

    async def at_end(self) -> bool:
        """Waits for the server's end of the connection."""
        async with asyncio.timeout(TIMEOUT_S):
            try:
                return await self._reader.read(1) == b""
            except ConnectionError:
                return True

    async def read_on(self) -> bytes:
        """Return what else comes until the server's end.  Raises ConnectionError: it was a reset instead."""
        async with asyncio.timeout(TIMEOUT_S):
            return await self._reader.read()

    async def close(self) -> None:
        self._writer.close()


async def fetch(ask: Ask) -> Reply:
    """One request on a connection of its own."""
    reducer = await Reducer.connect(ask.port)
    try:
        return await reducer.fetch(ask)
    finally:
        await reducer.close()
