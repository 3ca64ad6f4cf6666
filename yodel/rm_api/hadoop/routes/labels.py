"""Node labels: what there is, and Hadoop's refusals for what would change it.

A node's label is the one of its Kubernetes node, so this is Hadoop's ``distributed`` configuration: labels of nodes
cannot be replaced here, and a label is there when a node has it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NoReturn

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from yodel.domain.node import Node
from yodel.errors import AccessDenied
from yodel.hadoop_http.errors import RestError, bad_request, illegal_argument
from yodel.hadoop_http.long_answers import answer_many
from yodel.hadoop_http.many import Many
from yodel.hadoop_http.negotiate import answer, require_acceptable
from yodel.rm_api.door.admin_network import administrative
from yodel.rm_api.door.bodies import read_object
from yodel.rm_api.door.rim import writer
from yodel.rm_api.door.services import door_of
from yodel.rm_api.hadoop.services import HadoopServices, services_of
from yodel.rm_api.hadoop.wire import nodes as wire

LABELS_DISABLED = "Node-label-based scheduling is disabled. Please check yarn.node-labels.enabled"
NOT_CENTRALIZED = (
    "Error when invoke method=replaceLabelsOnNode because centralized node label configuration is not enabled."
)
SOURCE = "node labels are those of the Kubernetes nodes (yodel.io/node-label)"
_NAME = re.compile(r"[0-9a-zA-Z][0-9a-zA-Z-_]{0,254}")
_NODE_ID = re.compile(r"([^:]+)(?::0*(\d{1,5}))?", re.ASCII)
LABELS_MAX = 10_000


async def all_labels(request: Request) -> Response:
    services = services_of(request)
    found = services.queries.rows.nodes_by_label()
    shown = wire.long_label_list(list(found), lambda name: wire.label(name, _lent(services, found[name])))
    return await answer_many(request, shown, root="nodeLabelsInfo")


async def partitions(request: Request) -> Response:
    """The partition of nodes without a label as well, and how many nodes are active in each."""
    services = services_of(request)
    rows = services.queries.rows
    found = {"": [row for row in rows.nodes.values() if not row.labels], **rows.nodes_by_label()}
    shown = wire.long_label_list(
        list(found), lambda name: wire.label(name, _lent(services, found[name]), is_counted=True)
    )
    return await answer_many(request, shown, root="nodeLabelsInfo")


async def of_nodes(request: Request) -> Response:
    found = [row for row in services_of(request).queries.rows.nodes.values() if row.labels]
    entries = Many(found, lambda row: {"key": str(row.id), "value": _list_of(row)})
    return await answer_many(request, {"nodeToLabels": {"entry": entries}} if found else {}, root="nodeToLabelsInfo")


async def to_nodes(request: Request) -> Response:
    """Answer the nodes of the requested ``labels``; unknown ones are ignored."""
    services, wanted = services_of(request), frozenset(request.query_params.getlist("labels"))
    found = services.queries.rows.nodes_by_label()

    def shown(name: str) -> dict[str, Any]:
        nodes = found[name]
        value = {"nodes": [str(row.id) for row in nodes], "partitionInfo": wire.partition(_lent(services, nodes))}
        return {"key": wire.label(name), "value": value}

    names = [name for name in found if not wanted or name in wanted]
    entries = Many(names, shown)
    return await answer_many(request, {"labelsToNodes": {"entry": entries}} if names else {}, root="labelsToNodesInfo")


async def of_one_node(request: Request) -> Response:
    """Answer with a node's labels: without a port they are the host's; of a node that nobody knows there are none."""
    text = request.path_params["node_id"]
    matched = _NODE_ID.fullmatch(text)
    if matched is None:
        raise illegal_argument(f"Invalid NodeId [{text[:300]}]. Expected host:port")
    host, port = matched[1], int(matched[2] or 0)
    nodes = [row for row in services_of(request).queries.rows.nodes.values() if row.id.host == host]
    names = {name for row in nodes if port in (0, row.id.port) for name in row.labels}
    return answer(request, wire.label_list([wire.label(name) for name in sorted(names)]), root="nodeLabelsInfo")


async def add(request: Request) -> Response:
    """Accept those that are there already; no other can be made here."""
    services = _services_of_admin(request, "post to .../add-node-labels")
    body = await read_object(request, door_of(request).rules.body_bytes_max)
    asked = _asked(body)
    _require_enabled(services)
    known = services.queries.rows.nodes_by_label()
    for name, is_exclusive in asked:
        if not _NAME.fullmatch(name):
            pattern = "label name should only contains {0-9, a-z, A-Z, -, _} and should not started with {-,_}"
            raise bad_request(f"{pattern}, now it is= {name[:128]}")
        if name in known and not is_exclusive:
            text = f"Exclusivity cannot be modified for an existing label with : <{name}:exclusivity=true>"
            raise bad_request(text)
        if name not in known:
            raise bad_request(f"Cannot add label={name}: {SOURCE}, and none has it")
    return Response()


async def remove(request: Request) -> Response:
    services = _services_of_admin(request, "post to .../remove-node-labels")
    _require_enabled(services)
    known = services.queries.rows.nodes_by_label()
    for name in request.query_params.getlist("labels"):
        if not name or name not in known:
            text = f"Node label={name[:128]} to be removed doesn't existed in cluster node labels collection."
            raise bad_request(text)
        raise bad_request(f"Cannot remove label={name}: {SOURCE}, and {len(known[name])} of them have it")
    return Response()


async def replace_on_nodes(request: Request) -> Response:
    writer(request)
    require_acceptable(request)
    await read_object(request, door_of(request).rules.body_bytes_max)
    _refuse_replacing(request, "/replace-node-to-labels")


async def replace_on_node(request: Request) -> Response:
    writer(request)
    require_acceptable(request)
    _refuse_replacing(request, "/nodes/nodeid/replace-labels")


def _refuse_replacing(request: Request, where: str) -> NoReturn:
    if services_of(request).rules.are_labels_enabled:
        raise RestError(404, "java.io.IOException", NOT_CENTRALIZED)
    _services_of_admin(request, f"post to ...{where}")
    raise bad_request(LABELS_DISABLED)


def _services_of_admin(request: Request, what: str) -> HadoopServices:
    """Raises RestError 401: no name, or not an administrator's."""
    services = services_of(request)
    user = writer(request)
    require_acceptable(request)
    try:
        services.admin.require_admin(user, what)
    except AccessDenied as error:
        java_class = "org.apache.hadoop.security.authorize.AuthorizationException"
        raise RestError(401, java_class, f"User {user} not authorized for {what}") from error
    return services


def _require_enabled(services: HadoopServices) -> None:
    if not services.rules.are_labels_enabled:
        raise bad_request(LABELS_DISABLED)


def _asked(body: dict[str, Any]) -> list[tuple[str, bool]]:
    """Names and whether they are exclusive, which is the default; a single label may stand for a list of one."""
    inner = body.get("nodeLabelsInfo", body)
    given = inner.get("nodeLabelInfo") if isinstance(inner, dict) else None
    labels = given if isinstance(given, list) else [given] if given is not None else []
    asked = []
    for label in labels[:LABELS_MAX]:
        name = label.get("name") if isinstance(label, dict) else None
        if not isinstance(name, str):
            raise bad_request("Invalid node label: expected an object with a name")
        asked.append((name.strip(), label.get("exclusivity", True) not in (False, "false")))
    return asked


def _lent(services: HadoopServices, nodes: Sequence[Node]) -> list[Node]:
    """Return the nodes with what they lend to queues."""
    return [services.queries.as_lent(row) for row in nodes]


def _list_of(row: Node) -> dict[str, Any]:
    return wire.label_list([wire.label(name) for name in sorted(row.labels)])


CLUSTER = "/ws/v1/cluster"
ROUTES = (
    Route(CLUSTER + "/get-node-labels", all_labels),
    Route(CLUSTER + "/get-rm-node-labels", partitions),
    Route(CLUSTER + "/get-node-to-labels", of_nodes),
    Route(CLUSTER + "/label-mappings", to_nodes),
    Route(CLUSTER + "/nodes/{node_id}/get-labels", of_one_node),
    Route(CLUSTER + "/add-node-labels", administrative(add), methods=["POST"]),
    Route(CLUSTER + "/remove-node-labels", administrative(remove), methods=["POST"]),
    Route(CLUSTER + "/replace-node-to-labels", administrative(replace_on_nodes), methods=["POST"]),
    Route(CLUSTER + "/nodes/{node_id}/replace-labels", administrative(replace_on_node), methods=["POST"]),
)
