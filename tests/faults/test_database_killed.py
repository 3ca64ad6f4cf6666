"""PostgreSQL is killed and started again under submissions: once before the leader has lost its lead, once after.

What restarts a ResourceManager that ended (the kubelet, in an installation of the chart) is a loop here.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import msgspec

from tests.support.managers import PORTS, Manager, Pair, a_pair
from tests.support.ports import free_port, free_ports
from tests.support.postgres import mortal_postgres
from yodel.domain.ids import NodeId
from yodel.domain.resource import Resource
from yodel.errors import Unavailable
from yodel.hadoop_pb import yarn_server_common_service_protos_pb2 as node_msg
from yodel.hadoop_pb import yarn_service_protos_pb2 as msg
from yodel.hadoop_rpc import faults
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.hadoop_rpc.writable import WireToken
from yodel.kube.api import ApiRequest
from yodel.kube.client import KubeClient, open_kube
from yodel.pb_convert import ids
from yodel.rpc_io.client import RpcClient
from yodel.store.migrating import migrate

SUBMISSIONS, CLIENTS = 500, 20
QUICK_KILL_AT, SLOW_KILL_AT = 120, 320
"""Acknowledged submissions at which it is killed."""
LEASE_S = 5
STEP_S = 30
RESTART_S = RETRY_S = 0.2
CLIENT_PROTOCOL = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"
TRACKER_PROTOCOL = "org.apache.hadoop.yarn.server.api.ResourceTrackerPB"
MASTER_PROTOCOL = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"
PODS = "/api/v1/namespaces/default/pods"
RETRIED = (faults.RETRIABLE, faults.STANDBY)
"""The errors for which the retry policy of Hadoop's own clients makes them come again."""


class Later(Exception):
    """Refused in a way for which Hadoop's clients come again."""


@dataclass(slots=True)
class Tally:
    """Count what the clients were told."""

    acknowledged: dict[str, str] = field(default_factory=dict)
    """Application ids by the names of the jobs."""
    put_off: Counter[str] = field(default_factory=Counter)
    """How often in which words."""
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def until(self, count: int) -> None:
        async with asyncio.timeout(STEP_S), self.changed:
            await self.changed.wait_for(lambda: len(self.acknowledged) >= count)

    async def persist(self, attempt: Callable[[], Awaitable[Any]]) -> Any:
        """Again and again, as a client of Hadoop's does.  Any other refusal is raised."""
        while True:
            try:
                return await attempt()
            except Later as refusal:
                self.put_off[str(refusal)] += 1
                await asyncio.sleep(RETRY_S)

    async def note(self, name: str, application_id: str) -> None:
        async with self.changed:
            self.acknowledged[name] = application_id
            self.changed.notify_all()


async def posted(http: httpx2.AsyncClient, path: str, status: int, body: Any = None) -> Any:
    try:
        answer = await http.post(f"/ws/v1/cluster{path}?user.name=alice", json=body)
    except httpx2.TransportError as error:
        raise Later("no connection over HTTP") from error
    if answer.status_code == 503:
        raise Later("503")
    assert answer.status_code == status, answer.text
    return answer


async def called(rpc: RpcClient, method: str, request: Any, answer: type[Any]) -> Any:
    try:
        return await rpc.call(method, request, answer)
    except Unavailable as error:
        raise Later("no connection over RPC") from error
    except RemoteFault as fault:
        if fault.java_class in RETRIED:
            raise Later(fault.java_class) from fault
        raise


async def over_rest(manager: Manager, tally: Tally, names: list[str]) -> None:
    async with httpx2.AsyncClient(base_url=manager.url, timeout=STEP_S) as http:
        for name in names:
            new = await tally.persist(lambda: posted(http, "/apps/new-application", 200))
            body = {
                "application-id": new.json()["application-id"],
                "application-name": name,
                "unmanaged-AM": True,
                "am-container-spec": {},
                "resource": {"memory": 1024, "vCores": 1},
            }
            await tally.persist(lambda body=body: posted(http, "/apps", 202, body))  # type: ignore[misc]
            await tally.note(name, body["application-id"])


async def over_rpc(manager: Manager, tally: Tally, names: list[str]) -> None:
    async with connected(manager, "client_port", CLIENT_PROTOCOL) as rpc:
        for name in names:
            await tally.note(name, await submitted(rpc, tally, name))


@asynccontextmanager
async def connected(
    manager: Manager, port: str, protocol: str, token: WireToken | None = None
) -> AsyncIterator[RpcClient]:
    number, user = manager.ports[PORTS.index(port)], "alice" if token is None else ""
    client_id = secrets.token_bytes(16)
    rpc = RpcClient(host="127.0.0.1", port=number, protocol=protocol, user=user, token=token, client_id=client_id)
    try:
        yield rpc
    finally:
        await rpc.close()


async def submitted(rpc: RpcClient, tally: Tally, name: str) -> str:
    """An application whose ApplicationMaster runs elsewhere."""
    asked, answer = msg.GetNewApplicationRequestProto(), msg.GetNewApplicationResponseProto
    new = await tally.persist(lambda: called(rpc, "getNewApplication", asked, answer))
    request = msg.SubmitApplicationRequestProto()
    context = request.application_submission_context
    context.application_id.CopyFrom(new.application_id)
    context.application_name, context.unmanaged_am = name, True
    context.am_container_spec.SetInParent()
    await tally.persist(lambda: called(rpc, "submitApplication", request, msg.SubmitApplicationResponseProto))
    return str(ids.application_id(new.application_id))


async def registered(manager: Manager, rpc: RpcClient, application_id: str) -> None:
    """Its ApplicationMaster has come: the job runs."""
    asked = msg.GetApplicationReportRequestProto()
    cluster, sequence = application_id.split("_")[1:]
    asked.application_id.cluster_timestamp, asked.application_id.id = int(cluster), int(sequence)
    async with asyncio.timeout(STEP_S):
        while True:
            told = await rpc.call("getApplicationReport", asked, msg.GetApplicationReportResponseProto)
            if told.application_report.HasField("am_rm_token"):
                break
            await asyncio.sleep(0.05)
    token = told.application_report.am_rm_token
    wire = WireToken(identifier=token.identifier, password=token.password, kind=token.kind, service="")
    async with connected(manager, "scheduler_port", MASTER_PROTOCOL, wire) as master:
        request = msg.RegisterApplicationMasterRequestProto(host="", rpc_port=0)
        await master.call("registerApplicationMaster", request, msg.RegisterApplicationMasterResponseProto)


async def supervise(pair: Pair, ports: list[int], ended: asyncio.Queue[int]) -> None:
    while True:
        manager = await pair.start(ports=ports, leader_lease_s=LEASE_S)
        ended.put_nowait(await manager.process.wait())
        await asyncio.sleep(RESTART_S)


@asynccontextmanager
async def supervised(pair: Pair) -> AsyncIterator[tuple[Manager, asyncio.Queue[int]]]:
    """A ResourceManager that serves, at ports where there is always one, and how each of them ended."""
    ended: asyncio.Queue[int] = asyncio.Queue()
    task = asyncio.create_task(supervise(pair, free_ports(len(PORTS)), ended))
    try:
        while not pair.managers:  # noqa: ASYNC110 - the process is made by another task
            await asyncio.sleep(0.01)
        await pair.managers[0].until_ready(200)
        yield pair.managers[0], ended
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def pods_of(kube: KubeClient) -> dict[str, tuple[str, str, bool]]:
    """Return each pod's uid, phase, and whether it was told to go."""
    listed = msgspec.json.decode(await kube.call(ApiRequest(path=PODS)))["items"]
    return {
        pod["metadata"]["name"]: (
            pod["metadata"]["uid"],
            pod["status"]["phase"],
            "deletionTimestamp" in pod["metadata"],
        )
        for pod in listed
    }


async def has_a_node(kube: KubeClient, manager: Manager) -> None:
    """Known to both; its agent is not started, so that ApplicationMasters are launched for ever."""
    node = {"metadata": {"name": "node-1"}, "status": {"allocatable": {"cpu": "40", "memory": "80Gi"}}}
    await send(kube, "POST", "/api/v1/namespaces", {"metadata": {"name": "default"}})
    await send(kube, "POST", "/api/v1/nodes", node)
    request = node_msg.RegisterNodeManagerRequestProto(
        http_port=8042, nm_version="3.5.0", kubernetes_node_name="node-1"
    )
    request.node_id.CopyFrom(ids.node_id_pb(NodeId("127.0.0.1", free_port())))
    request.resource.CopyFrom(ids.resource_pb(Resource(81_920, 40)))
    async with connected(manager, "tracker_port", TRACKER_PROTOCOL) as rpc:
        await rpc.call("registerNodeManager", request, node_msg.RegisterNodeManagerResponseProto)


async def run_pods(kube: KubeClient, count: int) -> None:
    """Do what scheduler and kubelet do, once so many pods are there."""
    async with asyncio.timeout(STEP_S):
        while len(found := await pods_of(kube)) < count:  # noqa: ASYNC110 - another process makes them
            await asyncio.sleep(0.05)
    for name in found:
        target = {"apiVersion": "v1", "kind": "Node", "name": "node-1"}
        await send(kube, "POST", f"{PODS}/{name}/binding", {"metadata": {"name": name}, "target": target})
        pod = msgspec.json.decode(await kube.call(ApiRequest(path=f"{PODS}/{name}")))
        pod["status"] = {**pod["status"], "phase": "Running"}
        await send(kube, "PUT", f"{PODS}/{name}/status", pod)


async def send(kube: KubeClient, method: str, path: str, body: Any) -> None:
    await kube.call(ApiRequest(method=method, path=path, body=msgspec.json.encode(body)))


async def test_killed_database_loses_nothing_acknowledged_and_touches_no_running_job(tmp_path: Path) -> None:
    tally = Tally()
    with mortal_postgres(is_durable=True) as postgres:
        url = postgres.server.url(postgres.server.new_database())
        await migrate(url)
        async with (
            a_pair(url, tmp_path) as pair,
            await open_kube(pair.kubeconfig, None) as kube,
            supervised(pair) as (manager, ended),
        ):
            await has_a_node(kube, manager)
            in_pods = [await manager.submit() for _ in range(3)]
            async with connected(manager, "client_port", CLIENT_PROTOCOL) as rpc:
                running = await submitted(rpc, tally, "running")
                await registered(manager, rpc, running)
            await run_pods(kube, len(in_pods))
            pods, containers = await pods_of(kube), pair.query("SELECT id, created_ms FROM containers ORDER BY id")
            assert {phase for _, phase, _ in pods.values()} == {"Running"}

            names = [f"job-{n}" for n in range(SUBMISSIONS)]
            async with asyncio.TaskGroup() as clients:
                for n in range(CLIENTS):
                    way = over_rest if n % 2 else over_rpc
                    clients.create_task(way(manager, tally, names[n::CLIENTS]))
                await tally.until(QUICK_KILL_AT)
                await asyncio.to_thread(postgres.kill)
                await asyncio.to_thread(postgres.start_again)
                await tally.until(SLOW_KILL_AT)
                before = ended.qsize()
                await asyncio.to_thread(postgres.kill)
                async with asyncio.timeout(STEP_S):
                    for _ in range(before + 1):
                        assert await ended.get() != 0, "a lead that is lost ends in no order"
                await asyncio.to_thread(postgres.start_again)

            print(f"put off: {dict(tally.put_off)}; ended early: {before}")
            stored = pair.query("SELECT name, id FROM applications")
            others = {*in_pods, running}
            assert len(tally.acknowledged) == SUBMISSIONS
            assert sorted(row for row in stored if row[1] not in others) == sorted(tally.acknowledged.items())
            assert {i for _, i in stored} >= others
            assert {"503", "no connection over HTTP", "no connection over RPC"} <= {*tally.put_off}
            assert {*RETRIED} & {*tally.put_off}

            assert await pods_of(kube) == pods
            assert pair.query("SELECT id, created_ms FROM containers ORDER BY id") == containers
            for application_id, state in ((running, "RUNNING"), *((i, "ACCEPTED") for i in in_pods)):
                app = (await manager.get(f"/ws/v1/cluster/apps/{application_id}")).json()["app"]
                attempts = (await manager.get(f"/ws/v1/cluster/apps/{application_id}/appattempts")).json()
                assert (app["state"], len(attempts["appAttempts"]["appAttempt"])) == (state, 1)
