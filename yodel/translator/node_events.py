"""Maps what Kubernetes does to a node to the state of the YARN node, in one table.

Whether a node is there is decided by its agent's heartbeats, not by Kubernetes: a kubelet that is away leaves its
containers running, and the agent goes on reporting them.  What happens to pods because of their node is seen on the
pods (``pod_events``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol


class WatchedNode(Protocol):
    """The part of a node's observation that matters here."""

    @property
    def ready(self) -> bool: ...

    @property
    def unschedulable(self) -> bool: ...


class NodeOutcome(Enum):
    """Lists the effects of a line on the YARN node."""

    LEAVES = "DECOMMISSIONING as long as the cordon lasts; ApplicationMasters are notified; running containers continue"
    AS_ITS_AGENT_SAYS = "as its agent reports; LOST after `node_expiry_s` without a heartbeat"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeEventRow:
    """One line of the table; ``applies`` gets the node, or None when it was deleted."""

    what: str
    seen: str
    applies: Callable[[WatchedNode | None], bool]
    becomes: NodeOutcome


TABLE: tuple[NodeEventRow, ...] = (
    NodeEventRow(
        what="Node deleted",
        seen="the node is gone; its pods get `DeletionByPodGC`",
        applies=lambda node: node is None,
        becomes=NodeOutcome.AS_ITS_AGENT_SAYS,
    ),
    NodeEventRow(
        what="Node cordoned, node drained",
        seen="`spec.unschedulable`; a drain then evicts its pods",
        applies=lambda node: node is not None and node.unschedulable,
        becomes=NodeOutcome.LEAVES,
    ),
    NodeEventRow(
        what="Node NotReady",
        seen="condition `Ready` is not `True`; its pods get `DeletionByTaintManager` five minutes later",
        applies=lambda node: node is not None and not node.ready,
        becomes=NodeOutcome.AS_ITS_AGENT_SAYS,
    ),
    NodeEventRow(
        what="Node ready",
        seen="condition `Ready` `True`",
        applies=lambda node: True,
        becomes=NodeOutcome.AS_ITS_AGENT_SAYS,
    ),
)


def meaning_of(node: WatchedNode | None) -> NodeEventRow:
    """The first line that applies; the last applies to everything."""
    return next(line for line in TABLE if line.applies(node))
