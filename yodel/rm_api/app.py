"""The factory of the web side.  A new resource is a module in ``routes`` and a line in ``ROUTES``."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from http import HTTPStatus
from itertools import chain

import structlog
from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match

from yodel.domain.browser_rules import host_of
from yodel.errors import YodelError
from yodel.hadoop_http.errors import failed, not_allowed, translated
from yodel.hadoop_http.jetty import not_found, refused_by_filter
from yodel.hadoop_http.negotiate import JSON_UTF8, answer_error
from yodel.rm_api.door.audited import Audited
from yodel.rm_api.door.compression import Compressed
from yodel.rm_api.door.filters import Filters
from yodel.rm_api.door.replay import Recording
from yodel.rm_api.door.rim import REST_PREFIX, Rim
from yodel.rm_api.door.services import DoorServices
from yodel.rm_api.hadoop.routes import (
    activities,
    app_changes,
    app_state,
    apps,
    attempts,
    cluster,
    conf,
    delegation_tokens,
    jmx,
    labels,
    nodes,
    prometheus,
    reservations,
    scheduler,
    scheduler_conf,
    servlets,
    signals,
    submission,
)
from yodel.rm_api.hadoop.services import HadoopServices
from yodel.rm_api.proxy import pictures
from yodel.rm_api.proxy import routes as proxied
from yodel.rm_api.proxy.origin import OriginSplit
from yodel.rm_api.proxy.services import ProxyServices
from yodel.rm_api.ui import routes as pages
from yodel.rm_api.ui.services import PageServices
from yodel.rm_api.v1 import app as v1
from yodel.rm_api.v1.problems import ProblemRim
from yodel.rm_api.v1.services import ApiServices

ROUTES = (
    *(cluster, submission, apps, app_state, app_changes, attempts, signals, reservations, delegation_tokens),
    *(nodes, labels, scheduler, activities, scheduler_conf, pages, prometheus, jmx, conf, servlets, proxied, pictures),
)
log = structlog.get_logger("yodel.rest")


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSide:
    """Holds the services of each room."""

    door: DoorServices
    hadoop: HadoopServices
    v1: ApiServices
    proxy: ProxyServices
    ui: PageServices


def create_app(side: WebSide) -> FastAPI:
    """Return the application, ready for any ASGI server; ``state`` has the services of each room."""
    origins = side.proxy.origins

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await side.proxy.web_proxy.close()

    routes: list[BaseRoute] = list(chain.from_iterable(module.ROUTES for module in ROUTES))
    app = FastAPI(
        title="Yodel",
        routes=routes + v1.routes_of(side.v1, side.door),
        lifespan=lifespan,
        redirect_slashes=False,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
    )
    app.state.door, app.state.hadoop, app.state.v1 = side.door, side.hadoop, side.v1
    app.state.proxy, app.state.ui = side.proxy, side.ui
    own_names = host_of(origins.web_address), host_of(origins.proxied.address) if origins.proxied is not None else ""
    app.add_middleware(Filters, door=side.door, own_names=own_names)
    app.add_middleware(OriginSplit, origins=origins)
    app.add_middleware(ProblemRim)
    app.add_middleware(Rim)
    app.add_middleware(Audited)
    app.add_middleware(Compressed)
    app.add_middleware(Recording, replay=side.door.replay)
    app.add_exception_handler(YodelError, _refused)
    app.add_exception_handler(HTTPException, _unrouted)
    app.add_exception_handler(Exception, _failed)
    return app


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, YodelError)
    return answer_error(translated(error), _accepted(request))


async def _unrouted(request: Request, error: Exception) -> Response:
    """Unknown paths and wrong methods.  OPTIONS is right everywhere: ``yarn logs`` asks it before it asks anything."""
    assert isinstance(error, HTTPException)
    if error.status_code == HTTPStatus.NOT_FOUND:
        return not_found(request)
    if error.status_code != HTTPStatus.METHOD_NOT_ALLOWED:
        return Response(status_code=error.status_code, headers=dict(error.headers or {}))
    allowed = {"Allow": ",".join(_methods_of(request))}
    if request.method == "OPTIONS":
        return Response(headers=allowed, media_type=JSON_UTF8)
    if not request.url.path.startswith(REST_PREFIX):
        text = f"HTTP method {request.method} is not supported by this URL"
        return refused_by_filter(request.method, request.url.path, _accepted(request), error.status_code, text)
    refusal = answer_error(not_allowed(), _accepted(request))
    refusal.headers.update(allowed)
    return refusal


def _methods_of(request: Request) -> list[str]:
    """All that any route of this path answers, as Jersey lists them."""
    found = {"OPTIONS"}
    for route in request.app.router.routes:
        if route.matches(request.scope)[0] is not Match.NONE:
            found |= route.methods or set()
    order = ("HEAD", "DELETE", "POST", "GET", "OPTIONS", "PUT")
    return [method for method in order if method in found]


async def _failed(request: Request, error: Exception) -> Response:
    """The boundary: a bug must not cost the caller its connection, nor us the trace."""
    log.error("request failed", method=request.method, path=request.url.path, exc_info=error)
    return answer_error(failed(error), _accepted(request))


def _accepted(request: Request) -> str:
    return request.headers.get("accept", "")
