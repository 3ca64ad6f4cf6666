"""What Kubernetes does to a node, and what YARN says of the node: one table.

Whether a node is there is its agent's word, not Kubernetes': a kubelet that is away leaves its containers running, and
the agent goes on reporting them.  What happens to pods because of their node is told by the pods (``pod_events``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol


class SeenNode(Protocol):
    """The part of a node's observation that matters here."""

    @property
    def ready(self) -> bool: ...

    @property
    def unschedulable(self) -> bool: ...


class Becomes(Enum):
    """What a line makes of the YARN node."""

    LEAVES = "DECOMMISSIONING as long as the cordon lasts; ApplicationMasters are notified; running containers continue"
    AS_ITS_AGENT_SAYS = "as its agent reports; LOST after `node_expiry_s` without a heartbeat"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of the table; ``applies`` gets the node, or None when it was deleted."""

    what: str
    seen: str
    applies: Callable[[SeenNode | None], bool]
    becomes: Becomes


TABLE: tuple[Line, ...] = (
    Line(
        what="Node deleted",
        seen="the node is gone; its pods get `DeletionByPodGC`",
        applies=lambda node: node is None,
        becomes=Becomes.AS_ITS_AGENT_SAYS,
    ),
    Line(
        what="Node cordoned, node drained",
        seen="`spec.unschedulable`; a drain then evicts its pods",
        applies=lambda node: node is not None and node.unschedulable,
        becomes=Becomes.LEAVES,
    ),
    Line(
        what="Node NotReady",
        seen="condition `Ready` is not `True`; its pods get `DeletionByTaintManager` five minutes later",
        applies=lambda node: node is not None and not node.ready,
        becomes=Becomes.AS_ITS_AGENT_SAYS,
    ),
    Line(
        what="Node ready",
        seen="condition `Ready` `True`",
        applies=lambda node: True,
        becomes=Becomes.AS_ITS_AGENT_SAYS,
    ),
)


def meaning_of(node: SeenNode | None) -> Line:
    """The first line that applies; the last applies to everything."""
    return next(line for line in TABLE if line.applies(node))
