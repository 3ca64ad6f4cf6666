"""A node agent as a process of its own, which can be killed at any moment and started again over its directories."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.fake_tracker import NM_KEY, FakeTracker
from tests.support.node_agent import ATTEMPT, make_settings, start_request
from tests.support.parked_pod import ParkedPod, start_parked_pod
from tests.support.ports import free_port
from yodel.domain.ids import ContainerId, NodeId
from yodel.domain.tokens import MasterKey
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_pb import yarn_service_protos_pb2 as service_pb
from yodel.hadoop_rpc.writable import WireToken
from yodel.pb_convert import ids, tokens
from yodel.rpc_io.client import RpcClient

USER = "root" if os.geteuid() == 0 else "alice"


@contextlib.asynccontextmanager
async def agent_process(**changes: Any) -> AsyncIterator[AgentProcess]:
    """An agent over new directories, to be started; it and its pods are gone after the block."""
    root = await asyncio.to_thread(_new_root)
    tracker = FakeTracker()
    await tracker.start()
    agent = AgentProcess(root=root, tracker=tracker, port=free_port(), changes=changes)
    try:
        yield agent
    finally:
        await agent.close()
        await tracker.stop()
        await asyncio.to_thread(shutil.rmtree, root, True)


@dataclass(slots=True, kw_only=True)
class AgentProcess:
    """Runs an agent in single-user mode: containers run as the tests' own user.  ``port`` stays the same over
    restarts."""

    root: Path
    tracker: FakeTracker
    port: int
    changes: Mapping[str, Any] = field(default_factory=dict)
    process: asyncio.subprocess.Process | None = None
    pods: list[ParkedPod] = field(default_factory=list)

    @property
    def node_id(self) -> NodeId:
        return NodeId("127.0.0.1", self.port)

    async def start(self) -> None:
        """Start and wait until it has registered."""
        registrations = len(self.tracker.registrations)
        values = {
            "user_mode": "single",
            "shuffle_enabled": False,
            "rpc_port": self.port,
            "sigkill_delay_ms": 100,
            **self.changes,
        }
        settings = make_settings(self.root, self.tracker.port, **values)
        config = self.root / "agent.toml"
        listed = settings.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
        config.write_text("".join(f"{k} = {json.dumps(v)}\n" for k, v in listed.items() if not isinstance(v, dict)))
        with (self.root / "agent.log").open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "nm_plugin", "--config", str(config), stdout=log, stderr=log
            )
        await self.tracker.until(lambda: len(self.tracker.registrations) > registrations, 30)

    async def kill(self) -> None:
        """SIGKILL: the agent has no moment to put anything in order."""
        if self.process is not None and self.process.returncode is None:
            self.process.kill()
            await self.process.wait()

    async def restart(self) -> None:
        await self.kill()
        self.tracker.heartbeats.clear()
        await self.start()

    async def pod(self, container: ContainerId, groups: Sequence[Path] = ()) -> ParkedPod:
        pod = await start_parked_pod(self.root / "handover", container, os.geteuid(), os.getegid(), groups)
        self.pods.append(pod)
        return pod

    async def launch(
        self, container: ContainerId, context: pb.ContainerLaunchContextProto, **changes: Any
    ) -> service_pb.StartContainersResponseProto:
        request = start_request(self.node_id, container, context, USER, **changes)
        return await self.call(
            "startContainers",
            service_pb.StartContainersRequestProto(start_container_request=[request]),
            service_pb.StartContainersResponseProto,
        )

    async def stop(self, container: ContainerId) -> None:
        request = service_pb.StopContainersRequestProto(container_id=[ids.container_id_pb(container)])
        await self.call("stopContainers", request, service_pb.StopContainersResponseProto)

    async def call(self, method: str, request: Any, response_type: Any, key: MasterKey = NM_KEY) -> Any:
        """Raises RemoteFault."""
        token = tokens.nm_token(key, ATTEMPT, self.node_id, USER)
        client = RpcClient(
            host="127.0.0.1",
            port=self.port,
            protocol="org.apache.hadoop.yarn.api.ContainerManagementProtocolPB",
            user=str(ATTEMPT),
            token=WireToken(
                identifier=token.identifier, password=token.password, kind=token.kind, service=token.service
            ),
            client_id=os.urandom(16),
        )
        try:
            return await client.call(method, request, response_type)
        finally:
            await client.close()

    async def close(self) -> None:
        await self.kill()
        for pod in self.pods:
            await pod.destroy()

    def state(self, container: ContainerId) -> str:
        """Return the container's state on the agent's disk; empty: it has been forgotten."""
        path = self.root / "state" / "containers" / f"{container}.json"
        try:
            return str(json.loads(path.read_text())["state"])
        except FileNotFoundError:
            return ""


def _new_root() -> Path:
    root = Path(tempfile.mkdtemp(prefix="yodel-agent-"))
    root.chmod(0o755)
    return root
