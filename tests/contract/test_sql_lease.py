"""The lease as a row of a real PostgreSQL: who gets it, who keeps it, and what a store without it refuses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack

import psycopg
import pytest
from sqlalchemy import make_url

from tests.support.postgres import PostgresServer
from tests.support.records import an_application
from yodel.domain.queues.queue import default_queues
from yodel.errors import Unavailable
from yodel.ports.store import Commit, FencedOut
from yodel.store.errors import LeadLost, SchemaNotAtHead
from yodel.store.leadership import LeaseTimes
from yodel.store.sql_lease import LEADER_PREFIX, SqlLease
from yodel.store.sql_store import SqlStore

TIMES = LeaseTimes(lease_s=60)
NewLease = Callable[[str], SqlLease]


class Lead:
    """Says yes until it is told otherwise, as the clock of a process would."""

    def __init__(self, holder: str) -> None:
        self.holder = holder
        self.is_held = True

    def require(self) -> None:
        if not self.is_held:
            raise LeadLost(self.holder)


@pytest.fixture
async def new_lease(postgres_url: str) -> AsyncIterator[NewLease]:
    async with AsyncExitStack() as stack:

        def new(holder: str) -> SqlLease:
            lease = SqlLease(postgres_url, holder, TIMES)
            stack.push_async_callback(lease.close)
            return lease

        yield new


def sql(url: str, statement: str) -> None:
    address = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(statement.encode())


def let_time_pass(url: str) -> None:
    """Let the lease end: the database's clock cannot be moved, but the row can."""
    sql(url, "UPDATE leadership SET expires_ms = 1")


async def open_with(url: str, lead: Lead) -> SqlStore:
    store = SqlStore(url, lead=lead)
    await store.open(now_ms=1, default_queues=default_queues())
    return store


async def test_the_first_gets_it_and_the_second_is_told_who_has_it(new_lease: NewLease) -> None:
    first, second = new_lease("a"), new_lease("b")
    assert [await first.claim(), await second.claim(), await first.claim()] == ["a", "a", "a"]


async def test_of_many_that_ask_at_once_one_gets_it(new_lease: NewLease) -> None:
    leases = {name: new_lease(name) for name in "abcdef"}
    answers = await asyncio.gather(*(lease.claim() for lease in leases.values()))
    assert len(set(answers)) == 1


async def test_renewal_tells_whether_a_successor_waits(new_lease: NewLease, postgres_url: str) -> None:
    first, second = new_lease("a"), new_lease("b")
    await first.claim()
    assert await first.renew() is False
    await second.claim()
    assert await first.renew() is True
    sql(postgres_url, "UPDATE leadership SET successor_until_ms = 1")
    assert await first.renew() is False


async def test_an_ended_lease_is_the_next_one_s_and_the_old_holder_cannot_renew(
    new_lease: NewLease, postgres_url: str
) -> None:
    first, second = new_lease("a"), new_lease("b")
    await first.claim()
    let_time_pass(postgres_url)
    assert await second.claim() == "b"
    assert await first.renew() is None
    assert await first.claim() == "b"


async def test_an_ended_lease_that_nobody_took_is_renewed(new_lease: NewLease, postgres_url: str) -> None:
    first, second = new_lease("a"), new_lease("b")
    await first.claim()
    let_time_pass(postgres_url)
    assert await first.renew() is False
    assert await second.claim() == "a"


async def test_a_released_lease_is_free_and_only_its_holder_releases_it(new_lease: NewLease) -> None:
    first, second = new_lease("a"), new_lease("b")
    await first.claim()
    await second.release()
    assert await second.claim() == "a"
    await first.release()
    assert await second.claim() == "b"


async def test_a_lease_ends_by_the_database_s_clock(new_lease: NewLease, postgres_url: str) -> None:
    await new_lease("a").claim()
    address = make_url(postgres_url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(address) as connection:
        row = connection.execute(
            "SELECT expires_ms - extract(epoch FROM clock_timestamp()) * 1000 FROM leadership"
        ).fetchone()
    assert row is not None
    assert 0 < float(row[0]) <= TIMES.lease_s * 1000


async def test_a_cut_connection_costs_one_attempt(
    new_lease: NewLease, postgres_url: str, postgres_server: PostgresServer
) -> None:
    lease = new_lease("a")
    await lease.claim()
    database = make_url(postgres_url).database
    with postgres_server.connect("postgres") as connection:
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [database])
    with pytest.raises(Unavailable):
        await lease.renew()
    assert await lease.renew() is False


async def test_a_commit_under_way_does_not_hold_up_the_lease(new_lease: NewLease, postgres_url: str) -> None:
    lease = new_lease("a")
    await lease.claim()
    address = make_url(postgres_url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(address) as connection:
        connection.execute("UPDATE identity SET epoch = epoch")
        assert await lease.renew() is False


async def test_a_database_without_tables_says_to_run_migrate(postgres_server: PostgresServer) -> None:
    lease = SqlLease(postgres_server.url(postgres_server.new_database()), "a", TIMES)
    with pytest.raises(SchemaNotAtHead, match="yodel migrate"):
        await lease.claim()
    await lease.close()


async def test_a_database_that_is_not_there_is_unavailable(unused_tcp_port: int) -> None:
    lease = SqlLease(f"postgresql+asyncpg://yodel:very-secret@127.0.0.1:{unused_tcp_port}/yodel", "a", TIMES)
    for ask in (lease.claim, lease.renew, lease.release):
        with pytest.raises(Unavailable) as raised:
            await ask()
        assert "very-secret" not in str(raised.value)
    await lease.close()


async def test_a_store_is_opened_by_the_holder_alone(new_lease: NewLease, postgres_url: str) -> None:
    await new_lease("a").claim()
    await (await open_with(postgres_url, Lead("a"))).close()
    with pytest.raises(LeadLost):
        await open_with(postgres_url, Lead("b"))
    let_time_pass(postgres_url)
    with pytest.raises(LeadLost):
        await open_with(postgres_url, Lead("a"))


async def test_an_opening_that_was_refused_fences_nobody_out(new_lease: NewLease, postgres_url: str) -> None:
    await new_lease("a").claim()
    store = await open_with(postgres_url, Lead("a"))
    with pytest.raises(LeadLost):
        await open_with(postgres_url, Lead("b"))
    # Its connection was cut all the same, by somebody who believed to lead: one commit may fail.
    try:
        await store.commit(Commit(rows=[an_application()]))
    except Unavailable:
        await store.commit(Commit(rows=[an_application()]))
    await store.close()


async def test_who_lost_the_lead_writes_nothing(new_lease: NewLease, postgres_url: str) -> None:
    await new_lease("a").claim()
    lead = Lead("a")
    store = await open_with(postgres_url, lead)
    lead.is_held = False
    with pytest.raises(LeadLost):
        await store.commit(Commit(rows=[an_application()]))
    await store.close()
    with pytest.raises(LeadLost):
        await open_with(postgres_url, lead)


async def test_who_does_not_know_yet_is_fenced_out(new_lease: NewLease, postgres_url: str) -> None:
    first, second = new_lease("a"), new_lease("b")
    await first.claim()
    old = await open_with(postgres_url, Lead("a"))
    let_time_pass(postgres_url)
    await second.claim()
    new = await open_with(postgres_url, Lead("b"))
    with pytest.raises(Unavailable):  # its connection was ended
        await old.commit(Commit(rows=[an_application()]))
    with pytest.raises(FencedOut):
        await old.commit(Commit(rows=[an_application()]))
    await new.commit(Commit(rows=[an_application()]))
    await old.close()
    await new.close()


async def test_a_leader_that_stopped_in_the_middle_of_a_commit_is_not_waited_for(
    new_lease: NewLease, postgres_url: str
) -> None:
    await new_lease("a").claim()
    await (await open_with(postgres_url, Lead("a"))).close()
    let_time_pass(postgres_url)
    await new_lease("b").claim()
    address = make_url(postgres_url).set(drivername="postgresql").render_as_string(hide_password=False)
    stopped = psycopg.connect(address, application_name=f"{LEADER_PREFIX}a")
    stopped.execute("UPDATE identity SET epoch = epoch")
    async with asyncio.timeout(60):
        await (await open_with(postgres_url, Lead("b"))).close()
    with pytest.raises(psycopg.OperationalError):
        stopped.execute("SELECT 1")
    stopped.close()
