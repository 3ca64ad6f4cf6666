"""A node agent for tests: users without accounts, requests with real tokens, a fake RM and real shells."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nm_plugin.app import NodeAgent, Running
from nm_plugin.host.users import OsUser, UserNotFound
from nm_plugin.settings import Settings
from tests.support.fake_tracker import CONTAINER_KEY, NM_KEY, RM_IDENTIFIER, FakeTracker
from tests.support.parked_pod import ParkedPod, start_parked_pod
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId
from yodel.domain.resource import Resource
from yodel.domain.states import ContainerType
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_pb import yarn_service_protos_pb2 as service_pb
from yodel.hadoop_rpc.writable import WireToken
from yodel.pb_convert import ids, tokens
from yodel.rpc_io.client import RpcClient

APPLICATION = ApplicationId(1700000000000, 7)
ATTEMPT = ApplicationAttemptId(APPLICATION, 1)
FAR_FUTURE_MS = 4_000_000_000_000
IS_ROOT = os.geteuid() == 0


@dataclass(frozen=True)
class FakeUsers:
    """Users by name; no accounts are needed for a uid."""

    users: dict[str, OsUser]

    def lookup(self, name: str) -> OsUser:
        if name not in self.users:
            raise UserNotFound(name)
        return self.users[name]


async def eventually(condition: Callable[[], bool], timeout_s: float = 30.0) -> None:
    """Wait for something that nobody announces, such as a file."""
    async with asyncio.timeout(timeout_s):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def container_id(sequence: int, attempt: ApplicationAttemptId = ATTEMPT) -> ContainerId:
    return ContainerId.of(attempt, sequence)


def own_user(name: str) -> OsUser:
    return OsUser(name=name, uid=os.geteuid(), gid=os.getegid())


def make_settings(root: Path, tracker_port: int, **changes: Any) -> Settings:
    values: dict[str, Any] = {
        "host": "127.0.0.1",
        "bind_host": "127.0.0.1",
        "rpc_port": 0,
        "http_port": 0,
        "shuffle_port": 0,
        "resource_tracker_host": "127.0.0.1",
        "resource_tracker_port": tracker_port,
        "kubernetes_node_name": "kube-1",
        "local_dirs": (root / "local",),
        "log_dirs": (root / "logs",),
        "handover_dir": root / "handover",
        "state_dir": root / "state",
        "launch_deadline_s": 15,
        "monitor_interval_s": 0.2,
        "reconnect_min_s": 0.05,
        "reconnect_max_s": 0.2,
    }
    return Settings(**{**values, **changes})


@dataclass
class Rig:
    """An agent, its fake RM, and the pods that a test started."""

    root: Path
    tracker: FakeTracker
    running: Running
    users: FakeUsers
    pods: list[ParkedPod] = field(default_factory=list)

    @property
    def handover_dir(self) -> Path:
        return self.root / "handover"

    async def pod(self, container: ContainerId, user: str = "alice") -> ParkedPod:
        identity = self.users.users[user]
        pod = await start_parked_pod(self.handover_dir, container, identity.uid, identity.gid)
        self.pods.append(pod)
        return pod

    def client(self, attempt: ApplicationAttemptId = ATTEMPT, user: str = "alice", **changes: Any) -> RpcClient:
        token = tokens.nm_token(changes.pop("key", NM_KEY), attempt, changes.pop("node", self.running.node_id), user)
        wire = WireToken(identifier=token.identifier, password=token.password, kind=token.kind, service=token.service)
        return RpcClient(
            host="127.0.0.1",
            port=self.running.node_id.port,
            protocol="org.apache.hadoop.yarn.api.ContainerManagementProtocolPB",
            user=str(attempt),
            token=wire,
            client_id=os.urandom(16),
        )

    def request(
        self, container: ContainerId, context: pb.ContainerLaunchContextProto, user: str = "alice", **changes: Any
    ) -> service_pb.StartContainerRequestProto:
        return start_request(self.running.node_id, container, context, user, **changes)

    async def start(
        self, container: ContainerId, context: pb.ContainerLaunchContextProto, user: str = "alice", **changes: Any
    ) -> service_pb.StartContainersResponseProto:
        client = self.client(container.attempt_id, user)
        request = service_pb.StartContainersRequestProto(
            start_container_request=[self.request(container, context, user, **changes)]
        )
        try:
            return await client.call("startContainers", request, service_pb.StartContainersResponseProto)
        finally:
            await client.close()

    async def stop(self, container: ContainerId) -> service_pb.StopContainersResponseProto:
        client = self.client(container.attempt_id)
        request = service_pb.StopContainersRequestProto(container_id=[ids.container_id_pb(container)])
        try:
            return await client.call("stopContainers", request, service_pb.StopContainersResponseProto)
        finally:
            await client.close()

    def log(self, container: ContainerId, name: str) -> str:
        return (self.root / "logs" / str(container.application_id) / str(container) / name).read_text()


@contextlib.asynccontextmanager
async def running_rig(root: Path, users: FakeUsers, tracker: FakeTracker, **changes: Any) -> AsyncIterator[Rig]:
    """An agent that the tracker knows, with changed settings; the pods that were started end with it."""
    agent = NodeAgent(make_settings(root, tracker.port, **changes), users=users)
    async with agent.running() as running:
        await tracker.until(lambda: bool(tracker.heartbeats))
        made = Rig(root=root, tracker=tracker, running=running, users=users)
        yield made
        for pod in made.pods:
            await pod.destroy()


def start_request(
    node: NodeId, container: ContainerId, context: pb.ContainerLaunchContextProto, user: str = "alice", **changes: Any
) -> service_pb.StartContainerRequestProto:
    key = changes.pop("key", CONTAINER_KEY)
    values: dict[str, Any] = {
        "container_id": container,
        "node_id": node,
        "user": user,
        "resource": Resource(512, 1),
        "expiry_ms": FAR_FUTURE_MS,
        "rm_identifier": RM_IDENTIFIER,
        "priority": 1,
        "creation_ms": 1700000000001,
        "container_type": ContainerType.TASK,
    }
    token = tokens.container_token(key, tokens.ContainerTokenContent(**{**values, **changes}))
    request = service_pb.StartContainerRequestProto(container_launch_context=context)
    request.container_token.CopyFrom(tokens.token_to_pb(token))
    return request


def context_of(
    command: str, environment: dict[str, str] | None = None, tokens_bytes: bytes = b""
) -> pb.ContainerLaunchContextProto:
    context = pb.ContainerLaunchContextProto(command=[command])
    if tokens_bytes:
        context.tokens = tokens_bytes
    for name, value in (environment or {}).items():
        context.environment.add(key=name, value=value)
    return context


def add_resource(context: pb.ContainerLaunchContextProto, link: str, path: Path, **changes: Any) -> None:
    status = path.stat()
    resource = pb.LocalResourceProto(
        size=status.st_size,
        timestamp=changes.get("timestamp", status.st_mtime_ns // 1_000_000),
        type=changes.get("type", pb.FILE),
        visibility=changes.get("visibility", pb.APPLICATION),
    )
    if "pattern" in changes:
        resource.pattern = changes["pattern"]
    resource.resource.scheme, resource.resource.file, resource.resource.port = (
        changes.get("scheme", "file"),
        str(path),
        -1,
    )
    context.localResources.add(key=link, value=resource)
