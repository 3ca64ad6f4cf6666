"""The page for the owner of a service shows what batch jobs may use of the nodes, and what they use now.

It has no word of YARN's: who reads it knows Kubernetes.  Each node is one sum: its size, less what is kept free, less
what the system and the services use, is what is lent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from yodel.domain.colocation.node import CapacityState
from yodel.domain.colocation.report import CPU_MILLI, MEMORY_MIB
from yodel.domain.ids import NodeId
from yodel.errors import InvalidValue
from yodel.rm_api.ui.frame import answer_at, message, page, plain
from yodel.rm_api.ui.services import services_of
from yodel.rm_api.v1.capacity import get_colocation, list_capacities
from yodel.rm_api.v1.capacity_models import NodeCapacity, ResourceCapacity

NODES_LISTED_MAX = 100
NAMES = {CPU_MILLI: "CPU", MEMORY_MIB: "memory"}
STATES = {
    CapacityState.LENDING: "lends",
    CapacityState.FULL: "nothing left to lend of CPU or memory",
    CapacityState.CLOSED: "services need it: no new batch pods",
    CapacityState.STALE: "no recent measurement: lends no more than before",
    CapacityState.GOING: "stopped lending: batch pods finish",
    CapacityState.WAITING: "not measured yet: no batch pods",
    CapacityState.OTHER: "another program lends it",
    CapacityState.YIELDED: "another program lends it",
    CapacityState.FAILED: "the lent amount cannot be written",
}
"""The meaning of each state for services."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sum:
    """Shows what is lent of one resource of a node: the amounts before ``lent`` add up to it, in its unit.  ``at`` is
    its index in ``/api/v1``, and ``lent_at`` the field there that is lent.

    ``other`` is all that no column of its own shows: what is always kept, parts, rounding, and slow growth.  Where the
    policy has a fixed amount there is nothing to add up, and ``fixed`` is that amount."""

    name: str
    at: int
    lent_at: str
    unit: str
    size: int
    margin: int
    system: int
    services: int
    other: int
    lent: int
    used: str
    fixed: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LendingNode:
    """Describes one node.  ``sums`` has no line for a resource that was not measured."""

    capacity: NodeCapacity
    node_id: NodeId | None
    state: str
    sums: Sequence[Sum]


async def lending(request: Request) -> Response:
    """Show what is lent of all nodes, and each node's sum; the query may name one node."""
    name = request.query_params.get("node", "").strip()[:256]
    try:
        found = await list_capacities(request, name or None, NODES_LISTED_MAX, request.query_params.get("after"))
    except InvalidValue as error:
        return await message(request, "No such page", error, 400)
    rows = services_of(request).queries.rows.nodes.values()
    ids = {row.kubernetes_node_name: row.id for row in rows if row.is_registered}
    return await page(
        request,
        "lending.html",
        title="Lending",
        whole=await get_colocation(request),
        resources=((CPU_MILLI, "m", "CPU"), (MEMORY_MIB, "Mi", "Memory")),
        asked=name,
        nodes_at=answer_at(
            request, "/colocation/nodes", limit=NODES_LISTED_MAX, kubernetes_node=name or None, cursor="after"
        ),
        nodes=[_node(one, ids.get(one.kubernetes_node)) for one in found.items],
        next_cursor=found.next_cursor,
    )


def _node(found: NodeCapacity, node_id: NodeId | None) -> LendingNode:
    sums = list(_sums(found.resources))
    return LendingNode(capacity=found, node_id=node_id, state=STATES.get(found.state, ""), sums=sums)


def _sums(resources: Sequence[ResourceCapacity]) -> Iterator[Sum]:
    for at, one in enumerate(resources):
        if one.resource is None or not one.terms:
            continue
        amounts = {term.name: term.amount for term in one.terms}
        unit = "m" if one.resource == CPU_MILLI else "Mi"
        last = max((number for number, step in enumerate(one.steps) if step.unit == unit), default=None)
        all_terms = "+".join(f"terms.{term.name}.amount" for term in one.terms)
        lent = one.steps[last].after if last is not None else sum(amounts.values())
        size = amounts.get("capacity", 0)
        known = [amounts.get(name, 0) for name in ("margin", "system", "online")]
        yield Sum(
            name=NAMES[one.resource],
            at=at,
            lent_at=f"steps.{last}.after" if last is not None else all_terms,
            unit=unit,
            size=size,
            margin=known[0],
            system=known[1],
            services=known[2],
            other=lent - size - sum(known),
            lent=lent,
            used=plain(one.requested, one.unit),
            fixed=amounts.get("static"),
        )


ROUTES = (Route("/cluster/lending", lending),)
