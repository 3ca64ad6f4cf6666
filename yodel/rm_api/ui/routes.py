"""The ResourceManager's own pages, all below ``/cluster``."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from yodel.rm_api.ui import about, applications, cluster, lending, logs, queues, timeline
from yodel.rm_api.ui.frame import STATIC_PATHS, message, static


async def _nothing(request: Request) -> Response:
    """Answer any unknown path below ``/cluster`` with a page that leads home."""
    return await message(request, "Page not found", f"There is no page {request.url.path[:256]}.", 404)


ROUTES = (
    *cluster.ROUTES,
    *queues.ROUTES,
    *lending.ROUTES,
    *about.ROUTES,
    *applications.ROUTES,
    *logs.ROUTES,
    *timeline.ROUTES,
    *(Route(path, static) for path in STATIC_PATHS.values()),
    Route("/cluster/{path:path}", _nothing),
)
