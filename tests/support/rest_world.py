"""A ResourceManager's web side without network, disk or time: real services and routes over rows a test puts there."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import httpx2
from fastapi import FastAPI

from tests.support.fakes import FakeClock
from tests.support.playbook import World
from tests.support.records import CLUSTER_TIMESTAMP_MS
from tests.support.rm_options import POD_SETTINGS, Options
from yodel.domain.acl import AccessRules, Acl
from yodel.domain.allocation.demands import AllocationLimits
from yodel.domain.queues.queue import Queue, default_queues
from yodel.domain.resource import Resource
from yodel.hadoop_rpc.gssapi import Acceptor
from yodel.ports.store import Commit, Row, Store
from yodel.rm_api.app import create_app
from yodel.rm_api.door.services import BrowserRules, CallerRules, CookieRules, DoorRules
from yodel.rm_api.hadoop.services import HadoopRules, ProcessFigures
from yodel.rm_api.hadoop.wire.cluster import ClusterFacts
from yodel.rm_api.proxy.services import ProxyRules
from yodel.rm_api.v1.process_facts import ProcessFacts
from yodel.services.applications.submission import SubmissionLimits
from yodel.services.core import Core, Ports, ServiceSettings
from yodel.services.nodes.administration import AdminSettings
from yodel.serving.proxy_users import ProxyUserRules
from yodel.store.memory_store import MemoryStore
from yodel.translator.profiles import PodProfiles
from yodel.wiring.web_side import OfTheProcess, WebRules, web_side

WEB_ADDRESS = "rm-host:8088"
SECRET = b"a secret of thirty-two bytes....."
SIZES = AllocationLimits(minimum=Resource(256, 1), maximum=Resource(8192, 8))


@dataclass(slots=True, kw_only=True)
class RestWorld:
    rm: Core
    clock: FakeClock
    store: MemoryStore
    app: FastAPI
    client: httpx2.AsyncClient

    async def put(self, *rows: Row) -> None:
        """Rows as if they had come about."""
        await self.store.commit(Commit(rows=rows))
        self.rm.state.publish(rows)
        self.rm.transitions.published(rows, ())

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


def _limits(access: AccessRules) -> ServiceSettings:
    wanted = Options(allocation=SIZES, submission=SubmissionLimits(max_priority=10))
    return replace(wanted.limits(), access=access)


def _ports(store: Store, clock: FakeClock, read_settings: Callable[[], AdminSettings]) -> Ports:
    return replace(World().ports(store), clock=clock, timers=clock, read_settings=read_settings)


def _admin_settings(queues: Sequence[Queue]) -> AdminSettings:
    """``admin`` is the administrator."""
    profiles = PodProfiles(default=POD_SETTINGS, by_queue={})
    return AdminSettings(admin_acl="admin", max_priority=10, queues=queues, pod_profiles=profiles)


def _rules(cluster_id: int, given: dict[str, Any]) -> WebRules:
    """The rules of all rooms, with the fields that are given by their own names."""
    given = {"login_user": "yarn", "cookie_secret": SECRET, **given}
    kinds = (CallerRules, CookieRules, BrowserRules, DoorRules, HadoopRules, ProxyRules)
    named = {kind: {field.name for field in fields(kind)} & given.keys() for kind in kinds}
    unknown = given.keys() - set().union(*named.values(), {"rm_web_address"})
    assert not unknown, unknown
    callers, cookies, browsers, door, hadoop, proxy = ({name: given[name] for name in named[kind]} for kind in kinds)
    return WebRules(
        web_address=given.get("rm_web_address", WEB_ADDRESS),
        facts=ClusterFacts(cluster_id=cluster_id, started_ms=cluster_id),
        door=DoorRules(
            callers=CallerRules(**callers), cookies=CookieRules(**cookies), browsers=BrowserRules(**browsers), **door
        ),
        hadoop=HadoopRules(**hadoop),
        proxy=ProxyRules(**proxy),
    )


@contextlib.asynccontextmanager
async def rest_world(
    *,
    cluster_id: int = CLUSTER_TIMESTAMP_MS,
    queues: Sequence[Queue] = (),
    rules: AccessRules | None = None,
    proxy_users: ProxyUserRules | None = None,
    acceptor: Acceptor | None = None,
    facts: ProcessFacts | None = None,
    node_secret: bytes = b"",
    **settings: Any,
) -> AsyncIterator[RestWorld]:
    clock, store, stored_queues = FakeClock(), MemoryStore(), queues or default_queues()
    snapshot = await store.open(now_ms=cluster_id, default_queues=stored_queues)
    access = rules or AccessRules(admin_acl=Acl.parse("admin"))
    limits = replace(_limits(access), is_node_proof_required=bool(node_secret))
    core = Core.of(_ports(store, clock, lambda: _admin_settings(stored_queues)), limits, snapshot)
    writer = asyncio.create_task(core.engine.run())
    await core.admin.start()
    process = OfTheProcess(
        store=store,
        clock=clock,
        proxy_users=proxy_users or ProxyUserRules(),
        acceptor=acceptor,
        figures=ProcessFigures(),
        facts=facts or ProcessFacts(),
        node_secret=node_secret,
    )
    app = create_app(web_side(core, process, _rules(cluster_id, settings)))
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
    try:
        async with httpx2.AsyncClient(transport=transport, base_url=f"http://{WEB_ADDRESS}") as client:
            yield RestWorld(rm=core, clock=clock, store=store, app=app, client=client)
    finally:
        writer.cancel()
        await app.state.proxy.web_proxy.close()
