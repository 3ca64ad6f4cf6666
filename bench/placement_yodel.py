"""A ResourceManager as a process on such a cluster, agents for its nodes, and an ApplicationMaster that asks for many.

All by the wire: Hadoop RPC on the client's and the scheduler's port, agents on the tracker's.  The rows go to SQLite on
this machine's disk.  Settings are the defaults but for the limits that keep a cluster from being flooded (creations and
requests a second, pods planned and not yet bound): how fast it can be is the question.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench.cluster import MASTER_PROTOCOL, Cluster, amrm_token, client, submit_unmanaged
from bench.placement_cluster import FakeCluster, cpu_s
from bench.placement_figures import Cpu, Round
from tests.support.ports import free_ports
from yodel.domain.container import Container
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, dns_name
from yodel.domain.resource import Resource
from yodel.domain.states import ContainerType
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_pb import yarn_service_protos_pb2 as msg
from yodel.ports.pods import Manifest
from yodel.rpc_io.client import RpcClient
from yodel.settings.rm import Settings
from yodel.translator.dialects import dialect
from yodel.translator.pod_spec import PodSettings, PosixIdentity, manifest

NAMESPACE = "placed"
USER, UID = "alice", 2001
UNLIMITED = 1_000_000
BEAT_S = 0.05
START_TIMEOUT_S, GRANTS_TIMEOUT_S = 60.0, 600.0
PORTS = ("client", "scheduler", "tracker", "admin", "webapp")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """Describes how pods find their nodes.  ``nobody`` serves the scheduler name of pods that are only created."""

    name: str
    dialect: str = "native"
    scheduler_name: str = "default-scheduler"
    placement: str = "kubernetes"

    @property
    def is_bound(self) -> bool:
        """Its pods get nodes."""
        return self.scheduler_name != "nobody"

    @property
    def is_scheduled(self) -> bool:
        """Return True if kube-scheduler binds the pods."""
        return self.is_bound and not self.binds

    @property
    def binds(self) -> bool:
        return self.placement == "bind"


MODES = (
    Mode(name="created", scheduler_name="nobody"),
    Mode(name="native"),
    Mode(name="extended", dialect="koordinator"),
    Mode(name="bind", dialect="koordinator", placement="bind"),
)


@dataclass(frozen=True, slots=True)
class Rm:
    """A running one and its agents' process."""

    cluster: Cluster
    pid: int
    agents_pid: int

    def cpu(self) -> Cpu:
        """Processor seconds of it, of the agents, and of this process, which is the client."""
        pids = {"ResourceManager": self.pid, "agents": self.agents_pid, "client": os.getpid()}
        return Cpu({name: cpu_s(psutil.Process(pid)) for name, pid in pids.items()})


@contextlib.asynccontextmanager
async def resource_manager(
    fake: FakeCluster, mode: Mode, program: Sequence[str] = ("-m", "yodel"), log: Path | None = None
) -> AsyncIterator[Rm]:
    """``program`` is what Python runs: ``serve --config FILE`` follows."""
    with tempfile.TemporaryDirectory(prefix="yodel-placement-") as name:
        folder = Path(name)
        ports = dict(zip(PORTS, free_ports(len(PORTS)), strict=True))
        config = folder / "rm.toml"
        config.write_text(settings_file(folder, fake.home.kubeconfig, mode, ports))
        words = [sys.executable, *program, "serve", "--migrate", "--config", str(config)]
        async with _process(words, log or folder / "rm.log", ready_fd=True) as rm:
            addresses = {port: f"127.0.0.1:{number}" for port, number in ports.items()}
            cluster = Cluster("Yodel", {"rm": addresses, "pids": {"rm": rm.pid}})
            tracker = addresses["tracker"]
            words = [sys.executable, "-m", "bench.placement_agents", "--tracker", tracker]
            async with _process([*words, "--nodes", ",".join(fake.nodes)], folder / "agents.log") as agents:
                assert agents.stdout is not None
                async with asyncio.timeout(START_TIMEOUT_S):
                    if not await agents.stdout.readline():
                        raise RuntimeError(f"no agents: {_tail(folder / 'agents.log')}")
                yield Rm(cluster, rm.pid, agents.pid)


def settings_file(folder: Path, kubeconfig: Path, mode: Mode, ports: dict[str, int]) -> str:
    """A TOML file."""
    lines = [
        f'store_url = "sqlite+aiosqlite:///{folder}/rm.db"',
        f'kubeconfig = "{kubeconfig}"',
        f'namespace = "{NAMESPACE}"',
        'bind_host = "127.0.0.1"',
        'host = "127.0.0.1"',
        *(f"{name}_port = {number}" for name, number in ports.items()),
        f"in_flight_max = {UNLIMITED}",
        *(f"{name} = {UNLIMITED}" for name in ("pod_creates_per_second", "pod_creates_burst")),
        *(f"{name} = {UNLIMITED}" for name in ("kube_requests_per_second", "kube_requests_burst")),
        f'dialect = "{mode.dialect}"',
        f'scheduler_name = "{mode.scheduler_name}"',
        f'queue_defaults = {{placement = "{mode.placement}"}}',
        f"user_ids = {{{USER} = {{uid = {UID}, gid = {UID}}}}}",
    ]
    return "\n".join(lines) + "\n"


class PodBodies:
    """Bodies of creations as the ResourceManager makes them, for another namespace and of no application it knows."""

    def __init__(self, mode: Mode, namespace: str) -> None:
        defaults = {name: setting.default for name, setting in Settings.model_fields.items()}
        self._settings = PodSettings(
            cluster="raw-loop",
            namespace=namespace,
            image=defaults["image"],
            dialect=dialect(mode.dialect),
            handover_dir=defaults["handover_dir"],
            host_paths=defaults["host_paths"],
            scheduler_name=mode.scheduler_name,
        )
        self._application = ApplicationId(time.time_ns() // 1_000_000, 1)
        self._made = 0

    def next(self, node_name: str = "") -> Manifest:
        """Already bound when a node is named."""
        self._made += 1
        one = Resource(1024, 1)
        container_id = ContainerId(ApplicationAttemptId(self._application, 1), self._made)
        container = Container(
            id=container_id,
            pod=dns_name(container_id),
            type=ContainerType.TASK,
            user=USER,
            queue="root.default",
            capability=one,
            asked_capability=one,
            priority=1,
            created_ms=self._application.cluster_timestamp_ms,
        )
        body = manifest(container, self._settings, PosixIdentity(uid=UID, gid=UID), "bench", "YARN")
        return {**body, "spec": {**body["spec"], "nodeName": node_name}} if node_name else body


class Master:
    """An ApplicationMaster of no pod: asks once, beats until it has all."""

    def __init__(self, rpc: RpcClient) -> None:
        self._rpc, self._response_id, self.granted = rpc, 0, 0

    async def register(self) -> None:
        request = msg.RegisterApplicationMasterRequestProto(rpc_port=-1)
        await self._rpc.call("registerApplicationMaster", request, msg.RegisterApplicationMasterResponseProto)

    async def ask(self, count: int) -> None:
        request = msg.AllocateRequestProto()
        entry = request.ask.add(resource_name="*", num_containers=count, relax_locality=True)
        entry.priority.priority = 1
        entry.capability.memory, entry.capability.virtual_cores = 1024, 1
        await self._beat(request)

    async def until_granted(self, count: int) -> float:
        """Return when the answer with the last container came."""
        async with asyncio.timeout(GRANTS_TIMEOUT_S):
            while self.granted < count:
                await asyncio.sleep(BEAT_S)
                await self._beat(msg.AllocateRequestProto())
        return time.perf_counter()

    async def finish(self) -> None:
        request = msg.FinishApplicationMasterRequestProto(final_application_status=pb.APP_SUCCEEDED)
        reply = msg.FinishApplicationMasterResponseProto()
        while not reply.isUnregistered:
            reply = await self._rpc.call("finishApplicationMaster", request, msg.FinishApplicationMasterResponseProto)
        await self._rpc.close()

    async def _beat(self, request: msg.AllocateRequestProto) -> None:
        request.response_id = self._response_id
        answer = await self._rpc.call("allocate", request, msg.AllocateResponseProto)
        self._response_id = answer.response_id
        self.granted += len(answer.allocated_containers)


async def start_master(rm: Rm) -> Master:
    rpc = client(rm.cluster, USER)
    _, token = await amrm_token(rpc, await submit_unmanaged(rpc))
    await rpc.close()
    host, port = rm.cluster.address("scheduler")
    master = Master(
        RpcClient(
            host=host, port=port, protocol=MASTER_PROTOCOL, user="", token=token, client_id=secrets.token_bytes(16)
        )
    )
    await master.register()
    return master


async def yodel_round(fake: FakeCluster, rm: Rm, mode: Mode, pods: int) -> Round:
    """Measure a round from the ask on: created, bound, allocated."""
    master = await start_master(rm)
    before, begin_s = fake.cpu() | rm.cpu(), time.perf_counter()
    await master.ask(pods)
    granting = asyncio.create_task(master.until_granted(pods)) if mode.is_bound else None
    until_s = {"created": await fake.until_created(NAMESPACE, pods) - begin_s}
    if granting is not None:
        until_s["bound"] = await fake.until_bound(NAMESPACE) - begin_s
        until_s["granted"] = await granting - begin_s
    cpu = (fake.cpu() | rm.cpu()) - before
    await master.finish()
    await fake.empty(NAMESPACE)
    return Round(pods=pods, until_s=until_s, cpu=cpu)


@contextlib.asynccontextmanager
async def _process(
    words: Sequence[str], log: Path, *, ready_fd: bool = False
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Ends with the block.  With ``ready_fd`` it has said that it is ready."""
    read_fd, write_fd = os.pipe()
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            *words,
            *(["--ready-fd", str(write_fd)] if ready_fd else []),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE if not ready_fd else output,
            stderr=output,
            pass_fds=(write_fd,),
        )
    os.close(write_fd)
    try:
        if ready_fd and not await asyncio.to_thread(os.read, read_fd, 100):
            raise RuntimeError(f"it did not start: {_tail(log)}")
        yield process
    finally:
        os.close(read_fd)
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(START_TIMEOUT_S):
            await process.wait()


def _tail(log: Path) -> str:
    return log.read_text()[-2000:]
