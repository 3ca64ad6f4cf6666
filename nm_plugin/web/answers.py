"""Adds the node's own parts to ``yodel.hadoop_http``: handlers of refusals, numbers in queries, plain pages."""

from __future__ import annotations

import html

import structlog
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from nm_plugin.logs.reading.log_text import java_date
from yodel.domain.ids import ContainerId
from yodel.errors import YodelError
from yodel.hadoop_http.errors import bad_request, failed, illegal_argument, not_allowed, translated
from yodel.hadoop_http.jetty import not_found
from yodel.hadoop_http.negotiate import answer_error

LONG_MAX = 2**63 - 1
log = structlog.get_logger(__name__)


async def refused(request: Request, error: Exception) -> Response:
    """Starlette's handler for ``RestError`` and ``Unavailable``."""
    assert isinstance(error, YodelError)
    return answer_error(translated(error), request.headers.get("accept", ""))


async def refused_by_system(request: Request, error: Exception) -> Response:
    """Starlette's handler for what the operating system refuses: a full disk, or no more open files."""
    log.error("request_failed", method=request.method, path=request.url.path, exc_info=error)
    return answer_error(failed(error), request.headers.get("accept", ""))


async def wrong_method(request: Request, error: Exception) -> Response:
    """Starlette's handler for 405, which tells what is right."""
    assert isinstance(error, HTTPException)
    response = await refused(request, not_allowed())
    response.headers.update(error.headers or {})
    return response


async def unknown_path(request: Request, _: Exception) -> Response:
    """Starlette's handler for 404: what no route answers."""
    return not_found(request)


def integer(request: Request, name: str) -> int | None:
    """A number in the query.  Raises RestError."""
    text = request.query_params.get(name)
    if text is None:
        return None
    try:
        return max(-LONG_MAX, min(int(text), LONG_MAX))
    except ValueError as error:
        raise illegal_argument(f'For input string: "{text[:50]}"', "java.lang.NumberFormatException") from error


def text_type(request: Request) -> str:
    """The media type of a log, by ``format`` as Hadoop takes it.  Raises RestError."""
    kind = request.query_params.get("format", "text")
    if kind not in ("text", "octet-stream"):
        raise bad_request(f"The valid values for the parameter : format are text, octet-stream, not {kind[:80]}")
    return f"{'application/octet-stream' if kind == 'octet-stream' else 'text/plain'};charset=utf-8"


def file_info(name: str, size_bytes: int, modified_ms: int) -> dict[str, str]:
    """PerContainerLogFileInfo."""
    return {"fileName": name, "fileSize": str(size_bytes), "lastModifiedTime": java_date(modified_ms)}


def way_back(rm_web_url: str, container_id: ContainerId) -> str:
    """Return HTML of the links to the container and its application at the ResourceManager; empty without one."""
    if not rm_web_url:
        return ""
    base, application_id = html.escape(rm_web_url.rstrip("/")), container_id.application_id
    application = f'<a href="{base}/cluster/app/{application_id}">{application_id}</a>'
    return f'<p>{application} › <a href="{base}/cluster/container/{container_id}">{container_id}</a></p>'


def page(title: str, body: str) -> str:
    """``body`` is HTML already, the title is not."""
    escaped = html.escape(title)
    return f'<!DOCTYPE html><html><head><meta charset="utf-8"><title>{escaped}</title></head><body>{body}</body></html>'
