"""Two real ResourceManagers on one PostgreSQL: whatever happens to the leader, the other serves and it alone writes.

A trigger in the database keeps under which name each row was written, so that a write of the wrong one would be seen.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from psycopg import sql
from sqlalchemy import make_url

from tests.support.managers import Pair, a_pair
from tests.support.postgres import PostgresServer, postgres_server
from tests.support.stores import migrated_postgres, postgres_url

__all__ = ["migrated_postgres", "postgres_server", "postgres_url"]
LEASE_S = 5
LONG_LEASE_S = 20
"""Many times what anything but waiting for its end takes."""


@pytest.fixture
async def pair(postgres_url: str, tmp_path: Path) -> AsyncIterator[Pair]:
    async with a_pair(postgres_url, tmp_path) as pair:
        yield pair


async def test_killed_leader_is_replaced_and_nothing_is_lost(pair: Pair) -> None:
    leader, standby = await pair.leader_and_standby()
    application_id = await leader.submit()
    assert await leader.listens() == [True] * 4
    assert await standby.listens() == [False] * 4
    assert (await standby.get("/health/live")).status_code == 200
    await standby.until_says(f"standby: {pair.holder()} leads")
    killed_s = time.monotonic()
    leader.process.kill()
    await standby.until_ready(200)
    print(f"served again after {time.monotonic() - killed_s:.1f} s")
    assert await standby.listens() == [True] * 4
    assert (await standby.get("/ws/v1/cluster/info")).json()["clusterInfo"]["haState"] == "ACTIVE"
    app = (await standby.get(f"/ws/v1/cluster/apps/{application_id}")).json()["app"]
    assert (app["id"], app["state"]) == (application_id, "ACCEPTED")
    assert "yodel_leader 1.0" in (await standby.get("/prom")).text


async def test_stopped_leader_writes_nothing_when_it_goes_on_and_ends(pair: Pair) -> None:
    """The requests that were sent to it meanwhile are in its sockets when it wakes up: they must not be carried out."""
    leader, standby = await pair.leader_and_standby(leader_lease_s=LEASE_S)
    await leader.submit()
    old = pair.holder()
    leader.process.send_signal(signal.SIGSTOP)
    late = [asyncio.create_task(leader.submit()) for _ in range(3)]
    await standby.until_ready(200)
    assert pair.holder() != old
    await standby.submit()
    before = pair.writes()
    assert set(before) == {old, pair.holder()}
    leader.process.send_signal(signal.SIGCONT)
    assert await leader.ended() != 0
    assert all(isinstance(error, Exception) for error in await asyncio.gather(*late, return_exceptions=True))
    assert "leadership lost" in leader.log.read_text()
    await standby.submit()
    after = pair.writes()
    assert after[old] == before[old]
    assert after[pair.holder()] > before[pair.holder()]


async def test_leader_whose_database_is_away_ends_and_the_next_process_waits_for_it(
    pair: Pair, postgres_server: PostgresServer, postgres_url: str
) -> None:
    leader = await pair.start(leader_lease_s=LEASE_S)
    await leader.until_ready(200)
    application_id = await leader.submit()
    database = sql.Identifier(str(make_url(postgres_url).database))
    postgres_server.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS false").format(database))
    postgres_server.execute(
        sql.SQL("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = {}").format(
            sql.Literal(make_url(postgres_url).database)
        )
    )
    assert await leader.ended() != 0
    following = await pair.start(leader_lease_s=LONG_LEASE_S)
    await following.until_says("standby: the database does not answer")
    postgres_server.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS true").format(database))
    await following.until_ready(200)
    assert (await following.get(f"/ws/v1/cluster/apps/{application_id}")).status_code == 200


async def test_leader_that_ends_in_order_hands_over_at_once(pair: Pair) -> None:
    """And waits for somebody to hand over to: the standby is started after it was told to end."""
    leader = await pair.start(leader_handover_s=30, leader_lease_s=LONG_LEASE_S)
    await leader.until_ready(200)
    leader.process.terminate()
    standby = await pair.start(leader_lease_s=LONG_LEASE_S)
    await standby.until_ready(200)
    assert await leader.ended() == 0
    text = leader.log.read_text()
    assert "waiting for a standby to take over" in text
    assert "no standby took over" not in text
    assert "leadership released" in text


@pytest.mark.parametrize("is_in_order", [True, False], ids=["in order", "by a crash"])
async def test_only_a_crash_costs_the_time_of_a_lease(pair: Pair, is_in_order: bool) -> None:
    """The lease is so long that nothing but a release can be that quick, and nothing but its end that slow."""
    leader, standby = await pair.leader_and_standby(leader_lease_s=LONG_LEASE_S, leader_handover_s=30)
    await standby.until_says(f"standby: {pair.holder()} leads")
    old = pair.holder()
    began_s = time.monotonic()
    if is_in_order:
        leader.process.terminate()
    else:
        leader.process.kill()
    async with asyncio.timeout(2 * LONG_LEASE_S):
        while pair.holder() in (old, ""):  # noqa: ASYNC110 - another process is waited for
            await asyncio.sleep(0.05)
    took_s = time.monotonic() - began_s
    print(f"another leads after {took_s:.1f} s")
    assert (took_s < LONG_LEASE_S / 2) is is_in_order
    await standby.until_ready(200)
    assert await leader.ended() == (0 if is_in_order else -signal.SIGKILL)
