"""The recorded calls of the administration port, asked again of our own handlers."""

from __future__ import annotations

from typing import Any

from tests.conformance.recorded_calls import NAMES, recorded_calls
from tests.conformance.replaying import Replay
from tests.support.admin import Administration
from tests.support.playbook import World
from yodel.hadoop_pb import resourcemanager_administration_protocol_pb2 as service_pb
from yodel.hadoop_rpc.server_policy import CallerIdentity
from yodel.rm_rpc.admin_protocol import AdminProtocol


class AdminStage:
    """The calls that were recorded need nothing to be there."""

    async def prepare(self, method: str, request: Any, answer: Any | None) -> None:
        return


async def test_every_recorded_call_of_the_admin_port_is_answered_with_the_same_fields() -> None:
    calls = [call for name in NAMES for call in recorded_calls(name, "admin")]
    assert [call.method for call in calls] == ["refreshQueues"]
    async with World() as world:
        administration = Administration(world)
        administration.change(admin_acl="root")
        protocol = AdminProtocol(await administration.service()).protocol()
        service = service_pb.DESCRIPTOR.services_by_name["ResourceManagerAdministrationProtocolService"]
        replay = Replay(world=world, protocol=protocol, service=service, identity=CallerIdentity(user="root"))
        for call in calls:
            await replay.ask(call, AdminStage())
        assert replay.asked == len(calls)
