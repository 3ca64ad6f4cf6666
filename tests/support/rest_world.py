"""A ResourceManager's web side without network, disk or time: real services and routes over rows a test puts there."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import httpx2
from fastapi import FastAPI

from tests.support.playbook import POD_SETTINGS, FakeClock
from tests.support.records import CLUSTER_TIMESTAMP_MS
from yodel.domain.acl import AccessRules, Acl
from yodel.domain.allocation.decide import AllocationLimits
from yodel.domain.effects import OutsideEffect
from yodel.domain.ids import ContainerId
from yodel.domain.pod import PodObservation
from yodel.domain.queues.queue import Queue, default_queues
from yodel.domain.resource import Resource
from yodel.ports.store import Commit, Row
from yodel.rm_api.app import RestServices, RestSettings, create_app
from yodel.rm_api.spnego import Acceptor
from yodel.rpc_io.proxy_users import ProxyUserRules
from yodel.services.applications.changes import ApplicationChanges
from yodel.services.applications.log_aggregation import LogAggregation
from yodel.services.applications.submission import SubmissionLimits, SubmissionService
from yodel.services.keys.delegation import DelegationSettings, DelegationTokens
from yodel.services.keys.tokens import TokenIssuer
from yodel.services.nodes.administration import AdminService, AdminSettings, Reloads
from yodel.services.nodes.agents import NodeService
from yodel.services.nodes.decommission import Decommission
from yodel.services.scheduling.configuration import SchedulerConfService
from yodel.services.scheduling.misfits import Misfits
from yodel.services.scheduling.scheduler import Scheduler
from yodel.services.scheduling.surroundings import Surroundings
from yodel.services.views.queries import Queries
from yodel.services.views.transitions import Transitions
from yodel.services.writer.engine import Engine
from yodel.services.writer.state import ClusterState
from yodel.store.memory_store import MemoryStore
from yodel.translator.profiles import PodProfiles

WEB_ADDRESS = "rm-host:8088"
SECRET = b"a secret of thirty-two bytes....."
SIZES = AllocationLimits(minimum=Resource(256, 1), maximum=Resource(8192, 8))


class NoGroups:
    def groups_of(self, user: str) -> Sequence[str]:
        return ()


class Unperformed:
    """Effects go nowhere: what the web side shows are rows."""

    def perform(self, effect: OutsideEffect) -> None:
        return


@dataclass(slots=True, kw_only=True)
class RestWorld:
    clock: FakeClock
    state: ClusterState
    store: MemoryStore
    queries: Queries
    submission: SubmissionService
    nodes: NodeService
    log_aggregation: LogAggregation
    delegation_tokens: DelegationTokens
    scheduler: Scheduler
    transitions: Transitions
    pods: dict[ContainerId, PodObservation]
    """As they were last seen."""
    app: FastAPI
    client: httpx2.AsyncClient

    async def put(self, *rows: Row) -> None:
        """Rows as if they had come about."""
        await self.store.commit(Commit(rows=rows))
        self.state.publish(rows)
        self.transitions.published(rows, ())

    async def get(self, path: str, **arguments: Any) -> httpx2.Response:
        return await self.client.get(f"/ws/v1/cluster{path}", **arguments)

    async def json(self, path: str) -> Any:
        answer = await self.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def post(self, path: str, body: Any = None, **arguments: Any) -> httpx2.Response:
        content = {"json": body} if body is not None else {}
        return await self.client.post(f"/ws/v1/cluster{path}", **content, **arguments)

    async def put_state(self, application_id: object, body: Any, user: str | None = "alice") -> httpx2.Response:
        query = {"user.name": user} if user is not None else {}
        return await self.client.put(f"/ws/v1/cluster/apps/{application_id}/state", json=body, params=query)

    async def new_id(self, user: str = "alice") -> str:
        answer = await self.post("/apps/new-application", params={"user.name": user})
        return str(answer.json()["application-id"])


def _fixed_bytes(length: int) -> bytes:
    return b"k" * length


async def _never_deleted(_: ContainerId, __: int) -> None:
    return None


async def _admin(engine: Engine, nodes: NodeService, clock: FakeClock) -> AdminService:
    """``admin`` is the administrator; nothing can be reloaded."""
    profiles = PodProfiles(default=POD_SETTINGS, by_queue={})
    settings = AdminSettings(admin_acl="admin", max_priority=10, queues=(), pod_profiles=profiles)

    async def never(_: object) -> None:
        raise AssertionError("nothing is reloaded here")

    reloads = Reloads(
        read=lambda: settings,
        proxy_users=lambda: None,
        admin_acl=lambda _: None,
        max_priority=lambda _: None,
        pod_profiles=never,
    )
    admin = AdminService(engine, nodes, Decommission(engine, nodes, clock), NoGroups(), reloads, "yarn")
    await admin.start()
    return admin


@contextlib.asynccontextmanager
async def rest_world(
    *,
    cluster_id: int = CLUSTER_TIMESTAMP_MS,
    queues: Sequence[Queue] = (),
    rules: AccessRules | None = None,
    proxy_users: ProxyUserRules | None = None,
    acceptor: Acceptor | None = None,
    are_acls_enabled: bool = False,
    **settings: Any,
) -> AsyncIterator[RestWorld]:
    clock, store = FakeClock(), MemoryStore()
    snapshot = await store.open(now_ms=cluster_id, default_queues=queues or default_queues())
    state = ClusterState.of(snapshot)
    engine = Engine(state, store, clock)
    engine.perform_with(Unperformed())
    queries = Queries(state, clock, TokenIssuer((), cluster_id), SIZES)
    access = rules or AccessRules(admin_acl=Acl.parse("admin"))
    submission = SubmissionService(engine, NoGroups(), access, SubmissionLimits(max_priority=10), SIZES)
    nodes = NodeService(engine, clock, _never_deleted)
    log_aggregation = LogAggregation(state, clock, is_enabled=True)
    delegation_tokens = DelegationTokens(engine, clock, _fixed_bytes, DelegationSettings(login_user="yarn"), snapshot)
    transitions, pods = Transitions(state, clock), dict[ContainerId, PodObservation]()
    engine.follow_with(transitions.published)
    scheduler = Scheduler(engine, SIZES, clock, Surroundings(state), Misfits(state, clock))
    writer = asyncio.create_task(engine.run())
    admin = await _admin(engine, nodes, clock)

    async def initial_queues() -> Sequence[Queue]:
        return queues or default_queues()

    def scheduler_limits(am_share: float) -> None:
        queries.limits = replace(queries.limits, am_share=am_share)
        scheduler.use_limits(queries.limits)

    facts = {
        "cluster_id": cluster_id,
        "started_ms": cluster_id,
        "rm_web_address": WEB_ADDRESS,
        "login_user": "yarn",
        "cookie_secret": SECRET,
    }
    app = create_app(
        RestServices(
            queries=queries,
            submission=submission,
            changes=ApplicationChanges(engine, submission),
            nodes=nodes,
            log_aggregation=log_aggregation,
            delegation_tokens=delegation_tokens,
            proxy_users=proxy_users or ProxyUserRules(),
            acceptor=acceptor,
            admin=admin,
            activities=scheduler.activities,
            scheduler_conf=SchedulerConfService(
                engine,
                initial_queues,
                SIZES.am_share,
                scheduler_limits,
                admin.is_admin,
                are_acls_enabled=are_acls_enabled,
            ),
            transitions=transitions,
            ended_page=store.ended_page,
            observed=pods.get,
            clock=clock,
            settings=RestSettings(**{**facts, **settings}),
        )
    )
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
    try:
        async with httpx2.AsyncClient(transport=transport, base_url=f"http://{WEB_ADDRESS}") as client:
            yield RestWorld(
                clock=clock,
                state=state,
                store=store,
                queries=queries,
                submission=submission,
                nodes=nodes,
                log_aggregation=log_aggregation,
                delegation_tokens=delegation_tokens,
                scheduler=scheduler,
                transitions=transitions,
                pods=pods,
                app=app,
                client=client,
            )
    finally:
        writer.cancel()
        await app.state.api.proxy.close()
