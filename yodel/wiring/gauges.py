"""Makes what the process shows of itself: ``/prom`` besides Hadoop's own counts, by name, and facts for ``/api/v1``."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from yodel.kube.node_status import KubeNodeStatuses
from yodel.ports.clock import Clock
from yodel.rm_api.hadoop.services import CHANGES_WAITING_GAUGE
from yodel.rm_api.standby import LEADER_GAUGE
from yodel.rm_api.v1.process_facts import Lead, ProcessFacts
from yodel.services.core import Core
from yodel.settings.rm import Settings
from yodel.store.engine import is_shared
from yodel.store.leadership import Leadership
from yodel.telemetry.loop_turns import LoopTurns
from yodel.wiring.from_settings import lacking_for_colocation
from yodel.wiring.kube import KubeSide


def gauges(core: Core, kube: KubeSide, turns: LoopTurns, lead: Leadership | None) -> dict[str, float]:
    lease = {} if lead is None else {"lease_remaining_seconds": lead.remaining_s}
    return {
        **kube.gauges(),
        **lease,
        **turns.gauges(),
        **core.capacities.gauges(),
        LEADER_GAUGE: 1,
        CHANGES_WAITING_GAUGE: core.engine.waiting,
        **_containers(core),
        "reconciles_waiting": len(core.reconciles),
        "pod_events_dropped": core.inspection.dropped,
        "unplaceable_asks": len(core.state.reasons.misfits),
        "waiting_pods": len(core.state.reasons.waits),
        "preemption_notices": len(core.preemption.notices),
        "preemption_notices_total": core.preemption.given_count,
        "preempted_containers_total": core.preemption.preempted_count,
        "pods_lost_total": core.reconciler.lost_count,
        "pods_refused_by_nodes_total": core.reconciler.refused_count,
        "colocation_preemption_notices_total": core.taking_back.given_count,
        "emergency_containers_total": core.reports.preempted_count,
        "colocation_preempted_containers_total": core.taking_back.ended_count,
        "withdrawn_pods_total": core.preemption.withdrawn_count,
    }


def _containers(core: Core) -> dict[str, float]:
    """Count containers with a node, those that are scheduling, and those that are pending."""
    state, cluster = core.state, core.state.usage.cluster
    return {
        "containers_allocated": cluster.allocated_containers,
        "containers_starting": cluster.starting_containers,
        "containers_pending": sum(state.pending_of(attempt_id)[0] for attempt_id in state.masters.runtimes),
        "nodes_reserved": len(state.holds.all),
    }


def process_facts(
    core: Core, settings: Settings, clock: Clock, kube: KubeSide, lead: Leadership | None
) -> ProcessFacts:
    """Return the facts of this process for ``/api/v1``.  Of several callers one asks for rights at a time."""
    statuses, turn = KubeNodeStatuses(kube.api), asyncio.Lock()

    async def missing_rights() -> Sequence[str]:
        async with turn:
            return [*lacking_for_colocation(settings), *await statuses.missing_rights()]

    def lease() -> Lead | None:
        if lead is None:
            return None
        return Lead(
            holder=lead.holder,
            remaining_s=lead.remaining_s,
            lease_s=lead.lease_s,
            has_standby=lead.has_successor,
            is_standby_expected=settings.leader_handover_s > 0,
        )

    return ProcessFacts(
        started_ms=clock.now_ms(),
        database="PostgreSQL" if is_shared(settings.store_url) else "SQLite",
        lead=lease,
        is_database_silent=lambda: core.engine.doubt is not None,
        settings=settings.differing,
        missing_rights=missing_rights,
    )
