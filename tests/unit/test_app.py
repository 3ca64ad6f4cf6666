"""The composition root is looked at without running it; the whole is what the conformance tests run."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx2
import pytest

from tests.support.ports import free_ports
from yodel.domain.queues.queue import Queue, QueueState
from yodel.domain.scheduler_conf import SchedulerConf
from yodel.errors import InvalidValue
from yodel.host.clock import SystemClock
from yodel.ports.store import Commit
from yodel.services import recovery
from yodel.settings.queues import QueueSettings
from yodel.settings.rm import Settings
from yodel.store.memory_store import MemoryDisk, MemoryStore
from yodel.wiring import from_settings
from yodel.wiring import process as app


async def test_queues_of_the_settings_count_until_others_are_made_over_rest() -> None:
    disk = MemoryDisk()

    async def start(*queues: str) -> tuple[set[str], MemoryStore]:
        store = MemoryStore(disk)
        wanted = from_settings.queues(Settings(queues=queues))
        stored = await recovery.opened(store, SystemClock(), wanted, bytes)
        return {queue.path for queue in stored.queues if queue.state is QueueState.RUNNING}, store

    assert (await start("default"))[0] == {"root", "root.default"}
    assert (await start("other"))[0] == {"root", "root.other"}
    running, store = await start("default", "other")
    assert running == {"root", "root.default", "root.other"}
    conf = SchedulerConf().next({"yarn.scheduler.capacity.root.queues": "made"})
    made = [Queue(path="root", is_leaf=False), Queue(path="root.made"), conf]
    await store.commit(Commit(rows=made, removed_queues=["root.default", "root.other"]))
    assert (await start("default"))[0] == {"root", "root.made"}
    await (await start("default"))[1].commit(Commit(rows=[conf.next({})]))
    assert (await start("default"))[0] == {"root", "root.default"}


def test_queues_of_the_settings_share_their_own_pool() -> None:
    own = {"root.b": QueueSettings(dialect="volcano"), "root.c": QueueSettings(dialect="native")}
    found = from_settings.queues(Settings(queues=("default", "b", "c"), queue_settings=own))
    assert [queue.capacity_percent for queue in found[1:]] == [50.0, 100.0, 50.0]


async def test_a_store_that_no_standby_can_share_is_not_handed_over(tmp_path: Path) -> None:
    settings = Settings(store_url=f"sqlite+aiosqlite:///{tmp_path}/rm.db", leader_handover_s=15)
    with pytest.raises(InvalidValue, match="leader_handover_s"):
        await app.run_rm(settings, asyncio.Event())
    assert not (tmp_path / "rm.db").exists()


async def test_probes_have_a_port_of_their_own_from_the_start_and_hear_who_serves() -> None:
    (port,) = free_ports(1)
    health = app._Health()
    async with app._probed(Settings(bind_host="127.0.0.1", probe_port=port), health):
        assert await asked(port, "/health/live") == (200, "OK")
        assert await asked(port, "/health/ready") == (503, "starting")
        health.not_ready = lambda: "standby: another leads"
        assert await asked(port, "/health/ready") == (503, "standby: another leads")
        health.not_ready = str
        assert await asked(port, "/health/ready") == (200, "OK")
    with pytest.raises(httpx2.ConnectError):
        await asked(port, "/health/live")


async def asked(port: int, path: str) -> tuple[int, str]:
    async with httpx2.AsyncClient(trust_env=False) as client:
        answer = await client.get(f"http://127.0.0.1:{port}{path}")
        return answer.status_code, answer.text
