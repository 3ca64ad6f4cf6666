"""``/proxy/{application id}/…``: an ApplicationMaster's pages while it runs, its history after (WebAppProxyServlet).

Callers bounced by an AM's filter come to ``/proxy/redirect/…`` and are served like all others: a loop is seen by the
answer of the AM (``Target.location``), not by the caller's address, which on a laptop is this machine's own.
"""

from __future__ import annotations

from http.cookies import CookieError, SimpleCookie
from urllib.parse import unquote_plus

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from yodel.domain.ids import ApplicationId
from yodel.domain.states import ApplicationState, YarnApplicationState
from yodel.errors import ApplicationNotFound, InvalidValue, Unavailable
from yodel.rm_api import html
from yodel.rm_api.door.authentication import TOKEN_PARAMETER
from yodel.rm_api.door.bodies import read_bytes
from yodel.rm_api.door.rim import reader
from yodel.rm_api.door.services import door_of
from yodel.rm_api.proxy.addresses import AddressRules
from yodel.rm_api.proxy.hosts import NOWHERE, allowed_hosts
from yodel.rm_api.proxy.services import ProxyServices, services_of
from yodel.rm_api.proxy.web_proxy import METHODS, WORKER, Target, split_url
from yodel.services.views.queries import ApplicationView

PREFIX = "/proxy/"
REDIRECTED = "redirect/"
"""``/proxy/redirect/<id>/…`` is where an AM's filter sends callers that did not come through a proxy."""
NOT_AVAILABLE = (*NOWHERE, "http://N/A")
ENDED = (YarnApplicationState.FINISHED, YarnApplicationState.FAILED, YarnApplicationState.KILLED)
APPROVED = "proxyapproved"  # ProxyUriUtils.PROXY_APPROVAL_PARAM
CHECKED_S = 7200  # WebAppProxyServlet.makeCheckCookie: two hours


async def proxied(request: Request) -> Response:
    if WORKER in request.headers:
        return HTMLResponse(
            html.page("Not proxied", "<p>Service workers are not allowed on applications' pages.</p>"), 403
        )
    services = services_of(request)
    rest = _raw_path(request)[len(PREFIX) :]
    text, slash, below = rest.removeprefix(REDIRECTED).partition("/")
    if not text:
        return _missing("Your path appears to be formatted incorrectly.")
    try:
        view = services.queries.application(ApplicationId.parse(text))
    except InvalidValue:
        return _missing(f"{text[:128]} appears to be formatted incorrectly.")
    except ApplicationNotFound:
        return _moved(f"/cluster/app/{text}")
    application_id = view.application.id
    query = request.url.query
    if not slash:
        return _moved(f"{PREFIX}{application_id}/" + (f"?{query}" if query else ""))
    if not has_pages(view):
        return _moved(f"/cluster/app/{application_id}")
    assert view.attempt is not None
    tracking_url = view.attempt.tracking_url
    try:
        if view.application.yarn_state in ENDED:
            return _moved(_joined(tracking_url, below, _without_token(query)))
        if _is_to_be_warned(request, services, view):
            return _warning(request, view, below)
        answer = await _fetched(request, services, view, below)
    except InvalidValue as error:
        shown = f"<p>The ApplicationMaster's pages cannot be proxied: {html.text(error)}</p>"
        return HTMLResponse(html.page("Not proxied", shown + f"<p>{_outside(tracking_url)}</p>"), 502)
    except Unavailable as error:
        return HTMLResponse(html.page("No answer", f"<p>{html.text(error)}</p>"), 502)
    if services.rules.is_proxy_warning_shown and _is_approved(request, application_id):
        _remember_approval(answer, application_id)
    return answer


def has_pages(view: ApplicationView) -> bool:
    """Return True if the proxy leads to pages of the ApplicationMaster or to its history, which a failed or killed one
    has not reported."""
    is_lost = view.application.state in (ApplicationState.FAILED, ApplicationState.KILLED)
    return view.attempt is not None and view.attempt.tracking_url not in NOT_AVAILABLE and not is_lost


async def _fetched(request: Request, services: ProxyServices, view: ApplicationView, below: str) -> Response:
    """Raises InvalidValue, Unavailable, RestError."""
    assert view.attempt is not None
    here = f"{PREFIX}{view.application.id}"
    nodes = frozenset(node_id.host.lower() for node_id in services.queries.rows.nodes)
    trusted = services.rules.proxy_hosts
    addresses = AddressRules(nodes=nodes, trusted=trusted, own_ports=services.own_ports())
    target = Target.of(view.attempt.tracking_url, here, allowed_hosts(nodes, view.attempt.host) | trusted, addresses)
    body = await read_bytes(request, services.rules.proxied_bytes_max)
    url = target.url(below, _without_token(request.url.query))
    with door_of(request).body_room.reading() as hold:
        hold(len(body))
        return await services.web_proxy.forward(request, url, target, reader(request), body)


def _is_to_be_warned(request: Request, services: ProxyServices, view: ApplicationView) -> bool:
    """Return True for somebody else's page that was not yet agreed to, if users are authenticated."""
    if not services.rules.is_proxy_warning_shown or _is_approved(request, view.application.id):
        return False
    return reader(request) != view.application.submission.user


def _is_approved(request: Request, application_id: ApplicationId) -> bool:
    """Return True by the warning's cookie; a link made elsewhere approves nothing for somebody who was not warned."""
    try:
        found = SimpleCookie(request.headers.get("cookie", "")).get(f"checked_{application_id}")
    except CookieError:
        return False
    return found is not None and "true" in (found.value.lower(), request.query_params.get(APPROVED, "").lower())


def _remember_approval(answer: Response, application_id: ApplicationId, is_given: bool = True) -> None:
    """Only to this application's pages does the cookie go."""
    value = "true" if is_given else "false"
    path = f"{PREFIX}{application_id}"
    cookie = f"checked_{application_id}={value}; Path={path}; Max-Age={CHECKED_S}; HttpOnly"
    answer.headers.append("Set-Cookie", cookie)


def _warning(request: Request, view: ApplicationView, below: str) -> Response:
    """WebAppProxyServlet.warnUserPage."""
    row = view.application
    query = "&".join(part for part in (request.url.query, f"{APPROVED}=true") if part)
    link = html.link(f"{PREFIX}{row.id}/{below}?{query}", "here")
    text = f"click {link} to continue to an Application Master web interface owned by {html.text(row.submission.user)}"
    warning = HTMLResponse(html.page("WARNING: The following page may not be safe!", f"<h3>{text}</h3>"))
    _remember_approval(warning, row.id, is_given=False)
    return warning


def _missing(message: str) -> Response:
    """ProxyUtils.notFound: a heading is the whole page."""
    return HTMLResponse(f"<html><h1>{html.text(message)}</h1></html>", 404)


def _joined(tracking_url: str, below: str, query: str) -> str:
    """A history URL with what came after the proxy's part of the path."""
    parts = split_url(tracking_url)
    path = f"{parts.path.rstrip('/')}/{below}" if below else parts.path
    both = "&".join(part for part in (parts.query, query) if part)
    return parts._replace(path=path, query=both).geturl()


def _without_token(query: str) -> str:
    """Return the query to pass on: with a caller's delegation token an ApplicationMaster could call in its name.

    All else is left as it came.  Hadoop's proxy hands the token on.
    """
    return "&".join(part for part in query.split("&") if unquote_plus(part.partition("=")[0]) != TOKEN_PARAMETER)


def _outside(tracking_url: str) -> str:
    try:
        whole = split_url(tracking_url).geturl()
    except InvalidValue:
        whole = ""
    return "Its own address: " + html.link(whole, tracking_url)


def _moved(url: str) -> Response:
    """Redirect as ProxyUtils.sendRedirect does, its page included; nothing in ``url`` is encoded again."""
    safe = url.encode("ascii", "ignore").decode().replace("\r", "").replace("\n", "")
    body = f"<h1>Moved</h1><div>Content has moved {html.link(safe, 'here')}</div>"
    page = f"<html><head><title>Moved</title></head><body>{body}</body></html>"
    return HTMLResponse(page, 302, {"Location": safe})


def _raw_path(request: Request) -> str:
    """The path as it came: an AM's own percent-encoding must survive."""
    raw = request.scope.get("raw_path")
    path = raw.decode("latin-1") if isinstance(raw, bytes) else request.url.path
    return path.partition("?")[0]


ROUTES = (Route("/proxy/{rest:path}", proxied, methods=list(METHODS)),)
