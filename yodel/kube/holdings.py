"""Watches what bound pods of all namespaces take of their nodes, with a list-watch like that of our own pods.

It needs the right to list and watch the pods of the whole cluster, and is run only where this RM chooses nodes.
"""

from __future__ import annotations

from yodel.kube.decode import decode_holding, decode_holding_page
from yodel.kube.watch_loop import Watched
from yodel.ports.pods import HoldingSink, PodHolding

ALL_PODS_PATH = "/api/v1/pods"
HOLDING = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"
"""Field selector of pods that take room of a node.  One that ends leaves the selection, which is told as a deletion."""


def watched_holdings(sink: HoldingSink) -> Watched[PodHolding]:
    """Bound pods that have not ended."""
    return Watched(
        kind="bound pods",
        path=ALL_PODS_PATH,
        selector="",
        field_selector=HOLDING,
        decode_page=decode_holding_page,
        decode_object=decode_holding,
        listed=sink.holdings_listed,
        seen=sink.holding_seen,
        gone=sink.holding_gone,
    )
