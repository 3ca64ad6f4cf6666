"""``/ws/v1/cluster``, ``/info``, ``/metrics``, ``/userinfo``, and what probes and load balancers ask."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from yodel.hadoop_http.negotiate import answer
from yodel.hadoop_http.probe_port import LIVE, READY
from yodel.rm_api.door.replay import again
from yodel.rm_api.door.rim import reader
from yodel.rm_api.door.services import door_of
from yodel.rm_api.hadoop.services import CHANGES_WAITING_GAUGE, services_of
from yodel.rm_api.hadoop.wire import cluster as wire


async def info(request: Request) -> Response:
    services = services_of(request)
    again(request, services.replay)
    return answer(request, wire.info(services.facts))


async def metrics(request: Request) -> Response:
    services = services_of(request)
    again(request, services.replay)
    waiting = int(services.process.gauges().get(CHANGES_WAITING_GAUGE, 0))
    return answer(request, wire.metrics(await services.queries.metrics(), services.nodes.usable_loads(), waiting))


async def user_info(request: Request) -> Response:
    services = services_of(request)
    again(request, services.replay)
    login_user = door_of(request).rules.callers.login_user
    return answer(request, {"rmLoginUser": login_user, "requestedUser": reader(request)})


async def is_active(_: Request) -> Response:
    """IsActiveServlet: load balancers ask for it.  A standby's answer is in ``yodel.rm_api.standby``."""
    return PlainTextResponse("I am Active!", headers={"Connection": "close"})


async def live(_: Request) -> Response:
    return PlainTextResponse("OK")


async def ready(request: Request) -> Response:
    """The web side answers first; the other ports are opened when applications have been taken up."""
    reason = services_of(request).process.not_ready()
    return PlainTextResponse(reason or "OK", 503 if reason else 200)


ROUTES = (
    Route(LIVE, live),
    Route(READY, ready),
    Route("/isActive", is_active),
    Route("/ws/v1/cluster", info),
    Route("/ws/v1/cluster/info", info),
    Route("/ws/v1/cluster/metrics", metrics),
    Route("/ws/v1/cluster/userinfo", user_info),
)
