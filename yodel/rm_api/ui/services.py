"""Holds the services of the ResourceManager's own pages."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request

from yodel.rm_api.v1.container_pages import ContainerSource
from yodel.rm_api.v1.node_logs import NodeLogs
from yodel.services.access.rights import Rights
from yodel.services.nodes.capacity import Capacities
from yodel.services.views.queries import Queries


@dataclass(frozen=True, slots=True, kw_only=True)
class PageServices:
    """Holds the views that the pages show."""

    queries: Queries
    containers: ContainerSource
    rights: Rights
    capacities: Capacities
    logs: NodeLogs
    are_lists_filtered: bool
    namespace: str
    """Namespace of the containers' pods."""


def services_of(request: Request) -> PageServices:
    """Return the services of the routes."""
    services = request.app.state.ui
    assert isinstance(services, PageServices)
    return services
