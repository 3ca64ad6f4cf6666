"""Holds an ApplicationMaster's heartbeat and its answer, as AllocateRequest and result without the wire format.

The protocol layer makes the one of protobuf and protobuf of the other; ``MasterService`` is between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from yodel.domain.application import Application
from yodel.domain.ask_book import Ask, SchedulingAsk
from yodel.domain.container import Container
from yodel.domain.container_update import UpdateError, UpdateRequest
from yodel.domain.ids import ContainerId, NodeId
from yodel.domain.node import Node
from yodel.domain.resource import Resource
from yodel.domain.states import ContainerUpdateType
from yodel.domain.tokens import Token
from yodel.services.writer.outbox import RejectedAsk


@dataclass(slots=True, kw_only=True)
class AllocateRequest:
    """Holds one heartbeat (AllocateRequestProto).  ``response_id`` is the last answer's; ``progress`` is 0 to 1.

    Not frozen only because one is built for each heartbeat; nobody changes it.
    """

    response_id: int
    asks: Sequence[Ask] = ()
    releases: Sequence[ContainerId] = ()
    blacklist_additions: Sequence[str] = ()
    blacklist_removals: Sequence[str] = ()
    progress: float = 0.0
    tracking_url: str | None = None
    updates: Sequence[UpdateRequest] = ()
    scheduling_asks: Sequence[SchedulingAsk] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """A container in an allocate response, with the right to start it."""

    container: Container
    node: Node
    token: Token


@dataclass(slots=True, kw_only=True)
class AllocateResult:
    """Holds the answer (AllocateResponseProto): what is new since the last one, and counts.  Not frozen, as
    AllocateRequest."""

    response_id: int
    headroom: Resource
    node_count: int
    priority: int
    pending_count: int = 0
    """The containers pending in the whole cluster, as ``active_cores`` are its cores: all of them, used or free."""
    active_cores: int = 0
    granted: Sequence[Granted] = ()
    nm_tokens: Sequence[tuple[NodeId, Token]] = ()
    completed: Sequence[Container] = ()
    changed_nodes: Sequence[Node] = ()
    updated: Sequence[tuple[ContainerUpdateType, Granted]] = ()
    update_errors: Sequence[UpdateError] = ()
    rejected: Sequence[RejectedAsk] = ()
    preempted: Sequence[Container] = ()
    """On notice since the last answer: they end unless the ApplicationMaster gives them back first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MasterRegistration:
    """The answer to registerApplicationMaster; earlier attempts' containers when the submission keeps them."""

    application: Application
    maximum_capability: Resource
    client_key: bytes = field(default=b"", repr=False)
    previous_containers: Sequence[Granted] = field(default=())
    nm_tokens: Sequence[tuple[NodeId, Token]] = field(default=())
