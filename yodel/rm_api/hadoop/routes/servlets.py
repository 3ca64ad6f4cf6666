"""HttpServer2's own pages: ``/stacks``, ``/logLevel`` and ``/logs``.

Hadoop shows them to everybody unless it is told to authorize.  Here changing the log level and reading logs takes an
administrator always: both are doors that somebody who only has a network should not find open.
"""

from __future__ import annotations

import asyncio
import html
import os
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from yodel.errors import AccessDenied
from yodel.hadoop_http.errors import bad_request
from yodel.hadoop_http.jetty import error_page
from yodel.hadoop_http.stacks import thread_dump
from yodel.rm_api.door.admin_network import administrative
from yodel.rm_api.door.rim import reader
from yodel.rm_api.hadoop.services import services_of
from yodel.telemetry import logs

DUMPS_MAX = 10
DIGITS_MAX = 4
"""The most digits of that number: one of many digits costs time only to be read."""
FILES_MAX = 1000
LOGGER = "yodel"
_LEVELS = {
    "ALL": "debug",
    "TRACE": "debug",
    "DEBUG": "debug",
    "INFO": "info",
    "WARN": "warning",
    "ERROR": "error",
    "FATAL": "critical",
    "OFF": "critical",
}
_SHOWN = {"debug": "DEBUG", "info": "INFO", "warning": "WARN", "error": "ERROR", "critical": "FATAL"}
_FORMS = """
<br /><hr /><h3>Get / Set</h3>
<form>Class Name: <input type='text' size='50' name='log' /> <input type='submit' value='Get Log Level' /></form>
<form>Class Name: <input type='text' size='50' name='log' /> Level: <input type='text' name='level' /> """ + (
    "<input type='submit' value='Set Log Level' /></form>"
)


async def stacks(_: Request) -> Response:
    return PlainTextResponse(thread_dump())


async def jstack(request: Request) -> Response:
    """Answer so many thread dumps, one after the other (RMWebServices of Hadoop's trunk)."""
    asked = request.path_params["count"]
    count = int(asked) if asked.isascii() and asked.isdecimal() and len(asked) <= DIGITS_MAX else 0
    if not 1 <= count <= DUMPS_MAX:
        raise bad_request(f"Invalid number of dumps: {asked[:128]}; expected 1 to {DUMPS_MAX}")
    dumps = []
    for _ in range(count):
        dumps.append(thread_dump())
        await asyncio.sleep(0)
    return PlainTextResponse("\n".join(dumps))


async def log_level(request: Request) -> Response:
    """``hadoop daemonlog`` reads the lines that begin with ``<!-- OUTPUT -->``.  There is one logger for all."""
    name, level = request.query_params.get("log"), request.query_params.get("level")
    shown = ["<html>", "<title>Log Level</title>", "<body>", "<h1>Log Level</h1>"]
    if name is not None:
        shown += ["<br /><hr /><h3>Results</h3>", _line("Submitted Class Name", name), _line("Log Class", LOGGER)]
        if level is not None:
            refusal = _refused(request, "setLogLevel")
            if refusal is not None:
                return refusal
            shown += [_line("Submitted Level", level), _change(level)]
        shown.append(_line("Effective Level", _SHOWN[logs.level()]))
    return HTMLResponse("\n".join((*shown, _FORMS, "</body>", "</html>", "")))


async def log_files(request: Request) -> Response:
    """The files below the directory of logs, and nothing that a link in it leads out to."""
    directory = services_of(request).rules.log_dir
    if directory is None:
        return _missing(request)
    refusal = _refused(request, "logs")
    if refusal is not None:
        return refusal
    found = await asyncio.to_thread(_inside, directory, request.path_params.get("path", ""))
    if found is None:
        return _missing(request)
    if found.is_file():
        return FileResponse(found, media_type="text/plain;charset=utf-8", headers={"X-Content-Type-Options": "nosniff"})
    names = await asyncio.to_thread(_names, found)
    title = f"Directory: {html.escape(request.url.path.rstrip('/'))}/"
    base = html.escape(request.url.path.rstrip("/"))
    rows = "".join(f'<li><a href="{base}/{html.escape(name)}">{html.escape(name)}</a></li>' for name in names)
    return HTMLResponse(f"<html><head><title>{title}</title></head><body><h1>{title}</h1><ul>{rows}</ul></body></html>")


def _change(level: str) -> str:
    wanted = _LEVELS.get(level.upper())
    if wanted is None:
        return _line("Bad Level ", level)
    logs.set_level(wanted)
    return f"<!-- OUTPUT -->Setting Level to {_SHOWN[wanted]} ...<br />"


def _line(name: str, value: str) -> str:
    return f"<!-- OUTPUT -->{name}: <b>{html.escape(value[:256])}</b><br />"


def _refused(request: Request, what: str) -> Response | None:
    services = services_of(request)
    user = reader(request)
    try:
        services.admin.require_admin(user, what)
    except AccessDenied:
        text = f"Unauthorized: User {user} is unauthorized to access this page."
        return error_page(request.url.path, request.headers.get("accept", ""), 403, text)
    return None


def _missing(request: Request) -> Response:
    return error_page(request.url.path, request.headers.get("accept", ""), 404, "Not Found")


def _inside(directory: Path, asked: str) -> Path | None:
    root = directory.resolve()
    try:
        found = (root / asked.strip("/")).resolve(strict=True)
    except (OSError, ValueError):
        return None
    is_ours = found == root or root in found.parents
    return found if is_ours and (found.is_file() or found.is_dir()) else None


def _names(directory: Path) -> list[str]:
    with os.scandir(directory) as entries:
        return sorted(entry.name + ("/" if entry.is_dir() else "") for entry in entries)[:FILES_MAX]


ROUTES = (
    Route("/stacks", stacks),
    Route("/ws/v1/cluster/jstack/{count}", jstack),
    Route("/logLevel", administrative(log_level)),
    Route("/logs", log_files),
    Route("/logs/{path:path}", log_files),
)
