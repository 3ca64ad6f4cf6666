"""``GET /nodes`` and ``/nodes/{id}``, and ``POST /nodes/{id}/resource``: what a node gives from now on."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from yodel.domain.ids import NodeId
from yodel.domain.resource import Resource
from yodel.domain.states import NodeState
from yodel.errors import InvalidValue, NodeNotFound
from yodel.hadoop_http.errors import bad_request, illegal_argument, not_found
from yodel.hadoop_http.long_answers import answer_many
from yodel.hadoop_http.many import Many
from yodel.hadoop_http.negotiate import answer, require_acceptable
from yodel.rm_api.door.admin_network import administrative
from yodel.rm_api.door.rim import writer
from yodel.rm_api.hadoop.given import given, null_pointer
from yodel.rm_api.hadoop.services import services_of
from yodel.rm_api.hadoop.wire import nodes as wire
from yodel.rm_api.hadoop.wire.resources import INT_MAX, LONG_MAX, resource
from yodel.services.views.queries import NodeView


async def many(request: Request) -> Response:
    """All of them, those that are gone included, unless ``states`` says otherwise."""
    wanted, queries = _states(request.query_params.getlist("states")), services_of(request).queries
    found = [row.id for row in queries.rows.nodes.values() if not wanted or row.state in wanted]

    def shown(node_id: NodeId) -> dict[str, Any] | None:
        return _shown(request, queries.node(node_id)) if node_id in queries.rows.nodes else None

    return await answer_many(request, {"nodes": {"node": Many(found, shown)} if found else {}})


async def one(request: Request) -> Response:
    return answer(request, {"node": _shown(request, _found(request))})


async def update_resource(request: Request) -> Response:
    """The new total, by an administrator's word.  There is no over-commitment here: containers keep what they have."""
    services = services_of(request)
    user = writer(request)
    require_acceptable(request)
    node_id = _found(request).node.id
    body = await given(request, "resourceOption")
    if body is None:
        raise null_pointer("ResourceOptionInfo.getResourceOption()", "resourceOption")
    wanted = _resource(body)
    services.admin.require_admin(user, "updateNodeResource")
    await services.admin.update_node_resource({node_id: wanted})
    total = services.queries.node(node_id).node.capability
    return answer(request, {"resourceInfo": resource(total)})


def _states(given: list[str]) -> set[NodeState]:
    """The first parameter counts, as JAX-RS takes it; Java's split drops empty ends.  Raises RestError 400."""
    if not given:
        return set()
    wanted = set()
    for state in given[0].rstrip(",").split(","):
        name = state.upper()
        if name not in NodeState.__members__:
            raise illegal_argument(f"No enum constant org.apache.hadoop.yarn.api.records.NodeState.{name[:128]}")
        wanted.add(NodeState[name])
    return wanted


def _found(request: Request) -> NodeView:
    """Raises RestError 400 or 404."""
    text = request.path_params["node_id"]
    try:
        return services_of(request).queries.node(NodeId.parse(text))
    except InvalidValue as error:
        port = text[:300].split(":")[1:]
        if len(port) == 1:  # Integer.parseInt's words
            raise illegal_argument(f'For input string: "{port[0].strip()}"') from error
        raise illegal_argument(f"Invalid NodeId [{text[:300]}]. Expected host:port") from error
    except NodeNotFound as error:
        raise not_found(f"nodeId, {text}, is not found") from error


def _resource(body: dict[str, Any]) -> Resource:
    """ResourceOptionInfo's resource; the root element of XML's shape may be there.  Raises RestError 400."""
    inner = body.get("resourceOption", body)
    given = inner.get("resource") if isinstance(inner, dict) else None
    if not isinstance(given, dict):
        raise bad_request("Invalid resource: nothing given; expected memory and vCores")
    memory, vcores = given.get("memory"), given.get("vCores")
    for name, value, most in (("memory", memory, LONG_MAX), ("vCores", vcores, INT_MAX)):
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
            raise bad_request(f"Invalid {name}: {str(value)[:128]}; expected a number that is not negative")
    return Resource(memory or 0, vcores or 0)


def _shown(request: Request, view: NodeView) -> dict[str, Any]:
    return wire.node(view, services_of(request).nodes.load(view.node.id))


NODES = "/ws/v1/cluster/nodes"
ROUTES = (
    Route(NODES, many),
    Route(NODES + "/{node_id}", one),
    Route(NODES + "/{node_id}/resource", administrative(update_resource), methods=["POST"]),
)
