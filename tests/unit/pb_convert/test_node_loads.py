from __future__ import annotations

from yodel.domain.node_load import NodeLoad, Utilization
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.pb_convert.node_loads import fill_load, load_of


def test_what_a_heartbeat_says_is_shown() -> None:
    containers = pb.ResourceUtilizationProto(pmem=1, vmem=2, cpu=0.5)
    node = pb.ResourceUtilizationProto(pmem=3, vmem=4, cpu=1.5)
    load = load_of(containers, node, 99)
    assert load == NodeLoad(
        containers=Utilization(physical_mib=1, virtual_mib=2, cpu_cores=0.5),
        node=Utilization(physical_mib=3, virtual_mib=4, cpu_cores=1.5),
        health_ms=99,
    )
    report = pb.NodeReportProto(last_health_report_time=7)
    fill_load(report, load)
    assert (report.containers_utilization, report.node_utilization) == (containers, node)
    assert report.last_health_report_time == 99


def test_agent_that_tells_no_time_leaves_the_one_that_is_known() -> None:
    report = pb.NodeReportProto(last_health_report_time=7)
    fill_load(report, NodeLoad())
    assert report.last_health_report_time == 7
    assert report.HasField("containers_utilization")
