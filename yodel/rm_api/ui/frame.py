"""The frame of all pages, and how one is made: from a template that escapes whatever it shows.

Rights are decided before: a template shows all that it is given.  No script, and no style but that of one file, so the
policy allows neither in the page.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from importlib.resources import files

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
STYLE = files(__package__).joinpath("static", "pages.css").read_bytes()
STYLE_PATH = f"/cluster/static/pages-{sha256(STYLE).hexdigest()[:16]}.css"
"""Another text has another name, so browsers may keep it."""
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
    shown = {
        "title": title,
        "crumbs": crumbs,
        "path": request.url.path,
        "user": reader(request),
        "is_admin": services_of(request).rights.is_admin(reader(request)),
        "is_named": named_user(request) is not None,
        "style": STYLE_PATH,
    }
    parts = TEMPLATES.get_template(template).generate(shown | values)
    return HTMLResponse("".join([part async for part in taking_turns(parts, PARTS_PIECE)]), status, SECURITY)


async def message(request: Request, title: str, text: object, status: int) -> Response:
    """Return a page that says why there is no other."""
    return await page(request, "message.html", title=title, text=str(text), status=status)


async def style(_: Request) -> Response:
    """Return the one file of styles."""
    return Response(STYLE, media_type="text/css", headers={"Cache-Control": "public, max-age=31536000, immutable"})


def moved(path: str) -> Response:
    """Return the way to another page of this site."""
    return RedirectResponse(path, 302)


def at(time_ms: int) -> str:
    """Return a time in words, N/A for none."""
    return f"{datetime.fromtimestamp(time_ms / 1000, UTC):%Y-%m-%d %H:%M:%S}" if time_ms else "N/A"


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
    made.filters |= {"at": at, "shell": shlex.join, "quantity": quantity, "size": size, "plain": plain}
    made.tests["a_way"] = leads_somewhere
    return made


TEMPLATES = _environment()
