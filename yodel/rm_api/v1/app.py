"""The FastAPI application of ``/api/v1`` and the two documents about it: ``/api/openapi.json`` and ``/api/docs``."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from yodel import __version__
from yodel.errors import YodelError
from yodel.hadoop_http.negotiate import encode
from yodel.rm_api.door.services import DoorServices
from yodel.rm_api.v1 import (
    about,
    applications,
    attention,
    capacity,
    cluster,
    docs_page,
    events,
    failure,
    logs,
    models,
    problems,
    queue_changes,
    queue_windows,
    timeline,
    why,
)
from yodel.rm_api.v1.services import ApiServices

PREFIX = "/api/v1"
DESCRIPTION = """\
YARN's applications, queues and nodes with the Kubernetes pods behind them.

Authenticate as with YARN's own REST API: `?user.name=YOU`, or the cookie that it sets.  You see the applications whose
view ACL includes you (all of them unless `acl_enable` is set), and can kill those that you may modify.

Lists are paged: send `next_cursor` as `cursor` for the next page, until it is null.  Errors are problem details
(RFC 9457).  Times are milliseconds since 1970, memory is in MiB.
"""
ROUTERS = (
    applications.router,
    failure.router,
    logs.router,
    timeline.router,
    why.router,
    cluster.router,
    capacity.router,
    queue_changes.router,
    queue_windows.router,
    attention.router,
    about.router,
    events.router,
)
PROBLEM = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}


def routes_of(services: ApiServices, door: DoorServices) -> list[BaseRoute]:
    """The API and its documents, for the web side's list of routes."""
    app = _application(services, door)

    async def openapi(_: Request) -> Response:
        return Response(encode(app.openapi()), media_type="application/json")

    async def docs(_: Request) -> Response:
        return HTMLResponse(docs_page.rendered(app.openapi(), problems.KINDS), headers=docs_page.SECURITY)

    return [Route("/api/openapi.json", openapi), Route("/api/docs", docs), Mount(PREFIX, app)]


def _application(services: ApiServices, door: DoorServices) -> FastAPI:
    app = _Documented(
        title="Yodel",
        version=__version__,
        description=DESCRIPTION,
        servers=[{"url": PREFIX}],
        root_path_in_servers=False,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        # The routes as they are: to include a router makes all of them anew, which takes a tenth of a second.
        routes=[route for router in ROUTERS for route in router.routes],
    )
    app.state.v1, app.state.door = services, door
    app.add_exception_handler(YodelError, problems.refused)
    app.add_exception_handler(OSError, problems.refused_by_system)
    app.add_exception_handler(RequestValidationError, problems.invalid)
    app.add_exception_handler(HTTPException, problems.unrouted)
    return app


class _Documented(FastAPI):
    """FastAPI describes its own form of errors; this describes ours."""

    def openapi(self) -> dict[str, Any]:
        """Made when it is first asked for."""
        if self.openapi_schema is not None:
            return self.openapi_schema
        document = super().openapi()
        schemas = document["components"]["schemas"]
        for name in ("HTTPValidationError", "ValidationError"):
            schemas.pop(name, None)
        problem = models.Problem.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas.update(problem.pop("$defs"))
        schemas["Problem"] = problem
        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                operation["responses"] = _responses(path, method, operation["responses"])
        return document


def _responses(path: str, method: str, known: dict[str, Any]) -> dict[str, Any]:
    """Return the answers of a call: of its success, and every problem."""
    statuses = [400, 401, 403, 503]
    if "{" in path:
        statuses.append(404)
    if method != "get":
        statuses += [413, 415]
        if path.startswith("/queue"):
            statuses += [404, 409, 412, 428]
    refusals = {str(status): {"description": problems.KINDS[status].title, "content": PROBLEM} for status in statuses}
    return {status: found for status, found in known.items() if status != "422"} | dict(sorted(refusals.items()))
