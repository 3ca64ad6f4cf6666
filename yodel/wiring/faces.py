"""The RM's faces: its four RPC ports and its web side, made of the services."""

from __future__ import annotations

import getpass
import hashlib
import hmac
import os
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, replace

from yodel import __version__
from yodel.hadoop_rpc.framing import MIB
from yodel.ports.clock import Clock
from yodel.rm_api.door.services import CallerRules, CookieRules, DoorRules
from yodel.rm_api.hadoop.services import HadoopRules
from yodel.rm_api.hadoop.wire.cluster import ClusterFacts
from yodel.rm_api.proxy.services import ProxyRules
from yodel.rm_rpc.admin_protocol import AdminProtocol
from yodel.rm_rpc.audited import audited_admin, audited_client
from yodel.rm_rpc.client_protocol import ClientProtocol, ClientServices
from yodel.rm_rpc.ha_protocol import HaProtocol
from yodel.rm_rpc.master_protocol import MasterProtocol
from yodel.rm_rpc.remote_errors import fault_for
from yodel.rm_rpc.tracker_protocol import NAME as TRACKER_INTERFACE
from yodel.rm_rpc.tracker_protocol import TrackerProtocol
from yodel.rm_rpc.user_mappings import UserMappings
from yodel.rpc_io.dispatch import NO_LOOKUPS, CallLimits, Dispatcher, Lookups, RetryCacheLimits, RpcProtocol
from yodel.rpc_io.server import RpcLimits, RpcServer, ServerSecurity
from yodel.rpc_io.ticket_owners import TicketOwners
from yodel.rpc_io.unfinished_frames import UnfinishedFrames
from yodel.services.core import Core
from yodel.serving.proxy_users import ProxyUserRules
from yodel.serving.turns import Turns
from yodel.settings.rm import Settings
from yodel.wiring import from_settings
from yodel.wiring.kerberos import Kerberos
from yodel.wiring.web_rules import with_rules
from yodel.wiring.web_side import WebRules


@dataclass(frozen=True, slots=True, kw_only=True)
class RpcServers:
    client: RpcServer
    scheduler: RpcServer
    tracker: RpcServer
    admin: RpcServer

    def all(self) -> tuple[RpcServer, ...]:
        return self.client, self.scheduler, self.tracker, self.admin


def rpc_servers(
    core: Core,
    settings: Settings,
    proxy_users: ProxyUserRules,
    require: Callable[[], None],
    kerberos: Kerberos | None,
) -> RpcServers:
    """Make the servers of the RPC ports, which are not started yet.  ``require`` raises when nothing may be answered.
    With ``kerberos`` clients and administrators need tickets or tokens.

    Raises:
        InvalidValue: the secret of the node agents is too short or too long.
    """
    client = ClientProtocol(
        ClientServices(
            queries=core.queries,
            rights=core.rights,
            submission=core.submission,
            changes=core.changes,
            nodes=core.nodes,
            delegation_tokens=core.delegation_tokens,
            log_aggregation=core.log_aggregation,
            kerberos=kerberos.offer if kerberos is not None else None,
        ),
        core.state.web_address,
    )
    are_constraints_taken = settings.placement_constraints_handler != "disabled"
    master = MasterProtocol(core.master, core.queries, core.tokens, are_constraints_taken=are_constraints_taken)
    tracker = TrackerProtocol(
        core.registration,
        core.heartbeats,
        core.tokens,
        settings.node_heartbeat_interval_ms,
        f"yodel-{__version__}",
        master_keys=core.master_keys,
        log_aggregation=core.log_aggregation,
    )
    node_passwords = from_settings.node_passwords(settings.node_token_file)
    by_name = ServerSecurity(
        allow_simple=kerberos is None,
        proxy_users=proxy_users,
        kerberos=kerberos.offer if kerberos is not None else None,
        acceptor=kerberos.acceptor if kerberos is not None else None,
    )
    by_name_or_token = replace(by_name, token_passwords=client.token_grant)
    by_am_token = ServerSecurity(allow_simple=False, token_passwords=master.token_grant)
    # A NodeManager has no token; what an agent says without one is refused where the secret is shared.
    is_simple_allowed = node_passwords is None or settings.node_managers != "refused"
    by_node_token = ServerSecurity(allow_simple=is_simple_allowed, token_passwords=node_passwords)
    if kerberos is not None:
        owners = TicketOwners(protocol=TRACKER_INTERFACE, principal=kerberos.node_manager_principal)
        by_node_token = replace(by_node_token, kerberos=kerberos.offer, acceptor=kerberos.acceptor, owners=owners)
    limits = from_settings.rpc_limits_of_ports(settings.rpc)
    lookups = Lookups(core.rights.is_known, core.rights.look_up)
    shared = _Shared(
        calls=CallLimits(fields_max=settings.rpc.call_fields_max, items_max=settings.rpc.call_items_max),
        unfinished=UnfinishedFrames(settings.rpc.unfinished_frames_mib_max * MIB),
        turns=Turns(),
        require=require,
    )
    return RpcServers(
        client=shared.server("client", [audited_client(client.protocol())], by_name_or_token, limits.client, lookups),
        scheduler=shared.server("scheduler", [master.protocol()], by_am_token, limits.scheduler),
        tracker=shared.server("tracker", [tracker.protocol()], by_node_token, limits.tracker),
        admin=shared.server("admin", _admin_protocols(core), by_name, limits.admin, lookups),
    )


def _admin_protocols(core: Core) -> list[RpcProtocol]:
    mappings = UserMappings(core.admin).protocols()
    protocols = [AdminProtocol(core.admin).protocol(), HaProtocol(core.admin).protocol(), *mappings]
    return [audited_admin(protocol) for protocol in protocols]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shared:
    """Holds the parts that the ports share."""

    calls: CallLimits
    unfinished: UnfinishedFrames
    turns: Turns
    require: Callable[[], None]

    def server(
        self,
        name: str,
        protocols: list[RpcProtocol],
        security: ServerSecurity,
        limits: RpcLimits,
        lookups: Lookups = NO_LOOKUPS,
    ) -> RpcServer:
        return RpcServer(
            name=name,
            dispatcher=Dispatcher(
                protocols,
                fault_for=fault_for,
                retry_cache=RetryCacheLimits(),
                call_limits=self.calls,
                require=self.require,
                lookups=lookups,
            ),
            security=security,
            limits=limits,
            unfinished=self.unfinished,
            turns=self.turns,
            nonce=lambda: b64encode(os.urandom(30)).decode(),
        )


def web_rules(core: Core, settings: Settings, clock: Clock) -> WebRules:
    """Blocks: the secret for cookies may be in a file.  Raises as ``with_rules``."""
    rules = WebRules(
        web_address=f"{settings.host}:{settings.webapp_port}",
        facts=ClusterFacts(cluster_id=core.queries.cluster_timestamp_ms, started_ms=clock.now_ms()),
        door=DoorRules(
            callers=CallerRules(
                login_user=getpass.getuser(),
                static_user=settings.http_static_user,
                may_static_user_write=settings.http_static_user_may_write,
            ),
            # Cookies survive a restart: the key is made from one that is on disk.
            cookies=CookieRules(
                cookie_secret=hmac.new(core.tokens.current("amrm").secret, b"hadoop.auth", hashlib.sha256).digest()
            ),
        ),
        hadoop=HadoopRules(
            are_submissions_enabled=settings.rest_submissions,
            are_lists_filtered=settings.rest_lists_filtered,
            are_labels_enabled=settings.node_labels_enabled,
        ),
        proxy=ProxyRules(
            proxy_hosts=frozenset(host.lower() for host in settings.web_proxy_hosts),
            is_proxy_warning_shown=settings.web_proxy_warning,
            probe_port=settings.probe_port,
        ),
    )
    return with_rules(rules, settings.web)
