"""Recorded calls of ApplicationMasters, asked again: the same answers with the same fields.

Containers are bound and end when the recorded answer says that they did; everything else follows from the calls.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.recorded_calls import NAMES, recorded_calls
from tests.conformance.replaying import Replay
from tests.support.playbook import World, complete, running
from tests.support.rm_options import Options
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId
from yodel.domain.tokens import AMRM_TOKEN_KIND
from yodel.hadoop_pb import applicationmaster_protocol_pb2 as service_pb
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_pb import yarn_service_protos_pb2 as msg
from yodel.hadoop_rpc.server_policy import AuthMethod, CallerIdentity
from yodel.pb_convert import ids
from yodel.rm_rpc.master_protocol import MasterProtocol

AM_CALLS = {
    "cli-kill": 10,
    "distributed-shell": 7,
    "distributed-shell-retry-failure": 16,
    "mapreduce-pi": 44,
    "spark-4-pi-cluster": 23,
}


class MasterStage:
    """One application after another: each registration is a new one's."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.replay: Replay | None = None
        self._attempt_id: ApplicationAttemptId | None = None
        self._running: dict[ContainerId, ContainerId] = {}
        """Recorded containers and ours."""

    async def prepare(self, method: str, request: Any, answer: Any | None) -> None:
        if method == "registerApplicationMaster":
            await self._launch(answer)
        elif method == "allocate" and answer is not None:
            await self._allocate(request, answer)

    async def _launch(self, answer: msg.RegisterApplicationMasterResponseProto) -> None:
        world = self.world
        context = pb.ApplicationSubmissionContextProto()
        context.am_container_spec.application_ACLs.extend(answer.application_ACLs)
        application_id: ApplicationId = await world.submit(context=context.SerializeToString())
        await world.settle()
        await world.bind_and_settle()
        self._attempt_id = world.application(application_id).current_attempt_id
        self._running.clear()
        token = world.rm.tokens.amrm_token(self._attempt_id)
        assert self.replay is not None
        self.replay.identity = CallerIdentity(
            user=str(self._attempt_id),
            auth_method=AuthMethod.TOKEN,
            token_kind=AMRM_TOKEN_KIND,
            token_identifier=token.identifier,
        )

    async def _allocate(self, request: msg.AllocateRequestProto, answer: msg.AllocateResponseProto) -> None:
        world = self.world
        for release in request.release:
            release.CopyFrom(ids.container_id_pb(self._running[ids.container_id(release)]))
        for status in answer.completed_container_statuses:
            ours = self._running[ids.container_id(status.container_id)]
            await world.beat(complete(ours, status.exit_status, status.diagnostics))
        await world.settle()
        if answer.allocated_containers:
            await world.bind_and_settle()
            assert self._attempt_id is not None
            granted = world.rm.state.masters.runtimes[self._attempt_id].outbox.granted
            assert len(granted) == len(answer.allocated_containers)
            self._running |= {
                ids.container_id(theirs.id): ours
                for theirs, ours in zip(answer.allocated_containers, granted, strict=True)
            }
        else:
            live = [running(i) for i in self._running.values() if world.container(i).is_live]
            await world.beat(*live)


@pytest.mark.parametrize("name", [name for name in NAMES if recorded_calls(name, "am")])
async def test_every_recorded_call_of_an_am_is_answered_with_the_same_fields(name: str) -> None:
    async with World(Options()) as world:
        await world.register_node()
        stage = MasterStage(world)
        protocol = MasterProtocol(world.rm.master, world.rm.queries, world.rm.tokens).protocol()
        service = service_pb.DESCRIPTOR.services_by_name["ApplicationMasterProtocolService"]
        stage.replay = Replay(world=world, protocol=protocol, service=service, identity=CallerIdentity(user="nobody"))
        for call in recorded_calls(name, "am"):
            await stage.replay.ask(call, stage)
        assert stage.replay.asked == AM_CALLS[name]
