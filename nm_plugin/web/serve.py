"""The node's web port: container logs as pages and as streams, and YARN's NodeManager REST API.

Shapes and texts were recorded from a Hadoop 3.5.0 NodeManager.  JSON by default, XML when asked for.  The logs
themselves are ``log_routes``' affair.
"""

from __future__ import annotations

import asyncio
import contextlib
import html
import ipaddress
import secrets
import socket
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from importlib import metadata
from typing import Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from nm_plugin.container.life import Container
from nm_plugin.container.manager import ContainerManager
from nm_plugin.container.records import Application
from nm_plugin.container.statuses import exit_status
from nm_plugin.host.directories import Directories
from nm_plugin.host.disks import Disks
from nm_plugin.host.users import FileThreads, OsUser, UserDatabase
from nm_plugin.logs.reading.files import LogFile, list_logs
from nm_plugin.logs.reading.recalls import Recalls
from nm_plugin.logs.uploading.aggregation import LogAggregator
from nm_plugin.node.state import NodeReport
from nm_plugin.settings import Settings
from nm_plugin.web.access import Access
from nm_plugin.web.answers import page, refused, refused_by_system, unknown_path, wrong_method
from nm_plugin.web.hadoop_properties import properties
from nm_plugin.web.log_routes import LogRoutes
from nm_plugin.web.recall_routes import RecallRoutes
from nm_plugin.web.rim import RimSettings, WebRim
from nm_plugin.web.servlets import Book, Servlets
from yodel.domain.browser_rules import HostNames
from yodel.domain.cross_origin import CrossOriginRules
from yodel.domain.ids import ApplicationId, NodeId
from yodel.domain.resource import Resource
from yodel.errors import InvalidValue, Unavailable, YodelError
from yodel.hadoop_http.bounded_http import BoundedHttp
from yodel.hadoop_http.connections import ConnectionLimits, Connections
from yodel.hadoop_http.errors import RestError, bad_request, illegal_argument, not_found
from yodel.hadoop_http.negotiate import answer
from yodel.hadoop_http.serving import BACKLOG, HttpServer, ServerOptions
from yodel.rpc_io.server import RpcServer
from yodel.serving.http_cookie import CookieSigner
from yodel.serving.node_calls import CallJudge
from yodel.serving.node_token import read_secret
from yodel.telemetry.limits import NODE_HTTP_CONNECTIONS, NODE_HTTP_CONNECTIONS_PER_ADDRESS

HADOOP_VERSION = "3.5.0"  # the version whose API this is
BUILT_ON = "2026-03-24T16:56Z"
LIMITS = ConnectionLimits(
    connections_max=256,
    per_address_max=128,
    of_all=NODE_HTTP_CONNECTIONS,
    of_address=NODE_HTTP_CONNECTIONS_PER_ADDRESS,
)
ACCEPTED_AT_ONCE = 16
"""In one turn; and so often accepting fails, each time with a traceback, in a second without a descriptor left."""
COOKIE_VALIDITY_S = 36_000  # hadoop.http.authentication.token.validity
APPLICATION_STATES = (
    "NEW",
    "INITING",
    "RUNNING",
    "FINISHING_CONTAINERS_WAIT",
    "APPLICATION_RESOURCES_CLEANINGUP",
    "FINISHED",
)

NODE_API = "/ws/v1/node"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeInfo:
    """Describes the node to its pages."""

    node_id: NodeId
    http_port: int
    started_ms: int
    settings: Settings
    disks: Disks
    rpc: RpcServer
    """Where containers are managed."""
    state: Callable[[], NodeReport] = NodeReport


def connection_limits(settings: Settings) -> ConnectionLimits:
    return replace(
        LIMITS,
        connections_max=settings.web_connections_max,
        per_address_max=settings.web_connections_per_address_max,
    )


class LogServer:
    """The listening socket, open from construction on, so that the port is known before anything is served."""

    def __init__(self, host: str, port: int, limits: ConnectionLimits = LIMITS) -> None:
        self._limits = limits
        self._socket = socket.create_server((host, port), backlog=BACKLOG)
        self.port = int(self._socket.getsockname()[1])
        self._server: HttpServer | None = None
        self._ended = asyncio.Event()

    async def serve(self, app: Starlette) -> None:
        """Until ``stop``."""
        self._server = HttpServer(
            app,
            ServerOptions(
                protocol=partial(BoundedHttp, connections=Connections(self._limits)),
                accepted_at_once=ACCEPTED_AT_ONCE,
                stop_timeout_s=2,
            ),
        )
        try:
            await self._server.serve(sockets=[self._socket])
        finally:
            self._ended.set()

    async def stop(self) -> None:
        """Stop and wait a little for the answers under way."""
        if self._server is not None:
            self._server.should_exit = True
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(3):
                    await self._ended.wait()
        self._socket.close()


def build_app(
    facts: NodeInfo,
    manager: ContainerManager,
    directories: Directories,
    users: UserDatabase,
    threads: FileThreads,
    logs: LogAggregator,
    recalls: Recalls | None,
) -> Starlette:
    """The routes.  Without ``recalls`` nothing is aggregated."""
    api, history = NODE_API, "/ws/v1/history"
    access = Access(facts.settings, manager, directories, users, threads, logs)
    servlets = _servlets(facts, manager)
    site = _Site(facts, manager, access, users, threads)
    recall = RecallRoutes(access, recalls, facts.node_id, facts.settings.rm_web_url) if recalls is not None else None
    settings = facts.settings
    shown = LogRoutes(access, threads, logs, facts.node_id, settings.log_server_url, settings.rm_web_url, recall)
    aggregated = (
        []
        if recall is None
        else [
            Route(f"{history}/containers/{{container}}/logs", recall.logs),
            Route(f"{history}/containers/{{container}}/logs/{{file}}", recall.log_stream),
            Route(f"{history}/containerlogs/{{container}}/{{file}}", recall.log_stream),
        ]
    )
    app = Starlette(
        routes=[
            Route("/", lambda request: RedirectResponse("/node")),
            Route("/jmx", servlets.show_beans),
            Route("/conf", servlets.show_conf),
            Route("/stacks", servlets.show_stacks),
            Route("/node", site.index),
            Route("/node/containerlogs/{container}/{user}", shown.list_page),
            Route("/node/containerlogs/{container}/{user}/{file}", shown.log_page),
            Route(api, site.info),
            Route(f"{api}/info", site.info),
            Route(f"{api}/apps", site.applications),
            Route(f"{api}/apps/{{application}}", site.application),
            Route(f"{api}/containers", site.containers),
            Route(f"{api}/containers/{{container}}", site.container),
            Route(f"{api}/containers/{{container}}/logs", shown.logs),
            Route(f"{api}/containers/{{container}}/logs/{{file}}", shown.log_stream),
            Route(f"{api}/containerlogs/{{container}}/{{file}}", shown.log_stream),
            *aggregated,
            Route(f"{api}/resources/{{resource:path}}", site.resources),
            Route(f"{api}/auxiliaryservices", site.aux_services, methods=["GET", "PUT"]),
            Route(f"{api}/yarn/sysfs/{{user}}/{{application}}", site.sync_sysfs, methods=["PUT"]),
        ],
        exception_handlers={
            RestError: refused,
            Unavailable: refused,
            OSError: refused_by_system,
            404: unknown_path,
            405: wrong_method,
        },
        middleware=[Middleware(WebRim, _rim(facts.settings, facts.node_id.host))],
    )
    app.router.redirect_slashes = False  # the rim has taken what stands at the end of a path
    return app


def _servlets(facts: NodeInfo, manager: ContainerManager) -> Servlets:
    def book() -> Book:
        running = sum(not application.finished for application in manager.applications())
        return Book(containers=manager.all(), applications_running=running, counts=manager.counts)

    return Servlets(
        host=facts.node_id.host,
        version=agent_version(),
        started_ms=facts.started_ms,
        capability=Resource(facts.settings.memory_mib, facts.settings.vcores),
        disks=facts.disks,
        state=facts.state,
        book=book,
        conf=properties(facts.settings, facts.node_id, facts.http_port),
        rpc=facts.rpc,
    )


def known_names(bind_host: str, host: str) -> HostNames | None:
    """Return the host names to accept if only this machine reaches the node; None: any."""
    try:
        is_loopback = ipaddress.ip_address(bind_host).is_loopback
    except ValueError:
        is_loopback = bind_host == "localhost"
    return HostNames.of((host,)) if is_loopback else None


def _rim(settings: Settings, host: str) -> RimSettings:
    """The cookies' key is of this process, as in Hadoop without a secret file: a restarted agent asks for names."""
    authentication = settings.web_authentication
    return RimSettings(
        signer=CookieSigner(secret=secrets.token_bytes(32), validity_s=COOKIE_VALIDITY_S, token_type=authentication),
        now_ms=lambda: int(datetime.now(UTC).timestamp() * 1000),
        authentication=authentication,
        anonymous_allowed=settings.web_anonymous_allowed,
        cross_origin=_cross_origin(settings) if settings.web_cross_origin_enabled else None,
        frame_options=settings.web_frame_options if settings.web_frames_enabled else "",
        host_names=known_names(settings.bind_host, host),
        calls=_calls(settings),
    )


def _calls(settings: Settings) -> CallJudge | None:
    """Blocks: the secret is read.  Raises InvalidValue."""
    if settings.node_token_file is None:
        return None
    name = settings.kubernetes_node_name or settings.host
    return CallJudge(read_secret(settings.node_token_file), name, lambda: datetime.now(UTC).timestamp())


def _cross_origin(settings: Settings) -> CrossOriginRules:
    return CrossOriginRules(
        origins=settings.web_cross_origin_origins,
        methods=settings.web_cross_origin_methods,
        headers=settings.web_cross_origin_headers,
        max_age_s=settings.web_cross_origin_max_age_s,
    )


class _Site:
    """Serves the node's own pages and REST calls."""

    def __init__(
        self,
        facts: NodeInfo,
        manager: ContainerManager,
        access: Access,
        users: UserDatabase,
        threads: FileThreads,
    ) -> None:
        self._facts, self._manager, self._access = facts, manager, access
        self._users, self._threads = users, threads

    # REST

    async def info(self, request: Request) -> Response:
        settings, health = self._facts.settings, self._facts.state().health
        build = f"{HADOOP_VERSION} as served by Yodel {agent_version()}"
        content = {
            "healthReport": health.report,
            "totalVmemAllocatedContainersMB": int(settings.memory_mib * settings.vmem_pmem_ratio),
            "totalPmemAllocatedContainersMB": settings.memory_mib,
            "totalVCoresAllocatedContainers": settings.vcores,
            "vmemCheckEnabled": settings.vmem_check_enabled,
            "pmemCheckEnabled": settings.pmem_check_enabled,
            "lastNodeUpdateTime": health.checked_ms,
            "resourceTypes": "memory-mb (unit=Mi), vcores",
            "nodeHealthy": health.is_healthy,
            "nodeManagerVersion": HADOOP_VERSION,
            "nodeManagerBuildVersion": build,
            "nodeManagerVersionBuiltOn": BUILT_ON,
            "hadoopVersion": HADOOP_VERSION,
            "hadoopBuildVersion": build,
            "hadoopVersionBuiltOn": BUILT_ON,
            "id": str(self._facts.node_id),
            "nodeHostName": self._facts.node_id.host,
            "nmStartupTime": self._facts.started_ms,
        }
        return answer(request, {"nodeInfo": content})

    async def applications(self, request: Request) -> Response:
        state, user = request.query_params.get("state"), request.query_params.get("user")
        if state and state not in APPLICATION_STATES:
            enum = "org.apache.hadoop.yarn.server.nodemanager.containermanager.application.ApplicationState"
            raise illegal_argument(f"No enum constant {enum}.{state}")
        if user == "":
            raise bad_request("Error: You must specify a non-empty string for the user")
        shown = [
            self._application(a)
            for a in self._manager.applications()
            if (not state or _application_state(a) == state) and (user is None or a.user == user)
        ]
        return answer(request, {"apps": {"app": shown} if shown else {}})

    async def application(self, request: Request) -> Response:
        text = request.path_params["application"]
        try:
            application_id = ApplicationId.parse(text)
        except InvalidValue as error:
            message = (
                f"Invalid ApplicationId prefix: {text}. The valid ApplicationId should start with prefix application"
            )
            if text.startswith("application"):
                message = f"Invalid ApplicationId: {text}"
            raise bad_request(message) from error
        for application in self._manager.applications():
            if application.application_id == application_id:
                return answer(request, {"app": self._application(application)})
        raise not_found(f"app with id {text} not found")

    def _application(self, application: Application) -> dict[str, Any]:
        ids = [
            str(c.container_id)
            for c in self._manager.all()
            if c.container_id.application_id == application.application_id
        ]
        content: dict[str, Any] = {
            "id": str(application.application_id),
            "state": _application_state(application),
            "user": application.user,
        }
        return {**content, "containerids": ids} if ids else content

    async def containers(self, request: Request) -> Response:
        shown = [await self._container(container) for container in self._manager.all()]
        return answer(request, {"containers": {"container": shown} if shown else {}})

    async def container(self, request: Request) -> Response:
        return answer(request, {"container": await self._container(self._access.container(request))})

    async def _container(self, container: Container) -> dict[str, Any]:
        host, port = self._facts.node_id.host, self._facts.http_port
        names = [file.name for file in await self._list(container)]
        content: dict[str, Any] = {
            "id": str(container.container_id),
            "state": container.state.value,
            "exitCode": exit_status(container),
            "diagnostics": container.diagnostics,
            "user": container.user,
            "totalMemoryNeededMB": container.resource.memory_mib,
            "totalVCoresNeeded": container.resource.vcores,
            "executionType": container.execution_type.name,
            "containerLogsLink": (
                f"http://{host}:{port}/node/containerlogs/{container.container_id}/{_in_path(container.user)}"
            ),
            "nodeId": str(self._facts.node_id),
        }
        return {**content, "containerLogFiles": names} if names else content

    async def aux_services(self, request: Request) -> Response:
        """Read or replaced: with a manifest only, and there is none."""
        raise bad_request("Auxiliary services manifest is not enabled")

    async def resources(self, request: Request) -> Response:
        """Devices are Kubernetes' affair, so no resource has a plugin here that could say more."""
        return answer(request, {"nmResourceInfo": {}})

    async def sync_sysfs(self, request: Request) -> Response:
        """Refuse as DefaultContainerExecutor does: only the Linux one mounts such files into containers."""
        raise RestError(500, "org.apache.hadoop.service.ServiceStateException", "Implementation unavailable")

    # Pages

    async def index(self, request: Request) -> Response:
        rows = "".join(
            f'<tr><td><a href="/node/containerlogs/{c.container_id}/{_in_path(c.user)}">{c.container_id}</a></td>'
            f"<td>{c.state.value}</td><td>{html.escape(c.user)}</td></tr>"
            for c in self._manager.all()
        )
        title = f"Node {self._facts.node_id}"
        table = f"<table><tr><th>Container</th><th>State</th><th>User</th></tr>{rows}</table>"
        return HTMLResponse(page(title, table))

    # Files

    async def _list(self, container: Container) -> tuple[LogFile, ...]:
        user = await self._owner(container)
        if user is None:
            return ()
        directories = self._access.log_directories(container.container_id)
        return await self._threads.run(list_logs, user, directories)

    async def _owner(self, container: Container) -> OsUser | None:
        try:
            return await self._threads.run(self._users.lookup, container.user)
        except YodelError:
            return None


def agent_version() -> str:
    """Return the version of the installed distribution."""
    try:
        return metadata.version("yodel")
    except metadata.PackageNotFoundError:
        return "0"


def _application_state(application: Application) -> str:
    return "FINISHING_CONTAINERS_WAIT" if application.finished else "RUNNING"


def _in_path(user: str) -> str:
    """A name as it stands in a page's path."""
    return quote(user, safe="@/$+")
