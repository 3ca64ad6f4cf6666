"""Holds the services of Hadoop's routes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from starlette.requests import Request

from yodel.hadoop_http.process_beans import ProcessorLoads
from yodel.ports.clock import Clock
from yodel.rm_api.door.replay import Replay
from yodel.rm_api.hadoop.rendered import RenderedApplications
from yodel.rm_api.hadoop.shared_answers import SharedAnswers
from yodel.rm_api.hadoop.wire.cluster import ClusterFacts
from yodel.rm_api.proxy.origin import Origins
from yodel.rpc_io.server import RpcServer
from yodel.services.access.rights import Rights
from yodel.services.applications.changes import ApplicationChanges
from yodel.services.applications.log_aggregation import LogAggregationReports
from yodel.services.applications.submission import SubmissionService
from yodel.services.keys.delegation import DelegationTokens
from yodel.services.nodes.administration import AdminService
from yodel.services.nodes.agents import Agents
from yodel.services.scheduling.activities import Activities
from yodel.services.scheduling.configuration import SchedulerConfService
from yodel.services.views.queries import Queries
from yodel.telemetry.rates import Rate

CHANGES_WAITING_GAUGE = "changes_waiting"
"""The name in ``gauges`` of changes that wait to be written, which Hadoop's REST calls the dispatcher's event queue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HadoopRules:
    """Switches what Hadoop's settings switch."""

    are_submissions_enabled: bool = True
    """yarn.webapp.enable-rest-app-submissions."""
    are_lists_filtered: bool = False
    """yarn.webapp.filter-entity-list-by-user: lists hold only what a caller may view."""
    are_labels_enabled: bool = False
    """yarn.node-labels.enabled."""
    log_dir: Path | None = None
    """Whose files ``/logs`` shows."""


@dataclass(slots=True, kw_only=True)
class ProcessFigures:
    """Describes the process itself, for ``/jmx``, ``/prom``, ``/conf`` and the probes."""

    processor_loads: ProcessorLoads = field(default_factory=ProcessorLoads)
    conf: Callable[[], Mapping[str, str]] = dict
    """The settings under the names of Hadoop's properties."""
    gauges: Callable[[], Mapping[str, float]] = dict
    """The gauges that Prometheus is told beside Hadoop's own counts, by name."""
    rpc_servers: Callable[[], Sequence[RpcServer]] = tuple
    """The ports of the RPC that are served."""
    group_lookups: Rate = field(default_factory=Rate)
    """How often users' groups were looked up."""
    not_ready: Callable[[], str] = str
    """Why nothing should be sent here yet; empty when all ports are served."""


@dataclass(slots=True, kw_only=True)
class HadoopServices:
    """Holds the views that Hadoop's routes show, the commands that they give, and long answers that are kept."""

    facts: ClusterFacts
    rules: HadoopRules
    process: ProcessFigures
    origins: Origins
    clock: Clock
    queries: Queries
    rights: Rights
    submission: SubmissionService
    changes: ApplicationChanges
    nodes: Agents
    log_aggregation: LogAggregationReports
    delegation_tokens: DelegationTokens
    admin: AdminService
    activities: Activities
    scheduler_conf: SchedulerConfService
    replay: Replay
    shared: SharedAnswers
    """To the queues' tree, by form."""
    rendered: dict[str, RenderedApplications] = field(default_factory=dict)
    """By media type."""

    @property
    def web_address(self) -> str:
        """Host and port of the ResourceManager's pages."""
        return self.origins.web_address


def services_of(request: Request) -> HadoopServices:
    """Return the services of the routes."""
    services = request.app.state.hadoop
    assert isinstance(services, HadoopServices)
    return services
