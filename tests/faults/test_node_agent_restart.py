"""A node agent that is killed at any step of a container's life: the next one carries on, and nothing is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

import pytest

from tests.support.agent_process import AgentProcess, agent_process
from tests.support.fake_tracker import NM_KEY
from tests.support.node_agent import container_id, context_of, eventually
from yodel.domain.states import ContainerExitStatus
from yodel.domain.tokens import MasterKey
from yodel.errors import Unavailable
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_pb import yarn_service_protos_pb2 as service_pb
from yodel.pb_convert import ids

T = TypeVar("T")
CONTAINER = container_id(2)
SLEEP = "exec sleep 600"
SLOW_START_S = 60.0


@pytest.fixture
async def agent() -> AsyncIterator[AgentProcess]:
    async with agent_process(fetch_closed_networks=()) as agent:
        await agent.start()
        yield agent


async def reached(agent: AgentProcess, state: str) -> None:
    await eventually(lambda: agent.state(CONTAINER) == state, SLOW_START_S)


async def test_killed_while_it_localizes(agent: AgentProcess) -> None:
    """The source answers the first agent nothing and the second one the file."""
    served: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        served.append(writer)
        if len(served) > 1:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
        await writer.drain()

    source = await asyncio.start_server(serve, "127.0.0.1", 0)
    context = context_of('exec cat greeting >"<LOG_DIR>/stdout"')
    resource = pb.LocalResourceProto(size=5, timestamp=0, type=pb.FILE, visibility=pb.APPLICATION)
    resource.resource.scheme, resource.resource.host, resource.resource.file = "http", "127.0.0.1", "/greeting"
    resource.resource.port = source.sockets[0].getsockname()[1]
    context.localResources.add(key="greeting", value=resource)
    await agent.pod(CONTAINER)
    await agent.launch(CONTAINER, context)
    await eventually(lambda: len(served) == 1)
    assert agent.state(CONTAINER) == "LOCALIZING"
    await agent.restart()
    assert (await agent.tracker.until_complete(CONTAINER, SLOW_START_S)).exit_status == 0
    for writer in served:
        writer.close()
    source.close()
    logs = agent.root / "logs" / str(CONTAINER.application_id) / str(CONTAINER)
    assert (logs / "stdout").read_text() == "hello"


async def test_killed_while_it_waits_for_the_pod(agent: AgentProcess) -> None:
    await agent.launch(CONTAINER, context_of("exit 5"))
    await reached(agent, "SCHEDULED")
    await agent.restart()
    await agent.pod(CONTAINER)
    assert (await agent.tracker.until_complete(CONTAINER)).exit_status == 5


async def test_killed_while_it_runs_and_ends_meanwhile(agent: AgentProcess) -> None:
    pod = await agent.pod(CONTAINER)
    await agent.launch(CONTAINER, context_of('until [ -e "<LOG_DIR>/go" ]; do sleep 0.05; done; exit 7'))
    await agent.tracker.until_running(CONTAINER)
    await agent.kill()
    logs = agent.root / "logs" / str(CONTAINER.application_id) / str(CONTAINER)
    (logs / "go").touch()
    assert await pod.wait() == 7
    await agent.restart()
    status = await agent.tracker.until_complete(CONTAINER)
    assert status.exit_status == 7
    assert "Exit code: 7" in status.diagnostics


async def test_killed_while_it_kills(agent: AgentProcess) -> None:
    agent.changes = {"sigkill_delay_ms": 60_000}
    await agent.restart()
    pod = await agent.pod(CONTAINER)
    await agent.launch(CONTAINER, context_of("trap '' TERM; while :; do sleep 0.1; done"))
    await agent.tracker.until_running(CONTAINER)
    await agent.stop(CONTAINER)
    await reached(agent, "KILLING")
    agent.changes = {}
    await agent.restart()
    status = await agent.tracker.until_complete(CONTAINER)
    assert status.exit_status == ContainerExitStatus.KILLED_BY_APPMASTER
    assert "Container killed by the ApplicationMaster." in status.diagnostics
    assert await pod.wait() == 137


async def test_killed_before_the_end_was_acknowledged(agent: AgentProcess) -> None:
    agent.tracker.acknowledges = False
    await agent.pod(CONTAINER)
    await agent.launch(CONTAINER, context_of("exit 9"))
    assert (await agent.tracker.until_complete(CONTAINER)).exit_status == 9
    await agent.restart()
    known = {ids.container_id(s.container_id): s for s in agent.tracker.registrations[-1].container_statuses}
    assert known[CONTAINER].container_exit_status == 9
    agent.tracker.acknowledges = True
    await reached(agent, "")


async def test_killed_between_two_runs(agent: AgentProcess) -> None:
    context = context_of("echo run >><LOG_DIR>/runs; grep -c run <LOG_DIR>/runs | grep -qx 2")
    context.container_retry_context.retry_policy = pb.RETRY_ON_ALL_ERRORS
    context.container_retry_context.max_retries = 3
    context.container_retry_context.retry_interval = 2000
    pod = await agent.pod(CONTAINER)
    await agent.launch(CONTAINER, context)
    await reached(agent, "RELAUNCHING")
    await agent.restart()
    assert (await agent.tracker.until_complete(CONTAINER)).exit_status == 0
    assert await pod.wait() == 0
    runs = agent.root / "logs" / str(CONTAINER.application_id) / str(CONTAINER) / "runs"
    assert runs.read_text() == "run\nrun\n"


async def test_application_keeps_its_token_when_keys_have_rolled_and_the_rm_is_away(
    agent: AgentProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also the keys' file is nobody else's to read."""
    await agent.pod(CONTAINER)
    await agent.launch(CONTAINER, context_of(SLEEP))
    await agent.tracker.until_running(CONTAINER)
    for key_id in (11, 12):
        monkeypatch.setattr("tests.support.fake_tracker.NM_KEY", MasterKey(key_id=key_id, secret=b"r" * 32))
        await agent.restart()
    assert (agent.root / "state" / "keys.json").stat().st_mode & 0o777 == 0o600
    await agent.kill()
    await agent.tracker.stop()
    starting = asyncio.create_task(agent.start())
    request = service_pb.GetContainerStatusesRequestProto(container_id=[ids.container_id_pb(CONTAINER)])
    answer = await _served(
        lambda: agent.call("getContainerStatuses", request, service_pb.GetContainerStatusesResponseProto, NM_KEY)
    )
    assert answer.status[0].state == pb.C_RUNNING
    starting.cancel()


async def _served(call: Callable[[], Awaitable[T]]) -> T:
    """The agent listens a moment after it has begun."""
    async with asyncio.timeout(SLOW_START_S):
        while True:
            try:
                return await call()
            except Unavailable:
                await asyncio.sleep(0.1)
