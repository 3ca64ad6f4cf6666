"""Calls from the RM to a node agent: only to start an ApplicationMaster (AMLauncher); all else goes by heartbeat."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from yodel.domain.ids import ContainerId, NodeId
from yodel.domain.tokens import Token


@dataclass(frozen=True, slots=True, kw_only=True)
class AmStart:
    """``launch_context`` is a ContainerLaunchContextProto."""

    node_id: NodeId
    container_id: ContainerId
    user: str
    launch_context: bytes = field(repr=False)
    container_token: Token
    nm_token: Token


class NodeAgents(Protocol):
    async def start_am(self, start: AmStart) -> None:
        """Start; "started already" is success.

        Raises:
            yodel.errors.Unavailable: the node agent did not answer in time.
            yodel.errors.Refused: it refused, with its words.
        """
