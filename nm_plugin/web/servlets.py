"""Serves what every Hadoop daemon has on its web port (HttpServer2): ``/jmx``, ``/conf`` and ``/stacks``.

Of NodeManagerMetrics only those are shown that the agent has values for.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from nm_plugin.container.counts import ContainerCounts
from nm_plugin.container.life import Container, LifeState
from nm_plugin.host.disks import Disks
from nm_plugin.node.state import NodeReport
from yodel.domain.resource import Resource
from yodel.hadoop_http.beans import Bean, answer_beans
from yodel.hadoop_http.conf import answer_conf
from yodel.hadoop_http.java_numbers import java_float
from yodel.hadoop_http.object_names import NamePattern
from yodel.hadoop_http.process_beans import ProcessorLoads, process_beans
from yodel.hadoop_http.rpc_beans import rpc_activity, rpc_detailed_activity
from yodel.hadoop_http.stacks import thread_dump
from yodel.rpc_io.server import RpcServer
from yodel.telemetry.limit import Daemon
from yodel.telemetry.limits import REFUSALS

SERVICE = "NodeManager"
METRICS = "NodeManagerMetrics"
REFUSED = "YodelRefusals"
"""Refusals by a limit since the agent started, by the limit's name; Hadoop has no such bean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Book:
    """The node's containers at one moment, and how many came and went before."""

    containers: tuple[Container, ...]
    applications_running: int
    counts: ContainerCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class Servlets:
    """``conf`` is shown as it is: it holds no secret."""

    host: str
    version: str
    started_ms: int
    capability: Resource
    disks: Disks
    state: Callable[[], NodeReport]
    book: Callable[[], Book]
    conf: Mapping[str, str]
    rpc: RpcServer
    loads: ProcessorLoads = field(default_factory=ProcessorLoads)

    async def show_beans(self, request: Request) -> Response:
        return await answer_beans(request, self._beans)

    async def show_conf(self, request: Request) -> Response:
        return answer_conf(request, self.conf)

    async def show_stacks(self, _: Request) -> Response:
        return PlainTextResponse(thread_dump())

    async def _beans(self, _: NamePattern) -> list[Bean]:
        now_ms = int(datetime.now(UTC).timestamp() * 1000)
        metrics = node_metrics(self.book(), self.capability, self.state(), self.disks, self.host)
        refusals: Bean = {
            "name": f"Hadoop:service={SERVICE},name={REFUSED}",
            "modelerType": REFUSED,
            **REFUSALS.counts(Daemon.NODE_AGENT),
        }
        now_s = asyncio.get_running_loop().time()
        ports = [make(self.rpc, SERVICE, self.host, now_s) for make in (rpc_activity, rpc_detailed_activity)]
        process = process_beans(SERVICE, self.host, self.version, self.started_ms, now_ms, self.loads)
        return [metrics, refusals, *ports, *process]


def node_metrics(book: Book, capability: Resource, state: NodeReport, disks: Disks, host: str) -> Bean:
    """Amounts in whole GB, as Hadoop rounds them: what is taken upwards, what is left and what is used downwards."""
    counts, living = book.counts, [c for c in book.containers if not c.state.is_complete]
    memory_mib, vcores = (sum(getattr(c.resource, name) for c in living) for name in ("memory_mib", "vcores"))
    return {
        "name": f"Hadoop:service={SERVICE},name={METRICS}",
        "modelerType": METRICS,
        "tag.Context": "yarn",
        "tag.Hostname": host,
        "ContainersLaunched": counts.launched,
        "ContainersCompleted": counts.completed,
        "ContainersFailed": counts.failed,
        "ContainersKilled": counts.killed,
        "ContainersRolledBackOnFailure": counts.rolled_back,
        "ContainersReIniting": sum(c.state is LifeState.REINITIALIZING for c in living),
        "ContainersIniting": sum(c.state is LifeState.LOCALIZING for c in living),
        "ContainersRunning": sum(_runs(c) for c in living),
        "AllocatedGB": math.ceil(memory_mib / 1024),
        "AllocatedContainers": len(living),
        "AvailableGB": (capability.memory_mib - memory_mib) // 1024,
        "AllocatedVCores": vcores,
        "AvailableVCores": capability.vcores - vcores,
        "BadLocalDirs": disks.bad_local_dirs,
        "BadLogDirs": disks.bad_log_dirs,
        "GoodLocalDirsDiskUtilizationPerc": disks.good_local_dirs_percent,
        "GoodLogDirsDiskUtilizationPerc": disks.good_log_dirs_percent,
        "ContainerUsedMemGB": state.containers.pmem_mib // 1024,
        "ContainerUsedVMemGB": state.containers.vmem_mib // 1024,
        "ContainerCpuUtilization": java_float(state.containers.cpu_vcores),
        "NodeUsedMemGB": state.node.pmem_mib // 1024,
        "NodeUsedVMemGB": state.node.vmem_mib // 1024,
        "NodeCpuUtilization": java_float(state.node.cpu_vcores),
        "ApplicationsRunning": book.applications_running,
    }


def _runs(container: Container) -> bool:
    """Also what is being killed, until its script has ended."""
    return container.state is LifeState.RUNNING or (container.state is LifeState.KILLING and container.pid is not None)
