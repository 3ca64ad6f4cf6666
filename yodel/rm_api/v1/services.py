"""Holds the services of the routes of ``/api/v1``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from starlette.requests import Request

from yodel.domain.ids import ContainerId
from yodel.domain.pod import PodObservation
from yodel.domain.queues.history import TreeChange
from yodel.rm_api.proxy.origin import Origins
from yodel.rm_api.v1.container_pages import ContainerSource
from yodel.rm_api.v1.node_logs import NodeLogs
from yodel.rm_api.v1.process_facts import ProcessFacts
from yodel.rm_api.v1.stream import RenderedEvents
from yodel.services.access.rights import Rights
from yodel.services.applications.log_aggregation import LogAggregationReports
from yodel.services.applications.submission import SubmissionService
from yodel.services.nodes.agents import Agents
from yodel.services.nodes.capacity import Capacities
from yodel.services.nodes.taking_back import TakingBack
from yodel.services.scheduling.configuration import SchedulerConfService
from yodel.services.views.queries import Queries
from yodel.services.views.transitions import Transitions


@dataclass(slots=True, kw_only=True)
class ApiServices:
    """Holds the views that ``/api/v1`` shows and the commands that it gives."""

    origins: Origins
    queries: Queries
    containers: ContainerSource
    rights: Rights
    submission: SubmissionService
    nodes: Agents
    capacities: Capacities
    taking_back: TakingBack
    emergency_count: Callable[[], int]
    """Containers that node agents stopped because memory was low, since the start."""
    log_aggregation: LogAggregationReports
    logs: NodeLogs
    scheduler_conf: SchedulerConfService
    tree_changes: Callable[[int | None, int], Awaitable[Sequence[TreeChange]]]
    """Returns the changes of the queues that are kept (``QueueHistory`` of the store's port)."""
    observed: Callable[[ContainerId], PodObservation | None]
    """A container's pod as it was last seen."""
    namespace: str
    """Where the pods are."""
    process: ProcessFacts
    transitions: Transitions
    rendered_events: RenderedEvents

    @property
    def web_address(self) -> str:
        """Host and port of the ResourceManager's pages."""
        return self.origins.web_address


def services_of(request: Request) -> ApiServices:
    """Return the services of the routes."""
    services = request.app.state.v1
    assert isinstance(services, ApiServices)
    return services
