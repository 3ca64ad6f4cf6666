"""The two pictures that pages behind the proxy ask of the ResourceManager itself: MapReduce's pages name Hadoop's logo
without the proxy's part of the path, and a browser looks for an icon of the site.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

LOGO = b"""<svg xmlns="http://www.w3.org/2000/svg" width="120" height="40" viewBox="0 0 120 40">
<path d="M4 34 20 6 36 34Z" fill="#1f6feb"/><path d="M20 34 32 14 44 34Z" fill="#0b3d91"/>
<text x="50" y="28" font-family="sans-serif" font-size="24" fill="#222">Yodel</text></svg>"""
ICON = b"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 48 40">
<path d="M4 34 20 6 36 34Z" fill="#1f6feb"/><path d="M20 34 32 14 44 34Z" fill="#0b3d91"/></svg>"""
MEDIA_TYPE = "image/svg+xml"
"""Browsers go by it, not by the name's end."""


async def logo(_: Request) -> Response:
    return Response(LOGO, media_type=MEDIA_TYPE)


async def icon(_: Request) -> Response:
    return Response(ICON, media_type=MEDIA_TYPE)


ROUTES = (Route("/static/hadoop-st.png", logo), Route("/favicon.ico", icon))
PATHS = frozenset(route.path for route in ROUTES)
"""Asked for wherever such a page is shown."""
