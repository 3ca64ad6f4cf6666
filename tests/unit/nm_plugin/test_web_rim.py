"""Paths, OPTIONS and headers of the node's web port."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from nm_plugin.web_rim import WebRim
from yodel.domain.cross_origin import CrossOriginRules

PAGE = {"Origin": "http://ui.example.com"}


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers the path."""
    await PlainTextResponse(Request(scope).url.path)(scope, receive, send)


def client(**settings: Any) -> httpx2.AsyncClient:
    rim = WebRim(echo, **{"cross_origin": None, "frame_options": "SAMEORIGIN", **settings})
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app=rim), base_url="http://node:8042")


@pytest.mark.parametrize(
    ("path", "seen"),
    [("/ws/v1/node/apps/", "/ws/v1/node/apps"), ("/ws/v1/node/", "/ws/v1/node"), ("/node/", "/node/")],
)
async def test_trailing_slash_of_rest_paths_is_dropped(path: str, seen: str) -> None:
    async with client() as web:
        assert (await web.get(path)).text == seen


async def test_every_answer_carries_the_headers() -> None:
    async with client(frame_options="DENY") as web:
        for answer in (await web.get("/node"), await web.options("/node")):
            assert answer.headers["x-frame-options"] == "DENY"
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["cache-control"] == "no-cache"


async def test_other_origins_read_only_where_that_is_switched_on() -> None:
    async with client() as web:
        assert "access-control-allow-origin" not in (await web.get("/node", headers=PAGE)).headers
    async with client(cross_origin=CrossOriginRules()) as web:
        preflight = await web.options("/node", headers={**PAGE, "Access-Control-Request-Method": "GET"})
        assert preflight.headers["access-control-allow-origin"] == PAGE["Origin"]
        assert "access-control-allow-origin" not in (await web.get("/node")).headers
