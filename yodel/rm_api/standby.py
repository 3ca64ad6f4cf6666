"""The web side of a ResourceManager that waits for the lead: who it is and why it waits, and nothing else.

Hadoop's standby sends browsers on to the active one.  Here both are behind one address, so programs ask again; a person
who looks at this one sees who leads, and a link.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Gauge, generate_latest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from yodel.errors import Unavailable
from yodel.hadoop_http.errors import RETRY_AFTER_S, RestError
from yodel.hadoop_http.negotiate import answer, answer_error
from yodel.hadoop_http.probe_port import LIVE, READY
from yodel.rm_api.hadoop.routes.servlets import stacks
from yodel.rm_api.hadoop.wire import cluster as wire
from yodel.rm_api.proxy import pictures
from yodel.rm_api.ui.frame import STATIC_PATHS, standby_page, static
from yodel.rm_api.v1.problems import ProblemRim

LEADER_GAUGE = "leader"
"""``yodel_leader`` at /prom: 1 where the lead is, 0 at a standby."""
_LEADER = re.compile(r"([A-Za-z0-9.-]{1,253})/[0-9a-f]+ leads")
"""The reason why a standby does not lead: the holder of the lease begins with its host (``store.sql_lease``)."""
METHODS = ["GET", "POST", "PUT", "DELETE"]


class Led:
    """Around the pages of who leads: a process that stood still answers nothing of what it knew then."""

    def __init__(self, app: ASGIApp, require: Callable[[], None]) -> None:
        """``require`` raises Unavailable when we do not lead."""
        self._app, self._require = app, require

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            try:
                self._require()
            except Unavailable as lost:
                await _elsewhere(str(lost))(scope, receive, send)
                return
        await self._app(scope, receive, send)


def standby_app(started_ms: int, reason: Callable[[], str]) -> Starlette:
    """``reason`` says why we do not lead."""
    # The cluster's own id is in the store, which only the leader opens; Hadoop's standby tells its own start too.
    facts = wire.ClusterFacts(cluster_id=started_ms, started_ms=started_ms)

    async def live(_: Request) -> Response:
        return PlainTextResponse("OK")

    async def ready(_: Request) -> Response:
        return PlainTextResponse(f"standby: {reason()}", 503)

    async def is_active(_: Request) -> Response:
        """IsActiveServlet's words and status."""
        return PlainTextResponse("I am not Active!", 405)

    async def info(request: Request) -> Response:
        try:
            return answer(request, wire.info(facts, "STANDBY"))
        except RestError as error:
            return answer_error(error)

    async def prometheus(_: Request) -> Response:
        registry = CollectorRegistry()
        Gauge(f"yodel_{LEADER_GAUGE}", LEADER_GAUGE, registry=registry).set(0)
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

    async def elsewhere(request: Request) -> Response:
        if _is_person(request):
            known = _LEADER.fullmatch(reason())
            page = standby_page(request, reason(), known[1] if known is not None else "")
            page.headers["Retry-After"] = str(RETRY_AFTER_S)
            return page
        return _elsewhere(reason())

    return Starlette(
        routes=[
            Route(LIVE, live),
            Route(READY, ready),
            Route("/isActive", is_active),
            Route("/ws/v1/cluster", info),
            Route("/ws/v1/cluster/info", info),
            Route("/ws/v1/cluster/info/", info),
            Route("/stacks", stacks),
            Route("/prom", prometheus),
            *(Route(path, static) for path in STATIC_PATHS.values()),
            *pictures.ROUTES,
            Route("/{path:path}", elsewhere, methods=METHODS),
        ],
        middleware=[Middleware(ProblemRim)],
    )


def _is_person(request: Request) -> bool:
    """Return True for a browser that asks for a page."""
    is_page = request.url.path == "/" or request.url.path.startswith("/cluster")
    return is_page and request.method == "GET" and "text/html" in request.headers.get("accept", "")


def _elsewhere(reason: str) -> Response:
    return PlainTextResponse(f"This is standby RM: {reason}", 503, headers={"Retry-After": str(RETRY_AFTER_S)})
