"""Ten thousand pods listed at once, and again after the watch was lost.

From the bytes of the API server to the rounds of the reconciler, with real rows.
"""

from __future__ import annotations

import asyncio
import random
import time
from contextlib import suppress
from dataclasses import replace
from typing import Any

import msgspec

from tests.support.fake_kubernetes import Answer, FakeApi, Stream, listing, pod
from tests.support.playbook import World
from yodel.domain.container import Container
from yodel.domain.ids import ContainerId, dns_name
from yodel.host.clock import LoopTimers
from yodel.kube.watch_loop import WatchHealth, watch, watched_pods
from yodel.services.pods.reconciler import Reconciler, ReconcilerSettings
from yodel.services.pods.work_queue import WorkQueue

PODS, PAGE = 10_000, 500
AT = "2026-01-02T03:04:05Z"
MANAGED: dict[str, Any] = {f"f:field{number}": {"f:x": {}, "f:y": {".": {}}} for number in range(60)}


def bodies(rows: list[Container], version: int) -> list[Answer]:
    pods = [a_pod(row, version) for row in rows]
    pages = [pods[start : start + PAGE] for start in range(0, len(pods), PAGE)]
    return [
        Answer(body=msgspec.json.encode(listing(version, *page, continuation="" if page is pages[-1] else "more")))
        for page in pages
    ]


def a_pod(row: Container, version: int) -> dict[str, Any]:
    """Return a pod with what a kubelet and the managed fields add: about 4 kB."""
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


async def test_ten_thousand_pods_listed_twice_are_all_reconciled() -> None:
    async with World() as world:
        rows = await many_containers(world)
        script = [*bodies(rows, 1), Stream(ending="cut"), Answer(status=410), *bodies(rows, 2), Stream()]
        rounds: dict[ContainerId, int] = {}
        health = WatchHealth(time.monotonic)

        async def round_of(container_id: ContainerId) -> float | None:
            rounds[container_id] = rounds.get(container_id, 0) + 1
            return await reconciler.reconcile(container_id)

        queue: WorkQueue[ContainerId] = WorkQueue(round_of, random.random, LoopTimers())
        rm = world.rm
        reconciler = Reconciler(
            rm.engine, world.pods, world.clock, rm.maker.manifest_of, ReconcilerSettings(), queue.add, rm.node_managers
        )
        watching = watch(
            FakeApi(*script), watched_pods("n", "s", reconciler), clock=time.monotonic, random=float, health=health
        )
        tasks = [asyncio.create_task(work) for work in (queue.run(), watching)]
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
