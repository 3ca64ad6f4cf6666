"""Builds the web side from the services, the process's own figures, and the settings."""

from __future__ import annotations

from dataclasses import dataclass, field

from yodel.hadoop_rpc.gssapi import Acceptor
from yodel.ports.clock import Clock
from yodel.ports.store import Store
from yodel.rm_api.app import WebSide
from yodel.rm_api.door.replay import Replay
from yodel.rm_api.door.services import DoorRules, DoorServices
from yodel.rm_api.hadoop.services import HadoopRules, HadoopServices, ProcessFigures
from yodel.rm_api.hadoop.shared_answers import SharedAnswers
from yodel.rm_api.hadoop.wire.cluster import ClusterFacts
from yodel.rm_api.proxy.origin import Origins
from yodel.rm_api.proxy.services import ProxyRules, ProxyServices
from yodel.rm_api.proxy.web_proxy import WebProxy
from yodel.rm_api.ui.services import PageServices
from yodel.rm_api.v1.container_pages import ContainerSource
from yodel.rm_api.v1.node_logs import NodeLogs
from yodel.rm_api.v1.process_facts import ProcessFacts
from yodel.rm_api.v1.services import ApiServices
from yodel.rm_api.v1.stream import RenderedEvents
from yodel.services.core import Core
from yodel.serving.proxy_users import ProxyUserRules


@dataclass(frozen=True, slots=True, kw_only=True)
class WebRules:
    """Holds the rules of the web side and of each room.

    ``web_address`` is the host:port clients use; with port 0 the bound port is put in by ``server.serve``.
    """

    web_address: str
    facts: ClusterFacts
    door: DoorRules
    hadoop: HadoopRules
    proxy: ProxyRules


@dataclass(frozen=True, slots=True, kw_only=True)
class OfTheProcess:
    """Holds the parts of the web side that come from the process and not from a service."""

    store: Store
    clock: Clock
    namespace: str = "default"
    proxy_users: ProxyUserRules
    acceptor: Acceptor | None = None
    node_secret: bytes = b""
    """The secret that node agents share with the ResourceManager; empty: nothing."""
    figures: ProcessFigures
    facts: ProcessFacts = field(default_factory=ProcessFacts)


def web_side(core: Core, process: OfTheProcess, rules: WebRules) -> WebSide:
    """Give each room what it needs, and no more."""
    queries, clock = core.queries, process.clock
    replay = Replay(lambda: queries.rows.versions, clock.now_ms)
    origins = Origins(rules.web_address, rules.proxy.proxied)
    containers = ContainerSource(queries=queries, ended_page=process.store.ended_page)
    proxy = ProxyServices(
        rules=rules.proxy,
        origins=origins,
        queries=queries,
        web_proxy=WebProxy(web_host=rules.web_address.rpartition(":")[0].strip("[]")),
        rpc_servers=process.figures.rpc_servers,
    )
    logs = NodeLogs(queries=queries, nodes=core.nodes, proxy=proxy, clock=clock, secret=process.node_secret)
    return WebSide(
        door=DoorServices(
            rules=rules.door,
            clock=clock,
            delegation_tokens=core.delegation_tokens,
            proxy_users=process.proxy_users,
            rights=core.rights,
            acceptor=process.acceptor,
            replay=replay,
        ),
        hadoop=HadoopServices(
            facts=rules.facts,
            rules=rules.hadoop,
            process=process.figures,
            origins=origins,
            clock=clock,
            queries=queries,
            rights=core.rights,
            submission=core.submission,
            changes=core.changes,
            nodes=core.nodes,
            log_aggregation=core.log_aggregation,
            delegation_tokens=core.delegation_tokens,
            admin=core.admin,
            activities=core.scheduler.activities,
            scheduler_conf=core.scheduler_conf,
            replay=replay,
            shared=SharedAnswers(replay.versions),
        ),
        v1=ApiServices(
            origins=origins,
            queries=queries,
            containers=containers,
            rights=core.rights,
            submission=core.submission,
            nodes=core.nodes,
            capacities=core.capacities,
            taking_back=core.taking_back,
            emergency_count=lambda: core.reports.preempted_count,
            log_aggregation=core.log_aggregation,
            logs=logs,
            scheduler_conf=core.scheduler_conf,
            tree_changes=process.store.tree_changes,
            observed=core.reconciler.observed,
            namespace=process.namespace,
            process=process.facts,
            transitions=core.transitions,
            rendered_events=RenderedEvents(core.transitions.epoch),
        ),
        proxy=proxy,
        ui=PageServices(
            queries=queries,
            containers=containers,
            rights=core.rights,
            capacities=core.capacities,
            logs=logs,
            are_lists_filtered=rules.hadoop.are_lists_filtered,
            namespace=process.namespace,
        ),
    )
