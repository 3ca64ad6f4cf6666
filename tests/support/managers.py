"""Real ResourceManagers on one database, each a process of its own, and what they wrote there."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import psycopg
from sqlalchemy import make_url

from tests.support.embedded_kubernetes import embedded_kubernetes
from tests.support.older_release import environment_of
from tests.support.ports import free_ports

HOST = "127.0.0.1"
START_TIMEOUT_S = 600
PORTS = ("client_port", "scheduler_port", "tracker_port", "admin_port", "webapp_port")
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
        async with httpx2.AsyncClient(base_url=self.url, timeout=60) as client:
            return await client.get(path)

    async def post(self, path: str, body: Any = None) -> httpx2.Response:
        async with httpx2.AsyncClient(base_url=self.url, timeout=60) as client:
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
        """Wait for a text of its readiness; before it has read the database nobody listens, or it is "starting"."""
        async with asyncio.timeout(START_TIMEOUT_S):
            while True:
                with suppress(httpx2.TransportError):
                    if (await self.get("/health/ready")).text == text:
                        return
                await asyncio.sleep(0.1)

    async def ended(self, timeout_s: float = 30) -> int:
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
        """Return whether somebody listens on client, scheduler, tracker and administration port."""
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
        self._url, self.kubeconfig, self._directory = url, kubeconfig, directory
        self.managers: list[Manager] = []

    async def start(self, *, release: Path | None = None, ports: list[int] | None = None, **settings: Any) -> Manager:
        """Start one of this tree, or of an installed ``release``; on new ports, unless it takes the place of
        another."""
        ports = ports or free_ports(len(PORTS))
        known = {
            "store_url": self._url,
            "kubeconfig": self.kubeconfig,
            "bind_host": HOST,
            "host": HOST,
            "user_mode": "single",
            **dict(zip(PORTS, ports, strict=True)),
            **settings,
        }
        variables = {f"YODEL_{name.upper()}": str(value) for name, value in known.items()}
        log = self._directory / f"rm-{len(self.managers)}.log"
        with log.open("wb") as stderr:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "yodel", "serve"),
                cwd=self._directory,  # Python looks for modules there first
                env={**os.environ, **variables, **({} if release is None else environment_of(release))},
                stdout=stderr,
                stderr=stderr,
            )
        manager = Manager(process=process, ports=ports, log=log)
        self.managers.append(manager)
        return manager

    async def leader_and_standby(self, *, release: Path | None = None, **settings: Any) -> tuple[Manager, Manager]:
        leader = await self.start(release=release, **settings)
        await leader.until_ready(200)
        standby = await self.start(release=release, **settings)
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
        """Count the statements that changed something, by their holder."""
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
