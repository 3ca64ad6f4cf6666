"""The largest calls that are accepted, on a live ResourceManager: its watchdog counts no long turn of the loop.

What is read is the ResourceManager's own count of turns beyond 20 ms of processor time, as an operator reads it.
"""

from __future__ import annotations

import asyncio
import getpass
import json
import re
import secrets
import urllib.request
import xml.etree.ElementTree as xml
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.conformance.cluster import Cluster, running
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_pb import yarn_server_resourcemanager_service_protos_pb2 as admin_msg
from yodel.hadoop_pb import yarn_service_protos_pb2 as msg
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.hadoop_rpc.writable import WireToken
from yodel.rpc_io.client import RpcClient

CLIENT = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"
MASTER = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"
ADMIN = "org.apache.hadoop.yarn.server.api.ResourceManagerAdministrationProtocolPB"
ME = getpass.getuser()
LONG = re.compile(r"^yodel_loop_turns_over_20_ms_total ([0-9.e+]+)$", re.MULTILINE)
ELEMENTS = 4_900
"""The elements of a call, of the 5,000 that one may hold, with what is in each."""
VARIABLES = 9_900
BYTES = 3_500_000
TRIES = 4
"""A collection of garbage, or a round of the scheduler, may fall into one."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with running(nodes=1) as started:
        yield started


def address(cluster: Cluster, name: str) -> tuple[str, int]:
    site = xml.parse(cluster.ready.hadoop_conf_dir / "yarn-site.xml").getroot()
    found = {p.findtext("name", ""): p.findtext("value", "") for p in site.iter("property")}
    host, _, port = found[f"yarn.resourcemanager.{name}"].rpartition(":")
    return host, int(port)


@asynccontextmanager
async def calling(
    cluster: Cluster, name: str, protocol: str, token: WireToken | None = None
) -> AsyncIterator[RpcClient]:
    host, port = address(cluster, name)
    client = RpcClient(host=host, port=port, protocol=protocol, user=ME, token=token, client_id=secrets.token_bytes(16))
    try:
        yield client
    finally:
        await client.close()


async def long_turns(cluster: Cluster) -> float:
    """Once the watchdog had its time."""
    await asyncio.sleep(0.05)

    def read() -> str:
        with urllib.request.urlopen(f"{cluster.ready.rest_url}/prom", timeout=20) as answer:
            return str(answer.read().decode())

    found = LONG.search(await asyncio.to_thread(read))
    assert found is not None
    return float(found[1])


async def assert_short(cluster: Cluster, call: Callable[[], Awaitable[object]]) -> None:
    counts = []
    while len(counts) < TRIES and (not counts or counts[-1]):
        before = await long_turns(cluster)
        await call()
        counts.append(await long_turns(cluster) - before)
    assert 0.0 in counts


async def submitted(client: RpcClient, environment: dict[str, str]) -> pb.ApplicationIdProto:
    new = await client.call(
        "getNewApplication", msg.GetNewApplicationRequestProto(), msg.GetNewApplicationResponseProto
    )
    request = msg.SubmitApplicationRequestProto()
    context = request.application_submission_context
    context.application_id.CopyFrom(new.application_id)
    context.unmanaged_am = True
    context.am_container_spec.SetInParent()
    for name, value in environment.items():
        context.am_container_spec.environment.add(key=name, value=value)
    await client.call("submitApplication", request, msg.SubmitApplicationResponseProto)
    return new.application_id


async def killed(client: RpcClient, application_id: pb.ApplicationIdProto) -> None:
    request = msg.KillApplicationRequestProto(application_id=application_id)
    await client.call("forceKillApplication", request, msg.KillApplicationResponseProto)


async def test_submission_over_rpc(cluster: Cluster) -> None:
    environment = {f"V{number}": "v" * (BYTES // ELEMENTS) for number in range(ELEMENTS)}
    async with calling(cluster, "address", CLIENT) as client:

        async def submit_and_kill() -> None:
            await killed(client, await submitted(client, environment))

        await assert_short(cluster, submit_and_kill)


async def test_submission_over_rest(cluster: Cluster) -> None:
    entries = [{"key": f"V{number}", "value": "v" * (BYTES // VARIABLES)} for number in range(VARIABLES)]

    def post(path: str, body: Any) -> Any:
        url = f"{cluster.ready.rest_url}/ws/v1/cluster/apps{path}?user.name={ME}"
        request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read() or b"null")

    async def submit() -> None:
        new = await asyncio.to_thread(post, "/new-application", {})
        job = {
            "application-id": new["application-id"],
            "unmanaged-AM": True,
            "am-container-spec": {"environment": {"entry": entries}, "commands": {"command": "true"}},
            "resource": {"memory": 512, "vCores": 1},
        }
        await asyncio.to_thread(post, "", job)

    await assert_short(cluster, submit)


async def test_asks_of_a_master(cluster: Cluster) -> None:
    async with calling(cluster, "address", CLIENT) as client:
        application_id = await submitted(client, {})
        asked = msg.GetApplicationReportRequestProto(application_id=application_id)
        found = pb.ApplicationReportProto()
        while not found.HasField("am_rm_token"):
            answer = await client.call("getApplicationReport", asked, msg.GetApplicationReportResponseProto)
            found = answer.application_report
        token = WireToken(
            identifier=found.am_rm_token.identifier,
            password=found.am_rm_token.password,
            kind=found.am_rm_token.kind,
            service=found.am_rm_token.service,
        )
        async with calling(cluster, "scheduler.address", MASTER, token) as master:
            register = msg.RegisterApplicationMasterRequestProto(host="", rpc_port=0, tracking_url="")
            await master.call("registerApplicationMaster", register, msg.RegisterApplicationMasterResponseProto)
            response_id = 0

            async def ask() -> None:
                nonlocal response_id
                request = msg.AllocateRequestProto(response_id=response_id)
                for number in range(ELEMENTS):
                    request.ask.add(
                        priority=pb.PriorityProto(priority=1),
                        resource_name=f"host-{number}",
                        capability=pb.ResourceProto(memory=1024, virtual_cores=1),
                        num_containers=0,
                        relax_locality=True,
                    )
                answer = await master.call("allocate", request, msg.AllocateResponseProto)
                response_id = answer.response_id

            await assert_short(cluster, ask)
        await killed(client, application_id)


@pytest.mark.parametrize("method", ["replaceLabelsOnNodes", "updateNodeResource"])
async def test_nodes_of_an_administrator(cluster: Cluster, method: str) -> None:
    request: Any = admin_msg.ReplaceLabelsOnNodeRequestProto(failOnUnknownNodes=True)
    if method == "updateNodeResource":
        request = admin_msg.UpdateNodeResourceRequestProto()
    for number in range(ELEMENTS):
        node_id = pb.NodeIdProto(host=f"node-{number}", port=1)
        if method == "replaceLabelsOnNodes":
            request.nodeToLabels.add(nodeId=node_id)
        else:
            request.node_resource_map.add(node_id=node_id)
    async with calling(cluster, "admin.address", ADMIN) as client:

        async def ask() -> None:
            with pytest.raises(RemoteFault, match="node-0:1"):
                await client.call(method, request, admin_msg.UpdateNodeResourceResponseProto)

        await assert_short(cluster, ask)
