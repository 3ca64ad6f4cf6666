"""One ResourceManager: the adapters that its services are given, its faces, and all that runs."""

from __future__ import annotations

import asyncio
import random
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import structlog

from yodel.errors import Refused, Unavailable
from yodel.host.clock import LoopTimers
from yodel.host.endpoints import TcpEndpoints
from yodel.host.files import text_of
from yodel.kube.groups import GroupedPods
from yodel.kube.inspection import KubeApplicationBoard, KubePodEvents
from yodel.kube.node_status import KubeNodeStatuses
from yodel.kube.own_pod import OwnPod
from yodel.kube.pod_driver import DriverLimits, PodDriver
from yodel.ports.clock import Clock
from yodel.ports.store import Snapshot, Store
from yodel.rm_api.app import create_app
from yodel.rm_api.hadoop.services import ProcessFigures
from yodel.rm_api.server import serve as serve_rest
from yodel.rm_api.standby import Led
from yodel.rm_rpc.node_agents import RpcNodeAgents
from yodel.rpc_io.server import RpcServer
from yodel.services.core import Core, Ports
from yodel.services.nodes.node_managers import NETWORK_IS_TRUSTED
from yodel.settings import hadoop_properties
from yodel.settings.rm import Settings
from yodel.store.leadership import Leadership
from yodel.telemetry import garbage
from yodel.telemetry.loop_turns import LoopTurns
from yodel.translator import names
from yodel.translator.dialects import gang_kinds
from yodel.wiring import from_settings
from yodel.wiring.faces import rpc_servers, web_rules
from yodel.wiring.gauges import gauges, process_facts
from yodel.wiring.kerberos import Kerberos
from yodel.wiring.kube import KubeSide
from yodel.wiring.reloading import Reloading
from yodel.wiring.web_rules import connection_limits
from yodel.wiring.web_side import OfTheProcess, web_side

log = structlog.get_logger("yodel.wiring.process")


class _Stoppable(Protocol):
    async def stop(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """Holds the ports of a started RM."""

    client_port: int
    scheduler_port: int
    tracker_port: int
    admin_port: int
    webapp_port: int


class Rm:
    """One life of the RM: services, faces, and what watches Kubernetes for them."""

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        store: Store,
        stored: Snapshot,
        reload: Callable[[], Settings],
        lead: Leadership | None,
        kerberos: Kerberos | None,
    ) -> None:
        """Raises InvalidValue: a setting cannot be."""
        self._settings, self._clock, self._store, self._lead = settings, clock, store, lead
        self._kerberos = kerberos
        self._not_ready = "applications are being recovered"
        self._rpc_servers: Sequence[RpcServer] = ()
        self._turns = LoopTurns()
        self._kube = KubeSide(settings, clock, from_settings.pace_limits(settings), lead)
        self._accounts = from_settings.accounts(settings)
        self._users = from_settings.os_users(settings, self._accounts)
        self._reloading = Reloading(settings, reload, self._users)
        pods = PodDriver(
            self._kube.api,
            settings.namespace,
            DriverLimits(creates_per_second=settings.pod_creates_per_second, creates_burst=settings.pod_creates_burst),
        )
        # Which group a pod names is asked of the services once there are some.
        self._pods = GroupedPods(pods, self._kube.api, settings.namespace, lambda pod: self.core.maker.group_of(pod))
        self.core = Core.of(self._ports(), from_settings.core_limits(settings), stored)

    def _ports(self) -> Ports:
        settings, api = self._settings, self._kube.api
        board = KubeApplicationBoard(api, settings.namespace, settings.cluster_name)
        return Ports(
            store=self._store,
            clock=self._clock,
            timers=LoopTimers(),
            random=random.random,
            random_bytes=secrets.token_bytes,
            pods=self._pods,
            statuses=KubeNodeStatuses(api),
            see_holdings=self._kube.bind,
            require_kinds=self._pods.require,
            events=KubePodEvents(api, settings.namespace) if settings.pod_events else None,
            board=board if settings.application_objects else None,
            agents=RpcNodeAgents(lambda: secrets.token_bytes(16)),
            endpoints=TcpEndpoints(),
            users=self._users,
            addresses_of=from_settings.addresses_of,
            read_settings=self._reloading.read,
            text_of=text_of,
            reload_proxy_users=self._reloading.reload_proxy_users,
        )

    async def run(self, stop: asyncio.Event, on_ready: Callable[[Addresses], None] | None) -> None:
        core, kube = self.core, self._kube
        await core.expect()
        await core.shuffle_endpoints.begin()
        async with asyncio.TaskGroup() as tasks:
            loops = {
                **core.loops(),
                "pod watch": kube.watch_pods(core.reconciler, self._require_groups),
                "node watch": kube.watch_nodes(core.facts),
                "watch of bound pods": kube.watch_holdings(core.binder),
                "group sweep": self._sweep_groups(),
                "garbage": garbage.run(),
                "loop turns": self._turns.run(),
                "own pod": self._end_with_own_pod(stop),
            }
            running = [tasks.create_task(loop, name=name) for name, loop in loops.items()]
            await core.resume()
            await core.admin.start()
            servers, addresses = await self._listen()
            core.scheduler.wake()
            self._not_ready = ""
            log.info("ResourceManager started", **_fields(addresses))
            if self._settings.node_managers == "network":
                log.warning(NETWORK_IS_TRUSTED, nodes_include_path=str(self._settings.nodes_include_path))
            if on_ready is not None:
                on_ready(addresses)
            await stop.wait()
            core.transitions.end()
            for server in servers:
                await server.stop()
            for task in running:
                task.cancel()

    def not_ready(self) -> str:
        """Return why nothing should be sent here yet; empty when all ports are served."""
        return self._not_ready

    async def _end_with_own_pod(self, stop: asyncio.Event) -> None:
        settings = self._settings
        if settings.own_pod_name:
            pod = OwnPod(self._kube.late, self._clock, namespace=settings.own_pod_namespace, name=settings.own_pod_name)
            await pod.until_over()
            stop.set()

    async def _listen(self) -> tuple[list[_Stoppable], Addresses]:
        """REST first: it answers while a restarted RM takes up what was under way."""
        settings = self._settings
        web, webapp_port = await self._serve_rest()
        self.core.state.served_at(f"{settings.host}:{webapp_port}")
        require = self._lead.require if self._lead is not None else lambda: None
        servers = rpc_servers(self.core, settings, self._reloading.proxy_users, require, self._kerberos)
        host = settings.bind_host
        addresses = Addresses(
            client_port=(await servers.client.start(host, settings.client_port))[1],
            scheduler_port=(await servers.scheduler.start(host, settings.scheduler_port))[1],
            tracker_port=(await servers.tracker.start(host, settings.tracker_port))[1],
            admin_port=(await servers.admin.start(host, settings.admin_port))[1],
            webapp_port=webapp_port,
        )
        self._rpc_servers = servers.all()
        return [*self._rpc_servers, web], addresses

    async def _serve_rest(self) -> tuple[_Stoppable, int]:
        settings = self._settings
        process = OfTheProcess(
            store=self._store,
            clock=self._clock,
            namespace=settings.namespace,
            proxy_users=self._reloading.proxy_users,
            figures=ProcessFigures(
                conf=lambda: hadoop_properties.properties(settings),
                gauges=lambda: gauges(self.core, self._kube, self._turns, self._lead),
                rpc_servers=lambda: self._rpc_servers,
                group_lookups=self._accounts.lookups,
                not_ready=self.not_ready,
            ),
            facts=process_facts(self.core, settings, self._clock, self._kube, self._lead),
            node_secret=await asyncio.to_thread(from_settings.node_secret, settings.node_token_file),
        )
        rules = await asyncio.to_thread(web_rules, self.core, settings, self._clock)
        limits = connection_limits(settings.web)
        app = create_app(web_side(self.core, process, rules))
        if self._lead is not None:
            app.add_middleware(Led, require=self._lead.require)
        return await serve_rest(app, settings.bind_host, settings.webapp_port, limits)

    async def _require_groups(self) -> None:
        """Raises InvalidValue: a queue wants groups of a kind that the cluster does not have."""
        try:
            await self._pods.require(self.core.maker.profiles.gang_kinds)
        except (Refused, Unavailable) as error:
            log.warning("kinds of pod groups not checked", error=str(error))

    async def _sweep_groups(self) -> None:
        await self._pods.run_sweep(
            lambda: self.core.maker.profiles.gang_kinds,
            names.selector(self._settings.cluster_name),
            self.core.maker.live_groups,
            self._settings.resync_interval_s,
            others=gang_kinds(self._settings.dialects),
        )


def _fields(addresses: Addresses) -> dict[str, int]:
    return {name: getattr(addresses, name) for name in Addresses.__slots__}
