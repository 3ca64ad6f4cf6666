"""``GET /scheduler``: the queue tree with what is used of it; ``/scheduler-overview``; who may use a queue."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from yodel.hadoop_http.errors import bad_request, forbidden, illegal_argument
from yodel.hadoop_http.long_answers import in_pieces, written_as
from yodel.hadoop_http.negotiate import answer, representation
from yodel.rm_api.door.replay import again
from yodel.rm_api.door.rim import reader
from yodel.rm_api.hadoop.services import HadoopServices, services_of
from yodel.rm_api.hadoop.shared_answers import Made
from yodel.rm_api.hadoop.wire import scheduler as wire
from yodel.rm_api.hadoop.wire.cluster import overview as overview_shape

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
    """Return the queues with what is used of them.  Others have a turn between."""
    queries, rows = services.queries, services.queries.rows
    loads = await queries.queue_loads()
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


ROUTES = (
    Route("/ws/v1/cluster/scheduler", scheduler),
    Route("/ws/v1/cluster/scheduler-overview", overview),
    Route("/ws/v1/cluster/queues/{queue}/access", access),
)
