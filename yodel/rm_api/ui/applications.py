"""Pages of applications: the list, and one with why it waits, its attempts and containers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from urllib.parse import quote, urlencode

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from yodel.domain.attempt import Attempt
from yodel.domain.container import Container
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId
from yodel.domain.shuffle.decision import ShuffleDecision, Status
from yodel.domain.states import FinalApplicationStatus, YarnApplicationState
from yodel.errors import ApplicationNotFound, InvalidValue, NotFound, Unavailable
from yodel.hadoop_http.errors import RestError
from yodel.rm_api.door.rim import named_user, reader
from yodel.rm_api.hadoop.routes.filters import application_filter, application_states
from yodel.rm_api.proxy.routes import has_pages
from yodel.rm_api.ui.frame import answer_at, message, moved, page
from yodel.rm_api.ui.services import PageServices, services_of
from yodel.rm_api.v1.applications import cursor_of, key_in
from yodel.rm_api.v1.callers import CALLERS, DO_AS
from yodel.rm_api.v1.container_pages import container_page, found_container
from yodel.rm_api.v1.failure import Failure, why_it_failed
from yodel.services.views.application_pages import Wanted, applications_page
from yodel.services.views.queries import ApplicationFilter, ApplicationView
from yodel.services.views.rows import Key
from yodel.services.views.why import WhyView

LISTED_MAX = 100
READ_MAX = 1_000
"""Applications that are read for one page of the list: a name may be rare."""
CONTAINERS_LISTED_MAX = 100
"""The most of an application's containers on a page, those that ended and are kept among them."""
APPLICATIONS = ("/cluster/apps", "Applications")
TABS = (
    ("All", tuple(YarnApplicationState.__members__)),
    ("Waiting", ("NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED")),
    *((name.capitalize(), (name,)) for name in ("RUNNING", "FINISHED", "FAILED", "KILLED")),
)
"""Names of often used lists, with the states that they are of."""
ORDERS = (("newest", "Newest first"), ("oldest", "Oldest first"))
FIELDS = ("user", "queue", "name_prefix", "sort", "cursor")
"""Parameters that the page's own form and links set; others in the address stay there, but for who calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Holds one application of a list.  ``started_ms`` is 0 for callers who may not view it."""

    view: ApplicationView
    started_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """Holds the details that only viewers of the application may see."""

    why: WhyView
    shuffle: ShuffleDecision | None
    amounts: tuple[tuple[str, str, str], ...]
    attempts: tuple[tuple[Attempt, Container | None, str], ...]
    containers: tuple[Container, ...]
    containers_at: str
    """Their list in ``/api/v1``."""
    known: frozenset[ContainerId]
    """Those of the page: a master that was never started is none."""
    containers_note: str
    next_containers: str | None
    failure: Failure | None
    """None: it has not failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """Holds a page of the list.  ``next_after`` is behind what was read, None where nothing is left."""

    lines: list[Line]
    next_after: Key | None


async def listed(
    request: Request,
    wanted: ApplicationFilter,
    limit: int,
    *,
    after: Key | None = None,
    is_oldest_first: bool = False,
) -> Listed:
    """Return the applications that the caller may know of; other callers have a turn between."""
    services = services_of(request)
    queries, may_view = services.queries, services.rights.viewer(reader(request))
    found = await applications_page(
        queries.rows,
        Wanted(
            filter=wanted,
            shows=lambda row: not services.are_lists_filtered or may_view(row),
            limit=limit,
            after=after,
            is_oldest_first=is_oldest_first,
            read_max=READ_MAX,
        ),
    )
    lines = [
        Line(view=queries.application(row.id), started_ms=row.submitted_ms if may_view(row) else 0)
        for row in found.rows
        if queries.rows.application(row.id) is not None
    ]
    return Listed(lines=lines, next_after=found.next_after)


async def applications(request: Request) -> Response:
    """Show a page of applications; the path may name states, and the query what ``/ws/v1/cluster/apps`` knows.

    Its own parameters are ``name_prefix``, ``sort`` and ``cursor``, so that a page can be sent to a colleague."""
    asked, states = request.query_params, request.path_params.get("states", "")
    order = asked.get("sort", "newest")
    if order not in dict(ORDERS):
        known = " or ".join(name for name, _ in ORDERS)
        return await message(request, "No such order", f"sort={order[:64]} is no order. Use {known}.", 400)
    try:
        found = application_filter(asked, services_of(request).queries)
        after = key_in(asked.get("cursor"))
    except (RestError, InvalidValue) as error:
        return await message(request, "No such list", error, 400)
    try:
        named = application_states([state for state in states.split(",") if state])
    except RestError as error:
        return await message(request, "No such state", error, 404)
    wanted = replace(found, states=named or found.states, name_prefix=asked.get("name_prefix", ""))
    shown = await listed(request, wanted, LISTED_MAX, after=after, is_oldest_first=order == "oldest")
    own_name, counts = named_user(request), services_of(request).queries.rows.counts
    is_narrowed = replace(wanted, states=frozenset()) != ApplicationFilter()
    return await page(
        request,
        "applications.html",
        title="Applications",
        # How many are in a state is known of all together, not of those of a user or a queue.
        tabs=[
            (
                name,
                _address("" if name == "All" else ",".join(of), asked, cursor=None),
                sum(counts[YarnApplicationState[one]] for one in of) if not is_narrowed else None,
                states == ("" if name == "All" else ",".join(of)),
                of,
            )
            for name, of in TABS
        ],
        orders=[(name, words, _address(states, asked, sort=name, cursor=None)) for name, words in ORDERS],
        order=order,
        mine=_address(states, asked, user=own_name, cursor=None) if own_name else "",
        is_mine=bool(own_name) and asked.get("user") == own_name,
        asked={name: asked.get(name, "") for name in FIELDS},
        kept=[(name, value) for name, value in _kept(asked) if name not in FIELDS],
        is_narrowed=is_narrowed or bool(wanted.states),
        applications=shown.lines,
        following=_address(states, asked, cursor=cursor_of(shown.next_after)) if shown.next_after else "",
        first=_address(states, asked, cursor=None) if after is not None else "",
    )


def _address(states: str, asked: QueryParams, **changed: str | None) -> str:
    """Return the address of a list like the one that was asked for; None takes a parameter away."""
    kept = [(name, value) for name, value in _kept(asked) if name not in changed]
    query = urlencode([*kept, *((name, value) for name, value in changed.items() if value is not None)])
    return f"/cluster/apps{'/' if states else ''}{quote(states, safe=',')}{'?' if query else ''}{query}"


def _kept(asked: QueryParams) -> list[tuple[str, str]]:
    """Return the parameters that links may repeat: an address that is sent to a colleague names no caller and holds no
    token."""
    return [(name, value) for name, value in asked.multi_items() if name not in CALLERS and name.lower() != DO_AS]


async def application(request: Request) -> Response:
    """Show one application; who may not view it sees what the REST API tells: neither times nor amounts."""
    services, asked = services_of(request), request.path_params["application_id"]
    try:
        view = services.queries.application(ApplicationId.parse(asked))
    except InvalidValue:
        return await message(request, "Invalid application id", asked[:128], 400)
    except ApplicationNotFound as error:
        return await message(request, "Application not found", error, 404)
    may_view = services.rights.may_view(view.application, reader(request))
    try:
        details = await _details(request, services, view) if may_view else None
    except InvalidValue as error:
        return await message(request, "No such page", error, 400)
    return await page(
        request,
        "application.html",
        title=f"Application {view.application.id}",
        # The exception of a failed one is read from a node, and does not change.
        is_live=details is None or details.failure is None,
        crumbs=[APPLICATIONS],
        app=view.application,
        # The proxy sends on to what is over, whose address may have no scheme: Spark's has none.
        proxied=has_pages(view),
        details=details,
        pod_namespace=services.namespace,
        own_settings=Status.OWN_SETTINGS,
        decided=Status.DECIDED,
    )


async def _details(request: Request, services: PageServices, view: ApplicationView) -> Details:
    """Raises InvalidValue: no such cursor."""
    row, queries = view.application, services.queries
    cursor, note, following = request.query_params.get("containers"), "", None
    found: tuple[Container, ...] = ()
    try:
        shown, following = await container_page(services.containers, row, lambda _: True, CONTAINERS_LISTED_MAX, cursor)
        found = tuple(shown)
    except Unavailable as error:
        note = str(error)
    masters = [(attempt, queries.rows.master_of(attempt)) for attempt in queries.attempts(row.id)]
    has_failed = row.final_status is FinalApplicationStatus.FAILED and not note
    return Details(
        why=await queries.why.asked(row, services.rights.viewer(reader(request))),
        shuffle=view.attempt.shuffle if view.attempt is not None else None,
        amounts=tuple(_amounts(view)),
        attempts=tuple((one, master, queries.log_url(master) if master else "") for one, master in masters),
        containers=found,
        containers_at=answer_at(
            request, f"/applications/{row.id}/containers", limit=CONTAINERS_LISTED_MAX, cursor="containers"
        ),
        known=frozenset(one.id for one in found),
        containers_note=note,
        next_containers=following,
        failure=await why_it_failed(request, str(row.id)) if has_failed else None,
    )


def _amounts(view: ApplicationView) -> Iterator[tuple[str, str, str]]:
    """Yield a line for each state that has containers, as ``yodel app show`` does, and its fields in ``/api/v1``."""
    for name, field, count, size in (
        ("Running", "running_containers used", view.running_containers, view.used),
        ("Scheduling", "starting_containers starting", view.starting_containers, view.starting),
        ("Pending", "pending_containers pending", view.pending_containers, view.pending),
        ("Reserved", "reserved", view.reserved_containers, view.reserved),
    ):
        if count:
            containers = f"{count} container{'s' * (count != 1)}, " if "containers" in field else ""
            yield name, containers + size.with_units, field


async def attempt(request: Request) -> Response:
    """An attempt is a part of its application's page; so is what is asked of one that is not there."""
    asked = request.path_params["attempt_id"]
    try:
        application_id = ApplicationAttemptId.parse(asked).application_id
    except InvalidValue:
        return await message(request, "Invalid attempt id", asked[:128], 400)
    return moved(f"/cluster/app/{application_id}")


async def aggregation(request: Request) -> Response:
    """Lead to the application, whose containers have their logs."""
    try:
        return moved(f"/cluster/app/{ApplicationId.parse(request.path_params['application_id'])}")
    except InvalidValue as error:
        return await message(request, "Invalid application id", error, 400)


async def viewed_container(request: Request) -> Container | Response:
    """Return the container that the path names, or the page that says why it is not shown.  Refused as the REST API
    does."""
    services, asked = services_of(request), request.path_params["container_id"]
    try:
        container_id = ContainerId.parse(asked)
        owned = services.queries.application(container_id.application_id).application
        user = reader(request)
        if not services.rights.may_view(owned, user):
            refusal = f"User {user} does not have privilege to see this application {owned.id}"
            return await message(request, "Access denied", refusal, 403)
        return await found_container(services.containers, owned.id, asked)
    except InvalidValue:
        return await message(request, "Invalid container id", asked[:128], 400)
    except NotFound as error:
        return await message(request, "Container not found", error, 404)
    except Unavailable as error:
        return await message(request, "Try again", error, 503)


async def container(request: Request) -> Response:
    """Show a container and the way to its logs: what people follow such links for."""
    found, services = await viewed_container(request), services_of(request)
    if isinstance(found, Response):
        return found
    application_id = found.id.application_id
    return await page(
        request,
        "container.html",
        title=f"Container {found.id}",
        crumbs=[APPLICATIONS, (f"/cluster/app/{application_id}", str(application_id))],
        container=found,
        pod_namespace=services.namespace,
        log_url=services.queries.log_url(found),
    )


async def failure(request: Request) -> Response:
    """Show where a loop between the proxy and an ApplicationMaster's filter ends (RmController.failure)."""
    asked = request.path_params["application_id"]
    reason = (
        f"The ApplicationMaster of {asked[:128]} does not accept this proxy and redirects callers back to it. "
        "Check that the RM's web address resolves on the node to the address that this RM connects from."
    )
    return await message(request, "Redirect loop", reason, 500)


ROUTES = (
    Route("/cluster/apps", applications),
    Route("/cluster/apps/{states}", applications),
    Route("/cluster/app/{application_id}", application),
    Route("/cluster/appattempt/{attempt_id}", attempt),
    Route("/cluster/container/{container_id}", container),
    Route("/cluster/logaggregationstatus/{application_id}", aggregation),
    Route("/cluster/failure/{application_id}", failure),
)
