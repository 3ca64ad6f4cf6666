"""One ResourceManager: all its parts, wired.  The only file that constructs adapters."""

from __future__ import annotations

import asyncio
import getpass
import hashlib
import hmac
import os
import random
import secrets
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import structlog

from yodel import __version__
from yodel.domain.acl import AccessRules, Acl
from yodel.domain.allocation.decide import AllocationLimits
from yodel.domain.ask_rules import AskRules
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId
from yodel.domain.queues.queue import Queue
from yodel.errors import Refused, Unavailable
from yodel.hadoop_rpc.framing import MIB
from yodel.host.clock import LoopTimers
from yodel.host.users import OsUsers
from yodel.kube.groups import GroupedPods
from yodel.kube.inspection import KubeApplicationBoard, KubePodEvents
from yodel.kube.own_pod import OwnPod
from yodel.kube.pod_driver import DriverLimits, PodDriver
from yodel.ports.clock import Clock
from yodel.ports.identity import PosixUser
from yodel.ports.store import Row, Snapshot, Store
from yodel.rm_api.app import RestServices, RestSettings, create_app
from yodel.rm_api.context import CHANGES_WAITING_GAUGE
from yodel.rm_api.server import serve as serve_rest
from yodel.rm_api.standby import LEADER_GAUGE
from yodel.rm_rpc.admin_protocol import AdminProtocol
from yodel.rm_rpc.audited import audited_admin, audited_client
from yodel.rm_rpc.client_protocol import ClientProtocol, ClientServices
from yodel.rm_rpc.ha_protocol import HaProtocol
from yodel.rm_rpc.master_protocol import MasterProtocol
from yodel.rm_rpc.node_agents import RpcNodeAgents
from yodel.rm_rpc.remote_errors import fault_for
from yodel.rm_rpc.tracker_protocol import TrackerProtocol
from yodel.rm_rpc.user_mappings import UserMappings
from yodel.rpc_io.dispatch import CallLimits, Dispatcher, RetryCacheLimits, RpcProtocol
from yodel.rpc_io.server import RpcLimits, RpcServer, ServerSecurity
from yodel.rpc_io.unfinished_frames import UnfinishedFrames
from yodel.services import recovery
from yodel.services.applications.changes import ApplicationChanges
from yodel.services.applications.launcher import AmLauncher
from yodel.services.applications.log_aggregation import LogAggregation
from yodel.services.applications.submission import SubmissionLimits, SubmissionService
from yodel.services.keys.amrm import AmrmKeys
from yodel.services.keys.delegation import DelegationTokens
from yodel.services.keys.masters import MasterKeys
from yodel.services.keys.tokens import TokenIssuer
from yodel.services.liveness import Liveness, LivenessSettings
from yodel.services.masters.service import MasterService
from yodel.services.nodes.administration import READ_TIMEOUT_S, AdminService, AdminSettings, Reloads
from yodel.services.nodes.agents import NodeService
from yodel.services.nodes.cordons import Cordons
from yodel.services.nodes.decommission import Decommission
from yodel.services.nodes.sinks import NodeSinks
from yodel.services.nodes.topology import Topology
from yodel.services.performer import EffectPerformer
from yodel.services.pods.binder import Binder
from yodel.services.pods.forgetting import Forgetting
from yodel.services.pods.inspection import Inspection, InspectionSettings
from yodel.services.pods.making import PodMaker
from yodel.services.pods.reconciler import Reconciler, ReconcilerSettings
from yodel.services.pods.work_queue import WorkQueue
from yodel.services.scheduling.configuration import SchedulerConfService
from yodel.services.scheduling.misfits import Misfits
from yodel.services.scheduling.scheduler import Scheduler
from yodel.services.scheduling.surroundings import NodeNames, Surroundings
from yodel.services.views.queries import Queries
from yodel.services.views.transitions import Transitions
from yodel.services.writer.engine import Engine
from yodel.services.writer.state import ClusterState
from yodel.settings import hadoop_properties
from yodel.settings.rm import Settings
from yodel.store.leadership import Leadership
from yodel.telemetry import garbage
from yodel.telemetry.loop_turns import LoopTurns
from yodel.translator import names
from yodel.translator.dialects import gang_kinds
from yodel.translator.placement import Landmarks
from yodel.translator.profiles import PodProfiles
from yodel.wiring import from_settings
from yodel.wiring.kube import KubeSide
from yodel.wiring.web_rules import connection_limits, with_rules

COMPANY_S = 0.025
"""Between two commits of what many pods became at once: a tenth of what a Kubernetes needs to bind and start one."""
log = structlog.get_logger("yodel.wiring.process")


class _Stoppable(Protocol):
    async def stop(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """Where a started RM listens."""

    client_port: int
    scheduler_port: int
    tracker_port: int
    admin_port: int
    webapp_port: int


class Rm:
    """All parts of one RM, wired."""

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        store: Store,
        stored: Snapshot,
        state: ClusterState,
        tokens: TokenIssuer,
        reload: Callable[[], Settings],
        lead: Leadership | None,
    ) -> None:
        self._settings, self._clock, self._tokens, self._reload = settings, clock, tokens, reload
        self._lead = lead
        self._not_ready = "applications are being taken up"
        self._rpc_servers: Sequence[RpcServer] = ()
        self.turns = LoopTurns()
        self._kube = KubeSide(settings, clock, from_settings.pace_limits(settings), lead)
        limits = from_settings.allocation_limits(settings)
        self._ask_rules = AskRules(
            minimum=limits.minimum,
            are_node_labels_enabled=settings.node_labels_enabled,
            opportunistic=settings.opportunistic_containers,
            per_key_max=settings.asked_containers_per_key_max,
            count_max=settings.asked_containers_max,
        )
        self._users = OsUsers(
            min_user_id=settings.min_user_id,
            allowed_system_users=settings.allowed_system_users,
            mapped={name: PosixUser(**ids.model_dump()) for name, ids in settings.user_ids.items()},
        )
        self.engine = Engine(state, store, clock, COMPANY_S)
        self._store = store
        self.topology = Topology(
            self.engine,
            settings.rack_label,
            are_labels_enabled=settings.node_labels_enabled,
            wake_scheduler=lambda: self.scheduler.wake(),
        )
        self._wire_scheduler(limits)
        self._wire_applications(stored, limits)
        self._wire_pods()
        self._wire_nodes(stored)
        self._wire_followers()

    def _wire_scheduler(self, limits: AllocationLimits) -> None:
        settings, clock, state = self._settings, self._clock, self.engine.state
        self._misfits = Misfits(state, clock, settings.placement_constraints_handler)
        self.scheduler = Scheduler(
            self.engine,
            limits,
            clock,
            Surroundings(
                state,
                NodeNames(of=self.topology.names_of, version=lambda: self.topology.version),
                are_labels_enabled=settings.node_labels_enabled,
            ),
            self._misfits,
            lambda queue: self._maker.profiles.of(queue).placement == "bind",
        )

    def _wire_applications(self, stored: Snapshot, limits: AllocationLimits) -> None:
        """What clients and ApplicationMasters talk to."""
        settings, clock, state, tokens = self._settings, self._clock, self.engine.state, self._tokens
        rules = AccessRules(admin_acl=Acl.parse(settings.admin_acl), is_view_checked=settings.acl_enable)
        self.submission = SubmissionService(
            self.engine,
            self._users,
            rules,
            SubmissionLimits(
                max_attempts=settings.am_max_attempts,
                max_priority=settings.max_priority,
                completed_max=settings.completed_max,
                room=from_settings.submission_room(settings),
            ),
            limits,
            self._ask_rules,
        )
        self.master = MasterService(
            self.engine,
            tokens,
            clock,
            self.submission.require_allowed,
            limits.maximum,
            self.scheduler.wake,
            self._ask_rules,
        )
        self.amrm_keys = AmrmKeys(self.engine, tokens, clock, secrets.token_bytes, settings.am_key_rolling_interval_s)
        self.changes = ApplicationChanges(self.engine, self.submission, are_queues_guarded=settings.acl_enable)
        self.delegation_tokens = DelegationTokens(
            self.engine, clock, secrets.token_bytes, from_settings.delegation_settings(settings), stored
        )
        self.log_aggregation = LogAggregation(state, clock, is_enabled=settings.log_aggregation_enable)
        self.queries = Queries(state, clock, tokens, limits)

    def _wire_pods(self) -> None:
        """From a container's row to its pod and back."""
        settings, clock, state = self._settings, self._clock, self.engine.state
        self._maker = PodMaker(
            state,
            self._users,
            from_settings.pod_profiles(settings),
            Landmarks(
                rack_label=settings.rack_label,
                hostname_of=self.topology.hostname_label,
                are_labels_enabled=settings.node_labels_enabled,
            ),
            are_all_users_known=settings.user_mode == "os",
        )
        pods = PodDriver(
            self._kube.api,
            settings.namespace,
            DriverLimits(creates_per_second=settings.pod_creates_per_second, creates_burst=settings.pod_creates_burst),
        )
        self._pods = GroupedPods(pods, self._kube.api, settings.namespace, self._maker.group_of)
        self.reconciles: WorkQueue[ContainerId] = WorkQueue(
            self._reconcile,
            random.random,
            LoopTimers(),
            goes_first=lambda container_id: self.reconciler.has_pod(container_id),
        )
        self.binder = Binder(
            state, clock, settings.namespace, lambda c: self._maker.profiles.of(c.queue).binds, self.reconciles.add
        )
        self._use(self._maker.profiles)
        self.forgetting = Forgetting(
            self.engine,
            self._store,
            clock,
            from_settings.ended_kept(settings),
            lambda container_id: self.reconciler.has_pod(container_id),
        )
        self.reconciler = Reconciler(
            self.engine,
            self._pods,
            clock,
            self._maker.manifest_of,
            ReconcilerSettings(pod_retention_s=settings.pod_retention_s, resync_interval_s=settings.resync_interval_s),
            self.reconciles.add,
            self.binder,
            self.forgetting.may_go,
        )

    def _wire_nodes(self, stored: Snapshot) -> None:
        """Node agents: who they are, what is launched there, when they are given up, and their administration."""
        settings, clock, tokens = self._settings, self._clock, self._tokens
        self.nodes = NodeService(self.engine, clock, self.reconciler.end_from_outside, self.topology.place_of)
        launcher = AmLauncher(self.engine, RpcNodeAgents(lambda: secrets.token_bytes(16)), tokens, clock)
        self.launches: WorkQueue[ApplicationAttemptId] = WorkQueue(launcher.launch, random.random, LoopTimers())
        self.liveness = Liveness(
            self.engine,
            self.nodes,
            clock,
            LivenessSettings(
                am_expiry_s=settings.am_expiry_s,
                node_expiry_s=settings.node_expiry_s,
                container_expiry_s=settings.container_expiry_s,
            ),
        )
        self.master_keys = MasterKeys(
            self.engine,
            tokens,
            clock,
            secrets.token_bytes,
            from_settings.rolling_settings(settings),
            stored.master_keys,
        )
        self.cordons = Cordons()
        self.decommission = Decommission(
            self.engine, self.nodes, clock, settings.decommission_timeout_s, self.cordons.names
        )
        self._proxy_users = from_settings.proxy_users(settings, self._users)
        self.admin = AdminService(
            self.engine, self.nodes, self.decommission, self._users, self._reloads(), getpass.getuser()
        )
        self.scheduler_conf = SchedulerConfService(
            self.engine,
            self._initial_queues,
            settings.am_share,
            self._use_am_share,
            self.admin.is_admin,
            are_acls_enabled=settings.acl_enable,
        )
        self.scheduler_conf.start()

    def _wire_followers(self) -> None:
        """Who is told of commits, and who carries out what they ask for."""
        self.inspection = self._inspection()
        self.transitions = Transitions(self.engine.state, self._clock)
        self.engine.follow_with(self._published)
        self._misfits.tell = self.inspection.misfit
        self.engine.perform_with(
            EffectPerformer(
                self.engine.state,
                self.nodes,
                self._clock,
                self.reconciles.add,
                self.launches.add,
            )
        )

    async def run(self, stop: asyncio.Event, on_ready: Callable[[Addresses], None] | None) -> None:
        await recovery.expect_attempts(self.engine, self._clock)
        seen = NodeSinks(self.cordons, self.topology, self.binder)
        async with asyncio.TaskGroup() as tasks:
            running = [
                tasks.create_task(self.engine.run(), name="engine"),
                tasks.create_task(self.scheduler.run(), name="scheduler"),
                tasks.create_task(self.reconciles.run(), name="reconciler"),
                tasks.create_task(self.launches.run(), name="launcher"),
                tasks.create_task(self.liveness.run(), name="liveness"),
                tasks.create_task(self.forgetting.run(), name="forgetting"),
                tasks.create_task(self.delegation_tokens.run(), name="delegation tokens"),
                tasks.create_task(self.amrm_keys.run(), name="AMRM keys"),
                tasks.create_task(self.decommission.run(), name="decommission"),
                tasks.create_task(self.master_keys.run(), name="master keys"),
                tasks.create_task(self.reconciler.run_resync(), name="resync"),
                tasks.create_task(self._kube.watch_pods(self.reconciler, self._require_groups), name="pod watch"),
                tasks.create_task(self.inspection.run(), name="inspection"),
                tasks.create_task(self._kube.watch_nodes(seen, self.binder), name="node watch"),
                tasks.create_task(self._kube.watch_holdings(self.binder), name="watch of bound pods"),
                tasks.create_task(self.binder.run(), name="binder"),
                tasks.create_task(self._sweep_groups(), name="group sweep"),
                tasks.create_task(garbage.run(), name="garbage"),
                tasks.create_task(self.turns.run(), name="loop turns"),
                tasks.create_task(self._end_with_own_pod(stop), name="own pod"),
            ]
            await recovery.resume(self.engine, self._clock, self.launches.add, self.reconciles.add)
            await self.admin.start()
            servers, addresses = await self._listen()
            self.scheduler.wake()
            self._not_ready = ""
            log.info("ResourceManager started", **_fields(addresses))
            if on_ready is not None:
                on_ready(addresses)
            await stop.wait()
            self.transitions.end()
            for server in servers:
                await server.stop()
            for task in running:
                task.cancel()

    def not_ready(self) -> str:
        """Why nothing should be sent here yet; empty when all ports are served."""
        return self._not_ready

    async def _end_with_own_pod(self, stop: asyncio.Event) -> None:
        settings = self._settings
        if settings.own_pod_name:
            pod = OwnPod(self._kube.late, self._clock, namespace=settings.own_pod_namespace, name=settings.own_pod_name)
            await pod.until_over()
            stop.set()

    async def _listen(self) -> tuple[list[_Stoppable], Addresses]:
        settings = self._settings
        web, webapp_port = await self._serve_rest()
        self.engine.state.web_address = f"{settings.host}:{webapp_port}"
        client = ClientProtocol(self._client_services(), self.engine.state.web_address)
        master = MasterProtocol(
            self.master,
            self.queries,
            self._tokens,
            are_constraints_taken=settings.placement_constraints_handler != "disabled",
        )
        tracker = TrackerProtocol(
            self.nodes,
            self._tokens,
            settings.node_heartbeat_interval_ms,
            f"yodel-{__version__}",
            master_keys=self.master_keys,
            log_aggregation=self.log_aggregation,
        )
        proxies = self._proxy_users
        node_passwords = from_settings.node_passwords(settings.node_token_file)
        by_name_or_token = ServerSecurity(allow_simple=True, proxy_users=proxies, token_passwords=client.token_grant)
        by_am_token = ServerSecurity(allow_simple=False, token_passwords=master.token_grant)
        by_node_token = ServerSecurity(allow_simple=node_passwords is None, token_passwords=node_passwords)
        by_name = ServerSecurity(allow_simple=True, proxy_users=proxies)
        limits = from_settings.rpc_limits_of_ports(settings.rpc)
        calls = CallLimits(fields_max=settings.rpc.call_fields_max, items_max=settings.rpc.call_items_max)
        unfinished = UnfinishedFrames(settings.rpc.unfinished_frames_mib_max * MIB)
        servers = [
            _server("client", [audited_client(client.protocol())], by_name_or_token, limits.client, calls, unfinished),
            _server("scheduler", [master.protocol()], by_am_token, limits.scheduler, calls, unfinished),
            _server("tracker", [tracker.protocol()], by_node_token, limits.tracker, calls, unfinished),
            _server("admin", self._admin_protocols(), by_name, limits.admin, calls, unfinished),
        ]
        wanted = (settings.client_port, settings.scheduler_port, settings.tracker_port, settings.admin_port)
        ports = [
            (await server.start(settings.bind_host, port))[1] for server, port in zip(servers, wanted, strict=True)
        ]
        self._rpc_servers = servers
        addresses = Addresses(
            client_port=ports[0],
            scheduler_port=ports[1],
            tracker_port=ports[2],
            admin_port=ports[3],
            webapp_port=webapp_port,
        )
        return [*servers, web], addresses

    def _admin_protocols(self) -> list[RpcProtocol]:
        mappings = UserMappings(self.admin).protocols()
        protocols = [AdminProtocol(self.admin).protocol(), HaProtocol(self.admin).protocol(), *mappings]
        return [audited_admin(protocol) for protocol in protocols]

    def _reloads(self) -> Reloads:
        """What ``yarn rmadmin`` may change while we run."""

        def read() -> AdminSettings:
            settings = self._reload()
            return AdminSettings(
                admin_acl=settings.admin_acl,
                max_priority=settings.max_priority,
                queues=from_settings.queues(settings),
                pod_profiles=from_settings.pod_profiles(settings),
                nodes_include_path=settings.nodes_include_path,
                nodes_exclude_path=settings.nodes_exclude_path,
                dynamic_resources_path=settings.dynamic_resources_path,
            )

        def use_admin_acl(acl: Acl) -> None:
            self.submission.use_rules(AccessRules(admin_acl=acl, is_view_checked=self._settings.acl_enable))

        async def use_pod_profiles(profiles: PodProfiles) -> None:
            await self._pods.require(profiles.gang_kinds)
            self._use(profiles)

        return Reloads(
            read=read,
            proxy_users=lambda: self._proxy_users.become(from_settings.proxy_users(self._reload(), self._users)),
            admin_acl=use_admin_acl,
            max_priority=self.submission.use_max_priority,
            pod_profiles=use_pod_profiles,
        )

    async def _initial_queues(self) -> Sequence[Queue]:
        async with asyncio.timeout(READ_TIMEOUT_S):
            return from_settings.queues(await asyncio.to_thread(self._reload))

    def _use_am_share(self, am_share: float) -> None:
        limits = replace(self.queries.limits, am_share=am_share)
        self.queries.limits = limits
        self.scheduler.use_limits(limits)

    def _client_services(self) -> ClientServices:
        return ClientServices(
            queries=self.queries,
            submission=self.submission,
            changes=self.changes,
            nodes=self.nodes,
            delegation_tokens=self.delegation_tokens,
            log_aggregation=self.log_aggregation,
        )

    async def _serve_rest(self) -> tuple[_Stoppable, int]:
        """REST first: it answers while a restarted RM takes up what was under way."""
        settings = self._settings
        rest = RestSettings(
            cluster_id=self.queries.cluster_timestamp_ms,
            started_ms=self._clock.now_ms(),
            rm_web_address=f"{settings.host}:{settings.webapp_port}",
            login_user=getpass.getuser(),
            # Cookies survive a restart: the key is made from one that is on disk.
            cookie_secret=hmac.new(self._tokens.current("amrm").secret, b"hadoop.auth", hashlib.sha256).digest(),
            static_user=settings.http_static_user,
            may_static_user_write=settings.http_static_user_may_write,
            are_submissions_enabled=settings.rest_submissions,
            are_lists_filtered=settings.rest_lists_filtered,
            are_labels_enabled=settings.node_labels_enabled,
            proxy_hosts=frozenset(host.lower() for host in settings.web_proxy_hosts),
            is_proxy_warning_shown=settings.web_proxy_warning,
            probe_port=settings.probe_port,
        )
        services = RestServices(
            queries=self.queries,
            submission=self.submission,
            changes=self.changes,
            nodes=self.nodes,
            log_aggregation=self.log_aggregation,
            delegation_tokens=self.delegation_tokens,
            proxy_users=self._proxy_users,
            admin=self.admin,
            activities=self.scheduler.activities,
            scheduler_conf=self.scheduler_conf,
            transitions=self.transitions,
            ended_page=self._store.ended_page,
            observed=self.reconciler.observed,
            namespace=settings.namespace,
            clock=self._clock,
            settings=await asyncio.to_thread(with_rules, rest, settings.web),
            conf=lambda: hadoop_properties.properties(settings),
            gauges=self._gauges,
            rpc_servers=lambda: self._rpc_servers,
            group_lookups=self._users.group_lookups,
            not_ready=self.not_ready,
        )
        limits = connection_limits(settings.web)
        return await serve_rest(create_app(services), settings.bind_host, settings.webapp_port, limits)

    def _use(self, profiles: PodProfiles) -> None:
        self._maker.use(profiles)
        if profiles.binds:
            self._kube.bind()
        self.scheduler.wake()

    def _published(self, rows: Sequence[Row], removed: Sequence[ApplicationId]) -> None:
        self.inspection.published(rows, removed)
        self.transitions.published(rows, removed)
        self.binder.published(rows)
        self.scheduler.published()

    def _inspection(self) -> Inspection:
        settings, kube = self._settings, self._kube.api
        return Inspection(
            self.engine.state,
            self.reconciler.observed,
            self._clock,
            InspectionSettings(
                events_per_second=settings.pod_events_per_second,
                applications_per_second=settings.application_objects_per_second,
            ),
            events=KubePodEvents(kube, settings.namespace) if settings.pod_events else None,
            board=KubeApplicationBoard(kube, settings.namespace, settings.cluster_name)
            if settings.application_objects
            else None,
        )

    def _gauges(self) -> dict[str, float]:
        """For Prometheus."""
        lease = {} if self._lead is None else {"lease_remaining_seconds": self._lead.remaining_s}
        return {
            **self._kube.gauges(),
            **lease,
            **self.turns.gauges(),
            LEADER_GAUGE: 1,
            CHANGES_WAITING_GAUGE: self.engine.waiting,
            "reconciles_waiting": len(self.reconciles),
            "pod_events_dropped": self.inspection.dropped,
            "unplaceable_asks": len(self.engine.state.misfits),
            "waiting_pods": len(self.engine.state.waits),
        }

    async def _require_groups(self) -> None:
        """Raises InvalidValue: a queue wants groups of a kind that the cluster does not have."""
        try:
            await self._pods.require(self._maker.profiles.gang_kinds)
        except (Refused, Unavailable) as error:
            log.warning("kinds of groups not checked", error=str(error))

    async def _sweep_groups(self) -> None:
        await self._pods.run_sweep(
            lambda: self._maker.profiles.gang_kinds,
            names.selector(self._settings.cluster_name),
            self._maker.live_groups,
            self._settings.resync_interval_s,
            others=gang_kinds(self._settings.dialects),
        )

    async def _reconcile(self, container_id: ContainerId) -> float | None:
        return await self.reconciler.reconcile(container_id)


def _server(
    name: str,
    protocols: list[RpcProtocol],
    security: ServerSecurity,
    limits: RpcLimits,
    calls: CallLimits,
    unfinished: UnfinishedFrames,
) -> RpcServer:
    return RpcServer(
        name=name,
        dispatcher=Dispatcher(protocols, fault_for=fault_for, retry_cache=RetryCacheLimits(), call_limits=calls),
        security=security,
        limits=limits,
        unfinished=unfinished,
        nonce=lambda: b64encode(os.urandom(30)).decode(),
    )


def _fields(addresses: Addresses) -> dict[str, int]:
    return {name: getattr(addresses, name) for name in Addresses.__slots__}
