"""Two real ResourceManagers on one PostgreSQL: whatever happens to the leader, the other serves and it alone writes.

A trigger in the database keeps under which name each row was written, so that a write of the wrong one would be seen.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
from psycopg import sql
from sqlalchemy import make_url

from tests.support.embedded_kubernetes import embedded_kubernetes
from tests.support.ports import free_ports
from tests.support.postgres import PostgresServer, postgres_server
from tests.support.stores import migrated_postgres, postgres_url

__all__ = ["migrated_postgres", "postgres_server", "postgres_url"]
HOST = "127.0.0.1"
START_TIMEOUT_S = 30
TAKEOVER_S = 10
"""What the default settings promise after a crash."""
LEASE_S = 2
LONG_LEASE_S = 20
"""Many times what anything but waiting for its end takes."""
WRITTEN = (
    "CREATE TABLE written (writer text)",
    "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS"
    " $$ BEGIN INSERT INTO written VALUES (current_setting('application_name')); RETURN NULL; END $$",
    *(
        f"CREATE TRIGGER note AFTER INSERT OR UPDATE OR DELETE ON {table} EXECUTE FUNCTION note()"
        for table in ("identity", "applications", "attempts", "containers", "nodes", "master_keys")
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Manager:
    """One process."""

    process: asyncio.subprocess.Process
    ports: list[int]
    log: Path

    async def get(self, path: str) -> httpx2.Response:
        async with httpx2.AsyncClient(base_url=self.url, timeout=5) as client:
            return await client.get(path)

    async def post(self, path: str, body: Any = None) -> httpx2.Response:
        async with httpx2.AsyncClient(base_url=self.url, timeout=10) as client:
            return await client.post(f"/ws/v1/cluster{path}?user.name=alice", json=body)

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.ports[-1]}"

    async def ready(self) -> int:
        """The status of the readiness probe; 0 while nobody listens."""
        try:
            return (await self.get("/health/ready")).status_code
        except httpx2.TransportError:
            return 0

    async def until_ready(self, status: int, timeout_s: float = START_TIMEOUT_S) -> None:
        try:
            async with asyncio.timeout(timeout_s):
                while await self.ready() != status:  # noqa: ASYNC110 - another process is waited for
                    await asyncio.sleep(0.1)
        except TimeoutError:
            raise AssertionError(f"not {status} within {timeout_s} s\n{self.log.read_text()}") from None

    async def until_says(self, text: str) -> None:
        """Of its readiness; before its first look at the database nobody listens, or it is "starting"."""
        async with asyncio.timeout(START_TIMEOUT_S):
            while True:
                with suppress(httpx2.TransportError):
                    if (await self.get("/health/ready")).text == text:
                        return
                await asyncio.sleep(0.1)

    async def ended(self, timeout_s: float = 10) -> int:
        async with asyncio.timeout(timeout_s):
            return await self.process.wait()

    async def submit(self) -> str:
        new = await self.post("/apps/new-application")
        application_id = str(new.json()["application-id"])
        body = {
            "application-id": application_id,
            "application-name": "x",
            "am-container-spec": {"commands": {"command": "sleep 1"}},
            "resource": {"memory": 1024, "vCores": 1},
        }
        assert (await self.post("/apps", body)).status_code == 202
        return application_id

    async def listens(self) -> list[bool]:
        """On client, scheduler, tracker and administration port."""
        found = []
        for port in self.ports[:-1]:
            try:
                _, writer = await asyncio.open_connection(HOST, port)
                writer.close()
                found.append(True)
            except OSError:
                found.append(False)
        return found


class Pair:
    """Starts ResourceManagers and looks at what they wrote."""

    def __init__(self, url: str, kubeconfig: Path, directory: Path) -> None:
        self._url, self._kubeconfig, self._directory = url, kubeconfig, directory
        self.managers: list[Manager] = []

    async def start(self, **settings: object) -> Manager:
        ports = free_ports(5)
        names = ("client_port", "scheduler_port", "tracker_port", "admin_port", "webapp_port")
        known = {
            "store_url": self._url,
            "kubeconfig": self._kubeconfig,
            "bind_host": HOST,
            "host": HOST,
            "user_mode": "single",
            **dict(zip(names, ports, strict=True)),
            **settings,
        }
        variables = {f"YODEL_{name.upper()}": str(value) for name, value in known.items()}
        log = self._directory / f"rm-{len(self.managers)}.log"
        with log.open("wb") as stderr:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "yodel", "serve"), env={**os.environ, **variables}, stdout=stderr, stderr=stderr
            )
        manager = Manager(process=process, ports=ports, log=log)
        self.managers.append(manager)
        return manager

    async def leader_and_standby(self, **settings: object) -> tuple[Manager, Manager]:
        leader = await self.start(**settings)
        await leader.until_ready(200)
        standby = await self.start(**settings)
        await standby.until_ready(503)
        return leader, standby

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        address = make_url(self._url).set(drivername="postgresql").render_as_string(hide_password=False)
        with psycopg.connect(address, autocommit=True) as connection:
            result = connection.execute(statement.encode())
            return result.fetchall() if result.description else []

    def holder(self) -> str:
        return str(self.query("SELECT holder FROM leadership")[0][0])

    def writes(self) -> dict[str, int]:
        """How many statements changed something, by the holder whose they were."""
        found = self.query("SELECT writer, count(*) FROM written GROUP BY writer")
        return {writer.removeprefix("yodel leader "): count for writer, count in found}

    async def stop(self) -> None:
        for manager in self.managers:
            if manager.process.returncode is None:
                manager.process.kill()
                await manager.process.wait()


@asynccontextmanager
async def a_pair(url: str, directory: Path) -> AsyncIterator[Pair]:
    async with embedded_kubernetes(directory) as kubeconfig:
        pair = Pair(url, kubeconfig, directory)
        for statement in WRITTEN:
            pair.query(statement)
        try:
            yield pair
        finally:
            await pair.stop()


@pytest.fixture
async def pair(postgres_url: str, tmp_path: Path) -> AsyncIterator[Pair]:
    async with a_pair(postgres_url, tmp_path) as pair:
        yield pair


async def test_killed_leader_is_replaced_within_ten_seconds_and_nothing_is_lost(pair: Pair) -> None:
    leader, standby = await pair.leader_and_standby()
    application_id = await leader.submit()
    assert await leader.listens() == [True] * 4
    assert await standby.listens() == [False] * 4
    assert (await standby.get("/health/live")).status_code == 200
    await standby.until_says(f"standby: {pair.holder()} leads")
    killed_s = time.monotonic()
    leader.process.kill()
    await standby.until_ready(200, TAKEOVER_S)
    print(f"served again after {time.monotonic() - killed_s:.1f} s")
    assert await standby.listens() == [True] * 4
    assert (await standby.get("/ws/v1/cluster/info")).json()["clusterInfo"]["haState"] == "ACTIVE"
    app = (await standby.get(f"/ws/v1/cluster/apps/{application_id}")).json()["app"]
    assert (app["id"], app["state"]) == (application_id, "ACCEPTED")
    assert "yodel_leader 1.0" in (await standby.get("/prom")).text


async def test_stopped_leader_writes_nothing_when_it_goes_on_and_ends(pair: Pair) -> None:
    """What was sent to it meanwhile is in its sockets when it wakes up: it must not be done."""
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
    assert "lead lost" in leader.log.read_text()
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
    following = await pair.start(leader_lease_s=LEASE_S)
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
    assert "waiting for a successor" in text
    assert "no successor came" not in text
    assert "lead released" in text


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
