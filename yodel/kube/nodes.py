"""Nodes of the cluster: one listing on request, or a list-watch like that of the pods."""

from __future__ import annotations

from functools import partial

import msgspec

from yodel.errors import Unavailable
from yodel.kube.api import ApiRequest, KubeApi
from yodel.kube.decode import decode_node, decode_node_page
from yodel.kube.retrying import RetryLimits, retried
from yodel.kube.watch_loop import PAGES_MAX, Watched
from yodel.ports.kube_nodes import NodeObservation, NodeSink

NODES_PATH = "/api/v1/nodes"
PAGE_SIZE = 250  # node objects list their images and are several times a pod's size


async def list_nodes(
    client: KubeApi, *, selector: str = "", limits: RetryLimits | None = None
) -> tuple[NodeObservation, ...]:
    """All nodes that the label selector selects, as the API server has them now.

    Raises: Refused (a service account without the right to list nodes), Unavailable.
    """
    nodes: list[NodeObservation] = []
    continuation = ""
    for _ in range(PAGES_MAX):
        request = _list_request(selector, continuation)
        body = await retried(partial(client.call, request), "Listing nodes", limits or RetryLimits())
        try:
            page = decode_node_page(body)
        except msgspec.DecodeError as malformed:
            raise Unavailable(f"Listing nodes: the answer is no list of nodes: {malformed}") from malformed
        nodes.extend(page.items)
        continuation = page.continuation
        if not continuation:
            return tuple(nodes)
    raise Unavailable(f"Listing nodes: more than {PAGES_MAX} pages")


def watched_nodes(selector: str, sink: NodeSink) -> Watched[NodeObservation]:
    """Nodes that ``selector`` selects; "" selects all."""
    return Watched(
        kind="nodes",
        path=NODES_PATH,
        selector=selector,
        decode_page=decode_node_page,
        decode_object=decode_node,
        listed=sink.nodes_listed,
        seen=sink.node_seen,
        gone=sink.node_gone,
        page_size=PAGE_SIZE,
    )


def _list_request(selector: str, continuation: str) -> ApiRequest:
    query = {"limit": str(PAGE_SIZE)}
    if selector:
        query["labelSelector"] = selector
    if continuation:
        query["continue"] = continuation
    return ApiRequest(path=NODES_PATH, query=query)
