"""The limits of int32 and int64 in every number that a client can send, on every RPC port of the ResourceManager.

Made from the descriptors of the messages: a field that is added is tried without a change here.  Whatever is said, it
is answered, or refused in Hadoop's words; what is stored fits its columns; and somebody else's heartbeat and questions
are answered as if nothing had happened.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from tests.support.admin import Administration
from tests.support.playbook import Am, World
from tests.support.records import INT64_MAX, NOBODY
from tests.support.rm_options import Options
from tests.support.rpc_calls import call, client_protocol, context, is_hadoops, tracker_protocol
from yodel.domain.ids import ApplicationId, ContainerId, NodeId
from yodel.domain.queues.queue import leaves_under_root
from yodel.errors import YodelError
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_pb import yarn_service_protos_pb2 as msg
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.pb_convert import ids
from yodel.rm_rpc.admin_protocol import AdminProtocol
from yodel.rm_rpc.master_protocol import MasterProtocol
from yodel.rm_rpc.remote_errors import fault_for
from yodel.rpc_io.dispatch import CallContext, RpcProtocol
from yodel.services.applications.submission import SubmissionLimits

DEPTH_MAX = 6
EVIL = NodeId("node-9", 8041)
"""The attacker's node agent."""
ONLY_REFUSED = {
    *("submitReservation", "updateReservation", "deleteReservation", "listReservations"),
    *("getApplicationReport", "failApplicationAttempt", "forceKillApplication", "moveApplicationAcrossQueues"),
    *("getApplicationAttemptReport", "getApplicationAttempts", "getContainers", "updateApplicationTimeouts"),
    *("unRegisterNodeManager", "replaceLabelsOnNodes", "listFederationQueuePolicies"),
}
"""Reservations, labels and federation are off; and of these the only numbers are those of an identifier, which is then
nobody's."""
PORTS = ("client", "scheduler", "tracker", "admin")
OPTIONS = Options(
    submission=SubmissionLimits(completed_max=3, max_priority=10),
    queues=leaves_under_root(["default"], maximum_lifetime_s=-1, default_lifetime_s=-1),
)
LIMITS = {
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), -1, 2**31 - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(2**63), -1, 2**31, 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT32: (2**32 - 1,),
    FieldDescriptor.CPPTYPE_UINT64: (2**64 - 1,),
    FieldDescriptor.CPPTYPE_FLOAT: (float("inf"), float("-inf"), float("nan"), 3e38),
    FieldDescriptor.CPPTYPE_DOUBLE: (float("inf"), float("-inf"), float("nan"), 1e308),
}
_Path = tuple[FieldDescriptor, ...]


def numbers_in(kind: Descriptor, above: _Path = ()) -> Iterator[_Path]:
    """The way to every number, through one message of each kind at most."""
    for field in kind.fields:
        if field.message_type is None and field.enum_type is None and field.cpp_type in LIMITS:
            yield (*above, field)
        elif field.message_type is not None and len(above) < DEPTH_MAX:
            is_new = field.message_type not in (step.message_type for step in above)
            yield from numbers_in(field.message_type, (*above, field)) if is_new else ()


@dataclass(slots=True)
class Attack:
    """An attacker's application, and one that has nothing to do with it."""

    world: World
    attacker: Am
    victim: Am

    fresh: ApplicationId | None = None
    """To submit by."""
    container_id: ContainerId | None = None
    """The one that requests name."""

    @classmethod
    async def begin(cls, world: World) -> Attack:
        await world.register_node()
        victim = await world.running_am(user="bob", name="bystander")
        return cls(world, await world.running_am(), victim)

    async def port(self, name: str) -> tuple[RpcProtocol, CallContext]:
        rm = self.world.rm
        if name == "client":
            return client_protocol(self.world).protocol(), context("alice")
        if name == "scheduler":
            protocol = MasterProtocol(rm.master, rm.queries, rm.tokens, are_constraints_taken=True).protocol()
            return protocol, context(attempt_id=self.attacker.attempt_id, world=self.world)
        if name == "tracker":
            return tracker_protocol(self.world), context("yarn")
        return AdminProtocol(await Administration(self.world).service()).protocol(), context("admin")

    async def renew(self) -> None:
        """Whoever was killed, or lost its node, begins again: the next number has to reach as far."""
        if self.fresh is not None and self.fresh in self.world.rm.state.applications:
            await self.world.run(self.world.rm.submission.kill(self.fresh, "alice"))
        self.fresh = await self.world.run(self.world.rm.submission.give_id(NOBODY))
        await self.world.register_node(EVIL)
        await self.world.settle()
        runtime = self.world.rm.state.masters.runtimes.get(self.attacker.attempt_id)
        if runtime is None:
            self.attacker = await self.world.running_am()
            runtime = self.world.rm.state.masters.runtimes[self.attacker.attempt_id]
        runtime.wishes.end()
        self.world.rm.scheduler.wake()
        runtime.dialogue.is_registered = True
        self.attacker.response_id = runtime.dialogue.response_id

    def request(self, kind: type[Message], path: _Path, value: float) -> Message:
        message: Any = kind()
        self.container_id = self.attacker.container.id
        if kind is msg.AllocateRequestProto:  # what it releases is not itself
            self.container_id = ContainerId.of(self.attacker.attempt_id, 77)
        self._fill(message, ())
        if kind is msg.SubmitApplicationRequestProto:
            assert self.fresh is not None
            message.application_submission_context.application_id.CopyFrom(ids.application_id_pb(self.fresh))
        elif kind is msg.RegisterApplicationMasterRequestProto:
            self.world.rm.state.masters.runtimes[self.attacker.attempt_id].dialogue.is_registered = False
        at: Any = message
        for field in path[:-1]:
            if field.name == "compositeConstraint":
                at.ClearField("simpleConstraint")
            inner = getattr(at, field.name)
            at = (inner[0] if inner else inner.add()) if field.is_repeated else inner
            if not at.ListFields():
                self._fill(at, (field,))
        last = path[-1]
        if last.is_repeated:
            getattr(at, last.name).append(value)
        else:
            setattr(at, last.name, value)
        return message

    def _fill(self, message: Any, above: _Path) -> None:
        """Fill a message with what is there: identifiers of the attacker's own things, and what is required."""
        known = self._known(message.DESCRIPTOR.name)
        if known is not None:
            message.CopyFrom(known)
            return
        for field in message.DESCRIPTOR.fields:
            if field.name == "compositeConstraint":
                continue  # one of two
            if field.message_type is not None:
                is_deep = len(above) > DEPTH_MAX or field.message_type in (step.message_type for step in above)
                if field.is_required or not is_deep:
                    value = getattr(message, field.name)
                    self._fill(value.add() if field.is_repeated else value, (*above, field))
                    if not field.is_repeated:
                        value.SetInParent()
            elif not field.is_repeated:
                self._set(message, field)

    def _set(self, message: Any, field: FieldDescriptor) -> None:
        if field.name == "response_id":
            is_beat = message.DESCRIPTOR.name == "NodeStatusProto"
            message.response_id = 0 if is_beat else self.attacker.response_id
        elif field.name == "targetType":
            message.targetType = pb.PlacementConstraintTargetProto.ALLOCATION_TAG
        elif field.cpp_type == FieldDescriptor.CPPTYPE_STRING and (field.is_required or field.name in _TEXTS):
            text = _TEXTS.get(field.name, "1")
            setattr(message, field.name, text.encode() if field.type == FieldDescriptor.TYPE_BYTES else text)
        elif field.is_required or field.name in _ONES:
            setattr(message, field.name, field.enum_type.values[0].number if field.enum_type is not None else 1)

    def _known(self, name: str) -> Message | None:
        attempt_id = self.attacker.attempt_id
        match name:
            case "ApplicationIdProto":
                return ids.application_id_pb(attempt_id.application_id)
            case "ApplicationAttemptIdProto":
                return ids.attempt_id_pb(attempt_id)
            case "ContainerIdProto":
                return None if self.container_id is None else ids.container_id_pb(self.container_id)
            case "NodeIdProto":
                return ids.node_id_pb(EVIL)
            case "ResourceProto":
                return pb.ResourceProto(memory=1024, virtual_cores=1)
        return None

    async def neighbours_are_well(self) -> None:
        """A beat with a wish, a beat without, and every question of somebody else's."""
        world = self.world
        master = MasterProtocol(world.rm.master, world.rm.queries, world.rm.tokens).protocol()
        caller = context(attempt_id=self.victim.attempt_id, world=world)
        beat = msg.AllocateRequestProto(response_id=self.victim.response_id)
        answer = await call(master, "allocate", caller, beat)
        self.victim.response_id = answer.response_id
        assert answer.SerializeToString()
        client = client_protocol(world).protocol()
        for method, question in _QUESTIONS:
            assert (await call(client, method, context("bob"), question)).SerializeToString() is not None


_ONES = frozenset({"num_containers", "numAllocations", "maxAppAttempts", "timeout"})
_TEXTS = {
    "queue": "default",
    "queueName": "default",
    "user": "alice",
    "scope": "node",
    "resource_name": "*",
    "node_label_expression": "",
    "nodeLabelExpression": "",
    "expire_time": "2100-01-01T00:00:00.000+0000",
    "targetKey": "",
}
_QUESTIONS = (
    ("getClusterMetrics", msg.GetClusterMetricsRequestProto()),
    ("getApplications", msg.GetApplicationsRequestProto()),
    ("getClusterNodes", msg.GetClusterNodesRequestProto()),
    (
        "getQueueInfo",
        msg.GetQueueInfoRequestProto(
            queueName="root", includeApplications=True, includeChildQueues=True, recursive=True
        ),
    ),
)


def too_wide(value: object, name: str = "row") -> Iterator[str]:
    """Numbers of a row that no column holds."""
    if isinstance(value, int) and not -INT64_MAX - 1 <= value <= INT64_MAX:
        yield f"{name} = {value}"
    elif is_dataclass(value):
        for field in fields(value):
            yield from too_wide(getattr(value, field.name), f"{name}.{field.name}")
    elif isinstance(value, list | tuple):
        for item in value:
            yield from too_wide(item, name)


def too_wide_rows(world: World) -> list[str]:
    disk = world.disk
    tables = (disk.applications, disk.attempts, disk.containers, disk.nodes, disk.queues)
    return [found for table in tables for row in table.values() for found in too_wide(row, type(row).__name__)]


def methods_of(port: str) -> list[str]:
    from yodel.hadoop_pb import ResourceTracker_pb2 as tracker_service
    from yodel.hadoop_pb import applicationclient_protocol_pb2 as client_service
    from yodel.hadoop_pb import applicationmaster_protocol_pb2 as master_service
    from yodel.hadoop_pb import resourcemanager_administration_protocol_pb2 as admin_service

    service = {
        "client": client_service.DESCRIPTOR.services_by_name["ApplicationClientProtocolService"],
        "scheduler": master_service.DESCRIPTOR.services_by_name["ApplicationMasterProtocolService"],
        "tracker": tracker_service.DESCRIPTOR.services_by_name["ResourceTrackerService"],
        "admin": admin_service.DESCRIPTOR.services_by_name["ResourceManagerAdministrationProtocolService"],
    }[port]
    return [m.name for m in service.methods if any(numbers_in(m.input_type))]


@pytest.mark.parametrize(("port", "method"), [(port, method) for port in PORTS for method in methods_of(port)])
async def test_no_number_hurts_anybody_else(port: str, method: str) -> None:
    async with World(OPTIONS) as world:
        attack = await Attack.begin(world)
        await attack.renew()
        kind = (await attack.port(port))[0].methods[method].request_type
        answered = 0
        for path in numbers_in(kind.DESCRIPTOR):
            for value in LIMITS[path[-1].cpp_type]:
                said = f"{'.'.join(field.name for field in path)} = {value}"
                await attack.renew()
                protocol, caller = await attack.port(port)
                refusal = None
                try:
                    answer = await world.run(call(protocol, method, caller, attack.request(kind, path, value)))
                    answered += answer.SerializeToString() is not None
                except RemoteFault as fault:
                    refusal = fault
                except YodelError as error:
                    refusal = fault_for(error)
                except Exception as error:
                    raise AssertionError(f"an internal error for {said}") from error
                assert refusal is None or is_hadoops(refusal.java_class), f"{said}: {refusal}"
                try:
                    await world.settle()
                    await attack.neighbours_are_well()
                except Exception as error:
                    raise AssertionError(f"a neighbour suffers from {said}") from error
                assert too_wide_rows(world) == [], said
        assert answered or method in ONLY_REFUSED, "nothing got as far as to matter"
