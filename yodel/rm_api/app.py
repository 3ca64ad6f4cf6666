"""The factory of the web side.  A new resource is a module in ``routes`` and a line in ``ROUTES``."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from itertools import chain

import structlog
from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from yodel.errors import YodelError
from yodel.rm_api.context import Api, RestServices, RestSettings
from yodel.rm_api.errors import RestError, translated
from yodel.rm_api.front import Front
from yodel.rm_api.negotiate import answer_error
from yodel.rm_api.routes import app_state, apps, cluster, nodes, pages, prometheus, proxied, scheduler, submission

__all__ = ["RestServices", "RestSettings", "create_app"]

ROUTES = (cluster, submission, apps, app_state, nodes, scheduler, pages, prometheus, proxied)
log = structlog.get_logger("yodel.rest")


def create_app(services: RestServices) -> FastAPI:
    """The application, ready for any ASGI server; ``state.api`` is what its routes use."""
    api = Api.of(services)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await api.proxy.close()

    routes: list[BaseRoute] = list(chain.from_iterable(module.ROUTES for module in ROUTES))
    app = FastAPI(
        title="Yodel",
        routes=routes,
        lifespan=lifespan,
        redirect_slashes=False,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
    )
    app.state.api = api
    app.add_middleware(Front, api=api)
    app.add_exception_handler(YodelError, _refused)
    app.add_exception_handler(HTTPException, _empty)
    app.add_exception_handler(Exception, _failed)
    return app


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, YodelError)
    return answer_error(translated(error))


async def _empty(_: Request, error: Exception) -> Response:
    """Unknown paths and wrong methods: the status and nothing else, as Jersey answers them."""
    assert isinstance(error, HTTPException)
    return Response(status_code=error.status_code, headers=dict(error.headers or {}))


async def _failed(request: Request, error: Exception) -> Response:
    """The boundary: a bug must not cost the caller its connection, nor us the trace."""
    log.error("request failed", method=request.method, path=request.url.path, exc_info=error)
    return answer_error(RestError(500, "java.lang.IllegalStateException", "internal error"))
