"""The web port's ways to logs of applications that are over: what a history server would answer, on every node.

The paths are those of Hadoop's LogServlet (a history server's ``/ws/v1/history/…``).  ``user`` is the owner, by default
the caller; ``nm.id`` the node that had the container, which is looked at first.
"""

from __future__ import annotations

import html
from collections.abc import AsyncGenerator
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from nm_plugin.logs.reading.recalls import Recalled, RecalledText, Recalls
from nm_plugin.web.access import Access, container_id_of
from nm_plugin.web.answers import LONG_MAX, file_info, integer, page, text_type, way_back
from yodel.domain.ids import NodeId
from yodel.errors import InvalidValue
from yodel.hadoop_http.errors import bad_request
from yodel.hadoop_http.negotiate import answer

DEFAULT_START = -4096
FILE_NAME_LENGTH_MAX = 4096


class RecallRoutes:
    """The handlers."""

    def __init__(self, access: Access, recalls: Recalls, node_id: NodeId, rm_web_url: str) -> None:
        self._access, self._recalls, self._node_id, self._rm_web_url = access, recalls, node_id, rm_web_url

    # REST

    async def logs(self, request: Request) -> Response:
        """LogServlet.getContainerLogsInfo: an element for each file; one is an object, more are a list."""
        asked = await self._asked(request)
        found = [
            {
                "containerLogInfo": [file_info(name, size, ms) for name, size, ms in one["logs"]],
                "logAggregationType": "AGGREGATED",
                "containerId": str(asked.container_id),
                "nodeId": _node_of(one["file"]),
            }
            for one in await self._recalls.listed(asked)
        ]
        content: Any = found[0] if len(found) == 1 else found
        return answer(request, {"containerLogsInfo": content}, root="containerLogsInfoes")

    async def log_stream(self, request: Request) -> Response:
        """LogServlet.getLogFile; ``size`` as ``yarn logs -size`` takes it."""
        media_type, size = text_type(request), integer(request, "size")
        parts = await self._text(request, LONG_MAX if size is None else size)
        if request.method == "HEAD":
            await parts.aclose()
            return Response(media_type=media_type)
        return RecalledText(parts, media_type)

    # Pages, for the node's own paths

    async def list_page(self, request: Request) -> Response:
        asked = await self._asked(request, request.path_params["user"])
        base = f"/node/containerlogs/{asked.container_id}/{quote(asked.owner)}"
        lines = "".join(
            f'<p><a href="{html.escape(base)}/{html.escape(quote(name, safe=""))}/?start={DEFAULT_START}">'
            f"{html.escape(name)} : Total file length is {size} bytes.</a></p>"
            for one in await self._recalls.listed(asked)
            for name, size, _ in one["logs"]
        )
        back = way_back(self._rm_web_url, asked.container_id)
        return HTMLResponse(page(f"Aggregated logs for {asked.container_id}", back + lines))

    async def log_page(self, request: Request) -> Response:
        """Show the last ``-start`` bytes of each upload, or those before ``end``."""
        start, end = integer(request, "start"), integer(request, "end")
        start = DEFAULT_START if start is None else start
        size = start if start < 0 else LONG_MAX if end is None else max(0, end)
        parts = await self._text(request, size, request.path_params["user"])
        if request.method == "HEAD":
            await parts.aclose()
            return HTMLResponse()
        notice = way_back(self._rm_web_url, container_id_of(request))
        notice += '<p>Click <a href="?start=0">here</a> for the full log.</p>' if start else ""
        frame = page(f"Aggregated logs for {request.path_params['container']}", f"{notice}<pre>\0</pre>").split("\0")
        body = _escaped(parts, frame)
        await anext(body)
        return RecalledText(body, "text/html; charset=utf-8")

    async def _text(self, request: Request, size: int, owner: str = "") -> AsyncGenerator[bytes, None]:
        asked = await self._asked(request, owner)
        return await self._recalls.text(asked, request.path_params["file"][:FILE_NAME_LENGTH_MAX], size)

    async def _asked(self, request: Request, owner: str = "") -> Recalled:
        """Raises RestError."""
        container_id, viewer = container_id_of(request), await self._access.viewer(request)
        node_id = self._node_id
        if named := request.query_params.get("nm.id"):
            try:
                node_id = NodeId.parse(named)
            except InvalidValue as error:
                raise bad_request(str(error)) from error
        owner = owner or request.query_params.get("user") or viewer.name
        return Recalled(container_id=container_id, owner=owner, viewer=viewer, node_id=node_id)


async def _escaped(parts: AsyncGenerator[bytes, None], frame: list[str]) -> AsyncGenerator[bytes, None]:
    """Nothing at first, as ``Recalls.text``."""
    try:
        yield b""
        yield frame[0].encode()
        async for data in parts:
            yield html.escape(data.decode("utf-8", "replace")).encode()
        yield frame[1].encode()
    finally:
        await parts.aclose()


def _node_of(file_name: str) -> str:
    """``<host>_<port>[_<ms>]`` as a node id; a name of another kind as it is."""
    host, *numbers = file_name.rsplit("_", 2)
    if len(numbers) == 2 and not numbers[0].isdigit():
        host, numbers = f"{host}_{numbers[0]}", numbers[1:]
    return f"{host}:{numbers[0]}" if numbers else file_name
