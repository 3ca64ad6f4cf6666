"""``/``, ``/cluster`` and the pages below it that Hadoop's links name: enough to see what runs and to find its logs.

Clients take a 200 at ``/cluster`` as the sign of an active RM.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from yodel.domain.application import Application
from yodel.domain.container import Container
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId
from yodel.errors import ApplicationNotFound, InvalidValue, NotFound, Unavailable
from yodel.hadoop_http.errors import RestError
from yodel.rm_api import html
from yodel.rm_api.door.rim import reader
from yodel.rm_api.hadoop.routes.filters import application_states
from yodel.rm_api.html import link, text
from yodel.rm_api.proxy.routes import has_pages
from yodel.rm_api.ui.services import PageServices, services_of
from yodel.rm_api.ui.shuffle_page import shuffle_section
from yodel.rm_api.ui.why_page import why_section
from yodel.rm_api.v1.container_pages import container_page, kept_container
from yodel.services.views.queries import ApplicationFilter, ApplicationView, Queries
from yodel.serving.pieces import taking_turns

LISTED_MAX = 200
NODES_PIECE = 200
"""Nodes whose rows are made in one go."""
CONTAINERS_LISTED_MAX = 100
"""Of an application's containers on a page, those that ended and are kept among them."""
SECURITY = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'"}
_COLUMNS = ("Application", "User", "Name", "Type", "Queue", "State", "Final status", "Started (UTC)", "Progress")


async def root(request: Request) -> Response:
    return RedirectResponse("/cluster", 302, headers={"Content-Type": "text/plain;charset=utf-8"})


async def cluster(request: Request) -> Response:
    """The newest applications; only those of the states named, when the path names some."""
    services = services_of(request)
    queries = services.queries
    asked = [state for state in request.path_params.get("states", "").split(",") if state]
    try:
        states = application_states(asked)
    except RestError as error:
        return _page("No such state", f"<p>{text(error)}</p>", 404)
    may_view = services.rights.viewer(reader(request))
    is_filtered = services.are_lists_filtered
    wanted = ApplicationFilter(states=states, limit=LISTED_MAX)
    views = queries.applications(wanted, may_view if is_filtered else None)
    metrics = await queries.metrics()
    summary = (
        f'<p class="quiet">{metrics.running} running, {metrics.pending} waiting, {metrics.completed} finished, '
        f"{metrics.failed} failed, {metrics.killed} killed; {text(metrics.used.with_units)} of "
        f"{text(metrics.total.with_units)} in use</p>"
    )
    rows = (_row(view, may_view=may_view(view.application)) for view in views)
    return _page("Applications", summary + html.table(_COLUMNS, rows))


async def application(request: Request) -> Response:
    services = services_of(request)
    asked = request.path_params["application_id"]
    try:
        view = services.queries.application(ApplicationId.parse(asked))
    except InvalidValue:
        return _page("Invalid application id", f"<p>{text(asked[:128])}</p>", 400)
    except ApplicationNotFound as error:
        return _page("Application not found", f"<p>{text(error)}</p>", 404)
    viewer = services.rights.viewer(reader(request))
    may_view = viewer(view.application)
    body = _facts(view, may_view=may_view)
    if may_view:
        body += f"<h2>Diagnostics</h2><pre>{text(view.application.diagnostics)}</pre>"
        body += why_section(await services.queries.why.asked(view.application, viewer))
        body += shuffle_section(view.attempt)
        body += _attempts(services.queries, view)
        try:
            body += await _containers(services, view.application, request.query_params.get("containers"))
        except InvalidValue as error:
            return _page("No such page", f"<p>{text(error)}</p>", 400)
    return _page(f"Application {view.application.id}", body)


async def nodes(request: Request) -> Response:
    """Report what a node lends of its measured capacity where there is some."""
    capacities = services_of(request).capacities
    lends = ("Lends",) if capacities.is_used else ()
    rows = [
        (
            link(f"http://{view.node.http_address}", view.node.id),
            text(view.node.state.name),
            text(view.node.rack),
            text(view.containers),
            text(f"{view.used.with_units} of {view.node.capability.with_units}"),
            text(view.node.health_report),
            text(view.node.version),
            *(text(capacities.line(view.node.kubernetes_node_name)) for _ in lends),
        )
        async for view in taking_turns(services_of(request).queries.each_node(), NODES_PIECE)
    ]
    heads = ("Node", "State", "Rack", "Containers", "In use", "Health", "Version", *lends)
    return _page("Nodes", html.table(heads, rows))


async def attempt(request: Request) -> Response:
    """An attempt is a part of its application's page; so is what is asked of one that is not there."""
    asked = request.path_params["attempt_id"]
    try:
        application_id = ApplicationAttemptId.parse(asked).application_id
    except InvalidValue:
        return _page("Invalid attempt id", f"<p>{text(asked[:128])}</p>", 400)
    return RedirectResponse(f"/cluster/app/{application_id}", 302)


async def container(request: Request) -> Response:
    """Leads to the container's logs: what people follow such links for.  Refused as the REST API refuses it."""
    services = services_of(request)
    asked = request.path_params["container_id"]
    try:
        container_id = ContainerId.parse(asked)
        owned = services.queries.application(container_id.application_id).application
        user = reader(request)
        if not services.rights.may_view(owned, user):
            refusal = f"User {user} does not have privilege to see this application {owned.id}"
            return _page("Access denied", f"<p>{text(refusal)}</p>", 403)
        found = await _found_container(services, container_id)
    except InvalidValue:
        return _page("Invalid container id", f"<p>{text(asked[:128])}</p>", 400)
    except NotFound as error:
        return _page("Container not found", f"<p>{text(error)}</p>", 404)
    except Unavailable as error:
        return _page("Try again", f"<p>{text(error)}</p>", 503)
    log_url = services.queries.log_url(found)
    facts = [
        ("Application", link(f"/cluster/app/{found.id.application_id}", found.id.application_id)),
        ("State", text(found.state.name)),
        ("Node", text(found.node_id if found.node_id is not None else "N/A")),
        ("Size", text(found.capability.with_units)),
        ("Started", text(_at(found.created_ms))),
        ("Finished", text(_at(found.finished_ms))),
        ("Logs", link(log_url, "Logs") if log_url else "N/A"),
    ]
    return _page(f"Container {found.id}", html.table(("", ""), facts))


async def _found_container(services: PageServices, container_id: ContainerId) -> Container:
    """In memory, or kept of those that ended.  Raises NotFound, Unavailable."""
    try:
        return services.queries.container(container_id)
    except NotFound:
        kept = await kept_container(services.containers, container_id)
        if kept is None:
            raise
        return kept


async def failure(request: Request) -> Response:
    """Return where a loop between the proxy and an ApplicationMaster's filter ends (RmController.failure)."""
    asked = request.path_params["application_id"]
    reason = (
        f"The ApplicationMaster of {text(asked[:128])} does not accept this proxy and redirects callers back to it. "
        "Check that the RM's web address resolves on the node to the address that this RM connects from."
    )
    return _page("Redirect loop", f"<p>{reason}</p>", 500)


def _row(view: ApplicationView, *, may_view: bool) -> tuple[str, ...]:
    row = view.application
    return (
        link(f"/cluster/app/{row.id}", row.id),
        text(row.submission.user),
        text(row.submission.name),
        text(row.submission.application_type),
        text(row.submission.queue),
        text(row.yarn_state.name),
        text(row.final_status.name),
        text(_at(row.submitted_ms if may_view else 0)),
        text(f"{view.progress * 100:.0f} %"),
    )


def _facts(view: ApplicationView, *, may_view: bool) -> str:
    """Show to who may not view it what the REST API shows: neither times nor amounts."""
    row = view.application
    facts: list[tuple[str, str]] = [
        ("User", text(row.submission.user)),
        ("Name", text(row.submission.name)),
        ("Type", text(row.submission.application_type)),
        *([("Tags", text(", ".join(row.submission.tags)))] if row.submission.tags else []),
        ("Queue", text(row.submission.queue)),
        ("State", text(row.state.name)),
        ("Final status", text(row.final_status.name)),
    ]
    if may_view:
        facts += [
            ("Submitted", text(_at(row.submitted_ms))),
            *([("Finished", text(_at(row.finished_ms)))] if row.finished_ms else []),
            *_containers_by_state(view),
        ]
    if has_pages(view):
        # The proxy sends on to what is over, whose address may have no scheme: Spark's has none.
        facts.append(("Tracking", link(f"/proxy/{row.id}/", "History" if row.state.is_final else "ApplicationMaster")))
    return html.table(("", ""), facts)


def _containers_by_state(view: ApplicationView) -> Iterator[tuple[str, str]]:
    """Yield a row for each state that has containers, as ``yodel app show`` does."""
    for name, count, size in (
        ("Running", view.running_containers, view.used),
        ("Scheduling", view.starting_containers, view.starting),
        ("Pending", view.pending_containers, view.pending),
        ("Reserved", view.reserved_containers, view.reserved),
    ):
        if count:
            yield name, text(f"{count} container{'s' * (count != 1)}, {size.with_units}")


def _attempts(queries: Queries, view: ApplicationView) -> str:
    rows = []
    for attempt in queries.attempts(view.application.id):
        container = queries.rows.master_of(attempt)
        log_url = queries.log_url(container) if container is not None else ""
        rows.append(
            (
                text(attempt.id),
                text(attempt.state.name),
                text(_at(attempt.started_ms)),
                text(container.node_id if container is not None and container.node_id else "N/A"),
                link(log_url, "Logs") if log_url else "",
                text(attempt.diagnostics),
            )
        )
    heads = ("Attempt", "State", "Started (UTC)", "Node", "Logs", "Diagnostics")
    return "<h2>Attempts</h2>" + html.table(heads, rows)


async def _containers(services: PageServices, row: Application, cursor: str | None) -> str:
    """A page of them, in the order of their ids, and the way to the next.  Raises InvalidValue: no such cursor."""
    try:
        found, following = await container_page(services.containers, row, lambda _: True, CONTAINERS_LISTED_MAX, cursor)
    except Unavailable as error:
        return f'<h2>Containers</h2><p class="quiet">{text(error)}</p>'
    rows = (
        (
            link(f"/cluster/container/{container.id}", container.id),
            text(container.state.name),
            text(container.node_id if container.node_id is not None else "N/A"),
            text(container.capability.with_units),
            text(_at(container.created_ms)),
            text(_at(container.finished_ms)),
            text("" if container.is_live else container.exit_status),
        )
        for container in found
    )
    heads = ("Container", "State", "Node", "Size", "Started (UTC)", "Finished (UTC)", "Exit status")
    more = f"<p>{link(f'/cluster/app/{row.id}?containers={following}', 'More containers')}</p>" if following else ""
    return "<h2>Containers</h2>" + html.table(heads, rows) + more


def _at(at_ms: int) -> str:
    return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m-%d %H:%M:%S}" if at_ms else "N/A"


def _page(title: str, body: str, status: int = 200) -> Response:
    return HTMLResponse(html.page(title, body), status, SECURITY)


ROUTES = (
    Route("/", root),
    *(Route(path, cluster) for path in ("/cluster", "/cluster/", "/cluster/apps", "/cluster/cluster")),
    Route("/cluster/apps/{states}", cluster),
    *(Route(path, nodes) for path in ("/cluster/nodes", "/cluster/nodes/{_}")),
    Route("/cluster/app/{application_id}", application),
    Route("/cluster/appattempt/{attempt_id}", attempt),
    Route("/cluster/container/{container_id}", container),
    Route("/cluster/failure/{application_id}", failure),
)
