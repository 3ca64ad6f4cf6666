"""``GET /nodes`` and ``/nodes/{id}``."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from yodel.domain.ids import NodeId
from yodel.domain.states import NodeState
from yodel.errors import InvalidValue, NodeNotFound
from yodel.rm_api.context import api_of
from yodel.rm_api.errors import illegal_argument, not_found
from yodel.rm_api.negotiate import answer
from yodel.rm_api.routes.filters import values
from yodel.rm_api.wire import nodes as wire


async def many(request: Request) -> Response:
    """All of them, those that are gone included, unless ``states`` says otherwise."""
    asked = values(request.query_params, "states")
    for state in asked:
        if state.upper() not in NodeState.__members__:
            enum = "org.apache.hadoop.yarn.api.records.NodeState"
            raise illegal_argument(f"No enum constant {enum}.{state.upper()}")
    wanted = {NodeState[state.upper()] for state in asked}
    shown = [wire.node(view) for view in api_of(request).services.queries.nodes(wanted)]
    return answer(request, {"nodes": {"node": shown} if shown else {}})


async def one(request: Request) -> Response:
    text = request.path_params["node_id"]
    try:
        view = api_of(request).services.queries.node(NodeId.parse(text))
    except InvalidValue as error:
        raise illegal_argument(f"Invalid NodeId [{text[:300]}]. Expected host:port") from error
    except NodeNotFound as error:
        raise not_found(f"nodeId, {text}, is not found") from error
    return answer(request, {"node": wire.node(view)})


ROUTES = (Route("/ws/v1/cluster/nodes", many), Route("/ws/v1/cluster/nodes/{node_id}", one))
