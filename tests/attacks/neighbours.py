"""Neighbours work while others attack: each does one thing again and again, and says how long it took.

A process of its own: what the attackers' Python costs is not what the neighbours wait for.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2

from tests.attacks.attack import MASTER_PROTOCOL, Target
from yodel.domain.ids import ApplicationId
from yodel.hadoop_pb import yarn_service_protos_pb2 as msg
from yodel.hadoop_rpc.writable import WireToken
from yodel.pb_convert import ids
from yodel.rpc_io.client import RpcClient

PAUSE_S = {"beat": 0.1, "read": 0.2, "submit": 0.5, "probe": 0.2, "node probe": 0.2}
TIMEOUT_S = 20.0
START_S = 60.0
Once = Callable[[], Awaitable[object]]


async def main(target: Target) -> None:
    """Until standard input ends; for each line read there, what was measured since the last is written as a line."""
    samples: dict[str, list[float | str]] = {name: [] for name in PAUSE_S}
    async with asyncio.TaskGroup() as tasks, httpx2.AsyncClient(timeout=TIMEOUT_S) as http:
        beat = await _master(target)
        web, node = f"http://{target.web}", "http://{}:{}".format(*target.node_http)
        works: dict[str, Once] = {
            "beat": beat,
            "read": lambda: _get(http, f"{web}/ws/v1/cluster/metrics"),
            "submit": lambda: _submit_and_kill(target),
            "probe": lambda: _probe(f"{web}/health/live"),
            "node probe": lambda: _probe(f"{node}/ws/v1/node/info"),
        }
        running = [tasks.create_task(_again(work, samples[name], PAUSE_S[name])) for name, work in works.items()]
        loop = asyncio.get_running_loop()
        print("up", flush=True)
        while await loop.run_in_executor(None, sys.stdin.readline):
            print(json.dumps(samples), flush=True)
            for found in samples.values():
                found.clear()
        for task in running:
            task.cancel()


async def _again(once: Once, samples: list[float | str], pause_s: float) -> None:
    while True:
        begin_s = time.perf_counter()
        try:
            async with asyncio.timeout(TIMEOUT_S):
                await once()
            samples.append(time.perf_counter() - begin_s)
        except Exception as error:
            samples.append(f"{type(error).__name__}: {error}"[:300])
        await asyncio.sleep(pause_s)


async def _get(http: httpx2.AsyncClient, url: str) -> None:
    (await http.get(url)).raise_for_status()


async def _probe(url: str) -> None:
    """A connection each, as the kubelet makes them."""
    async with httpx2.AsyncClient(timeout=TIMEOUT_S) as http:
        await _get(http, url)


async def submitted(rpc: RpcClient, tracking_url: str = "") -> ApplicationId:
    """An application whose ApplicationMaster is the caller."""
    new = await rpc.call("getNewApplication", msg.GetNewApplicationRequestProto(), msg.GetNewApplicationResponseProto)
    request = msg.SubmitApplicationRequestProto()
    context = request.application_submission_context
    context.application_id.CopyFrom(new.application_id)
    context.application_name, context.unmanaged_am = "attacks", True
    context.am_container_spec.SetInParent()
    await rpc.call("submitApplication", request, msg.SubmitApplicationResponseProto)
    return ids.application_id(new.application_id)


async def killed(rpc: RpcClient, application_id: ApplicationId) -> None:
    request = msg.KillApplicationRequestProto(application_id=ids.application_id_pb(application_id))
    await rpc.call("forceKillApplication", request, msg.KillApplicationResponseProto)


async def master_of(target: Target, rpc: RpcClient, application_id: ApplicationId, tracking_url: str = "") -> RpcClient:
    """Registered."""
    asked = msg.GetApplicationReportRequestProto(application_id=ids.application_id_pb(application_id))
    async with asyncio.timeout(START_S):
        while True:
            report = await rpc.call("getApplicationReport", asked, msg.GetApplicationReportResponseProto)
            if report.application_report.HasField("am_rm_token"):
                break
            await asyncio.sleep(0.05)
    token = report.application_report.am_rm_token
    host, port = target.addresses["scheduler"]
    wire = WireToken(identifier=token.identifier, password=token.password, kind=token.kind, service="")
    client_id = secrets.token_bytes(16)
    master = RpcClient(host=host, port=port, protocol=MASTER_PROTOCOL, user="", token=wire, client_id=client_id)
    request = msg.RegisterApplicationMasterRequestProto(host="", rpc_port=0, tracking_url=tracking_url)
    await master.call("registerApplicationMaster", request, msg.RegisterApplicationMasterResponseProto)
    return master


async def _master(target: Target) -> Once:
    rpc = target.client("alice")
    master, response_id = await master_of(target, rpc, await submitted(rpc)), 0

    async def beat() -> None:
        nonlocal response_id
        request = msg.AllocateRequestProto(response_id=response_id, progress=0.5)
        response_id = (await master.call("allocate", request, msg.AllocateResponseProto)).response_id

    return beat


async def _submit_and_kill(target: Target) -> None:
    rpc = target.client("bob")
    try:
        await killed(rpc, await submitted(rpc))
    finally:
        await rpc.close()


def summary(samples: dict[str, list[Any]], limit_s: float) -> tuple[str, list[str]]:
    """Return what to print of a window, and what the neighbours suffered."""
    texts, suffered = [], []
    for name, found in samples.items():
        times = sorted(one for one in found if isinstance(one, float))
        errors = [one for one in found if not isinstance(one, float)]
        longest = times[-1] if times else 0.0
        middle = times[len(times) // 2] if times else 0.0
        texts.append(f"{name} {middle * 1000:.0f}/{longest * 1000:.0f}")
        if errors:
            suffered.append(f"{name}: {len(errors)} of {len(found)} failed: {errors[0]}")
        if longest > limit_s:
            suffered.append(f"{name} took {longest:.1f} s; at most {limit_s:g} s")
    return ", ".join(texts), suffered


if __name__ == "__main__":
    asyncio.run(main(Target.from_json(sys.argv[1])))
