"""ClusterInfo, ClusterMetricsInfo and SchedulerOverviewInfo."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from yodel import __version__
from yodel.domain.node_load import NodeLoad
from yodel.domain.resource import Resource
from yodel.domain.states import NodeState
from yodel.pb_convert.widths import int32
from yodel.rm_api.hadoop.wire.resources import resource
from yodel.services.views.queue_views import ClusterMetrics

HADOOP_VERSION = "3.5.0"
"""The release whose wire shapes are served; clients parse it."""
NO_ELECTOR = "Could not find leader elector. Verify both HA and automatic failover are enabled."


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterFacts:
    """Describes this ResourceManager."""

    cluster_id: int
    started_ms: int
    hadoop_version: str = HADOOP_VERSION
    build_version: str = f"{HADOOP_VERSION} as served by Yodel {__version__}"
    built_on: str = "2026-03-24T16:56Z"
    rm_state_store_name: str = "yodel.store"


def info(facts: ClusterFacts, ha_state: str = "ACTIVE") -> dict[str, Any]:
    return {
        "clusterInfo": {
            "id": facts.cluster_id,
            "startedOn": facts.started_ms,
            "state": "STARTED",
            "haState": ha_state,
            "rmStateStoreName": facts.rm_state_store_name,
            "resourceManagerVersion": facts.hadoop_version,
            "resourceManagerBuildVersion": facts.build_version,
            "resourceManagerVersionBuiltOn": facts.built_on,
            "hadoopVersion": facts.hadoop_version,
            "hadoopBuildVersion": facts.build_version,
            "hadoopVersionBuiltOn": facts.built_on,
            "haZooKeeperConnectionState": NO_ELECTOR,
        }
    }


def metrics(found: ClusterMetrics, loads: Iterable[NodeLoad] = (), waiting: int = 0) -> dict[str, Any]:
    """``loads`` are what the agents of live nodes measure on their machines, ``waiting`` the changes that wait to be
    written.

    Readers of Hadoop's own class take every field.  Zero by nature: the scheduler has no queue.
    """
    measured = [load.node for load in loads]
    used_mib, used_cores = sum(use.physical_mib for use in measured), int(sum(use.cpu_cores for use in measured))
    available = (found.total - found.used).at_least_zero()
    pending_containers, pending = found.waited_for
    nodes = found.nodes_by_state
    return {
        "clusterMetrics": {
            "appsSubmitted": found.submitted,
            "appsCompleted": found.completed,
            "appsPending": found.pending,
            "appsRunning": found.running,
            "appsFailed": found.failed,
            "appsKilled": found.killed,
            "reservedMB": found.reserved.memory_mib,
            "availableMB": available.memory_mib,
            "allocatedMB": found.used.memory_mib,
            "pendingMB": pending.memory_mib,
            "reservedVirtualCores": found.reserved.vcores,
            "availableVirtualCores": available.vcores,
            "allocatedVirtualCores": found.used.vcores,
            "pendingVirtualCores": pending.vcores,
            "containersAllocated": int32(found.containers_allocated),
            "containersReserved": found.containers_reserved,
            "containersPending": int32(pending_containers),
            "totalMB": found.total.memory_mib,
            "utilizedMB": used_mib,
            "totalVirtualCores": found.total.vcores,
            "utilizedVirtualCores": used_cores,
            "utilizedMBPercent": _percent(used_mib, found.total.memory_mib),
            "utilizedVirtualCoresPercent": _percent(used_cores, found.total.vcores),
            "rmSchedulerBusyPercent": 0,
            "totalNodes": sum(nodes.values()),
            "lostNodes": nodes.get(NodeState.LOST, 0),
            "unhealthyNodes": nodes.get(NodeState.UNHEALTHY, 0),
            "decommissioningNodes": nodes.get(NodeState.DECOMMISSIONING, 0),
            "decommissionedNodes": nodes.get(NodeState.DECOMMISSIONED, 0),
            "rebootedNodes": nodes.get(NodeState.REBOOTED, 0),
            "activeNodes": nodes.get(NodeState.RUNNING, 0),
            "shutdownNodes": nodes.get(NodeState.SHUTDOWN, 0),
            "containerAssignedPerSecond": 0,
            "totalUsedResourcesAcrossPartition": resource(found.used),
            "totalClusterResourcesAcrossPartition": resource(found.total),
            "totalReservedResourcesAcrossPartition": resource(found.reserved),
            "totalAllocatedContainersAcrossPartition": int32(found.containers_allocated),
            "crossPartitionMetricsAvailable": True,
            "rmEventQueueSize": waiting,
            "schedulerEventQueueSize": 0,
        }
    }


def overview(minimum: Resource, maximum: Resource, max_priority: int) -> dict[str, Any]:
    return {
        "scheduler": {
            "schedulerType": "Capacity Scheduler",
            "schedulingResourceType": "memory-mb (unit=Mi),vcores",
            "minimumAllocation": resource(minimum),
            "maximumAllocation": resource(maximum),
            "applicationPriority": max_priority,
            "schedulerBusy": 0,
            "rmDispatcherEventQueueSize": 0,
            "schedulerDispatcherEventQueueSize": 0,
        }
    }


def _percent(used: int, total: int) -> int:
    return used * 100 // total if total > 0 else 0
