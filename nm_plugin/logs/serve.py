"""The node's web port: container logs as pages and as streams, and YARN's NodeManager REST API.

Shapes and texts were recorded from a Hadoop 3.5.0 NodeManager.  JSON by default, XML when asked for.  Log pages escape
everything that containers wrote.

Refuses: files outside of a known container's log directories (see ``files``), and unknown users' guesses of owners.
"""

from __future__ import annotations

import asyncio
import contextlib
import html
import os
import socket
from collections.abc import AsyncIterator, Generator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from nm_plugin.container_manager import ContainerManager
from nm_plugin.containers import Container
from nm_plugin.directories import Directories
from nm_plugin.launch.users import FileThreads, OsUser, UserDatabase
from nm_plugin.logs.aggregation import LogAggregator
from nm_plugin.logs.files import LogFile, chunks, list_logs, open_log, page_range, size_range
from nm_plugin.node_store import Application
from nm_plugin.settings import Settings
from nm_plugin.statuses import exit_status
from yodel.domain.ids import ApplicationId, ContainerId, NodeId
from yodel.errors import InvalidValue, YodelError

DEFAULT_START = -4096
LONG_MAX = 2**63 - 1
HADOOP_VERSION = "3.5.0"  # the version whose API this is
APPLICATION_STATES = (
    "NEW",
    "INITING",
    "RUNNING",
    "FINISHING_CONTAINERS_WAIT",
    "APPLICATION_RESOURCES_CLEANINGUP",
    "FINISHED",
)
_HEADERS = {"Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "SAMEORIGIN"}
_STAR_LINE = 78


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFacts:
    """What the node says about itself."""

    node_id: NodeId
    http_port: int
    started_ms: int
    settings: Settings


class _Problem(Exception):
    """A refusal on its way to the edge: status, simple Java class name, message."""

    def __init__(self, status: int, java_class: str, message: str) -> None:
        self.status, self.java_class, self.message = status, java_class, message
        super().__init__(message)


class LogServer:
    """The listening socket, open from construction on, so that the port is known before anything is served."""

    def __init__(self, host: str, port: int) -> None:
        self._socket = socket.create_server((host, port), backlog=512)
        self.port = int(self._socket.getsockname()[1])
        self._server: uvicorn.Server | None = None
        self._ended = asyncio.Event()

    async def serve(self, app: Starlette) -> None:
        """Until ``stop``."""
        config = uvicorn.Config(
            app, log_config=None, access_log=False, lifespan="off", limit_concurrency=256, timeout_graceful_shutdown=2
        )
        self._server = _QuietServer(config)
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


class _QuietServer(uvicorn.Server):
    """Leaves signal handling to the process's owner."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


def build_app(
    facts: NodeFacts,
    manager: ContainerManager,
    directories: Directories,
    users: UserDatabase,
    threads: FileThreads,
    logs: LogAggregator,
) -> Starlette:
    """The routes."""
    site = _Site(facts, manager, directories, users, threads)
    api = "/ws/v1/node"
    return Starlette(
        routes=[
            Route("/", lambda request: RedirectResponse("/node")),
            Route("/node", site.index),
            Route("/node/containerlogs/{container}/{user}", site.log_list_page),
            Route("/node/containerlogs/{container}/{user}/{file}", site.log_page),
            Route(api, site.info),
            Route(f"{api}/", site.info),
            Route(f"{api}/info", site.info),
            Route(f"{api}/apps", site.applications),
            Route(f"{api}/apps/{{application}}", site.application),
            Route(f"{api}/containers", site.containers),
            Route(f"{api}/containers/{{container}}", site.container),
            Route(f"{api}/containers/{{container}}/logs", site.logs),
            Route(f"{api}/containers/{{container}}/logs/{{file}}", site.log_stream),
            Route(f"{api}/containerlogs/{{container}}/{{file}}", site.log_stream),
            Route(f"{api}/auxiliaryservices", site.aux_services),
        ],
        exception_handlers={_Problem: _problem_response},
    )


class _Site:
    """The handlers."""

    def __init__(
        self,
        facts: NodeFacts,
        manager: ContainerManager,
        directories: Directories,
        users: UserDatabase,
        threads: FileThreads,
    ) -> None:
        self._facts, self._manager, self._directories = facts, manager, directories
        self._users, self._threads = users, threads

    # REST

    async def info(self, request: Request) -> Response:
        settings, now_ms = self._facts.settings, int(datetime.now(UTC).timestamp() * 1000)
        version = agent_version()
        content = {
            "healthReport": "",
            "totalVmemAllocatedContainersMB": int(settings.memory_mib * settings.vmem_pmem_ratio),
            "totalPmemAllocatedContainersMB": settings.memory_mib,
            "totalVCoresAllocatedContainers": settings.vcores,
            "vmemCheckEnabled": settings.vmem_check_enabled,
            "pmemCheckEnabled": settings.pmem_check_enabled,
            "lastNodeUpdateTime": now_ms,
            "resourceTypes": "memory-mb (unit=Mi), vcores",
            "nodeHealthy": True,
            "nodeManagerVersion": f"yodel-{version}",
            "nodeManagerBuildVersion": f"yodel-{version}",
            "nodeManagerVersionBuiltOn": "",
            "hadoopVersion": HADOOP_VERSION,
            "hadoopBuildVersion": HADOOP_VERSION,
            "hadoopVersionBuiltOn": "",
            "id": str(self._facts.node_id),
            "nodeHostName": self._facts.node_id.host,
            "nmStartupTime": self._facts.started_ms,
        }
        return _answer(request, "nodeInfo", content)

    async def applications(self, request: Request) -> Response:
        state, user = request.query_params.get("state"), request.query_params.get("user")
        if state is not None and state not in APPLICATION_STATES:
            enum = "org.apache.hadoop.yarn.server.nodemanager.containermanager.application.ApplicationState"
            raise _Problem(400, "IllegalArgumentException", f"No enum constant {enum}.{state}")
        if user == "":
            raise _Problem(400, "BadRequestException", "Error: You must specify a non-empty string for the user")
        shown = [
            self._application(a)
            for a in self._manager.applications()
            if (state is None or _application_state(a) == state) and (user is None or a.user == user)
        ]
        return _answer(request, "apps", {"app": shown} if shown else {})

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
            raise _Problem(400, "BadRequestException", message) from error
        for application in self._manager.applications():
            if application.application_id == application_id:
                return _answer(request, "app", self._application(application))
        raise _Problem(404, "NotFoundException", f"app with id {text} not found")

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
        return _answer(request, "containers", {"container": shown} if shown else {})

    async def container(self, request: Request) -> Response:
        return _answer(request, "container", await self._container(self._known(request)))

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
            "containerLogsLink": f"http://{host}:{port}/node/containerlogs/{container.container_id}/{container.user}",
            "nodeId": str(self._facts.node_id),
        }
        return {**content, "containerLogFiles": names} if names else content

    async def logs(self, request: Request) -> Response:
        container = self._known(request)
        files = [
            {
                "fileName": file.name,
                "fileSize": str(file.size_bytes),
                "lastModifiedTime": _java_date(file.modified_s),
            }
            for file in await self._list(container)
        ]
        content: dict[str, Any] = {"containerLogInfo": files} if files else {}
        content |= {
            "logAggregationType": "LOCAL",
            "containerId": str(container.container_id),
            "nodeId": str(self._facts.node_id),
        }
        return _answer(request, "containerLogsInfo", content, xml_list="containerLogsInfoes")

    async def log_stream(self, request: Request) -> Response:
        """Framed as ``NMWebServices.getLogs`` does; ``size`` as in ``size_range``."""
        try:
            container = self._known(request)
        except _Problem as problem:
            return Response(status_code=400 if problem.status == 400 else 404, headers=_HEADERS)
        if request.query_params.get("format", "text") not in ("text", "octet-stream"):
            wrong = request.query_params["format"]
            raise _Problem(
                400,
                "BadRequestException",
                f"The valid values for the parameter : format are text, octet-stream, not {wrong}",
            )
        opened = await self._open(container, request.path_params["file"])
        if opened is None:
            return Response("HTTP 404 Not Found", 404, _HEADERS, media_type="text/plain; charset=utf-8")
        descriptor, file = opened
        start, end = size_range(file.size_bytes, _integer(request, "size"))
        head = (
            f"Container: {container.container_id} on {self._facts.node_id}\n"
            "LogAggregationType: LOCAL\n"
            "===================================================================\n"
            f"LogType:{file.name}\nLogLastModifiedTime:{_java_date(file.modified_s)}\n"
            f"LogLength:{file.size_bytes}\nLogContents:\n"
        )
        tail = f"\nEnd of LogType:{file.name}"
        if not container.state.is_complete:
            tail += (
                f".This log file belongs to a running container ({container.container_id}) and so may not be complete."
            )
        tail += "\n" + "*" * (_STAR_LINE - 12 + len(file.name)) + "\n\n\n"
        kind = "application/octet-stream" if request.query_params.get("format") == "octet-stream" else "text/plain"
        body = self._stream(descriptor, (head.encode(), tail.encode()), start, end, escaped=False)
        return StreamingResponse(body, headers=_HEADERS, media_type=f"{kind}; charset=utf-8")

    async def aux_services(self, request: Request) -> Response:
        raise _Problem(400, "BadRequestException", "Auxiliary services manifest is not enabled")

    # Pages

    async def index(self, request: Request) -> Response:
        rows = "".join(
            f'<tr><td><a href="/node/containerlogs/{c.container_id}/{html.escape(c.user)}">{c.container_id}</a></td>'
            f"<td>{c.state.value}</td><td>{html.escape(c.user)}</td></tr>"
            for c in self._manager.all()
        )
        title = f"Node {self._facts.node_id}"
        table = f"<table><tr><th>Container</th><th>State</th><th>User</th></tr>{rows}</table>"
        return HTMLResponse(_page(title, table), headers=_HEADERS)

    async def log_list_page(self, request: Request) -> Response:
        container = self._known_page(request)
        if container is None:
            return self._no_page(request)
        base = f"/node/containerlogs/{container.container_id}/{container.user}"
        lines = "".join(
            f'<p><a href="{html.escape(base)}/{html.escape(file.name)}/?start={DEFAULT_START}">'
            f"{html.escape(file.name)} : Total file length is {file.size_bytes} bytes.</a></p>"
            for file in await self._list(container)
        )
        return HTMLResponse(_page(f"Logs for {container.container_id}", lines), headers=_HEADERS)

    async def log_page(self, request: Request) -> Response:
        container = self._known_page(request)
        if container is None:
            return self._no_page(request)
        opened = await self._open(container, request.path_params["file"])
        if opened is None:
            text = "Cannot find this log on the local disk."
            return HTMLResponse(_page("Logs", f"<h1>{text}</h1>"), 404, headers=_HEADERS)
        descriptor, file = opened
        asked = _integer(request, "start")
        start, end = page_range(file.size_bytes, DEFAULT_START if asked is None else asked, _end(request))
        notice = ""
        if start > 0 or end < file.size_bytes:
            notice = (
                f"<p>Showing {end - start} bytes of {file.size_bytes} total. Click "
                f'<a href="?start=0">here</a> for the full log.</p>'
            )
        head, tail = _page(f"Logs for {container.container_id}", f"{notice}<pre>\0</pre>").split("\0")
        body = self._stream(descriptor, (head.encode(), tail.encode()), start, end, escaped=True)
        return StreamingResponse(body, headers=_HEADERS, media_type="text/html; charset=utf-8")

    def _no_page(self, request: Request) -> Response:
        text = html.escape(str(request.path_params["container"])[:200])
        return HTMLResponse(_page("Logs", f"<h1>Unknown container. {text}</h1>"), 404, headers=_HEADERS)

    def _known_page(self, request: Request) -> Container | None:
        try:
            container = self._known(request)
        except _Problem:
            return None
        return container if container.user == request.path_params["user"] else None

    # Containers and their files

    def _known(self, request: Request) -> Container:
        text = request.path_params["container"]
        try:
            container_id = ContainerId.parse(text)
        except InvalidValue as error:
            raise _Problem(400, "BadRequestException", f"invalid container id, {text}") from error
        container = self._manager.get(container_id)
        if container is None:
            raise _Problem(404, "NotFoundException", f"container with id, {text}, not found")
        return container

    def _log_dirs(self, container: Container) -> tuple[Path, ...]:
        paths = self._directories
        return tuple(paths.container_log_dir(log_dir, container.container_id) for log_dir in paths.log_dirs)

    async def _list(self, container: Container) -> tuple[LogFile, ...]:
        user = await self._owner(container)
        if user is None:
            return ()
        return await self._threads.run(list_logs, user, self._log_dirs(container))

    async def _open(self, container: Container, name: str) -> tuple[int, LogFile] | None:
        user = await self._owner(container)
        if user is None:
            return None
        return await self._threads.run(open_log, user, self._log_dirs(container), name)

    async def _owner(self, container: Container) -> OsUser | None:
        try:
            return await self._threads.run(self._users.lookup, container.user)
        except YodelError:
            return None

    async def _stream(
        self, descriptor: int, frame: tuple[bytes, bytes], start: int, end: int, *, escaped: bool
    ) -> AsyncIterator[bytes]:
        try:
            yield frame[0]
            for offset, count in chunks(start, end):
                data = await self._threads.run(os.pread, descriptor, count, offset)
                if not data:
                    break
                yield html.escape(data.decode("utf-8", "replace")).encode() if escaped else data
            yield frame[1]
        finally:
            os.close(descriptor)


def agent_version() -> str:
    """Of the installed distribution."""
    try:
        return metadata.version("yodel")
    except metadata.PackageNotFoundError:
        return "0"


def _application_state(application: Application) -> str:
    return "FINISHING_CONTAINERS_WAIT" if application.finished else "RUNNING"


def _integer(request: Request, name: str) -> int | None:
    text = request.query_params.get(name)
    if text is None:
        return None
    try:
        return max(-LONG_MAX, min(int(text), LONG_MAX))
    except ValueError as error:
        raise _Problem(400, "NumberFormatException", f'For input string: "{text[:50]}"') from error


def _end(request: Request) -> int:
    value = _integer(request, "end")
    return LONG_MAX if value is None else value


def _java_date(time_s: float) -> str:
    """``Sat Nov 21 08:43:40 +0000 2026``."""
    return f"{datetime.fromtimestamp(time_s, UTC):%a %b %d %H:%M:%S +0000 %Y}"


def _answer(request: Request, root: str, content: Mapping[str, Any], xml_list: str = "") -> Response:
    accept = request.headers.get("accept", "")
    if "application/xml" in accept and "application/json" not in accept:
        body = _xml(root, content)
        if xml_list:
            body = f"<{xml_list}>{body}</{xml_list}>"
        return Response(
            f'<?xml version="1.0" encoding="UTF-8"?>{body}',
            headers=_HEADERS,
            media_type="application/xml;charset=utf-8",
        )
    return JSONResponse({root: content}, headers={**_HEADERS, "Content-Type": "application/json;charset=utf-8"})


async def _problem_response(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, _Problem)
    package = "java.lang." if problem.java_class in _JAVA_LANG else "org.apache.hadoop.yarn.webapp."
    content = {
        "exception": problem.java_class,
        "message": problem.message,
        "javaClassName": package + problem.java_class,
    }
    response = _answer(request, "RemoteException", content)
    response.status_code = problem.status
    return response


_JAVA_LANG = ("IllegalArgumentException", "NumberFormatException")


def _xml(name: str, value: Any) -> str:
    if isinstance(value, Mapping):
        return f"<{name}>{''.join(_xml(key, inner) for key, inner in value.items())}</{name}>"
    if isinstance(value, list):
        return "".join(_xml(name, inner) for inner in value)
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"<{name}>{escape(''.join(c if c in _XML_CONTROLS or ord(c) >= 32 else chr(0xFFFD) for c in text))}</{name}>"


_XML_CONTROLS = "\t\n\r"


def _page(title: str, body: str) -> str:
    escaped = html.escape(title)
    return f'<!DOCTYPE html><html><head><meta charset="utf-8"><title>{escaped}</title></head><body>{body}</body></html>'
