"""The frame of all pages, and how one is made: from a template that escapes whatever it shows.

Rights are decided before: a template shows all that it is given.  Scripts and styles are files of this site, so the
policy allows neither in the page.  A page that has not changed since its reader has it is 304.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from importlib.resources import files
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from yodel.domain.resource import Resource, memory_with_unit
from yodel.rm_api.door.rim import named_user, reader
from yodel.rm_api.ui.services import services_of
from yodel.rm_api.v1.models import Amount
from yodel.serving.pieces import taking_turns
from yodel.translator.quantities import quantity

PARTS_PIECE = 500
"""Parts of a page that are written in one go: some 25 rows of a table, four milliseconds."""
STATIC_TYPES = {".css": "text/css", ".js": "text/javascript"}
STATIC = {
    one.name: one.read_bytes()
    for one in files(__package__).joinpath("static").iterdir()
    if one.name.endswith(tuple(STATIC_TYPES))
}


def static_path(name: str) -> str:
    """Return the address of a file that browsers may keep: another text has another address."""
    stem, dot, kind = name.rpartition(".")
    return f"/cluster/static/{stem}-{sha256(STATIC[name]).hexdigest()[:16]}{dot}{kind}"


STATIC_PATHS = {name: static_path(name) for name in STATIC}
SECURITY = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "same-origin",
}
Crumbs = Sequence[tuple[str, str]]
"""Addresses and names of the pages above one."""


async def page(
    request: Request, template: str, *, title: str, crumbs: Crumbs = (), status: int = 200, **values: object
) -> Response:
    """Return a whole page; other callers are answered between its parts."""
    who = {
        "user": reader(request),
        "is_admin": services_of(request).rights.is_admin(reader(request)),
        "is_named": named_user(request) is not None,
    }
    parts = _parts(request, template, {"title": title, "crumbs": crumbs, "is_live": status == 200} | who | values)
    body = "".join([part async for part in taking_turns(parts, PARTS_PIECE)]).encode()
    if status != 200:
        return HTMLResponse(body, status, SECURITY)
    tag = f'W/"{sha256(body).hexdigest()[:32]}"'
    headers = SECURITY | {"ETag": tag, "Cache-Control": "private, no-cache"}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return HTMLResponse(body, status, headers)


def standby_page(request: Request, reason: str, leader: str) -> Response:
    """Return what a ResourceManager shows that does not lead; ``leader`` is the host of the one that does, if known.

    503, since clients take 200 as the sign of an active one."""
    port = f":{request.url.port}" if request.url.port else ""
    values = {
        "title": "Standby",
        "crumbs": (),
        "is_live": False,
        "user": "",
        "is_admin": False,
        "is_named": True,
        "reason": reason,
        "leader": leader,
        "leader_url": f"{request.url.scheme}://{leader}{port}{request.url.path}" if leader else "",
        "port": request.url.port or 80,
    }
    return HTMLResponse("".join(_parts(request, "standby.html", values)), 503, SECURITY)


def _parts(request: Request, template: str, values: dict[str, object]) -> Iterator[str]:
    return TEMPLATES.get_template(template).generate(path=request.url.path, static=STATIC_PATHS, **values)


async def message(request: Request, title: str, text: object, status: int) -> Response:
    """Return a page that says why there is no other."""
    return await page(request, "message.html", title=title, text=str(text), status=status)


async def static(request: Request) -> Response:
    """Return a file of styles or scripts."""
    name = next(name for name, path in STATIC_PATHS.items() if path == request.url.path)
    kept = {"Cache-Control": "public, max-age=31536000, immutable"}
    return Response(STATIC[name], media_type=STATIC_TYPES[name[name.rindex(".") :]], headers=kept)


def answer_at(request: Request, path: str, *, cursor: str, **given: object) -> str:
    """Return the address below ``/api/v1`` of a list that the page shows, whose own cursor has the name ``cursor``."""
    asked = {name: value for name, value in given.items() if value is not None}
    if (behind := request.query_params.get(cursor)) is not None:
        asked["cursor"] = behind
    return f"{path}?{urlencode(asked)}"


def moved(path: str) -> Response:
    """Return the way to another page of this site."""
    return RedirectResponse(path, 302)


def at(time_ms: int) -> str:
    """Return a time as people read it, in UTC."""
    return f"{datetime.fromtimestamp(time_ms // 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"


def iso(time_ms: int) -> str:
    """Return a time as scripts read it."""
    return f"{datetime.fromtimestamp(time_ms // 1000, UTC):%Y-%m-%dT%H:%M:%S}Z"


def size(amount: Amount) -> str:
    """Return an amount of ``/api/v1`` as people read it."""
    return Resource(amount.memory_mib, amount.vcores, tuple(amount.others.items())).with_units


def plain(amount: int, unit: str) -> str:
    """Return a measured amount as people say it, never rounded: ``6.1 cores``, ``-2 cores``, ``5735 MiB``."""
    if unit in ("m", "cores"):
        cores = f"{amount / (1000 if unit == 'm' else 1):.3f}".rstrip("0").rstrip(".")
        return f"{cores} core{'s' * (cores != '1')}"
    mib, rest = divmod(amount, 1 << 20) if unit == "bytes" else (amount, 0)
    return f"{amount} bytes" if rest else memory_with_unit(mib)


def leads_somewhere(url: str) -> bool:
    """Return True for http(s) and for paths of this site, the only addresses that become links."""
    is_own = url.startswith("/") and not url.startswith(("//", "/\\"))
    return is_own or url.startswith(("http://", "https://"))


def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters |= {
        "at": at,
        "iso": iso,
        "shell": shlex.join,
        "quantity": quantity,
        "size": size,
        "plain": plain,
    }
    made.tests["a_way"] = leads_somewhere
    return made


TEMPLATES = _environment()
