"""NodeManagerMetrics of containers in every state, rounded as Hadoop rounds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nm_plugin.container.counts import ContainerCounts
from nm_plugin.container.life import Container, LifeState
from nm_plugin.host.directories import Directories
from nm_plugin.host.disks import DiskLimits, Disks
from nm_plugin.host.usage import MeasuredUse
from nm_plugin.node.state import NodeReport
from nm_plugin.web.servlets import Book, node_metrics
from tests.support.node_agent import container_id
from yodel.domain.resource import Resource


@dataclass(frozen=True)
class DiskUsage:
    total: int
    free: int


def container(sequence: int, state: LifeState, pid: int | None = None) -> Container:
    size = Resource(1000, 2)
    return Container(container_id=container_id(sequence), user="alice", resource=size, state=state, pid=pid)


def test_metrics_of_a_node_at_work(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    directories = Directories(local_dirs=(tmp_path, tmp_path / "file"), log_dirs=(tmp_path,))
    disks = Disks(directories, DiskLimits(), lambda _: DiskUsage(total=900, free=300))
    disks.check()
    living = (
        container(1, LifeState.RUNNING, 1),
        container(2, LifeState.KILLING, 2),
        container(3, LifeState.KILLING),
        container(4, LifeState.LOCALIZING),
        container(5, LifeState.REINITIALIZING, 5),
    )
    counts = ContainerCounts(launched=6, completed=5, failed=4, killed=3, rolled_back=2)
    book = Book(containers=(*living, container(6, LifeState.DONE)), applications_running=1, counts=counts)
    used = NodeReport(
        containers=MeasuredUse(pmem_mib=2047, vmem_mib=4096, cpu_vcores=1.5), node=MeasuredUse(pmem_mib=3072)
    )
    assert node_metrics(book, Resource(8192, 8), used, disks, "node-1") == {
        "name": "Hadoop:service=NodeManager,name=NodeManagerMetrics",
        "modelerType": "NodeManagerMetrics",
        "tag.Context": "yarn",
        "tag.Hostname": "node-1",
        "ContainersLaunched": 6,
        "ContainersCompleted": 5,
        "ContainersFailed": 4,
        "ContainersKilled": 3,
        "ContainersRolledBackOnFailure": 2,
        "ContainersReIniting": 1,
        "ContainersIniting": 1,
        "ContainersRunning": 2,
        "AllocatedGB": 5,
        "AllocatedContainers": 5,
        "AvailableGB": 3,
        "AllocatedVCores": 10,
        "AvailableVCores": -2,
        "BadLocalDirs": 1,
        "BadLogDirs": 0,
        "GoodLocalDirsDiskUtilizationPerc": 66,
        "GoodLogDirsDiskUtilizationPerc": 66,
        "ContainerUsedMemGB": 1,
        "ContainerUsedVMemGB": 4,
        "ContainerCpuUtilization": 1.5,
        "NodeUsedMemGB": 3,
        "NodeUsedVMemGB": 0,
        "NodeCpuUtilization": 0.0,
        "ApplicationsRunning": 1,
    }
