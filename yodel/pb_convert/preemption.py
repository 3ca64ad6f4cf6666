"""PreemptionMessageProto: what an ApplicationMaster is asked to give back."""

from __future__ import annotations

from collections.abc import Sequence

from yodel.domain.container import Container
from yodel.domain.resource import Resource, total_of
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.pb_convert import ids
from yodel.pb_convert.widths import int32

ANY = "*"
UNDEFINED_PRIORITY = -1  # Priority.UNDEFINED


def preemption_pb(containers: Sequence[Container], minimum: Resource) -> pb.PreemptionMessageProto:
    """The contract that FiCaSchedulerApp.getAllocation makes: the containers, and how much that is in containers of the
    minimum allocation.  The strict one is never filled."""
    message = pb.PreemptionMessageProto()
    for container in containers:
        message.contract.container.add().id.CopyFrom(ids.container_id_pb(container.id))
    total = total_of(container.reserved for container in containers)
    count = max(-(-total.memory_mib // minimum.memory_mib), -(-total.vcores // minimum.vcores))
    request = message.contract.resource.add().resource
    request.priority.priority = UNDEFINED_PRIORITY
    request.resource_name = ANY
    request.capability.CopyFrom(ids.resource_pb(minimum))
    request.num_containers = int32(count)
    return message
