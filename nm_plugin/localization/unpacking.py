"""Having archives unpacked: each by a process of its own (``unpacker``), which is whom the archive is for.

What is for one user is unpacked by that user.  What would be root's, because it is for everybody (PUBLIC) and the agent
is root, or because root submitted it, is unpacked by a reserved uid instead that no container has (``unpack_uid``); it
can reach nothing but the open archive and the directory it fills, and is relieved of what came of it (``giving``).  An
agent that is not root has only its own uid.

The agent opens the archive and the directory and reads the answer's few bytes; it looks at nothing inside.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nm_plugin.host.identity import as_argument
from nm_plugin.host.users import FileThreads, OsUser, acting_as
from nm_plugin.localization.archive import ArchiveLimits
from nm_plugin.localization.giving import PRIVATE, PUBLIC, Gift
from yodel.errors import YodelError
from yodel.telemetry.limits import ARCHIVES, REFUSALS

ANSWER_BYTES_MAX = 64 << 10
ENDED_EARLY = "The process that unpacks the archive ended early"


class UnpackingFailed(YodelError):
    """The archive cannot be unpacked; the text is for the container's diagnostics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """An archive on disk and where it is to be unpacked, both ``owner``'s; ``name`` is its real one.

    ``public``: for everybody, so that ``owner`` is the agent.
    """

    file: Path
    name: str
    pattern: str
    target: Path
    owner: OsUser
    public: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpacking:
    """``reserved`` is who unpacks what is root's."""

    threads: FileThreads
    reserved: OsUser
    limits: ArchiveLimits

    async def unpack(self, packed: Packed) -> int:
        """The bytes written.  ``packed.target`` is made here, and left half-way when this fails.

        Raises:
            UnpackingFailed: the archive is broken, unsafe or too large.
            UnsafeArchive: what came of it cannot be taken.
            OSError: the local disk refuses.
        """
        worker = self._worker(packed)
        source, target = await self.threads.run(_open, packed, worker)
        try:
            written = await self._run(packed, worker, source, target)
            if packed.public or worker.uid != packed.owner.uid:
                gift = Gift(
                    from_uid=worker.uid,
                    uid=packed.owner.uid,
                    gid=packed.owner.gid,
                    modes=PUBLIC if packed.public else PRIVATE,
                    entries_max=2 * self.limits.entries_max + 1,
                )
                await self.threads.run(gift.give, target)
        finally:
            os.close(source)
            os.close(target)
        return written

    def _worker(self, packed: Packed) -> OsUser:
        return self.reserved if packed.owner.uid == 0 else packed.owner

    async def _run(self, packed: Packed, worker: OsUser, source: int, target: int) -> int:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-m",
            "nm_plugin.localization.unpacker",
            str(source),
            str(target),
            *as_argument(worker),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            pass_fds=(source, target),
            cwd="/",
            env=_environment(),
            limit=ANSWER_BYTES_MAX,
            start_new_session=True,
        )
        try:
            return _written(await _ask(process, packed, self.limits), packed.owner)
        except ValueError as error:
            raise UnpackingFailed(ENDED_EARLY) from error
        finally:
            await _end(process)


def _environment() -> dict[str, str]:
    places = (os.path.abspath(path) for path in sys.path if path)
    return {"PATH": os.defpath, "PYTHONPATH": os.pathsep.join(places)}


async def _end(process: asyncio.subprocess.Process) -> None:
    """End a process that has answered, or is not waited for: nothing of it may be left when the tree is taken over.

    It cannot have started anything (``identity.start_nothing``).
    """
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    await process.wait()


async def _ask(process: asyncio.subprocess.Process, packed: Packed, limits: ArchiveLimits) -> bytes:
    assert process.stdin is not None
    assert process.stdout is not None
    order = {"name": packed.name, "pattern": packed.pattern, "limits": asdict(limits)}
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # told by the missing answer
        process.stdin.write(json.dumps(order).encode() + b"\n")
        await process.stdin.drain()
    return await process.stdout.readline()


def _written(answer: bytes, owner: OsUser) -> int:
    try:
        content: Any = json.loads(answer)
        if content.get("limit") in ARCHIVES:
            value, maximum = int(content["value"]), int(content["maximum"])
            REFUSALS.tell(ARCHIVES[content["limit"]], caller=owner.name, value=value, maximum=maximum)
        if "error" in content:
            raise UnpackingFailed(str(content["error"]))
        return int(content["bytes"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UnpackingFailed(ENDED_EARLY) from error


def _open(packed: Packed, worker: OsUser) -> tuple[int, int]:
    """The archive, and the new directory that it is unpacked in."""
    with acting_as(packed.owner):
        source = os.open(packed.file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            packed.target.mkdir(mode=0o700)
            target = os.open(packed.target, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except BaseException:
            os.close(source)
            raise
    if worker.uid != packed.owner.uid:
        os.fchown(target, worker.uid, worker.gid)
    return source, target
