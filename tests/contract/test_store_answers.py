"""An answer that is lost at a COMMIT, on every store: what was committed last tells what became of it.

The memory store loses answers by its hook, SQLite by an error around its COMMIT, PostgreSQL by a cut connection.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass

import psycopg
import pytest
from sqlalchemy import Connection, event, make_url

from tests.support.cutting_proxy import Cut, cutting_proxy
from tests.support.records import an_application
from yodel.domain.effects import OutsideEffect
from yodel.domain.ids import ApplicationId
from yodel.domain.queues.queue import default_queues
from yodel.errors import Unavailable
from yodel.host.clock import SystemClock
from yodel.ports.store import Commit, FencedOut, OutcomeUnknown, Snapshot, Store
from yodel.services.writer.engine import Engine
from yodel.services.writer.state import ClusterState
from yodel.services.writer.transaction import Transaction
from yodel.store.memory_store import MemoryDisk, MemoryStore, Point
from yodel.store.sql_store import SqlStore

BATCHES = 60
AROUND_A_COMMIT = {Point.BEFORE_COMMIT: Cut.BEFORE, Point.AFTER_COMMIT: Cut.AFTER}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lossy:
    """A store whose next commits lose their answers as ``cuts`` says; ``new`` opens another one, which loses none."""

    store: Store
    snapshot: Snapshot
    cuts: list[Cut]
    new: Callable[[], Store]

    async def stored(self) -> Snapshot:
        store = self.new()
        snapshot = await store.open(now_ms=1, default_queues=())
        await store.close()
        return snapshot


@asynccontextmanager
async def lossy_memory() -> AsyncIterator[Lossy]:
    disk, cuts = MemoryDisk(), list[Cut]()

    def hook(point: Point) -> None:
        if cuts and cuts[0] is AROUND_A_COMMIT.get(point):
            del cuts[0]
            raise OutcomeUnknown("lost")

    store = MemoryStore(disk, hook=hook)
    snapshot = await store.open(now_ms=1, default_queues=default_queues())
    yield Lossy(store=store, snapshot=snapshot, cuts=cuts, new=lambda: MemoryStore(disk))


@asynccontextmanager
async def lossy_sqlite(url: str) -> AsyncIterator[Lossy]:
    store, cuts = SqlStore(url), list[Cut]()
    snapshot = await store.open(now_ms=1, default_queues=default_queues())

    @event.listens_for(store._database.engine, "commit")
    def at_commit(connection: Connection) -> None:
        if cuts:
            if cuts.pop(0) is Cut.AFTER:
                connection.connection.dbapi_connection.commit()  # type: ignore[union-attr]
            raise OSError("lost")

    yield Lossy(store=store, snapshot=snapshot, cuts=cuts, new=lambda: SqlStore(url))
    await store.close()


@asynccontextmanager
async def lossy_postgres(url: str) -> AsyncIterator[Lossy]:
    async with cutting_proxy(url) as (proxy, by_way_of_it):
        store = SqlStore(by_way_of_it)
        snapshot = await store.open(now_ms=1, default_queues=default_queues())
        yield Lossy(store=store, snapshot=snapshot, cuts=proxy.cuts, new=lambda: SqlStore(url))
        await store.close()


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def around(request: pytest.FixtureRequest) -> AbstractAsyncContextManager[Lossy]:
    if request.param == "memory":
        return lossy_memory()
    if request.param == "sqlite":
        return lossy_sqlite(request.getfixturevalue("sqlite_url"))
    return lossy_postgres(request.getfixturevalue("postgres_url"))


@pytest.fixture
async def lossy(around: AbstractAsyncContextManager[Lossy]) -> AsyncIterator[Lossy]:
    async with around as found:
        yield found


class NobodyPerforms:
    def perform(self, effect: OutsideEffect) -> None:
        raise AssertionError(effect)


@asynccontextmanager
async def running_engine(lossy: Lossy) -> AsyncIterator[Engine]:
    engine = Engine(ClusterState.of(lossy.snapshot), lossy.store, SystemClock(), ask_again_s=0.01)
    engine.perform_with(NobodyPerforms())
    writer = asyncio.create_task(engine.run())
    try:
        yield engine
    finally:
        writer.cancel()
        with suppress(asyncio.CancelledError):
            await writer


def puts(number: int) -> Callable[[Transaction], None]:
    return lambda tx: tx.put(an_application(number))


@pytest.mark.parametrize("cut", [Cut.BEFORE, Cut.AFTER])
async def test_the_last_commit_tells_what_became_of_the_one_whose_answer_was_lost(lossy: Lossy, cut: Cut) -> None:
    await lossy.store.commit(Commit(rows=[an_application(1)], number=1))
    lossy.cuts.append(cut)
    with pytest.raises(OutcomeUnknown):
        await lossy.store.commit(Commit(rows=[an_application(2)], number=2))

    assert await lossy.store.last_commit() == (2 if cut is Cut.AFTER else 1)
    await lossy.store.commit(Commit(rows=[an_application(3)], number=3))
    assert len((await lossy.stored()).applications) == (3 if cut is Cut.AFTER else 2)


async def test_who_was_fenced_out_while_its_answer_was_lost_is_told_so(lossy: Lossy) -> None:
    lossy.cuts.append(Cut.AFTER)
    with pytest.raises(OutcomeUnknown):
        await lossy.store.commit(Commit(number=1))
    await lossy.stored()

    with pytest.raises((FencedOut, Unavailable)):
        await lossy.store.last_commit()
    with pytest.raises(FencedOut):
        await lossy.store.last_commit()


@pytest.mark.parametrize("cut", [Cut.BEFORE, Cut.AFTER])
async def test_callers_are_told_what_is_on_disk_and_memory_agrees(lossy: Lossy, cut: Cut) -> None:
    async with running_engine(lossy) as engine:
        lossy.cuts.append(cut)
        answers = await asyncio.gather(*(engine.do(puts(n)) for n in (1, 2)), return_exceptions=True)
        assert [type(answer) for answer in answers] == [type(None) if cut is Cut.AFTER else OutcomeUnknown] * 2
        await engine.do(puts(3))
        known = {*engine.state.applications}

    assert known == {row.id for row in (await lossy.stored()).applications}
    assert len(known) == (3 if cut is Cut.AFTER else 1)


async def test_commit_that_races_with_the_question_is_found_or_never_happens(postgres_url: str) -> None:
    """Sent on and cut in the same moment, many times over: what memory says after each is what the disk says."""
    draw = random.Random(4)
    async with lossy_postgres(postgres_url) as lossy, running_engine(lossy) as engine:
        for number in range(1, BATCHES + 1):
            lossy.cuts.extend(draw.choices([[], [Cut.BETWEEN], [Cut.AFTER], [Cut.BEFORE]], [1, 3, 1, 1])[0])
            with suppress(Unavailable):
                await engine.do(puts(number))
            assert {*engine.state.applications} == await numbers(postgres_url)
        assert lossy.cuts == []


async def numbers(url: str) -> set[ApplicationId]:
    """Return the applications on disk, read past the store, which would take it over."""
    address = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    async with await psycopg.AsyncConnection.connect(address) as connection:
        cursor = await connection.execute("SELECT id FROM applications")
        return {ApplicationId.parse(str(row[0])) for row in await cursor.fetchall()}
