"""ApplicationMasters that beat as fast as they are answered, each with a token, a connection and response ids."""

from __future__ import annotations

import asyncio
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from google.protobuf.message import Message

from bench.cluster import MASTER_PROTOCOL, Cluster, amrm_token, client, submit_unmanaged, until
from bench.rpc_load import fresh_nonce
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_pb import yarn_service_protos_pb2 as msg
from yodel.hadoop_rpc.client_connection import Answered, ClientConnection, ClientIdentity, ConnectionReady, Failed
from yodel.hadoop_rpc.writable import WireToken

SUBMITTERS = 8
WARM_UP_S = 0.3
QUIET_S = 0.05
GIVE_BACK_BEATS = 3
"""The second releases what the first was granted, the third is told that it ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Operations a second, processor time of the ResourceManager for each, and how long the slowest hundredth took (0:
    not measured)."""

    per_s: float
    cpu_us: float
    p99_ms: float = 0.0
    grants_per_s: float = 0.0


class Caller(ABC, asyncio.Protocol):
    """A connection whose calls are answered in their order; ``begin`` is called when it is open."""

    transport: asyncio.Transport

    def __init__(self, protocol: str, user: str = "", token: WireToken | None = None) -> None:
        identity = ClientIdentity(client_id=secrets.token_bytes(16), protocol=protocol, user=user, token=token)
        self.machine = ClientConnection(identity=identity, cnonce=fresh_nonce())
        self.beats = self.calls = 0
        self.registered = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.write(self.machine.connect())
        if self.machine.open:
            self.begin()

    def data_received(self, data: bytes) -> None:
        self.machine.receive_data(data)
        while (event := self.machine.next_event()) is not None:
            match event:
                case ConnectionReady():
                    self.transport.write(self.machine.data_to_send())
                    self.begin()
                case Answered(fault=None, body=body):
                    self.answered(body)
                case Answered(fault=fault) | Failed(fault=fault):
                    self._refused(RuntimeError(f"refused: {fault}"))
        if rest := self.machine.data_to_send():
            self.transport.write(rest)

    def _refused(self, error: RuntimeError) -> None:
        """Tell who waits for the registration; a later refusal is a fault of the measurement."""
        if self.registered.done():
            raise error
        self.registered.set_exception(error)

    @abstractmethod
    def begin(self) -> None:
        """Register, and set ``registered``."""

    @abstractmethod
    def beat(self) -> None:
        """Send a heartbeat."""

    @abstractmethod
    def answered(self, body: bytes) -> None:
        """Take an answer: of what registers, then of heartbeats."""

    def call(self, method: str, request: Message) -> None:
        """Send a call."""
        self.calls += 1
        self.transport.write(self.machine.call(call_id=self.calls, method=method, body=request.SerializeToString()))


class Beating(Caller):
    """One ApplicationMaster: registers, then beats while it is told to.

    With ``is_asking`` every heartbeat asks for one container and releases those that the one before was granted.
    """

    def __init__(self, token: WireToken) -> None:
        super().__init__(MASTER_PROTOCOL, token=token)
        self.response_id = self.grants = 0
        self.is_beating = self.is_asking = False
        self._granted: list[pb.ContainerIdProto] = []

    def begin(self) -> None:
        self.call("registerApplicationMaster", msg.RegisterApplicationMasterRequestProto(rpc_port=-1))

    def beat(self, ask: int = 1) -> None:
        """Send one; ``ask`` counts only while it asks."""
        request = msg.AllocateRequestProto(response_id=self.response_id, progress=0.5)
        request.blacklist_request.SetInParent()
        if self.is_asking:
            request.ask.add(
                priority=pb.PriorityProto(priority=1),
                resource_name="*",
                capability=pb.ResourceProto(memory=1024, virtual_cores=1),
                num_containers=ask,
                relax_locality=True,
            )
            request.release.extend(self._granted)
            self._granted = []
        self.call("allocate", request)

    def answered(self, body: bytes) -> None:
        if not self.registered.done():
            self.registered.set_result(None)
            return
        answer = msg.AllocateResponseProto.FromString(body)
        self.response_id = answer.response_id
        self._granted += [container.id for container in answer.allocated_containers]
        self.grants += len(answer.allocated_containers)
        self.beats += 1
        if self.is_beating:
            self.beat()


async def masters(cluster: Cluster, count: int) -> list[Beating]:
    """Registered ApplicationMasters that do not beat yet."""

    async def some(count: int) -> list[Beating]:
        rpc, found = client(cluster), list[Beating]()
        host, port = cluster.address("scheduler")
        for application_id in [await submit_unmanaged(rpc) for _ in range(count)]:
            one = Beating((await amrm_token(rpc, application_id))[1])
            await asyncio.get_running_loop().create_connection(lambda one=one: one, host, port)  # type: ignore[misc]
            await one.registered
            found.append(one)
        await rpc.close()
        return found

    shares = [count // SUBMITTERS + (place < count % SUBMITTERS) for place in range(SUBMITTERS)]
    return [one for found in await asyncio.gather(*map(some, shares)) for one in found]


async def give_back(beating: Sequence[Beating]) -> None:
    """Ask for nothing, and release what was granted, until there is no more: others need the node."""
    for _ in range(GIVE_BACK_BEATS):
        for one in beating:
            one.beat(ask=0)
        await until(lambda: all(one.beats == one.calls - 1 for one in beating), QUIET_S)


async def measure(cluster: Cluster, beating: Sequence[Beating], seconds: float, *, is_asking: bool = False) -> Figures:
    """Let them beat, and stop."""
    for one in beating:
        one.is_beating, one.is_asking = True, is_asking
        one.beat()
    await asyncio.sleep(WARM_UP_S)
    beats, grants = sum(one.beats for one in beating), sum(one.grants for one in beating)
    begin_s, cpu_s = time.perf_counter(), cluster.processor_s()
    await asyncio.sleep(seconds)
    beats, grants = sum(one.beats for one in beating) - beats, sum(one.grants for one in beating) - grants
    took_s, cpu_s = time.perf_counter() - begin_s, cluster.processor_s() - cpu_s
    for one in beating:
        one.is_beating = False
    await until(lambda: all(one.beats == one.calls - 1 for one in beating), QUIET_S)  # one call registered
    if is_asking:
        await give_back(beating)
    return Figures(per_s=beats / took_s, cpu_us=1e6 * cpu_s / beats, grants_per_s=grants / took_s)
