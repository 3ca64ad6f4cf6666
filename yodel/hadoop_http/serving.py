"""Runs uvicorn for the ResourceManager's pages, those of node agents, and the embedded Kubernetes.

Signals belong to the program, not to one of its servers, and headers of proxies are not trusted.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import uvicorn

BACKLOG = 128
KEEP_ALIVE_S = 30
"""Longer than the pools of most clients keep a connection (5 s of httpx): who closes first is the one who knows whether
a request is on its way."""
LOOK_S = 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """``protocol`` None is uvicorn's own.  ``accepted_at_once``: connections in one turn of the loop.  ``tls`` is a
    certificate and its key."""

    protocol: Callable[..., asyncio.Protocol] | None = None
    backlog: int = BACKLOG
    accepted_at_once: int | None = None
    keep_alive_s: int = KEEP_ALIVE_S
    stop_timeout_s: int
    has_lifespan: bool = False
    requests_max: int | None = None
    tls: tuple[Path, Path] | None = None


class HttpServer(uvicorn.Server):
    """Serves with ``serve(sockets=…)``; ``should_exit`` ends it, once answers in progress are sent."""

    def __init__(self, app: Any, options: ServerOptions) -> None:
        self._backlog = options.backlog
        certificate, key = options.tls or (None, None)
        http = cast(type[asyncio.Protocol], options.protocol) if options.protocol is not None else "httptools"
        super().__init__(
            uvicorn.Config(
                app,
                http=http,
                ws="none",
                loop="none",
                interface="asgi3",
                lifespan="on" if options.has_lifespan else "off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                ssl_certfile=certificate,
                ssl_keyfile=key,
                backlog=options.accepted_at_once or options.backlog,
                limit_concurrency=options.requests_max,
                timeout_keep_alive=options.keep_alive_s,
                timeout_graceful_shutdown=options.stop_timeout_s,
            )
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """uvicorn has one number for what is accepted in a turn and for what waits in the kernel."""
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(self._backlog)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def until_started(self, serving: asyncio.Task[None]) -> None:
        """Wait until it has started, or the task has ended."""
        while not self.started and not serving.done():  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(LOOK_S)
