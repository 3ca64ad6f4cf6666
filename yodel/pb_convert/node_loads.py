"""ResourceUtilizationProto of heartbeats and node reports."""

from __future__ import annotations

from yodel.domain.node_load import NodeLoad, Utilization
from yodel.hadoop_pb import yarn_protos_pb2 as pb


def load_of(containers: pb.ResourceUtilizationProto, node: pb.ResourceUtilizationProto, health_ms: int) -> NodeLoad:
    """Return the load in a heartbeat; it is zero from an agent that measures nothing."""
    return NodeLoad(containers=_utilization(containers), node=_utilization(node), health_ms=health_ms)


def fill_load(report: pb.NodeReportProto, load: NodeLoad) -> None:
    """Set both utilizations, and when the node's health was last looked at."""
    for message, usage in (
        (report.containers_utilization, load.containers),
        (report.node_utilization, load.node),
    ):
        message.pmem, message.vmem, message.cpu = usage.physical_mib, usage.virtual_mib, usage.cpu_cores
    if load.health_ms:
        report.last_health_report_time = load.health_ms


def _utilization(message: pb.ResourceUtilizationProto) -> Utilization:
    return Utilization(physical_mib=message.pmem, virtual_mib=message.vmem, cpu_cores=message.cpu)
