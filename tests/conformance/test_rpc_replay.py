"""The client side of recorded sessions, fed to our server's machine, yields the calls that were made.

The tokens' proofs are verified for real: with the recorded nonce and password our final token is the recorded one.
Whole sessions are asked again of our handlers, and the answers have the fields that Hadoop's had.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

import pytest

from tests.conformance.recorded_calls import NAMES, recorded_calls
from tests.conformance.recorded_rpc import RecordedConnection, Recording, recording
from tests.conformance.replaying import Replay
from tests.support.fakes import NODE
from tests.support.playbook import Am, World, running
from tests.support.rm_options import Options
from tests.support.rpc_calls import client_protocol
from yodel.domain.ids import ApplicationId
from yodel.domain.node_load import NodeLoad
from yodel.domain.queues.queue import leaves_under_root
from yodel.domain.states import AttemptState, FinalApplicationStatus
from yodel.hadoop_pb import applicationclient_protocol_pb2 as client_pb
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_rpc.server_connection import CallReceived, Event, Opened, ServerConnection
from yodel.hadoop_rpc.server_policy import CallerIdentity, ConnectionPolicy, TokenGrant
from yodel.pb_convert import ids


def heard(recorded: Recording, connection: RecordedConnection) -> tuple[list[Event], bytes]:
    """The events of a connection, and what our server said on its own."""

    def grant(identifier: bytes) -> TokenGrant | None:
        password = recorded.passwords.get(identifier)
        return None if password is None else TokenGrant(password=password, user="appattempt", kind="recorded")

    def anyone(_identity: CallerIdentity) -> None:
        return

    policy = ConnectionPolicy(
        allow_simple=connection.port in ("client", "admin"), token_passwords=grant, authorize=anyone
    )
    machine, events = ServerConnection(policy=policy, nonce=connection.nonce), []
    for read in connection.reads:
        machine.receive_data(read)
        while (event := machine.next_event()) is not None:
            events.append(event)
    return events, machine.data_to_send()


def methods(events: list[Event]) -> list[tuple[str, int]]:
    """Method names in order, with how often each came in a row."""
    assert isinstance(events[0], Opened)
    calls = [event.target.method for event in events[1:] if isinstance(event, CallReceived)]
    assert len(calls) == len(events) - 1
    return [(method, len(list(run))) for method, run in groupby(calls)]


def test_cli_list() -> None:
    recorded = recording("cli-list")
    (connection,) = recorded.connections
    events, said = heard(recorded, connection)
    assert methods(events) == [("getApplications", 1)]
    assert said == b""


def test_spark_job() -> None:
    recorded = recording("spark-4-pi-cluster")
    told = [(connection.port, *heard(recorded, connection)) for connection in recorded.connections]
    assert [(port, methods(events)) for port, events, _ in told] == [
        ("client", [("getNewApplication", 1), ("submitApplication", 1), ("getApplicationReport", 83)]),
        ("nm", [("startContainers", 1)]),
        ("am", [("registerApplicationMaster", 1), ("allocate", 20), ("finishApplicationMaster", 2)]),
        ("nm", [("startContainers", 1)]),
        ("nm", [("startContainers", 1)]),
        ("nm", [("stopContainers", 1)]),
    ]


def test_recorded_proofs_are_answered_as_hadoop_answered_them() -> None:
    recorded = recording("spark-4-pi-cluster")
    proved = [connection for connection in recorded.connections if connection.port != "client"]
    assert len(proved) == 5
    for connection in proved:
        _, said = heard(recorded, connection)
        assert said.endswith(connection.final_token)
        assert connection.final_token.startswith(b"rspauth=")


class ClientStage:
    """Brings an application as far as the recorded report says that it was."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._ams: dict[ApplicationId, Am] = {}

    async def prepare(self, method: str, request: Any, answer: Any | None) -> None:
        if method == "getClusterNodes":
            await self._let_finished_go()
        if method == "getApplications":
            await self._one_of_each()
        if method == "getApplicationReport" and answer is not None:
            report = answer.application_report
            await self._reach(ids.application_id(request.application_id), report)

    async def _let_finished_go(self) -> None:
        """Between two jobs the node was empty."""
        for am in self._ams.values():
            if self._world.attempt(am.attempt_id).state is AttemptState.FINISHING:
                await am.exit()

    async def _one_of_each(self) -> None:
        """Applications that ended in every way."""
        done = await self._world.running_am(tags=("t1",))
        await done.finish()
        await done.exit()
        killed = await self._world.running_am()
        await self._world.run(self._world.rm.submission.kill(killed.application_id, "alice"))
        await self._world.settle()

    async def _reach(self, application_id: ApplicationId, report: pb.ApplicationReportProto) -> None:
        world, state = self._world, report.yarn_application_state
        if state in (pb.NEW, pb.NEW_SAVING, pb.SUBMITTED):
            return
        await world.settle()
        await world.bind_and_settle()
        if state == pb.ACCEPTED or (state == pb.FAILED and application_id not in self._ams):
            if state == pb.FAILED:
                await self._fail(application_id)
            return
        am = self._ams.get(application_id)
        if am is None and state in (pb.RUNNING, pb.FINISHED):
            am = self._ams[application_id] = Am(world, world.application(application_id).current_attempt_id)
            await world.beat(running(am.container.id))
            await am.register()
        if am is not None and state == pb.FINISHED:
            await self._finish(am, report)

    async def _finish(self, am: Am, report: pb.ApplicationReportProto) -> None:
        attempt = self._world.attempt(am.attempt_id)
        if attempt.state is AttemptState.RUNNING:
            await am.finish(FinalApplicationStatus(report.final_application_status))
        is_gone = report.app_resource_Usage.num_used_containers == -1
        if is_gone and not self._world.attempt(am.attempt_id).state.is_final:
            await am.exit()

    async def _fail(self, application_id: ApplicationId) -> None:
        while not self._world.application(application_id).state.is_final:
            await Am(self._world, self._world.application(application_id).current_attempt_id).exit(1)
            await self._world.bind_and_settle()


CLIENT_CALLS = {
    "cli-kill": 36,
    "cli-list": 1,
    "cli-node-queue": 3,
    "distributed-shell": 21,
    "distributed-shell-retry-failure": 49,
    "mapreduce-pi": 106,
    "spark-4-pi-cluster": 85,
}


@pytest.mark.parametrize("name", NAMES)
async def test_every_recorded_call_of_a_client_is_answered_with_the_same_fields(name: str) -> None:
    leaves = leaves_under_root(("default", "alpha"), maximum_lifetime_s=-1, default_lifetime_s=-1)
    async with World(Options(queues=leaves)) as world:
        await world.register_node()
        world.rm.nodes.runtimes[NODE].load = NodeLoad()
        service = client_pb.DESCRIPTOR.services_by_name["ApplicationClientProtocolService"]
        protocol = client_protocol(world).protocol()
        replay = Replay(world=world, protocol=protocol, service=service, identity=CallerIdentity(user="root"))
        stage = ClientStage(world)
        for call in recorded_calls(name, "client"):
            await replay.ask(call, stage)
        assert replay.asked == CLIENT_CALLS[name]
