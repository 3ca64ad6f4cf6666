"""The MBeans that exporters and alerts read, under Hadoop's names; values are ours.

A figure that has no source here (delays of ApplicationMasters, locality, logins) is absent: a zero would say that it
was looked at.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence

from yodel.domain.application import Application
from yodel.domain.node_load import NodeLoad
from yodel.domain.queues.queue import Queue
from yodel.domain.states import NodeState
from yodel.hadoop_http.beans import Bean
from yodel.hadoop_http.java_numbers import java_float
from yodel.hadoop_http.rpc_beans import rate_figures
from yodel.pb_convert.widths import int32
from yodel.rm_api.hadoop.wire.scheduler import QueueTree
from yodel.services.views.queries import NodeView
from yodel.services.views.queue_views import ClusterMetrics
from yodel.services.views.rows import ApplicationTotals, Totals
from yodel.telemetry.rates import Rate

RM = "Hadoop:service=ResourceManager,name="
AGES_MIN = (0, 60, 300, 1440)
MINUTE_MS = 60_000
LIVE = (NodeState.RUNNING, NodeState.UNHEALTHY, NodeState.DECOMMISSIONING)
_compact = json.JSONEncoder(separators=(",", ":")).encode


def cluster_metrics(found: ClusterMetrics, loads: Iterable[NodeLoad], host: str) -> Bean:
    nodes = found.nodes_by_state.get
    measured = [load.node for load in loads]
    return {
        "name": RM + "ClusterMetrics",
        "modelerType": "ClusterMetrics",
        "tag.ClusterMetrics": "ResourceManager",
        "tag.Context": "yarn",
        "tag.Hostname": host,
        "CapabilityMB": found.total.memory_mib,
        "CapabilityVirtualCores": found.total.vcores,
        "NumActiveNMs": nodes(NodeState.RUNNING, 0),
        "NumDecommissionedNMs": nodes(NodeState.DECOMMISSIONED, 0),
        "NumDecommissioningNMs": nodes(NodeState.DECOMMISSIONING, 0),
        "NumLostNMs": nodes(NodeState.LOST, 0),
        "NumRebootedNMs": nodes(NodeState.REBOOTED, 0),
        "NumShutdownNMs": nodes(NodeState.SHUTDOWN, 0),
        "NumUnhealthyNMs": nodes(NodeState.UNHEALTHY, 0),
        "UtilizedMB": sum(use.physical_mib for use in measured),
        "UtilizedVirtualCores": int(sum(use.cpu_cores for use in measured)),
    }


def queue_metrics(
    tree: QueueTree,
    queue: Queue,
    pending: Sequence[Application],
    running: Sequence[Application],
    totals: Totals,
    host: str,
    now_ms: int,
) -> Bean:
    """One queue's.  ``pending`` and ``running`` are in it and below it, ``totals`` of all that ever were there."""
    name = _queue_name(queue.path)
    found = tree.load(queue)
    load = found.total
    part = tree.ledger.share(queue.path)
    row = part.queue
    share, most, guaranteed, maximum = part.capacity, part.maximum_capacity, part.guaranteed, part.maximum
    size_mib = tree.size_of(queue.path).memory_mib
    used = load.used.memory_mib / size_mib if size_mib else 0.0
    available, am_limit = (maximum - load.used).at_least_zero(), tree.ledger.am_limit(part)
    return {
        "name": RM + name,
        "modelerType": name,
        "tag.Queue": queue.path,
        "tag.Context": "yarn",
        "tag.Hostname": host,
        **_ages(running, now_ms),
        "AMResourceLimitMB": am_limit.memory_mib if queue.is_leaf else 0,
        "AMResourceLimitVCores": am_limit.vcores if queue.is_leaf else 0,
        "AbsoluteUsedCapacity": java_float(used),
        "GuaranteedAbsoluteCapacity": java_float(share),
        "GuaranteedCapacity": java_float(row.capacity_percent / 100.0),
        "GuaranteedMB": guaranteed.memory_mib,
        "GuaranteedVCores": guaranteed.vcores,
        "MaxAbsoluteCapacity": java_float(most),
        "MaxCapacity": java_float(row.maximum_capacity_percent / 100.0),
        "MaxCapacityMB": maximum.memory_mib,
        "MaxCapacityVCores": maximum.vcores,
        "UsedAMResourceMB": load.am_used.memory_mib,
        "UsedAMResourceVCores": load.am_used.vcores,
        "UsedCapacity": java_float(used / share if share else 0.0),
        "ActiveApplications": load.active,
        "ActiveUsers": len(found.waiting),
        **_aggregates(totals),
        "AllocatedContainers": load.containers,
        "AllocatedMB": load.used.memory_mib,
        "AllocatedVCores": int32(load.used.vcores),
        **_counts("Apps", totals.applications, len(pending), len(running)),
        "AvailableMB": available.memory_mib,
        "AvailableVCores": available.vcores,
        "PendingContainers": int32(load.waited_for[0]),
        "PendingMB": load.waited_for[1].memory_mib,
        "PendingVCores": int32(load.waited_for[1].vcores),
        "ReservedContainers": load.holds,
        "ReservedMB": load.reserved.memory_mib,
        "ReservedVCores": int32(load.reserved.vcores),
        **_counts("UnmanagedApps", totals.unmanaged, _unmanaged(pending), _unmanaged(running)),
    }


def _unmanaged(applications: Iterable[Application]) -> int:
    return sum(app.submission.is_unmanaged for app in applications)


def live_node(view: NodeView) -> str:
    """The JSON of one of the nodes that RMNMInfo tells of (``LIVE``)."""
    return _compact(
        {
            "HostName": view.node.id.host,
            "Rack": view.node.rack,
            "State": view.node.state.name,
            "NodeId": str(view.node.id),
            "NodeHTTPAddress": view.node.http_address,
            "LastHealthUpdate": view.node.last_health_ms,
            "HealthReport": view.node.health_report,
            "NodeManagerVersion": view.node.version,
            "NumContainers": view.containers,
            "UsedMemoryMB": view.used.memory_mib,
            "AvailableMemoryMB": view.available.memory_mib,
        }
    )


def node_managers(live: Iterable[str]) -> Bean:
    """RMNMInfo: the nodes (``live_node``) as one text that holds JSON."""
    return {
        "name": RM + "RMNMInfo",
        "modelerType": "org.apache.hadoop.yarn.server.resourcemanager.RMNMInfo",
        "LiveNodeManagers": f"[{','.join(live)}]",
    }


def resource_manager(host: str, client_port: int | None) -> Bean:
    """RMInfo: whoever answers is active, and no port speaks Kerberos."""
    return {
        "name": RM + "RMInfo",
        "modelerType": "org.apache.hadoop.yarn.server.resourcemanager.RMInfo",
        **({"HostAndPort": f"{host}:{client_port}"} if client_port is not None else {}),
        "SecurityEnabled": False,
        "State": "active",
    }


def user_metrics(group_lookups: Rate, host: str, now_s: float) -> Bean:
    """Nobody logs in here by a keytab: of that there is no figure."""
    return {
        "name": RM + "UgiMetrics",
        "modelerType": "UgiMetrics",
        "tag.Context": "ugi",
        "tag.Hostname": host,
        **rate_figures("GetGroups", group_lookups, now_s),
    }


def _queue_name(path: str) -> str:
    parts = ",".join(f"q{depth}={part}" for depth, part in enumerate(path.split(".")))
    return f"QueueMetrics,{parts}"


def _ages(running: Iterable[Application], now_ms: int) -> Bean:
    """Count applications by how long they have run, in the classes of ``yarn.resourcemanager.metrics.runtime``."""
    found = Counter[int]()
    for app in running:
        minutes = (now_ms - app.submitted_ms) / MINUTE_MS
        found[max(age for age in AGES_MIN if age == 0 or age <= minutes)] += 1
    return {f"running_{age}": found[age] for age in AGES_MIN}


def _counts(prefix: str, totals: ApplicationTotals, pending: int, running: int) -> Bean:
    return {
        f"{prefix}Completed": totals.completed,
        f"{prefix}Failed": totals.failed,
        f"{prefix}Killed": totals.killed,
        f"{prefix}Pending": pending,
        f"{prefix}Running": running,
        f"{prefix}Submitted": totals.submitted,
    }


def _aggregates(totals: Totals) -> Bean:
    taken_back = totals.preempted
    return {
        "AggregateContainersAllocated": totals.containers_allocated,
        "AggregateContainersPreempted": taken_back.masters + taken_back.others,
        "AggregateContainersReleased": totals.containers_released,
        "AggregateMemoryMBPreempted": taken_back.memory_mib,
        "AggregateMemoryMBSecondsPreempted": taken_back.memory_mib_s,
        "AggregateVcoreSecondsPreempted": taken_back.vcore_s,
        "AggregateVcoresPreempted": taken_back.vcores,
    }
