"""The web port's ways to container logs: for ``yarn logs``, for Spark's and the RM's links, for browsers.

Shapes and texts were recorded from a Hadoop 3.5.0 NodeManager.  Logs on the disk come first, then what was uploaded of
the container while it runs.  Of applications that the node does not know any more the aggregated logs are shown, where
Hadoop's only sends on to a log server.  Pages escape everything that containers wrote.
"""

from __future__ import annotations

import html
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import structlog
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse

from nm_plugin.host.users import FileThreads
from nm_plugin.logs.reading import log_text
from nm_plugin.logs.reading.files import LogFile, chunks, list_logs, open_log, page_range, size_range
from nm_plugin.logs.uploading.aggregation import LogAggregator
from nm_plugin.logs.worker_pool import JobFailed
from nm_plugin.web.access import UNKNOWN, Access, LogPlace
from nm_plugin.web.answers import LONG_MAX, file_info, integer, page, text_type, way_back
from nm_plugin.web.recall_routes import DEFAULT_START, RecallRoutes
from yodel.domain.ids import NodeId
from yodel.hadoop_http.errors import RestError
from yodel.hadoop_http.negotiate import answer

NOT_REDIRECTED = (
    "Failed while trying to construct the redirect url to the log server. Log Server url may not be configured"
)
_TEMPORARY_REDIRECT = 307


class LogRoutes:
    """The handlers.  Without ``recall`` nothing is aggregated."""

    def __init__(
        self,
        access: Access,
        threads: FileThreads,
        logs: LogAggregator,
        node_id: NodeId,
        log_server_url: str,
        rm_web_url: str,
        recall: RecallRoutes | None,
    ) -> None:
        self._access, self._threads, self._logs, self._recall = access, threads, logs, recall
        self._node_id, self._log_server_url, self._rm_web_url = node_id, log_server_url, rm_web_url
        self._log = structlog.get_logger(__name__)

    # REST

    async def logs(self, request: Request) -> Response:
        """NMWebServices.getContainerLogsInfo: one element is an object, more are a list."""
        try:
            place = await self._access.place(request)
        except RestError as error:
            return await self._recalled(error, lambda recall: recall.logs(request))
        local = [file_info(f.name, f.size_bytes, int(f.modified_s * 1000)) for f in await self._list(place)]
        found = [self._logs_info(place, "LOCAL", local)]
        try:
            uploaded = await self._logs.uploaded(place.container_id, place.user)
        except JobFailed as error:
            self._log.info("uploaded_logs_not_listed", container=str(place.container_id), reason=str(error)[:300])
        else:
            found += [
                self._logs_info(place, "AGGREGATED", [file_info(name, size, ms) for name, size, ms in one["logs"]])
                for one in uploaded
            ]
        content: Any = found[0] if len(found) == 1 else found
        return answer(request, {"containerLogsInfo": content}, root="containerLogsInfoes")

    def _logs_info(self, place: LogPlace, kind: log_text.AggregationType, files: list[dict[str, str]]) -> Any:
        content: dict[str, Any] = {"containerLogInfo": files} if files else {}
        return content | {
            "logAggregationType": kind,
            "containerId": str(place.container_id),
            "nodeId": str(self._node_id),
        }

    async def log_stream(self, request: Request) -> Response:
        """NMWebServices.getLogs; ``size`` as in ``size_range``."""
        try:
            place = await self._access.place(request)
        except RestError as error:
            try:
                return await self._recalled(error, lambda recall: recall.log_stream(request))
            except RestError as problem:
                return Response(status_code=problem.status)
        media_type, size = text_type(request), integer(request, "size")
        opened = await self._open(place, request.path_params["file"])
        if opened is None and not self._logs.uploads_of(place.container_id.application_id):
            return Response("HTTP 404 Not Found", 404, media_type="text/plain;charset=utf-8")
        if request.method == "HEAD":
            _close(opened)
            return Response(media_type=media_type)
        return StreamingResponse(self._texts(request, place, opened, size), media_type=media_type)

    async def _texts(
        self, request: Request, place: LogPlace, opened: tuple[int, LogFile] | None, size: int | None
    ) -> AsyncIterator[bytes]:
        if opened is not None:
            descriptor, file = opened
            start, end = size_range(file.size_bytes, size)
            container = str(place.container_id)
            modified_ms = int(file.modified_s * 1000)
            yield log_text.head(container, str(self._node_id), "LOCAL", file.name, modified_ms, file.size_bytes)
            async for data in self._stream(descriptor, start, end):
                yield data
            yield log_text.local_tail(file.name, container if place.is_running else "")
        name = request.path_params["file"]
        try:
            async for data in self._logs.uploaded_text(
                place.container_id, place.user, name, LONG_MAX if size is None else size
            ):
                yield data
        except JobFailed as error:
            # The head is sent: an error's status is out of reach, and the local log is the newer part anyway.
            self._log.info("uploaded_log_not_shown", container=str(place.container_id), reason=str(error)[:300])

    # Pages

    async def list_page(self, request: Request) -> Response:
        place = await self._page_place(request)
        if isinstance(place, Response):
            return place
        base = f"/node/containerlogs/{place.container_id}/{quote(place.user.name)}"
        lines = "".join(
            f'<p><a href="{html.escape(base)}/{html.escape(quote(file.name))}/?start={DEFAULT_START}">'
            f"{html.escape(file.name)} : Total file length is {file.size_bytes} bytes.</a></p>"
            for file in await self._list(place)
        )
        return HTMLResponse(
            page(f"Logs for {place.container_id}", way_back(self._rm_web_url, place.container_id) + lines)
        )

    async def log_page(self, request: Request) -> Response:
        place = await self._page_place(request)
        if isinstance(place, Response):
            return place
        asked, asked_end = integer(request, "start"), integer(request, "end")
        opened = await self._open(place, request.path_params["file"])
        if opened is None:
            text = "Cannot find this log on the local disk."
            return HTMLResponse(page("Logs", f"<h1>{text}</h1>"), 404)
        descriptor, file = opened
        start, end = page_range(
            file.size_bytes, DEFAULT_START if asked is None else asked, LONG_MAX if asked_end is None else asked_end
        )
        notice = way_back(self._rm_web_url, place.container_id)
        if start > 0 or end < file.size_bytes:
            notice += (
                f"<p>Showing {end - start} bytes of {file.size_bytes} total. Click "
                f'<a href="?start=0">here</a> for the full log.</p>'
            )
        frame = page(f"Logs for {place.container_id}", f"{notice}<pre>\0</pre>").split("\0")
        if request.method == "HEAD":
            _close(opened)
            return HTMLResponse()
        body = self._escaped(descriptor, start, end, frame)
        return StreamingResponse(body, media_type="text/html; charset=utf-8")

    async def _escaped(self, descriptor: int, start: int, end: int, frame: list[str]) -> AsyncIterator[bytes]:
        yield frame[0].encode()
        async for data in self._stream(descriptor, start, end):
            yield html.escape(data.decode("utf-8", "replace")).encode()
        yield frame[1].encode()

    async def _page_place(self, request: Request) -> LogPlace | Response:
        """Or what is answered instead: where the logs of applications that are over are, or that there are none."""
        try:
            place = await self._access.place(request)
        except RestError as problem:
            if problem.message == UNKNOWN and self._logs.is_enabled:
                return await self._elsewhere(request, problem)
            return _refused_page(request, problem)
        if place.user.name != request.path_params["user"]:
            return HTMLResponse(page("Logs", f"<h1>{html.escape(UNKNOWN)}</h1>"), 404)
        return place

    async def _elsewhere(self, request: Request, unknown: RestError) -> Response:
        """NMWebAppFilter.containerLogPageRedirectPath; without a log server the page is ours."""
        parameters = request.path_params
        container = str(parameters["container"])
        if not self._log_server_url:
            try:
                return await self._recalled(
                    unknown, lambda r: r.log_page(request) if "file" in parameters else r.list_page(request)
                )
            except RestError as problem:
                if problem is not unknown:
                    return _refused_page(request, problem)
            text = f"<h1>{NOT_REDIRECTED}</h1><p>java.lang.Exception: {html.escape(UNKNOWN)}</p>"
            return HTMLResponse(page(f"Failed redirect for {container}", text), 404)
        parts = [str(self._node_id), container, container, parameters["user"]]
        if "file" in parameters:
            parts.append(parameters["file"])
        url = "/".join((self._log_server_url.rstrip("/"), *(quote(part, safe=":") for part in parts)))
        query = f"?{request.url.query}" if request.url.query else ""
        return RedirectResponse(url + query, _TEMPORARY_REDIRECT)

    async def _recalled(self, error: RestError, ask: Callable[[RecallRoutes], Awaitable[Response]]) -> Response:
        """Return the aggregated logs of a container that this node does not know.

        Raises RestError.
        """
        if self._recall is None or error.message != UNKNOWN:
            raise error
        try:
            return await ask(self._recall)
        except RestError as other:
            raise (error if other.status == HTTPStatus.NOT_FOUND else other) from None

    # Files

    async def _list(self, place: LogPlace) -> tuple[LogFile, ...]:
        return await self._threads.run(list_logs, place.user, place.directories)

    async def _open(self, place: LogPlace, name: str) -> tuple[int, LogFile] | None:
        return await self._threads.run(open_log, place.user, place.directories, name)

    async def _stream(self, descriptor: int, start: int, end: int) -> AsyncIterator[bytes]:
        try:
            for offset, count in chunks(start, end):
                data = await self._threads.run(os.pread, descriptor, count, offset)
                if not data:
                    break
                yield data
        finally:
            os.close(descriptor)


def _close(opened: tuple[int, LogFile] | None) -> None:
    if opened is not None:
        os.close(opened[0])


def _refused_page(request: Request, problem: RestError) -> Response:
    title = f"{problem.message} {request.path_params['container'][:200]}"
    return HTMLResponse(page("Logs", f"<h1>{html.escape(title)}</h1>"), problem.status)
