"""Ask to running on real kubelets, p50 and p95, and its parts; on the cluster of ``make cluster``.

    python -m bench.kube_latency [--containers 50]

One unmanaged AM asks for one container at a time and starts it.  Beside it the pods are watched, so what Kubernetes
does is timed by the same clock: created, bound (by the queue's scheduler), running (its container was started).  The
AM's own parts: granted, and started (its command runs, after the hand-over to the waiting pod).  Last, the same pods
made without Yodel, from request to running.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import secrets
import statistics
import time
import xml.etree.ElementTree
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import uvloop

from bench.cluster import CLIENT_PROTOCOL, MASTER_PROTOCOL, amrm_token, submit_unmanaged
from bench.latency import BEAT_S, Master
from bench.machine import print_machine
from tests.rigs.kubernetes.rig import read_state
from yodel.domain.ids import ApplicationId
from yodel.hadoop_rpc.writable import WireToken
from yodel.kube.api import ApiRequest
from yodel.kube.client import KubeClient, open_kube
from yodel.rpc_io.client import RpcClient

USER = "yodel-alice"
CREATED, BOUND, RUNNING, GRANTED, STARTED = "created", "bound", "running", "granted", "started"
WAIT_S = 60
WARM_UP = 3


class PodWatch:
    """Records when each stage of the newest pod was first seen, by this process' clock."""

    def __init__(self, client: KubeClient, namespace: str) -> None:
        self._client, self._path = client, f"/api/v1/namespaces/{namespace}/pods"
        self.seen: dict[str, float] = {}
        self.last: dict[str, Any] = {}
        self._changed = asyncio.Event()

    def begin(self) -> None:
        """Forget the pod before."""
        self.seen, self.last = {}, {}

    async def until(self, stage: str) -> None:
        async with asyncio.timeout(WAIT_S):
            while stage not in self.seen:
                self._changed.clear()
                await self._changed.wait()

    async def run(self, selector: str) -> None:
        listing = json.loads(await self._client.call(ApiRequest(path=self._path, query={"labelSelector": selector})))
        query = {"labelSelector": selector, "watch": "true", "resourceVersion": listing["metadata"]["resourceVersion"]}
        buffer = b""
        async with self._client.stream(ApiRequest(path=self._path, query=query)) as chunks:
            async for chunk in chunks:
                *lines, buffer = (buffer + chunk).split(b"\n")
                for line in lines:
                    self._see(json.loads(line))

    def _see(self, event: dict[str, Any]) -> None:
        pod, now_s = event["object"], time.perf_counter()
        if event["type"] == "ADDED":
            self.begin()
        elif not self.last or pod["metadata"]["uid"] != self.last["metadata"]["uid"]:
            return  # of one before
        self.last = pod
        for stage, reached in (
            (CREATED, True),
            (BOUND, bool(pod["spec"].get("nodeName"))),
            (RUNNING, pod.get("status", {}).get("phase") == "Running"),
        ):
            if reached:
                self.seen.setdefault(stage, now_s)
        self._changed.set()


@contextlib.asynccontextmanager
async def watching(client: KubeClient, namespace: str, selector: str) -> AsyncIterator[PodWatch]:
    watch = PodWatch(client, namespace)
    task = asyncio.create_task(watch.run(selector))
    await asyncio.sleep(1)  # the stream is open
    yield watch
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


class KubeMaster(Master):
    """Also tells when it had what."""

    async def timed(self, watch: PodWatch) -> dict[str, float]:
        """Seconds from the ask to each stage."""
        watch.begin()
        asked_s = time.perf_counter()
        granted = await self.beat(ask=1)
        while not granted:
            await asyncio.sleep(BEAT_S)
            granted = await self.beat()
        granted_s = time.perf_counter()
        await self._start(granted[0])
        started_s = time.perf_counter()
        await watch.until(RUNNING)
        await self.beat(ask=0, release=granted[0].id)
        stages = {**watch.seen, GRANTED: granted_s, STARTED: started_s}
        return {stage: at_s - asked_s for stage, at_s in stages.items()}


def addresses(conf_dir: Path) -> dict[str, tuple[str, int]]:
    """The ResourceManager's, by property, from a client's yarn-site.xml."""
    found = {}
    for entry in xml.etree.ElementTree.parse(conf_dir / "yarn-site.xml").iter("property"):
        name, value = entry.findtext("name", ""), entry.findtext("value", "")
        host, colon, port = value.rpartition(":")
        if colon and port.isdigit():
            found[name] = (host, int(port))
    return found


async def master_of_its_own(conf_dir: Path) -> tuple[ApplicationId, KubeMaster]:
    """An application whose AM is this process."""
    known = addresses(conf_dir)

    def rpc(name: str, protocol: str, user: str, token: WireToken | None = None) -> RpcClient:
        host, port = known[name]
        return RpcClient(
            host=host, port=port, protocol=protocol, user=user, token=token, client_id=secrets.token_bytes(16)
        )

    client = rpc("yarn.resourcemanager.address", CLIENT_PROTOCOL, USER)
    application_id = await submit_unmanaged(client)
    _, token = await amrm_token(client, application_id)
    master = KubeMaster(rpc("yarn.resourcemanager.scheduler.address", MASTER_PROTOCOL, "", token))
    await master.register()
    return application_id, master


async def raw(client: KubeClient, namespace: str, body: dict[str, Any], count: int) -> list[float]:
    """Request to running of pods like ``body``, made here, one after the other."""
    path, taken = f"/api/v1/namespaces/{namespace}/pods", []
    selector = "yodel.io/bench=raw"
    async with watching(client, namespace, selector) as watch:
        for number in range(count):
            name = f"bench-raw-{number}"
            pod = raw_pod(body, name)
            watch.begin()
            begin_s = time.perf_counter()
            await client.call(ApiRequest(method="POST", path=path, body=json.dumps(pod).encode()))
            await watch.until(RUNNING)
            taken.append(watch.seen[RUNNING] - begin_s)
            query = {"gracePeriodSeconds": "0"}
            await client.call(ApiRequest(method="DELETE", path=f"{path}/{name}", query=query))
    return taken


def raw_pod(body: dict[str, Any], name: str) -> dict[str, Any]:
    """The same spec, but for what binds it to a node, or to the ResourceManager."""
    spec = {key: value for key, value in body["spec"].items() if key != "nodeName"}
    return {"metadata": {"name": name, "labels": {"yodel.io/bench": "raw"}}, "spec": spec}


async def measure(count: int) -> None:
    state = read_state()
    if state is None:
        raise SystemExit("no cluster: make cluster")
    namespace = state.container_namespace
    async with await open_kube(Path(state.kubeconfig), None) as client:
        application_id, master = await master_of_its_own(Path(state.conf_dir))
        async with watching(client, namespace, f"yodel.io/application={application_id}") as watch:
            for _ in range(WARM_UP):
                await master.timed(watch)
            runs = [await master.timed(watch) for _ in range(count)]
            body = watch.last
        plain = (await raw(client, namespace, body, count + WARM_UP))[WARM_UP:]
    print(f"| from the ask to | p50 | p95 |  ({count} containers)\n|---|---|---|")
    for stage in (CREATED, BOUND, GRANTED, RUNNING, STARTED):
        print(row(stage, [run[stage] for run in runs]))
    print(row("the same pod without Yodel, request to running", plain), flush=True)


def row(name: str, seconds: list[float]) -> str:
    ordered = sorted(seconds)
    p95 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]
    return f"| {name} | {statistics.median(ordered) * 1000:.0f} ms | {p95 * 1000:.0f} ms |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--containers", type=int, default=50)
    uvloop.run(measure(parser.parse_args().containers))


if __name__ == "__main__":
    print_machine()
    main()
