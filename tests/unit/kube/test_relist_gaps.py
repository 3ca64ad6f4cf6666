"""Ten thousand pods listed at once: how long the event loop is kept from everybody else.

From the bytes of the API server to the rounds of the reconciler, with real rows.  Counted is processor time between two
turns of the loop, not the clock's: what else runs on the machine must not decide.
"""

from __future__ import annotations

import asyncio
import gc
import random
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from tests.support.fake_kubernetes import Answer, FakeApi, Stream, listing, pod
from tests.support.playbook import World
from yodel.domain.container import Container
from yodel.domain.ids import ContainerId, dns_name
from yodel.host.clock import LoopTimers
from yodel.kube.watch_loop import WatchHealth, watch, watched_pods
from yodel.services.pods.reconciler import Reconciler, ReconcilerSettings
from yodel.services.pods.work_queue import WorkQueue

PODS, PAGE = 10_000, 500
PIECE_MAX_S = 0.050
AT = "2026-01-02T03:04:05Z"
MANAGED: dict[str, Any] = {f"f:field{number}": {"f:x": {}, "f:y": {".": {}}} for number in range(60)}


@pytest.fixture
def quiet_heap() -> Iterator[None]:
    """The heap of a test run is not the ResourceManager's: what is in it is kept out of collections."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def bodies(rows: list[Container], version: int) -> list[Answer]:
    pods = [a_pod(row, version) for row in rows]
    pages = [pods[start : start + PAGE] for start in range(0, len(pods), PAGE)]
    return [
        Answer(body=msgspec.json.encode(listing(version, *page, continuation="" if page is pages[-1] else "more")))
        for page in pages
    ]


def a_pod(row: Container, version: int) -> dict[str, Any]:
    """With what a kubelet and the managed fields add: about 4 kB."""
    body = pod(dns_name(row.id), version, container_id=str(row.id), phase="Running")
    body["metadata"] |= {"creationTimestamp": AT, "managedFields": [{"manager": "kubelet", "fieldsV1": MANAGED}]}
    body["spec"]["nodeName"] = "node-1"
    kinds = ("Initialized", "Ready", "ContainersReady", "PodScheduled")
    body["status"]["conditions"] = [{"type": kind, "status": "True", "lastTransitionTime": AT} for kind in kinds]
    body["status"]["containerStatuses"] = [{"name": "main", "ready": True, "state": {"running": {"startedAt": AT}}}]
    return body


async def many_containers(world: World) -> list[Container]:
    am = await world.running_am()
    (first,) = await am.obtain(1)
    pattern = world.container(first)
    ids = [ContainerId(first.attempt_id, number) for number in range(10, 10 + PODS)]
    rows = [replace(pattern, id=one, pod=dns_name(one)) for one in ids]
    world.rm.state.publish(rows)
    return list(world.rm.state.live_containers())


class LongestPiece:
    """What one turn of the loop took at most, in seconds of processor time."""

    def __init__(self) -> None:
        self.longest_s = 0.0

    async def run(self) -> None:
        while True:
            before_s = time.thread_time()
            await asyncio.sleep(0)
            self.longest_s = max(self.longest_s, time.thread_time() - before_s)


@pytest.mark.usefixtures("quiet_heap")
async def test_ten_thousand_pods_keep_nobody_waiting() -> None:
    """The machine itself makes a piece longer now and then: the best of three tries says what the code takes."""
    pieces_s: list[float] = []
    while len(pieces_s) < 3 and min(pieces_s, default=PIECE_MAX_S) >= PIECE_MAX_S:
        pieces_s.append(await longest_piece_of_two_listings())
    assert min(pieces_s) < PIECE_MAX_S, pieces_s


async def longest_piece_of_two_listings() -> float:
    """Processor time, seconds."""
    async with World() as world:
        rows = await many_containers(world)
        script = [*bodies(rows, 1), Stream(ending="cut"), Answer(status=410), *bodies(rows, 2), Stream()]
        rounds: dict[ContainerId, int] = {}
        health, piece = WatchHealth(time.monotonic), LongestPiece()

        async def round_of(container_id: ContainerId) -> float | None:
            rounds[container_id] = rounds.get(container_id, 0) + 1
            return await reconciler.reconcile(container_id)

        queue: WorkQueue[ContainerId] = WorkQueue(round_of, random.random, LoopTimers())
        rm = world.rm
        reconciler = Reconciler(
            rm.engine, world.pods, world.clock, rm.maker.manifest_of, ReconcilerSettings(), queue.add
        )
        watching = watch(
            FakeApi(*script), watched_pods("n", "s", reconciler), clock=time.monotonic, random=float, health=health
        )
        tasks = [asyncio.create_task(work) for work in (queue.run(), watching, piece.run())]
        async with asyncio.timeout(60):
            while health.listings < 2 or len(queue) > 0:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

        assert rounds.keys() == {row.id for row in rows}
        assert {reconciler.observed(row.id).resource_version for row in rows} == {"2"}  # type: ignore[union-attr]
        assert all(world.container(row.id).is_live for row in rows)
        return piece.longest_s
