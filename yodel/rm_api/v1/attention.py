"""``/attention`` lists what needs somebody's attention now, as a closed list of kinds, each entry with its reason."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from urllib.parse import quote

from fastapi import APIRouter
from pydantic import Field
from starlette.requests import Request

from yodel.domain.colocation.node import CapacityState
from yodel.domain.node import Node
from yodel.domain.states import NodeState
from yodel.rm_api.v1.callers import KNOWN, viewer
from yodel.rm_api.v1.models import EpochMs, Model
from yodel.rm_api.v1.services import ApiServices, services_of
from yodel.services.views.attention import AttentionEntry, AttentionKind
from yodel.serving.pieces import taking_turns

OF_KIND_MAX = 50
"""Entries of one kind that are shown."""
PIECE = 200
"""Nodes that are looked at in one go: a millisecond."""
SILENT_S = 30
"""Without a heartbeat for so long a node is listed; agents send one each second."""
LATE_PART = 1 / 3
"""A leader may lead for five sixths of the lease and renews it each sixth: with so little left two renewals failed."""
BY_STATE = {
    CapacityState.CLOSED: AttentionKind.NODE_SUPPRESSED,
    CapacityState.STALE: AttentionKind.NODE_STALE,
    CapacityState.FAILED: AttentionKind.NODE_NOT_PUBLISHED,
    CapacityState.YIELDED: AttentionKind.NODE_NOT_PUBLISHED,
}
router = APIRouter(tags=["cluster"], dependencies=[KNOWN])


class AttentionItem(Model):
    """Describes one thing that needs attention."""

    kind: AttentionKind
    text: str = Field(description="What is wrong, with figures and the reason.")
    since_ms: EpochMs | None = Field(description="Since when, as far as that is known.")
    queue: str | None
    application_id: str | None
    node_id: str | None
    page: str = Field(description="Path of the page that shows more.", examples=["/cluster/queue/root.etl"])


class Attention(Model):
    """Lists what needs attention now; no item: nothing does."""

    items: list[AttentionItem] = Field(description="By kind, at most 50 of each.")
    more_items: int = Field(description="Further items, which are not shown.")


@router.get("/attention")
async def get_attention(request: Request) -> Attention:
    """List what needs attention: the database and the standby, nodes, queues under their guarantee for over a minute,
    requests and pods that have waited as long, and shuffle services that do not answer.

    Applications that you may not view are left out.
    """
    services = services_of(request)
    found: dict[AttentionKind, list[AttentionItem]] = {kind: [] for kind in AttentionKind}
    more = 0
    async for one in _entries(services, request):
        if len(found[one.kind]) < OF_KIND_MAX:
            found[one.kind].append(_item(one))
        else:
            more += 1
    return Attention(items=[item for items in found.values() for item in items], more_items=more)


async def _entries(services: ApiServices, request: Request) -> AsyncIterator[AttentionEntry]:
    for one in _of_process(services):
        yield one
    async for row in taking_turns(list(services.queries.rows.nodes.values()), PIECE):
        for one in _of_node(services, row):
            yield one
    async for one in services.queries.attention(viewer(request)):
        yield one


def _of_process(services: ApiServices) -> Iterator[AttentionEntry]:
    lead = services.process.lead()
    if services.process.is_database_silent():
        text = "The database does not answer: changes are refused until it does."
        yield AttentionEntry(kind=AttentionKind.DATABASE, text=text)
    elif lead is not None and lead.remaining_s < lead.lease_s * LATE_PART:
        text = f"The lease in the database was not renewed lately; it ends in {lead.remaining_s:.1f} s."
        yield AttentionEntry(kind=AttentionKind.DATABASE, text=text)
    if lead is not None and lead.is_standby_expected and not lead.has_standby:
        text = "No standby ResourceManager is ready to take over."
        yield AttentionEntry(kind=AttentionKind.STANDBY, text=text)


def _of_node(services: ApiServices, row: Node) -> Iterator[AttentionEntry]:
    if not row.is_registered:
        return
    name, host = row.kubernetes_node_name, row.id.host
    if (emergency := services.capacities.emergency_on(name)) is not None:
        text = f"Memory of node {host} is low: {emergency.reason}"
        yield AttentionEntry(kind=AttentionKind.NODE_EMERGENCY, text=text, node_id=row.id)
    if row.state is NodeState.UNHEALTHY:
        text = f"Node {host} is unhealthy: {row.health_report or 'no reason reported'}"
        since_ms = row.last_health_ms or None
        yield AttentionEntry(kind=AttentionKind.NODE_UNHEALTHY, text=text, since_ms=since_ms, node_id=row.id)
    if (silent_s := services.nodes.silent_s(row.id)) > SILENT_S:
        text, since_ms = f"Node {host} has sent no heartbeat for {silent_s:.0f} s.", services.queries.now_ms()
        since_ms -= int(silent_s * 1000)
        yield AttentionEntry(kind=AttentionKind.NODE_STALE, text=text, since_ms=since_ms, node_id=row.id)
        return
    state, why = services.capacities.state_of(name)
    if state in BY_STATE and emergency is None:
        yield AttentionEntry(kind=BY_STATE[state], text=f"Node {host}: {why}", node_id=row.id)


def _item(one: AttentionEntry) -> AttentionItem:
    page = "/cluster/about"
    if one.node_id is not None:
        page = f"/cluster/node/{one.node_id}"
    elif one.application_id is not None:
        page = f"/cluster/app/{one.application_id}"
    elif one.queue:
        page = f"/cluster/queue/{quote(one.queue, safe='')}"
    return AttentionItem(
        kind=one.kind,
        text=one.text,
        since_ms=one.since_ms,
        queue=one.queue or None,
        application_id=str(one.application_id) if one.application_id is not None else None,
        node_id=str(one.node_id) if one.node_id is not None else None,
        page=page,
    )
