"""The page about this ResourceManager shows versions, leader, database, rights, settings; and who its reader is."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from yodel.errors import AccessDenied
from yodel.rm_api.ui.frame import page
from yodel.rm_api.v1.about import Settings, get_cluster, get_me, get_settings


async def about(request: Request) -> Response:
    """Show what runs here, and the settings that differ from their defaults to administrators."""
    return await page(
        request,
        "about.html",
        title="About",
        is_live=False,  # each look asks the API server about rights
        cluster=await get_cluster(request),
        me=await get_me(request),
        settings=await _settings(request),
    )


async def _settings(request: Request) -> Settings | None:
    try:
        return await get_settings(request)
    except AccessDenied:
        return None


ROUTES = (Route("/cluster/about", about),)
