"""``GET /scheduler``: the queue tree with what is used of it; ``/scheduler-overview``; who may use a queue."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from yodel.domain.application import Application
from yodel.domain.states import ApplicationState
from yodel.hadoop_http.errors import bad_request, forbidden, illegal_argument
from yodel.hadoop_http.long_answers import in_pieces, written_as
from yodel.hadoop_http.negotiate import answer, representation
from yodel.rm_api.door.replay import again
from yodel.rm_api.door.rim import reader
from yodel.rm_api.hadoop.services import HadoopServices, services_of
from yodel.rm_api.hadoop.shared_answers import Made
from yodel.rm_api.hadoop.wire import scheduler as wire
from yodel.rm_api.hadoop.wire.cluster import overview as overview_shape
from yodel.services.views.rows import Rows
from yodel.serving.pieces import taking_turns

PIECE = 200
"""Applications whose load is added in one go: two milliseconds."""
QUEUE_ACLS = ("SUBMIT_APPLICATIONS", "ADMINISTER_QUEUE")


async def scheduler(request: Request) -> Response:
    services = services_of(request)
    again(request, services.replay)
    form = representation(request)

    async def make() -> Made:
        return Made(*await written_as(form, wire.scheduler(await tree_of(services))))

    made = await services.shared.of(form, make)
    return in_pieces(made.pieces, made.media_type)


async def overview(request: Request) -> Response:
    services = services_of(request)
    minimum, submission = services.queries.limits.minimum, services.submission
    return answer(request, overview_shape(minimum, submission.maximum_capability, submission.max_priority))


async def access(request: Request) -> Response:
    """Answer whether ``user`` may submit to a queue or administer it; only its administrators may ask
    (RMQueueAclInfo)."""
    services = services_of(request)
    rights = services.rights
    caller, query = reader(request), request.query_params
    name = request.path_params["queue"][:256]
    queue = services.queries.find_queue(name)
    if queue is None or not rights.may_administer(queue.path, caller):
        text = f"User={caller} doesn't haven access to queue={name} so it cannot check ACLs for other users."
        raise forbidden(text)
    user, kind = query.get("user", ""), query.get("queue-acl-type", QUEUE_ACLS[0])
    if not user:
        raise illegal_argument("Null user")
    if kind not in QUEUE_ACLS:
        valid = "/".join(QUEUE_ACLS)
        raise bad_request(f"Specified queueAclType={kind[:128]} is not a valid type, valid queue acl types={{{valid}}}")
    may = rights.may_submit if kind == QUEUE_ACLS[0] else rights.may_administer
    is_allowed = may(queue.path, user)
    refusal = "" if is_allowed else f"User={user} doesn't have access to queue={name} with acl-type={kind}"
    shown = {"allowed": is_allowed, "user": user, "diagnostics": refusal}
    return answer(request, shown, root="rmQueueAclInfo")


async def tree_of(services: HadoopServices) -> wire.QueueTree:
    """One pass over the live applications; a queue's load counts for its parents too.  Others have a turn between."""
    queries = services.queries
    rows = queries.rows
    queues = dict(rows.queues)
    loads: dict[str, wire.QueueLoad] = {path: wire.QueueLoad() for path in queues}
    async for application in taking_turns(rows.live_applications(), PIECE):
        if application.submission.queue not in loads:
            continue
        load = _load(rows, application)
        path: str | None = application.submission.queue
        while path is not None:
            loads[path].total.add(load)
            loads[path].users.setdefault(application.submission.user, wire.UsageLoad()).add(load)
            path = queues[path].parent_path
    return wire.QueueTree(
        queues=tuple(rows.queues.values()),
        loads=loads,
        size_of=rows.usable_of,
        limits=queries.limits,
        largest_of=services.submission.largest,
        ledger=queries.ledger(),
        started_ms=services.facts.started_ms,
        gives_back=queries.gives_back,
        gives_back_within=queries.gives_back_within,
    )


def _load(rows: Rows, application: Application) -> wire.UsageLoad:
    """An application is active once its AM has a container; before that it is pending."""
    usage = rows.usage_of(application.id)
    load = wire.UsageLoad(used=usage.allocated, am_used=usage.am_resource, containers=usage.allocated_containers)
    count, size = rows.pending_of(application.current_attempt_id)
    load.pending_containers, load.pending = count + usage.starting_containers, size + usage.starting
    load.reserved_containers, load.reserved = rows.reserved_of(application.id)
    is_active = bool(usage.containers) or application.state is not ApplicationState.ACCEPTED
    load.active_apps, load.pending_apps = (1, 0) if is_active else (0, 1)
    return load


ROUTES = (
    Route("/ws/v1/cluster/scheduler", scheduler),
    Route("/ws/v1/cluster/scheduler-overview", overview),
    Route("/ws/v1/cluster/queues/{queue}/access", access),
)
