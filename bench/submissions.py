"""Submissions as Hadoop's client makes them, and a ResourceManager that keeps many ended applications.

A submission is getNewApplication, submitApplication, and getApplicationReport until the application is stored and
accepted: the real ResourceManager answers the second call before it has stored anything, so its client asks on
(``YarnClientImpl.submitApplication``).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Sequence
from functools import partial

from bench.cluster import Cluster, client, submit_unmanaged, until
from bench.heartbeats import SUBMITTERS, Figures
from yodel.domain.ids import ApplicationId
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_pb import yarn_service_protos_pb2 as msg
from yodel.pb_convert import ids
from yodel.rpc_io.client import RpcClient

BATCH = 25
POLL_S = 0.002
ENDED = (pb.FINISHED, pb.FAILED, pb.KILLED)
STORED = (pb.ACCEPTED, pb.RUNNING, *ENDED)


async def is_in(states: Collection[int], rpc: RpcClient, application_id: ApplicationId) -> bool:
    request = msg.GetApplicationReportRequestProto(application_id=ids.application_id_pb(application_id))
    reply = await rpc.call("getApplicationReport", request, msg.GetApplicationReportResponseProto)
    return reply.application_report.yarn_application_state in states


async def submitted(rpc: RpcClient) -> ApplicationId:
    """Returns when the application is stored."""
    application_id = await submit_unmanaged(rpc)
    await until(lambda: is_in(STORED, rpc, application_id), POLL_S)
    return application_id


async def end(rpc: RpcClient, applications: Sequence[ApplicationId]) -> None:
    """Kill them, and wait for it."""
    for application_id in applications:
        request = msg.KillApplicationRequestProto(application_id=ids.application_id_pb(application_id))
        await rpc.call("forceKillApplication", request, msg.KillApplicationResponseProto)
    for application_id in applications:
        await until(partial(is_in, ENDED, rpc, application_id), POLL_S)


async def keep(cluster: Cluster, count: int) -> None:
    """Leave so many ended applications."""

    async def some(count: int) -> None:
        rpc = client(cluster)
        for start in range(0, count, BATCH):
            await end(rpc, [await submitted(rpc) for _ in range(min(BATCH, count - start))])
        await rpc.close()

    async with asyncio.TaskGroup() as tasks:
        for _ in range(SUBMITTERS):
            tasks.create_task(some(-(-count // SUBMITTERS)))


async def measure(cluster: Cluster, seconds: float) -> Figures:
    """Submit from eight connections; what was submitted is ended afterwards, beside the measurement."""
    took_s, made = list[float](), list[ApplicationId]()
    clients = [client(cluster) for _ in range(SUBMITTERS)]

    async def submitter(rpc: RpcClient, until_s: float) -> None:
        while (begin_s := time.perf_counter()) < until_s:
            made.append(await submitted(rpc))
            took_s.append(time.perf_counter() - begin_s)

    begin_s, cpu_s = time.perf_counter(), cluster.processor_s()
    async with asyncio.TaskGroup() as tasks:
        for rpc in clients:
            tasks.create_task(submitter(rpc, begin_s + seconds))
    all_s, cpu_s = time.perf_counter() - begin_s, cluster.processor_s() - cpu_s
    async with asyncio.TaskGroup() as tasks:
        for place, rpc in enumerate(clients):
            tasks.create_task(end(rpc, made[place::SUBMITTERS]))
    for rpc in clients:
        await rpc.close()
    p99_ms = 1e3 * sorted(took_s)[int(len(took_s) * 0.99)]
    return Figures(per_s=len(made) / all_s, cpu_us=1e6 * cpu_s / len(made), p99_ms=p99_ms)
