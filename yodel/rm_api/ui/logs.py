"""Pages of containers' logs, read through the ResourceManager: the end of one file, the others as tabs."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from yodel.errors import AccessDenied, InvalidValue, NotFound, Unavailable
from yodel.rm_api.ui.applications import APPLICATIONS, viewed_container
from yodel.rm_api.ui.frame import message, moved, page
from yodel.rm_api.ui.services import services_of
from yodel.rm_api.v1.node_logs import LogFile, checked_name

SHOWN_BYTES = 64 * 1024
SHOWN_BYTES_MAX = 4 * 1024 * 1024
PREFERRED = ("stderr", "syslog", "stdout")
"""Files that are shown first, if they have a line."""
CONTROLS = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n"} | {127: 0x2421}
"""Control characters, such as those of ANSI codes, as the signs that stand for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """Holds what a page shows; ``reason`` says why there is no log."""

    files: list[LogFile]
    text: str = ""
    is_whole: bool = True
    reason: str = ""
    status: int = 200


async def log(request: Request) -> Response:
    """Show the end of one log, or lead to a file of the container that has a line."""
    name = request.path_params.get("file", "")
    asked = request.query_params.get("size", str(SHOWN_BYTES))
    if not (asked.isascii() and asked.isdigit() and len(asked) < 8 and 0 < int(asked) <= SHOWN_BYTES_MAX):
        return await message(request, "No such part", f"size={asked[:64]}; expected 1 to {SHOWN_BYTES_MAX}", 400)
    found = await viewed_container(request)
    if isinstance(found, Response):
        return found
    size_bytes, services = int(asked), services_of(request)
    base = f"/cluster/container/{found.id}"
    try:
        if name:
            checked_name(name)
        files = await services.logs.files(request, found)
        if not name and files:
            return moved(f"{base}/logs/{quote(_preferred(files), safe='')}")
        shown = _Shown(files=files)
        if name:
            end = await services.logs.end(request, found, name, size_bytes)
            shown = _Shown(files=files, text=as_text(end.text), is_whole=end.size_bytes <= size_bytes)
    except AccessDenied as error:
        return await message(request, "Access denied", error, 403)
    except InvalidValue as error:
        return await message(request, "No such file", error, 400)
    except NotFound as error:
        shown = _Shown(files=[], reason=str(error), status=HTTPStatus.NOT_FOUND if name else HTTPStatus.OK)
    except Unavailable as error:
        shown = _Shown(files=[], reason=str(error), status=HTTPStatus.SERVICE_UNAVAILABLE)
    application_id = found.id.application_id
    return await page(
        request,
        "log.html",
        title=f"{name} of {found.id}" if name else f"Logs of {found.id}",
        crumbs=[APPLICATIONS, (f"/cluster/app/{application_id}", str(application_id)), (base, str(found.id))],
        status=shown.status,
        is_live=found.is_live and "follow" in request.query_params and shown.status == HTTPStatus.OK,
        container=found,
        files=shown.files,
        name=name,
        shown=shown.text,
        reason=shown.reason,
        larger=min(4 * size_bytes, SHOWN_BYTES_MAX) if not shown.is_whole and size_bytes < SHOWN_BYTES_MAX else 0,
        path_of_text=f"/api/v1/applications/{application_id}/containers/{found.id}/logs/{quote(name, safe='')}",
        log_url=services.queries.log_url(found),
    )


def _preferred(files: list[LogFile]) -> str:
    with_lines = [one.name for one in files if one.size_bytes > 0]
    return next((name for name in PREFERRED if name in with_lines), (with_lines or [files[0].name])[0])


def as_text(data: bytes) -> str:
    """Return a log as a page shows it: whatever its bytes are, and no character that a terminal would obey."""
    return data.decode("utf-8", "replace").replace("\r\n", "\n").translate(CONTROLS)


ROUTES = (
    Route("/cluster/container/{container_id}/logs", log),
    Route("/cluster/container/{container_id}/logs/{file}", log),
)
