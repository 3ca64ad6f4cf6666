"""``/proxy/{application id}/…``: an ApplicationMaster's pages while it runs, its history after (WebAppProxyServlet)."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from yodel.domain.ids import ApplicationId
from yodel.domain.states import ApplicationState
from yodel.errors import ApplicationNotFound, InvalidValue, Unavailable
from yodel.rm_api import pages
from yodel.rm_api.bodies import read_bytes
from yodel.rm_api.context import Api, api_of
from yodel.rm_api.front import named_user
from yodel.rm_api.proxy import METHODS, Target, split_url
from yodel.services.queries import ApplicationView

PREFIX = "/proxy/"
REDIRECTED = "redirect/"
"""``/proxy/redirect/<id>/…`` is where an AM's filter sends callers that did not come through a proxy."""
NOT_AVAILABLE = ("", "N/A", "http://N/A")


async def proxied(request: Request) -> Response:
    api = api_of(request)
    rest = _raw_path(request)[len(PREFIX) :]
    text, slash, below = rest.removeprefix(REDIRECTED).partition("/")
    try:
        view = api.services.queries.application(ApplicationId.parse(text))
    except InvalidValue:
        return HTMLResponse(pages.page("Not found", "<p>No such application id</p>"), 404)
    except ApplicationNotFound:
        return _moved(f"/cluster/app/{text}")
    application_id = view.application.id
    if not slash:
        return _moved(f"{PREFIX}{application_id}/" + (f"?{request.url.query}" if request.url.query else ""))
    tracking_url = view.attempt.tracking_url if view.attempt is not None else ""
    is_lost = view.application.state in (ApplicationState.FAILED, ApplicationState.KILLED)
    if tracking_url in NOT_AVAILABLE or is_lost:
        return _moved(f"/cluster/app/{application_id}")
    try:
        if view.application.finished_ms:
            return _moved(_joined(tracking_url, below, request.url.query))
        return await _fetched(request, api, view, below)
    except InvalidValue as error:
        shown = f"<p>The ApplicationMaster's own pages are not fetched: {pages.text(error)}</p>"
        return HTMLResponse(pages.page("Not proxied", shown + f"<p>{_outside(tracking_url)}</p>"), 502)
    except Unavailable as error:
        return HTMLResponse(pages.page("No answer", f"<p>{pages.text(error)}</p>"), 502)


async def _fetched(request: Request, api: Api, view: ApplicationView, below: str) -> Response:
    """Raises InvalidValue, Unavailable, RestError."""
    assert view.attempt is not None
    here = f"{PREFIX}{view.application.id}"
    target = Target.of(view.attempt.tracking_url, here, _allowed_hosts(api, view))
    body = await read_bytes(request, api.services.settings.body_bytes_max)
    url = target.url(below, request.url.query)
    return await api.proxy.forward(request, url, target, named_user(request), body)


def _allowed_hosts(api: Api, view: ApplicationView) -> set[str]:
    hosts = {node_id.host for node_id in api.services.queries.state.nodes}
    if view.attempt is not None and view.attempt.host not in NOT_AVAILABLE:
        hosts.add(view.attempt.host)
    return hosts


def _joined(tracking_url: str, below: str, query: str) -> str:
    """A history URL with what came after the proxy's part of the path."""
    parts = split_url(tracking_url)
    path = f"{parts.path.rstrip('/')}/{below}" if below else parts.path
    both = "&".join(part for part in (parts.query, query) if part)
    return parts._replace(path=path, query=both).geturl()


def _outside(tracking_url: str) -> str:
    return "Its own address: " + pages.link(tracking_url, tracking_url)


def _moved(url: str) -> Response:
    response = RedirectResponse(url, 302)
    response.headers["Location"] = url if url.isascii() else response.headers["Location"]
    return response


def _raw_path(request: Request) -> str:
    """The path as it came: an AM's own percent-encoding must survive."""
    raw = request.scope.get("raw_path")
    path = raw.decode("latin-1") if isinstance(raw, bytes) else request.url.path
    return path.partition("?")[0]


ROUTES = (Route("/proxy/{rest:path}", proxied, methods=list(METHODS)),)
