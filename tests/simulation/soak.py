"""A long-lived job, and users who submit and kill, for as long as one likes: what stays, and how long a turn takes.

    python -m tests.simulation.soak containers --count 1000000
    python -m tests.simulation.soak submissions --count 1000

Real services on a real SQLite file, fake time, a Kubernetes and node agents of the playbook.  Every turn of the event
loop is measured in the processor time of its thread; the doubles' own work is in it.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import sqlite3
import tempfile
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.fakes import NODE
from tests.support.playbook import Am, World, a_submission, complete, running
from tests.support.records import NOBODY
from tests.support.rm_options import Options
from yodel.domain.ids import ApplicationId
from yodel.domain.resource import Resource
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.ports.store import EndedKept, Store
from yodel.services.applications.submission import SubmissionLimits
from yodel.store.migrating import migrate
from yodel.store.sql_store import SqlStore
from yodel.telemetry import garbage
from yodel.translator import names

AT_ONCE = 10
LIFE_S = 60
"""The life of a container, in fake time: a hundred of them have pods that are kept for ten minutes."""
CONTEXT_BYTES = 4 * 1024 * 1024
HELD_AT_ONCE = 16
"""Submissions of that size that a user's room has: they are submitted and killed in turns."""


class MeasuredLoop(asyncio.SelectorEventLoop):
    """Knows its longest turns, in milliseconds of the thread's processor time."""

    def __init__(self) -> None:
        super().__init__()
        self.longest_ms = 0.0
        self.late = 0
        """Turns of more than 20 ms."""

    def _run_once(self) -> None:
        before_s = time.thread_time()
        super()._run_once()  # type: ignore[misc]
        took_ms = (time.thread_time() - before_s) * 1000
        self.longest_ms, self.late = max(self.longest_ms, took_ms), self.late + (took_ms > 20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Hold what there is at one moment.  ``done`` counts containers or submissions."""

    done: int
    in_memory: int
    rows: int
    kept: int
    live_pages: int
    objects: int
    parsed: int
    """Ids that are remembered of labels; ``names.PARSED_MAX`` at most."""
    rss_kib: int
    longest_ms: float


@dataclass(slots=True)
class Soak:
    """A world on an SQLite file, and what was seen of it."""

    world: World
    path: Path | None
    """The path of the SQLite file; None where the store is the one in memory."""
    looks: list[Look] = field(default_factory=list)

    def look(self, done: int) -> Look:
        gc.collect()
        loop = asyncio.get_running_loop()
        found = Look(
            done=done,
            in_memory=len(self.world.rm.state.containers),
            rows=self.query("SELECT count(*) FROM containers") if self.path else len(self.world.disk.containers),
            kept=self.query("SELECT count(*) FROM ended_containers") if self.path else len(self.world.disk.ended),
            live_pages=self.query("PRAGMA page_count") - self.query("PRAGMA freelist_count") if self.path else 0,
            objects=len(gc.get_objects()),
            parsed=names.remembered_count(),
            rss_kib=int(Path("/proc/self/statm").read_text().split()[1]) * 4,
            longest_ms=loop.longest_ms if isinstance(loop, MeasuredLoop) else 0.0,
        )
        self.looks.append(found)
        return found

    def query(self, statement: str) -> int:
        assert self.path is not None
        connection = sqlite3.connect(self.path)
        (value,) = connection.execute(statement).fetchone()
        connection.close()
        return int(value)

    def forget_doubles(self) -> None:
        """Forget what the doubles remember of the past, which is no part of what is measured."""
        world = self.world
        world.steps.clear()
        world.agents.started.clear()
        for past in (world.pods.created, world.pods.deleted):
            past.clear()
        for name in world.pods.manifests.keys() - world.pods.pods.keys():
            del world.pods.manifests[name]


class SqlWorld(World):
    def __init__(self, url: str, options: Options) -> None:
        self._url = url
        super().__init__(options)

    def new_store(self) -> Store:
        return SqlStore(self._url)


async def containers(
    soak: Soak, count: int, every: int, report: Callable[[Look], object] = lambda _: None
) -> list[Look]:
    """One job that takes ten containers at a time, until it had ``count``; a look after each ``every``."""
    world = soak.world
    am = await world.running_am()
    for done in range(AT_ONCE, count + 1, AT_ONCE):
        await ten_containers(world, am)
        soak.forget_doubles()
        if done % every == 0:
            report(soak.look(done))
    return soak.looks


async def ten_containers(world: World, am: Am) -> None:
    ids = await am.obtain(AT_ONCE)
    await world.beat(*map(running, ids), running(am.container.id))
    await world.pass_time(LIFE_S)
    await world.beat(*map(complete, ids), running(am.container.id))
    await world.settle()
    await am.beat()


async def submissions(soak: Soak, count: int, report: Callable[[Look], object] = lambda _: None) -> tuple[Look, Look]:
    """Two batches of ``count`` submissions of the greatest size, each killed; a look after each batch."""
    submission = a_submission(context=greatest_context())
    world = soak.world
    for batch in (1, 2):
        for start in range(0, count, HELD_AT_ONCE):
            ids: list[ApplicationId] = []
            for _ in range(min(HELD_AT_ONCE, count - start)):
                ids.append(await world.run(world.rm.submission.give_id(NOBODY)))
                await world.run(world.rm.submission.submit(ids[-1], submission))
            for application_id in ids:
                await world.run(world.rm.submission.kill(application_id, "alice"))
            await world.settle()
            await world.pass_time(1)
            soak.forget_doubles()
        report(soak.look(batch * count))
    return soak.looks[-2], soak.looks[-1]


def greatest_context() -> bytes:
    """Return a context as large as a submission may be, of as many variables."""
    message = pb.ApplicationSubmissionContextProto()
    message.am_container_spec.command.append("run the AM")
    for n in range(9_999):
        message.am_container_spec.environment.add(key=f"{n:05d}", value="x" * 400)
    message.am_container_spec.command[0] += "x" * (CONTEXT_BYTES - message.ByteSize() - 3)
    assert 0 <= CONTEXT_BYTES - message.ByteSize() < 8
    return message.SerializeToString()


def soaked(directory: Path, work: Callable[[Soak], Coroutine[Any, Any, Any]], options: Options | None = None) -> Any:
    """Run it on a measured loop, with an SQLite file in ``directory``."""
    path = directory / "rm.db"
    url = f"sqlite+aiosqlite:///{path}"

    async def run() -> Any:
        async with SqlWorld(url, options or Options()) as world:
            await world.register_node(NODE, Resource(1_000_000, 1_000))
            tidying = asyncio.create_task(garbage.run())
            try:
                return await work(Soak(world, path))
            finally:
                tidying.cancel()

    asyncio.run(migrate(url))
    with asyncio.Runner(loop_factory=MeasuredLoop) as runner:
        return runner.run(run())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("containers", "submissions"))
    parser.add_argument("--count", type=int, default=20_000)
    arguments = parser.parse_args()
    count, began_s = arguments.count, time.monotonic()

    def report(look: Look) -> None:
        print(f"{time.monotonic() - began_s:8.1f} s  {look}", flush=True)

    async def work(soak: Soak) -> object:
        if arguments.what == "submissions":
            return await submissions(soak, count, report)
        return await containers(soak, count, max(AT_ONCE, count // 20), report)

    options = Options(ended_kept=EndedKept(), submission=SubmissionLimits(completed_max=min(count, 1_000)))
    with tempfile.TemporaryDirectory() as directory:
        soaked(Path(directory), work, options)


if __name__ == "__main__":
    main()
