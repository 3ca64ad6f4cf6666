"""Wires all services of one ResourceManager: the one place where they come together.

What differs between a process, a test and a simulation is in ``Ports``: the disk, the clock, Kubernetes, node agents,
users and the settings' files.  What the services are told once is in ``ServiceSettings``.  No adapter is made here and
no setting is read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from yodel.domain.acl import AccessRules
from yodel.domain.allocation.demands import AllocationLimits
from yodel.domain.allocation.holds import HoldRules
from yodel.domain.ask_rules import AskRules
from yodel.domain.colocation.switch import ColocationSwitch
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId
from yodel.domain.preemption.rules import PreemptionRules
from yodel.domain.queues.pools import PoolName
from yodel.domain.queues.queue import Queue
from yodel.domain.tokens import CLIENT_KEY_BYTES
from yodel.ports.clock import Clock, Timers
from yodel.ports.endpoints import Endpoints
from yodel.ports.identity import Users
from yodel.ports.inspection import ApplicationBoard, PodEvents
from yodel.ports.kube_nodes import NodeStatuses
from yodel.ports.node_agents import NodeAgents
from yodel.ports.pods import Pods
from yodel.ports.store import EndedKept, Row, Snapshot, Store
from yodel.services import recovery
from yodel.services.access.rights import Rights
from yodel.services.applications.changes import ApplicationChanges
from yodel.services.applications.launcher import AmLauncher
from yodel.services.applications.log_aggregation import LogAggregationReports
from yodel.services.applications.shuffle_endpoints import ShuffleEndpoints
from yodel.services.applications.submission import SubmissionLimits, SubmissionService
from yodel.services.keys.amrm import AmrmKeys
from yodel.services.keys.delegation import DelegationSettings, DelegationTokens
from yodel.services.keys.masters import MasterKeys, RollingSettings
from yodel.services.keys.tokens import TokenIssuer
from yodel.services.liveness import Liveness, LivenessSettings
from yodel.services.masters.service import MasterService
from yodel.services.nodes.administration import AdminService, AdminSettings, Reloads
from yodel.services.nodes.agents import Agents
from yodel.services.nodes.capacity import Capacities
from yodel.services.nodes.container_reports import ContainerReports
from yodel.services.nodes.decommission import Decommission
from yodel.services.nodes.facts import Change, Facts
from yodel.services.nodes.heartbeat import Heartbeats
from yodel.services.nodes.holdings import Holdings
from yodel.services.nodes.lending import NodePools
from yodel.services.nodes.lent_as import is_switched_on, measures_of, require_possible
from yodel.services.nodes.node_managers import NodeManagerAdmission, NodeManagerRules
from yodel.services.nodes.pod_trials import drawing_on, require_giving_way
from yodel.services.nodes.publisher import Publisher
from yodel.services.nodes.registration import Registration
from yodel.services.nodes.taking_back import TakingBack
from yodel.services.nodes.topology import Topology
from yodel.services.nodes.written_limits import WrittenLimits
from yodel.services.performer import EffectPerformer
from yodel.services.pods.binder import Binder
from yodel.services.pods.forgetting import Forgetting
from yodel.services.pods.inspection import Inspection, InspectionSettings
from yodel.services.pods.making import PodMaker
from yodel.services.pods.node_manager_chooser import NodeManagerChooser
from yodel.services.pods.reconciler import Reconciler, ReconcilerSettings
from yodel.services.pods.work_queue import WorkQueue
from yodel.services.scheduling.configuration import Consequences, SchedulerConfService
from yodel.services.scheduling.marked_queues import MarkedQueues
from yodel.services.scheduling.misfits import ConstraintsHandler, Misfits
from yodel.services.scheduling.placement_inputs import NodeNames, PlacementInputs
from yodel.services.scheduling.preemption import Preemption
from yodel.services.scheduling.scheduler import Scheduler
from yodel.services.scheduling.window_edges import WindowEdges
from yodel.services.views.queries import Queries
from yodel.services.views.transitions import Transitions
from yodel.services.writer.engine import Engine
from yodel.services.writer.maximum import MaximumAllocation
from yodel.services.writer.quotas import Quotas
from yodel.services.writer.state import ClusterState
from yodel.translator.dialects import GangKind
from yodel.translator.placement import Landmarks
from yodel.translator.profiles import PodProfiles


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """The world outside.  Of ``events`` and ``board`` None is: nobody writes these.

    ``see_holdings`` hears that what others' pods hold has to be seen from now on: nodes are chosen here, or what they
    lend is published;
    ``require_kinds`` raises InvalidValue for a kind of group that the cluster lacks, Refused or Unavailable when it
    does not say.  ``addresses_of`` resolves a host name; it blocks, and raises OSError.  ``read_settings``, ``text_of``
    and ``reload_proxy_users`` block, and raise InvalidValue; ``text_of`` raises Refused for a file that cannot be read.
    """

    store: Store
    clock: Clock
    timers: Timers
    random: Callable[[], float]
    random_bytes: Callable[[int], bytes]
    pods: Pods
    statuses: NodeStatuses
    see_holdings: Callable[[], None]
    require_kinds: Callable[[Iterable[GangKind]], Awaitable[None]]
    events: PodEvents | None
    board: ApplicationBoard | None
    agents: NodeAgents
    endpoints: Endpoints
    users: Users
    addresses_of: Callable[[str], Collection[str]]
    read_settings: Callable[[], AdminSettings]
    text_of: Callable[[Path], str]
    reload_proxy_users: Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings:
    """Configures the services.  No field has a default: whoever wires a ResourceManager sets all of them.

    ``company_s`` and ``ask_again_s`` are the engine's; ``rack_label`` is the label that names a node's rack;
    ``are_nodes_watched`` says that somebody tells ``facts`` of Kubernetes' nodes, which lend what is not native;
    ``is_node_proof_required`` says that node agents have tokens, ``is_secured`` that clients prove who they are, to
    ApplicationMasters too; ``are_all_users_known`` says that every user is one of
    this machine; ``decommission_timeout_s`` is that of a graceful leave for which none is given, negative for ever;
    ``lacking_for_colocation`` are settings without which measured capacity cannot be lent, each in words.
    """

    company_s: float
    ask_again_s: float
    access: AccessRules
    allocation: AllocationLimits
    preemption: PreemptionRules
    holds: HoldRules
    asks: AskRules
    constraints_handler: ConstraintsHandler
    submission: SubmissionLimits
    is_log_aggregation_enabled: bool
    delegation: DelegationSettings
    rolling: RollingSettings
    amrm_rolling_interval_s: float
    liveness: LivenessSettings
    decommission_timeout_s: int
    rack_label: str
    are_nodes_watched: bool
    pod_profiles: PodProfiles
    are_all_users_known: bool
    reconciler: ReconcilerSettings
    ended_kept: EndedKept
    inspection: InspectionSettings
    lacking_for_colocation: Sequence[str]
    node_managers: NodeManagerRules
    is_node_proof_required: bool
    is_secured: bool


class Core:
    """The services of one life of a ResourceManager.  Nothing runs before ``take_up`` and the ``loops``."""

    @classmethod
    def of(cls, ports: Ports, limits: ServiceSettings, stored: Snapshot) -> Core:
        """``stored`` is what ``recovery.opened`` found.  To be called in the event loop."""
        core = cls(ports, limits, stored)
        core.engine.follow_with(core._published)
        core.engine.perform_with(core.performer)
        core._use_profiles(limits.pod_profiles)
        core.scheduler_conf.start()
        return core

    def __init__(self, ports: Ports, limits: ServiceSettings, stored: Snapshot) -> None:
        self._ports, self._limits = ports, limits
        self._tick_wanted = asyncio.Event()
        self.state = ClusterState.of(stored)
        self.engine = Engine(
            self.state,
            ports.store,
            ports.clock,
            limits.company_s,
            ask_again_s=limits.ask_again_s,
            client_key=partial(ports.random_bytes, CLIENT_KEY_BYTES) if limits.is_secured else bytes,
        )
        self.quotas = Quotas(
            self.state, limits.allocation.minimum, limits.allocation.am_share, limits.preemption, ports.clock
        )
        self.tokens = TokenIssuer(stored.master_keys, stored.identity.cluster_timestamp_ms, self._pod_uid_of)
        self.rights = Rights(self.state, ports.users, limits.access, limits.delegation.login_user)
        self.facts = Facts(self.state, ports.clock)
        self._wire_pods()
        self._wire_nodes(stored)
        self._wire_scheduling()
        self._wire_applications(stored)
        self._wire_administration()
        self.transitions = Transitions(self.state, ports.clock)
        self.performer = EffectPerformer(self.state, self.nodes, ports.clock, self.reconciles.add, self.launches.add)

    def _wire_pods(self) -> None:
        """Wire the services between a container's row and its pod."""
        ports, limits, state = self._ports, self._limits, self.state
        self.topology = Topology(
            self.engine,
            self.facts,
            limits.rack_label,
            are_labels_enabled=limits.asks.are_node_labels_enabled,
            wake_scheduler=self._tick_wanted.set,
        )
        landmarks = Landmarks(
            rack_label=limits.rack_label,
            hostname_of=self.topology.hostname_label,
            are_labels_enabled=limits.asks.are_node_labels_enabled,
        )
        profiles, are_all_known = limits.pod_profiles, limits.are_all_users_known
        self.maker = PodMaker(state, ports.users, profiles, landmarks, are_all_users_known=are_all_known)
        # They ask the reconciler and it asks them: the reconciler is looked for when there is something to ask.
        self.reconciles: WorkQueue[ContainerId] = WorkQueue(
            lambda container_id: self.reconciler.reconcile(container_id),
            ports.random,
            ports.timers,
            goes_first=self._has_pod,
        )
        namespace = limits.pod_profiles.default.namespace
        self.placement_inputs = PlacementInputs(
            state,
            NodeNames(of=self.topology.names_of, version=lambda: self.topology.version),
            are_labels_enabled=limits.asks.are_node_labels_enabled,
        )
        self.node_managers = NodeManagerChooser(
            state, self.placement_inputs.nodes_of, self.maker.why_pod, are_first=limits.node_managers.are_first
        )
        self.binder = Binder(
            state,
            ports.clock,
            namespace,
            lambda c: self.maker.profiles.of(c.queue).binds,
            self.reconciles.add,
            self._see_others,
            lambda name: self.publisher.held_changed(name),
        )
        self.forgetting = Forgetting(self.engine, ports.store, ports.clock, limits.ended_kept, self._has_pod)
        self.reconciler = Reconciler(
            self.engine,
            ports.pods,
            ports.clock,
            self.maker.manifest_of,
            limits.reconciler,
            self.reconciles.add,
            self.node_managers,
            self.binder,
            self.forgetting.may_go,
        )
        self.inspection = Inspection(
            state, self.reconciler.observed, ports.clock, limits.inspection, events=ports.events, board=ports.board
        )

    def _wire_nodes(self, stored: Snapshot) -> None:
        """Node agents: who they are, what is launched there, and when they are given up."""
        ports, limits = self._ports, self._limits
        clock = ports.clock
        facts, are_watched = self.facts, limits.are_nodes_watched
        self.lending = NodePools(facts, self.state, self._tick_wanted.set, are_nodes_watched=are_watched)
        self.publisher = Publisher(facts, self.state, clock, ports.statuses, self.binder.held_on, ports.see_holdings)
        self.written_limits = WrittenLimits(self.state, clock, facts)
        for change, follower in (
            (Change.SEEN, self.topology.changed),
            (Change.SEEN, self.publisher.seen),
            (Change.TOLD, self.publisher.told),
            (Change.TOLD, self.written_limits.told),
            (Change.COUNTED, self.lending.changed),
        ):
            if are_watched:
                facts.follow(change, follower)
        facts.follow(Change.COUNTED, lambda changes: self.binder.nodes_changed(changes, facts.counted))
        self.nodes = Agents(self.state, clock, facts, is_proof_required=limits.is_node_proof_required)
        self.reports = ContainerReports(self.engine, self.reconciler.end_from_outside)
        are_labels_enabled = limits.asks.are_node_labels_enabled
        admission = NodeManagerAdmission(
            limits.node_managers.allowed, ports.addresses_of, are_labels_enabled=are_labels_enabled
        )
        self.registration = Registration(
            self.engine, clock, self.nodes, self.reports, self.topology.place_of, self.topology.owner_of, admission
        )
        self.heartbeats = Heartbeats(
            self.engine,
            clock,
            self.nodes,
            self.reports,
            facts,
            self.written_limits,
            self.reconciler.observed,
            lambda node_id: self.holdings.ranks(node_id),
            admission.why_labels_refused,
        )
        self.launcher = AmLauncher(self.engine, ports.agents, self.tokens, clock)
        self.launches: WorkQueue[ApplicationAttemptId] = WorkQueue(self.launcher.launch, ports.random, ports.timers)
        self.liveness = Liveness(self.engine, self.nodes, clock, limits.liveness)
        self.master_keys = MasterKeys(
            self.engine, self.tokens, clock, ports.random_bytes, limits.rolling, stored.master_keys
        )
        self.decommission = Decommission(
            self.engine, self.nodes, clock, limits.decommission_timeout_s, lambda: facts.cordoned if are_watched else ()
        )
        self.capacities = Capacities(facts, self.publisher, self.written_limits, self.nodes, self.binder.held_on)
        self.holdings = Holdings(self.state, clock, facts, self.quotas, self.binder.others_on)
        self.taking_back = TakingBack(
            self.engine,
            clock,
            facts,
            self.holdings,
            self.rights,
            self.inspection.noticed,
        )

    def _wire_scheduling(self) -> None:
        limits, clock = self._limits, self._ports.clock
        self.misfits = Misfits(self.state, clock, limits.constraints_handler, self.inspection.misfit)
        self.scheduler = Scheduler(
            self.engine,
            limits.allocation,
            clock,
            self.placement_inputs,
            self.misfits,
            self.quotas,
            self._tick_wanted,
            self.node_managers,
            self._binds_itself,
            limits.holds,
            self._holds_changed,
        )
        self.window_edges = WindowEdges(self.engine, clock, self.quotas, self._tick_wanted.set)
        self.preemption = Preemption(self.engine, clock, self.scheduler, self.quotas, self.inspection.noticed)

    def _wire_applications(self, stored: Snapshot) -> None:
        """Wire the services that clients and ApplicationMasters call."""
        ports, limits, clock = self._ports, self._limits, self._ports.clock
        maximum = MaximumAllocation(self.state, limits.allocation)
        self.submission = SubmissionService(
            self.engine,
            self.rights,
            limits.submission,
            limits.allocation,
            maximum,
            self.quotas,
            limits.asks,
            self.maker.require_runnable,
        )
        self.master = MasterService(
            self.engine,
            self.tokens,
            clock,
            maximum,
            self._tick_wanted.set,
            self.forgetting.acknowledged,
            self.quotas,
            limits.asks,
        )
        self.amrm_keys = AmrmKeys(self.engine, self.tokens, clock, ports.random_bytes, limits.amrm_rolling_interval_s)
        self.changes = ApplicationChanges(self.engine, self.rights, self.submission.capped_priority, self.quotas)
        self.delegation_tokens = DelegationTokens(self.engine, clock, ports.random_bytes, limits.delegation, stored)
        self.shuffle_endpoints = ShuffleEndpoints(self.state, ports.endpoints)
        self.log_aggregation = LogAggregationReports(self.state, clock, is_enabled=limits.is_log_aggregation_enabled)
        self.queries = Queries(self.state, clock, self.tokens, limits.allocation, self.quotas)
        self.queries.losers, self.queries.ends_after_s = self.preemption.losers, lambda: self.preemption.ends_after_s
        self.queries.why.max_priority = lambda: self.submission.max_priority
        self.queries.why.look = self.scheduler.fresh_decision.wait

    def _wire_administration(self) -> None:
        ports, limits = self._ports, self._limits
        reloads = Reloads(
            read=ports.read_settings,
            text=ports.text_of,
            proxy_users=ports.reload_proxy_users,
            max_priority=self.submission.use_max_priority,
            pod_profiles=self._change_profiles,
        )
        self.admin = AdminService(self.engine, self.nodes, self.decommission, self.rights, ports.users, reloads)
        self.scheduler_conf = SchedulerConfService(
            self.engine,
            ports.store,
            self._initial_queues,
            limits.allocation.am_share,
            Consequences(
                am_share=self._use_am_share,
                mapping=self.submission.use_mapping,
                colocation=self.use_colocation,
                require_colocation=self._require_colocation,
            ),
            self.rights,
        )
        self.marked_queues = MarkedQueues(self.engine, self.scheduler_conf.remove_empty)

    # --- what runs -------------------------------------------------------------------------------------------------

    async def expect(self) -> None:
        """Before anything else: the ApplicationMasters that live are waited for."""
        await recovery.expect_attempts(self.engine, self._ports.clock)

    async def resume(self) -> None:
        """Once the engine runs: what was under way is taken up."""
        await recovery.resume(self.engine, self._ports.clock, self.launches.add, self.reconciles.add)

    def loops(self) -> dict[str, Coroutine[Any, Any, None]]:
        """Return the tasks that run until the end, by name; the engine first."""
        return {
            "engine": self.engine.run(),
            "scheduler": self.scheduler.run(),
            "windows": self.window_edges.run(),
            "marked queues": self.marked_queues.run(),
            "preemption": self.preemption.run(),
            "reconciler": self.reconciles.run(),
            "launcher": self.launches.run(),
            "liveness": self.liveness.run(),
            "forgetting": self.forgetting.run(),
            "delegation tokens": self.delegation_tokens.run(),
            "AMRM keys": self.amrm_keys.run(),
            "decommission": self.decommission.run(),
            "master keys": self.master_keys.run(),
            "resync": self.reconciler.run_resync(),
            "inspection": self.inspection.run(),
            "binder": self.binder.run(),
            "publishing": self.publisher.run(),
            "lent preemption": self.taking_back.run(),
            "shuffle endpoints": self.shuffle_endpoints.run(),
        }

    # --- what goes from one to others ------------------------------------------------------------------------------

    def _published(self, rows: Sequence[Row], removed: Sequence[ApplicationId]) -> None:
        self.inspection.published(rows, removed)
        self.transitions.published(rows, removed)
        self.binder.published(rows)
        self.publisher.committed(rows)
        self.window_edges.published()
        self.marked_queues.published(rows)
        self.shuffle_endpoints.published()
        self.scheduler.published(rows)
        self.submission.published(rows, removed)

    def _holds_changed(self, pool: PoolName) -> None:
        """Pods that wait for a place are looked at: those that may go to other nodes now are made again."""
        for container in self.state.container_index.planned.values():
            if self.state.pools.pools.of(container.queue) == pool:
                self.reconciles.add(container.id)
        self.binder.holds_changed()

    def _binds_itself(self, queue: str) -> bool:
        """Return whether no scheduler keeps the constraints of all of a queue's containers."""
        return self.maker.profiles.of(queue).binds or self.state.pools.has_node_managers(queue)

    def _has_pod(self, container_id: ContainerId) -> bool:
        return self.reconciler.has_pod(container_id)

    def _pod_uid_of(self, container_id: ContainerId) -> str:
        pod = self.reconciler.observed(container_id)
        return pod.uid if pod is not None else ""

    async def _change_profiles(self, profiles: PodProfiles) -> None:
        await self._ports.require_kinds(profiles.gang_kinds)
        measures = measures_of(self.facts.terms.colocation, profiles.pool_rules())
        if measures is not None:
            known = self.maker.profiles.all
            await require_giving_way(self._ports.pods, drawing_on(profiles, measures), known)
        self._use_profiles(profiles)

    def _use_profiles(self, profiles: PodProfiles) -> None:
        self.maker.use(profiles)
        rules = profiles.pool_rules()
        self.lending.use(rules)
        self.publisher.use(self.facts.terms.colocation, rules)
        if profiles.binds:
            self._ports.see_holdings()
            self.binder.tell_of_all_others()
        self.scheduler.wake()

    def _see_others(self, node_name: str, held: Mapping[str, int]) -> None:
        """Count the usage of others, if nodes are chosen here; not if it is known only because lent capacity is
        published."""
        if self.maker.profiles.binds:
            self.lending.see_others(node_name, held)

    async def _require_colocation(self, wanted: ColocationSwitch) -> Sequence[str]:
        if not is_switched_on(wanted, self.facts.terms.colocation):
            return ()
        lacking, statuses = self._limits.lacking_for_colocation, self._ports.statuses
        measures = await require_possible(wanted, self.lending.rules, lacking, statuses)
        return await require_giving_way(self._ports.pods, drawing_on(self.maker.profiles, measures))

    def use_colocation(self, colocation: ColocationSwitch) -> None:
        """Use these colocation settings from now on."""
        self.publisher.use(colocation, self.lending.rules)

    def _use_am_share(self, am_share: float) -> None:
        limits = replace(self.scheduler.limits, am_share=am_share)
        self.queries.limits = limits
        self.scheduler.use_limits(limits)

    async def _initial_queues(self) -> Sequence[Queue]:
        return (await self.admin.settings()).queues
