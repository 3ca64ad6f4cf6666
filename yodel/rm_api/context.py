"""What a REST route is given: settings, services, and the address clients use."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Literal

from starlette.requests import Request

from yodel import __version__
from yodel.domain.browser_rules import HostNames
from yodel.domain.container import Container
from yodel.domain.cross_origin import CrossOriginRules
from yodel.domain.ids import ApplicationId, ContainerId
from yodel.domain.pod import PodObservation
from yodel.domain.queues.history import TreeChange
from yodel.hadoop_http.process_beans import ProcessorLoads
from yodel.ports.clock import Clock
from yodel.rm_api.door.body_room import BodyRoom
from yodel.rm_api.door.body_turns import BodyTurns
from yodel.rm_api.door.csrf import CsrfRules
from yodel.rm_api.door.replay import Replay
from yodel.rm_api.door.spnego import Acceptor
from yodel.rm_api.hadoop.rendered import RenderedApplications
from yodel.rm_api.hadoop.shared_answers import SharedAnswers
from yodel.rm_api.proxy.origin import Origins, ProxiedOrigin
from yodel.rm_api.proxy.web_proxy import WebProxy
from yodel.rm_api.v1.stream import RenderedEvents
from yodel.rpc_io.server import RpcServer
from yodel.services.access.rights import Rights
from yodel.services.applications.changes import ApplicationChanges
from yodel.services.applications.log_aggregation import LogAggregation
from yodel.services.applications.submission import SubmissionService
from yodel.services.keys.delegation import DelegationTokens
from yodel.services.nodes.administration import AdminService
from yodel.services.nodes.agents import Agents
from yodel.services.nodes.capacity import Capacities
from yodel.services.nodes.taking_back import TakingBack
from yodel.services.scheduling.activities import Activities
from yodel.services.scheduling.configuration import SchedulerConfService
from yodel.services.views.queries import Queries
from yodel.services.views.transitions import Transitions
from yodel.serving.proxy_users import ProxyUserRules
from yodel.telemetry.rates import Rate

HADOOP_VERSION = "3.5.0"
"""The release whose wire shapes are served; clients parse it."""


CHANGES_WAITING_GAUGE = "changes_waiting"
"""Of ``gauges``: changes that wait to be written, which Hadoop's REST calls the dispatcher's event queue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestSettings:
    """Facts of this RM and what its web side allows.

    ``rm_web_address`` is the host:port clients use; with port 0 the bound port is put in by ``server.serve``.
    ``is_anonymous_allowed`` is hadoop.http.authentication.simple.anonymous.allowed, ``static_user``
    hadoop.http.staticuser.user: who an anonymous reader is.  Hadoop lets the static user submit and kill as well, which
    is the door that miners use; here that takes ``may_static_user_write``.  ``proxy_hosts``, in lower case, are hosts
    beside the cluster's own whose pages the web proxy fetches: gateways where drivers run in client mode.
    """

    cluster_id: int
    started_ms: int
    rm_web_address: str
    login_user: str
    cookie_secret: bytes = field(repr=False)
    anonymous_allowed: bool = True
    static_user: str = "dr.who"
    may_static_user_write: bool = False
    proxy_hosts: frozenset[str] = frozenset()
    is_proxy_warning_shown: bool = False
    cookie_validity_s: int = 36_000
    cookie_domain: str = ""
    is_cookie_persistent: bool = False
    authentication: Literal["simple", "kerberos"] = "simple"
    """hadoop.http.authentication.type."""
    host_names: HostNames = field(default_factory=lambda: HostNames(frozenset()))
    """What browsers may call this RM, beside addresses, ``localhost`` and the host of ``rm_web_address``."""
    proxied: ProxiedOrigin | None = None
    """Where applications' pages are when they are not on the ResourceManager's own origin."""
    csrf: CsrfRules | None = None
    cross_origin: CrossOriginRules | None = None
    frame_options: str = "SAMEORIGIN"
    """X-Frame-Options of every answer; empty for none."""
    are_submissions_enabled: bool = True
    """yarn.webapp.enable-rest-app-submissions."""
    admin_networks: tuple[IPv4Network | IPv6Network, ...] = ()
    """From where administration is taken; empty for everywhere."""
    admin_token: bytes = field(default=b"", repr=False)
    """Who shows it administers from anywhere, as ``login_user``; empty: nobody does."""
    are_lists_filtered: bool = False
    """yarn.webapp.filter-entity-list-by-user: lists hold only what a caller may view."""
    are_labels_enabled: bool = False
    """yarn.node-labels.enabled."""
    probe_port: int | None = None
    """Where probes are answered beside the web port."""
    log_dir: Path | None = None
    """Whose files ``/logs`` shows."""
    body_bytes_max: int = 4 * 1024 * 1024
    """Of a body that is read here."""
    proxied_bytes_max: int = 16 * 1024 * 1024
    """Of one that the web proxy passes on."""
    hadoop_version: str = HADOOP_VERSION
    build_version: str = f"{HADOOP_VERSION} as served by Yodel {__version__}"
    built_on: str = "2026-03-24T16:56Z"
    rm_state_store_name: str = "yodel.store"


@dataclass(slots=True, kw_only=True)
class RestServices:
    """What the composition root hands over."""

    queries: Queries
    rights: Rights
    submission: SubmissionService
    changes: ApplicationChanges
    nodes: Agents
    capacities: Capacities
    taking_back: TakingBack
    log_aggregation: LogAggregation
    delegation_tokens: DelegationTokens
    proxy_users: ProxyUserRules = field(default_factory=ProxyUserRules)
    acceptor: Acceptor | None = None
    """Judges Kerberos tickets."""
    admin: AdminService
    activities: Activities
    scheduler_conf: SchedulerConfService
    transitions: Transitions
    ended_page: Callable[[ApplicationId, ContainerId | None, int], Awaitable[Sequence[Container]]]
    """What is kept of an application's containers that were forgotten (``EndedContainers`` of the store's port)."""
    tree_changes: Callable[[int | None, int], Awaitable[Sequence[TreeChange]]]
    """What is kept of changes of the queues (``QueueHistory`` of the store's port)."""
    observed: Callable[[ContainerId], PodObservation | None] = lambda _: None
    """A container's pod as it was last seen."""
    namespace: str = "default"
    processor_loads: ProcessorLoads = field(default_factory=ProcessorLoads)
    """Where the pods are."""
    conf: Callable[[], Mapping[str, str]] = dict
    """The settings under the names of Hadoop's properties."""
    gauges: Callable[[], Mapping[str, float]] = dict
    """What Prometheus is told beside Hadoop's own counts, by name."""
    rpc_servers: Callable[[], Sequence[RpcServer]] = tuple
    """The ports of the RPC that are served."""
    group_lookups: Rate = field(default_factory=Rate)
    """How often users' groups were looked up."""
    not_ready: Callable[[], str] = str
    """Why nothing should be sent here yet; empty when all ports are served."""
    clock: Clock
    settings: RestSettings


@dataclass(slots=True)
class Api:
    """One running web side: the services, the proxy, what is rendered already, and room for bodies."""

    services: RestServices
    origins: Origins
    proxy: WebProxy
    rendered: dict[str, RenderedApplications]
    """By media type."""
    replay: Replay
    shared: SharedAnswers
    """To the queues' tree, by form."""
    rendered_events: RenderedEvents
    body_room: BodyRoom = field(default_factory=BodyRoom)
    body_turns: BodyTurns = field(default_factory=BodyTurns)
    _web_ports: frozenset[int] = frozenset()

    @classmethod
    def of(cls, services: RestServices) -> Api:
        web_address = services.settings.rm_web_address
        web_host = web_address.rpartition(":")[0].strip("[]")
        events = RenderedEvents(services.transitions.epoch)
        queries = services.queries
        replay = Replay(lambda: queries.rows.standing, services.clock.now_ms)
        origins = Origins(web_address, services.settings.proxied)
        return cls(services, origins, WebProxy(web_host=web_host), {}, replay, SharedAnswers(replay.standing), events)

    @property
    def web_address(self) -> str:
        """Host and port of the ResourceManager's pages."""
        return self.origins.web_address

    @property
    def proxied_port(self) -> int | None:
        """What is listened on beside the ResourceManager's port, if anything is."""
        proxied = self.origins.proxied
        web_port = int(self.web_address.rpartition(":")[2])
        return None if proxied is None or (proxied.port == web_port and proxied.port) else proxied.port

    def bound_to(self, port: int, proxied_port: int | None = None) -> None:
        """The ports listened on, for addresses that were given with port 0."""
        self._web_ports = frozenset({port} if proxied_port is None else {port, proxied_port})
        host, _, given = self.web_address.rpartition(":")
        if given == "0":
            self.origins.web_address = f"{host}:{port}"
        if proxied_port is not None and self.origins.proxied is not None:
            self.origins.proxied = self.origins.proxied.bound_to(proxied_port)

    def own_ports(self) -> frozenset[int]:
        """All that this process listens on."""
        services = self.services
        probe_port = services.settings.probe_port
        further = {server.port for server in services.rpc_servers()} | ({probe_port} if probe_port else set())
        return self._web_ports | further


def api_of(request: Request) -> Api:
    api = request.app.state.api
    assert isinstance(api, Api)
    return api
