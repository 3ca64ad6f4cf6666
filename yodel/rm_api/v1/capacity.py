"""``/nodes/ID/capacity`` and ``/colocation``: what nodes lend of their measured capacity, and each step to it.

It is switched on and off where queues are changed: it is said in properties of the scheduler.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query
from starlette.requests import Request

from yodel.domain.colocation.emergency import MemoryEmergency
from yodel.domain.colocation.node import CapacityState
from yodel.domain.colocation.report import CPU_MILLI, MEMORY_MIB, Pressure
from yodel.domain.colocation.switch import ColocationSwitch
from yodel.domain.ids import ContainerId, NodeId
from yodel.errors import InvalidValue, NodeNotFound
from yodel.rm_api.door.admin_network import require_network
from yodel.rm_api.door.rim import reader, writer
from yodel.rm_api.v1 import capacity_models as models
from yodel.rm_api.v1 import cursors
from yodel.rm_api.v1.callers import KNOWN, LIMIT_DEFAULT, TEXT_LENGTH_MAX, Cursor, Limit
from yodel.rm_api.v1.services import services_of
from yodel.rm_api.v1.shapes import amount
from yodel.services.nodes.capacity import CapacityView, ColocationView, PublishedResource
from yodel.services.nodes.taking_back import ReclaimPlan
from yodel.services.nodes.written_limits import WrittenNodeLimits
from yodel.translator.publishing import LentAmounts

NODES_SHOWN_MAX = 200
UNITS = {CPU_MILLI: "m", MEMORY_MIB: "Mi"}
router = APIRouter(tags=["nodes"], dependencies=[KNOWN])
NodePath = Annotated[
    str,
    Path(
        max_length=260,
        pattern=r"^[A-Za-z0-9._-]{1,253}:0*[0-9]{1,5}$",
        description="host:port of the node agent.",
        examples=["node-1:8041"],
    ),
]


@router.get("/nodes/{node_id}/capacity")
async def get_capacity(request: Request, node_id: NodePath) -> models.NodeCapacity:
    """A node's lent capacity: measured, each term and step, published, requested; only containers you may view."""
    services = services_of(request)
    asked = NodeId.parse(node_id)
    found = services.capacities.of(_lender(request, asked))
    if found is None:
        raise NodeNotFound(asked)
    return _node(found, _seen_containers(request, found))


@router.get("/colocation")
async def get_colocation(request: Request) -> models.Colocation:
    """Show whether colocation is enabled, its policy, the lent capacity, and the nodes that need attention."""
    services = services_of(request)
    taken = Taken(
        preemption_notices=services.taking_back.given_count,
        preempted_containers=services.taking_back.ended_count,
        emergency_containers=services.emergency_count(),
        since_ms=services.process.started_ms,
    )
    return _colocation(services.capacities.view(NODES_SHOWN_MAX), taken)


@router.get("/colocation/nodes")
async def list_capacities(
    request: Request,
    kubernetes_node: Annotated[
        str | None, Query(max_length=TEXT_LENGTH_MAX, description="Only the node of this name.")
    ] = None,
    limit: Limit = LIMIT_DEFAULT,
    cursor: Cursor = None,
) -> models.NodeCapacityPage:
    """List nodes that lend measured capacity, or did and are not cleaned up, by Kubernetes name, each with its sum."""
    capacities = services_of(request).capacities
    key = cursors.decoded("colocation-nodes", cursor, str)
    if kubernetes_node is not None:
        one = capacities.of(kubernetes_node)
        found = [one] if one is not None and one.state is not CapacityState.OFF else []
    else:
        found = capacities.page("" if key is None else str(key[0]), limit + 1)
    shown, next_cursor = cursors.page(
        found, limit, lambda one: cursors.encoded("colocation-nodes", one.kubernetes_node)
    )
    items = [_node(one, _seen_containers(request, one)) for one in shown]
    return models.NodeCapacityPage(items=items, next_cursor=next_cursor)


@router.post("/colocation/end-containers", dependencies=[Depends(require_network)])
async def end_containers(request: Request) -> models.ContainersEnded:
    """Stop containers that still run on lent capacity after colocation was disabled (PREEMPTED)."""
    services = services_of(request)
    user = writer(request)
    return models.ContainersEnded(containers=await services.taking_back.end_containers(user))


@router.post("/nodes/{node_id}/evict", dependencies=[Depends(require_network)])
async def evict(
    request: Request,
    node_id: NodePath,
    wanted: models.EvictRequest,
    dry_run: Annotated[bool, Query(description="Change nothing; return what would be preempted.")] = False,
) -> models.Eviction:
    """Reclaim a node's lent capacity until usage fits: containers get a preemption notice, then stop (PREEMPTED)."""
    services = services_of(request)
    user, asked = writer(request), NodeId.parse(node_id)
    _lender(request, asked)
    left = LentAmounts(cpu_milli=wanted.cpu_milli, memory_mib=wanted.memory_mib)
    return _eviction(await services.taking_back.evict(user, asked, left, is_dry_run=dry_run))


@router.delete("/nodes/{node_id}/evict", dependencies=[Depends(require_network)])
async def withdraw_eviction(request: Request, node_id: NodePath) -> models.EvictionWithdrawn:
    """Withdraw an eviction: the node lends again what its agent reports."""
    services = services_of(request)
    user, asked = writer(request), NodeId.parse(node_id)
    name = _lender(request, asked)
    await services.taking_back.withdraw(user, asked)
    return models.EvictionWithdrawn(kubernetes_node=name)


@router.post("/nodes/{node_id}/publish", dependencies=[Depends(require_network)])
async def publish_again(request: Request, node_id: NodePath) -> models.PublishedAgain:
    """Publish on a node that was left to another program (YIELDED, OTHER), whatever that wrote."""
    services = services_of(request)
    user, asked = writer(request), NodeId.parse(node_id)
    _lender(request, asked)
    return models.PublishedAgain(kubernetes_node=await services.taking_back.publish_again(user, asked))


def _lender(request: Request, asked: NodeId) -> str:
    """Return the node's name in Kubernetes.  Raises InvalidValue: it has none, so nothing is lent there."""
    node = services_of(request).queries.node(asked).node
    if node.is_node_manager:
        raise InvalidValue("node_id", str(asked), "a node of Kubernetes; this is a NodeManager, which lends nothing")
    return node.kubernetes_node_name


def _eviction(found: ReclaimPlan) -> models.Eviction:
    return models.Eviction(
        kubernetes_node=found.kubernetes_node,
        requested=dict(found.held),
        held=dict(found.held),
        victims=[
            models.Victim(
                container=str(victim.container.id),
                queue=victim.queue,
                capability=amount(victim.container.reserved),
                is_am=victim.container.is_am,
                why=victim.why,
            )
            for victim in found.victims
        ],
        notice_s=found.notice_s,
        fits=found.fits,
    )


def _seen_containers(request: Request, found: CapacityView) -> frozenset[str]:
    """Return the containers named by the node's agent that the caller may view; an empty name is of none."""
    services = services_of(request)
    named = {one.container for one in found.written.bounds}
    named |= {str(one) for one in found.emergency.containers} if found.emergency is not None else set()
    rows, rights, user = services.queries.rows, services.rights, reader(request)
    if rights.views_all(user):
        return frozenset(named)
    may_view = rights.viewer(user)

    def is_seen(text: str) -> bool:
        with suppress(InvalidValue):
            owner = rows.application(ContainerId.parse(text).application_id)
            return owner is not None and may_view(owner)
        return False

    return frozenset(one for one in named if not one or is_seen(one))


def _node(found: CapacityView, seen: Container[str]) -> models.NodeCapacity:
    report = found.report
    return models.NodeCapacity(
        kubernetes_node=found.kubernetes_node,
        state=found.state,
        why=found.why,
        policy_version=report.policy_version if report is not None else None,
        source=report.source if report is not None else None,
        age_ms=round(found.age_s * 1000) if found.age_s is not None else None,
        problems=[*dict.fromkeys((*(report.problems if report is not None else ()), *found.written.problems))],
        emergency=_emergency(found.emergency, seen) if found.emergency is not None else None,
        resources=[_resource(one) for one in found.resources],
        bounds=[
            models.CapacityBound(**asdict(one), overwrites=one.put_back)
            for one in found.written.bounds
            if one.container in seen
        ],
        pressure=_pressure(report.pressure) if report is not None else None,
        counts=[models.CapacityFigure(**asdict(one)) for one in found.written.counts],
    )


def _emergency(found: MemoryEmergency, seen: Container[str]) -> models.Emergency:
    return models.Emergency(
        reason=found.reason,
        cool_down_s=found.cool_down_s,
        containers=[str(container_id) for container_id in found.containers if str(container_id) in seen],
    )


def _pressure(found: Pressure | None) -> models.CapacityPressure | None:
    if found is None:
        return None
    return models.CapacityPressure(source=found.source, some_percent=found.some_basis_points / 100)


def _resource(found: PublishedResource) -> models.ResourceCapacity:
    loan = found.loan
    terms = loan.terms if loan is not None else ()
    own_unit = UNITS.get(found.resource, "")
    steps = [(step, own_unit) for step in (*(loan.steps if loan is not None else ()), *found.steps)]
    steps += [(step, found.unit) for step in found.last_steps]
    return models.ResourceCapacity(
        name=found.name,
        unit=found.unit,
        resource=found.resource or None,
        measured=[models.CapacityFigure(**asdict(one)) for one in loan.measured] if loan else [],
        terms=[models.CapacityTerm(**asdict(one)) for one in terms],
        steps=[models.CapacityStep(**asdict(one), unit=unit) for one, unit in steps],
        wanted=found.wanted,
        published=found.published,
        requested=found.held,
        held=found.held,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """Counts what was taken from batch since the start."""

    preemption_notices: int
    preempted_containers: int
    emergency_containers: int
    since_ms: int


def _colocation(found: ColocationView, taken: Taken) -> models.Colocation:
    said: ColocationSwitch = found.colocation
    return models.Colocation(
        enabled=said.is_on,
        preset=said.policy.preset if said.policy is not None else None,
        policy_version=said.policy.version if said.policy is not None else None,
        dialect=said.dialect or None,
        names=[*found.names],
        lent=dict(found.lent),
        published=dict(found.published),
        requested=dict(found.requested),
        units=dict(found.units),
        node_counts={state.value: count for state, count in found.counts.items()},
        node_list=[_waiting(node) for node in found.nodes],
        refused_agents=_refused(found.refused),
        patches=found.patches,
        overwrites=found.put_backs,
        put_backs=found.put_backs,
        **asdict(taken),
        limits=models.Limits(
            nodes_by_limits_state={state.value: count for state, count in found.limits_counts.items()},
            node_counts={
                models.FORMER_LIMITS.get(state, state.value): count for state, count in found.limits_counts.items()
            },
            node_list=[_limits(node) for node in found.limits],
            others_pods=sum(found.others_pods.values()),
            others_nodes=len(found.others_pods),
        ),
    )


def _waiting(node: CapacityView) -> models.WaitingNode:
    requested = {one.name: one.held for one in node.resources}
    return models.WaitingNode(
        kubernetes_node=node.kubernetes_node,
        state=node.state,
        why=node.why,
        published={one.name: one.published for one in node.resources if one.published is not None},
        requested=requested,
        held=requested,
    )


def _limits(node: WrittenNodeLimits) -> models.NodeLimits:
    return models.NodeLimits(
        kubernetes_node=node.kubernetes_node,
        limits_state=node.state,
        state=models.FORMER_LIMITS.get(node.state, node.state),
        why=node.why,
        groups=node.groups,
        confirmed_ms=node.confirmed_ms,
        undo_lines=[*node.undo_lines],
    )


def _refused(found: Mapping[str, str]) -> list[models.RefusedAgent]:
    return [models.RefusedAgent(id=node_id, why=why) for node_id, why in sorted(found.items())[:NODES_SHOWN_MAX]]
