"""The limits of int32 and int64 in every number that anybody can say to a node agent, on 8041 and on 8042.

The calls are made from the messages' descriptors, the addresses from the routes.  Nothing is an internal error, and
another application's call is answered after each as before.
"""

from __future__ import annotations

from itertools import cycle, product
from typing import Any

import httpx2
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from tests.contract.test_number_limits import LIMITS, numbers_in
from tests.support.node_agent import ATTEMPT, Rig, container_id, context_of, start_request
from tests.support.rpc_calls import is_hadoops
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId
from yodel.hadoop_pb import containermanagement_protocol_pb2 as management
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_pb import yarn_service_protos_pb2 as service_pb
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.pb_convert import ids

NEIGHBOUR = ApplicationAttemptId(ApplicationId(1700000000000, 8), 1)
SERVICE = management.DESCRIPTOR.services_by_name["ContainerManagementProtocolService"]
METHODS = sorted(SERVICE.methods, key=lambda method: method.name == "stopContainers")
"""The one that ends the container last."""
ONLY_REFUSED = {"restartContainer", "rollbackLastReInitialization", "commitLastReInitialization"}
"""Their only numbers are those of an identifier, which is then nobody's."""
VALUES = ("-9223372036854775808", "-1", "2147483648", "9223372036854775807", "9" * 5000)
PARAMETERS = ("start", "end", "size")


def known(name: str, container: ContainerId) -> Message | None:
    match name:
        case "ApplicationIdProto":
            return ids.application_id_pb(container.application_id)
        case "ApplicationAttemptIdProto":
            return ids.attempt_id_pb(container.attempt_id)
        case "ContainerIdProto":
            return ids.container_id_pb(container)
        case "LocalResourceProto":
            url = pb.URLProto(scheme="hdfs", host="h", port=1, file="/f")
            return pb.LocalResourceProto(resource=url, size=1, timestamp=1, type=pb.FILE, visibility=pb.PRIVATE)
        case "StringLocalResourceMapProto":
            value = known("LocalResourceProto", container)
            return pb.StringLocalResourceMapProto(key="k", value=value)  # type: ignore[arg-type]
    return None


def fill(message: Any, container: ContainerId) -> None:
    """Fill in what is required, with the container whose it is."""
    if (found := known(message.DESCRIPTOR.name, container)) is not None:
        message.CopyFrom(found)
        return
    for field in message.DESCRIPTOR.fields:
        if field.name in ("container_id", "resource") and field.message_type is not None:
            inner = getattr(message, field.name)
            fill(inner.add() if field.is_repeated else inner, container)
        elif field.is_required and field.message_type is None:
            is_text = field.cpp_type == FieldDescriptor.CPPTYPE_STRING
            setattr(message, field.name, field.enum_type.values[0].number if field.enum_type else "x" if is_text else 1)


def request_of(kind: Any, path: tuple[FieldDescriptor, ...], value: float, rig: Rig, container: ContainerId) -> Any:
    message = kind()
    fill(message, container)
    if isinstance(message, service_pb.StartContainersRequestProto):
        started = start_request(rig.running.node_id, container, context_of("exit 0"))
        message.start_container_request.append(started)
    at: Any = message
    for field in path[:-1]:
        inner = getattr(at, field.name)
        at = (inner[0] if inner else inner.add()) if field.is_repeated else inner
        if not at.ListFields():
            fill(at, container)
    last = path[-1]
    if last.is_repeated:
        getattr(at, last.name).append(value)
    else:
        setattr(at, last.name, value)
    return message


async def test_no_number_of_a_call_is_an_internal_error_or_hurts_a_neighbour(rig: Rig) -> None:
    own, sequence = container_id(2), 10
    await rig.pod(own)
    await rig.start(own, context_of("exec sleep 300"))
    await rig.tracker.until_running(own)
    client, neighbour = rig.client(), rig.client(NEIGHBOUR, "bob")
    question = service_pb.GetContainerStatusesRequestProto(
        container_id=[ids.container_id_pb(container_id(2, NEIGHBOUR))]
    )
    for method in METHODS:
        kind = getattr(service_pb, method.input_type.name, None) or getattr(pb, method.input_type.name)
        answer_type = getattr(service_pb, method.output_type.name)
        paths, answered, refusal = list(numbers_in(method.input_type)), 0, None
        for path in paths:
            for value in LIMITS[path[-1].cpp_type]:
                said = f"{method.name}: {'.'.join(field.name for field in path)} = {value}"
                sequence += 1
                container = container_id(sequence) if method.name == "startContainers" else own
                refusal = None
                try:
                    await client.call(method.name, request_of(kind, path, value, rig, container), answer_type)
                    answered += 1
                except RemoteFault as fault:
                    refusal = fault
                assert refusal is None or is_hadoops(refusal.java_class), f"{said}: {refusal}"
                told = await neighbour.call(
                    "getContainerStatuses", question, service_pb.GetContainerStatusesResponseProto
                )
                assert len(told.failed_requests) == 1, said  # it runs nothing here, and is told so
        assert answered or not paths or method.name in ONLY_REFUSED, (
            f"{method.name}: nothing got as far as to matter: {refusal}"
        )
    await client.close()
    await neighbour.close()


async def test_no_number_of_an_address_is_an_internal_error(rig: Rig) -> None:
    own = container_id(2)
    await rig.pod(own)
    await rig.start(own, context_of("exec sleep 300"))
    await rig.tracker.until_running(own)
    api = "/ws/v1/node"
    paths = [
        *("/node", "/jmx", "/conf", api, f"{api}/apps", f"{api}/containers", f"{api}/auxiliaryservices"),
        *(f"{api}/apps/{ATTEMPT.application_id}", f"{api}/containers/{own}", f"{api}/containers/{own}/logs"),
        *(f"{api}/containers/{own}/logs/stdout", f"{api}/containerlogs/{own}/stdout"),
        *(f"/node/containerlogs/{own}/alice", f"/node/containerlogs/{own}/alice/stdout"),
    ]
    odd_ids = [
        template.format(value)
        for template in ("application_{}_0001", "application_1700000000000_{}", "container_1700000000000_0007_01_{}")
        for value in VALUES
    ]
    url = f"http://127.0.0.1:{rig.running.http_port}"
    async with httpx2.AsyncClient(base_url=url, params={"user.name": "alice"}) as client:
        asked = [(path, {name: value}) for (path, name), value in zip(product(paths, PARAMETERS), cycle(VALUES))]
        asked += [
            (f"{api}/{kind}/{odd}{end}", {})
            for odd in odd_ids
            for kind, end in (("apps", ""), ("containers", ""), ("containers", "/logs"))
        ]
        for path, parameters in asked:
            answer = await client.get(path, params={"user.name": "alice", **parameters})
            assert answer.status_code < 500, f"{path[:120]} {str(parameters)[:80]}: {answer.text[:200]}"
        assert (await client.get(f"{api}/containers/{own}")).status_code == 200
